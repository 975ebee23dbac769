use chrono::Days;

use crate::visit::{Blog, today};

#[tokio::test]
async fn an_article_shows_the_views_of_its_last_thirty_days() {
    let blog = Blog::new();
    let id = blog.article("Title");
    let other = blog.article("Other");
    let (today, first) = (today(), today() - Days::new(29));
    blog.add_views(id, 1_499, today);
    blog.add_views(id, 300, first);
    blog.add_views(id, 5_000, first - Days::new(1));
    blog.add_views(id, 5_000, today + Days::new(1));
    blog.add_views(other, 5_000, today);

    // And this view.
    let page = blog.get(&format!("/articles/{id}")).await.body;
    let label = format!(
        "role=\"img\" aria-label=\"Views from {} to {}: 1,800 in total\"",
        first.format("%-d %B %Y"),
        today.format("%-d %B %Y")
    );
    assert!(page.contains(&label), "{label}");
    assert!(page.contains("at most 1,500 a day"));

    let bars: Vec<_> = page.split("<title>").skip(2).collect();
    assert_eq!(bars.len(), 30);
    let height = |n: u64| {
        let (_, bar) = bars[n as usize].split_once("class=\"bar\"").unwrap();
        let (_, height) = bar.split_once("height=\"").unwrap();
        height.split_once('"').unwrap().0.to_owned()
    };
    for (n, views, of_hundred) in [(0, "300", "20"), (1, "0", "0"), (29, "1,500", "100")] {
        let day = (first + Days::new(n)).format("%-d %B");
        assert!(bars[n as usize].starts_with(&format!("{day}: {views}</title>")));
        assert_eq!(height(n), of_hundred);
    }
}

#[tokio::test]
async fn without_views_there_is_no_chart() {
    let blog = Blog::new();
    let id = blog.article("Title");
    // What this visit adds.
    blog.add_views(id, -1, today());

    let page = blog.get(&format!("/articles/{id}")).await;
    assert!(page.shows_counts(0, 0, 0));
    assert!(
        page.body
            .contains("<p class=\"muted\">There were no views.</p>")
    );
    assert!(!page.body.contains("<svg"));
}
