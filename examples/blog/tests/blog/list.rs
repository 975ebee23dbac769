use std::sync::{Arc, Mutex};

use blog::schema::article_counters;
use chrono::{Days, NaiveDate};
use diesel::connection::InstrumentationEvent;
use diesel::prelude::*;
use diesel_counters::Period;

use crate::visit::{Answer, Blog, today};

#[tokio::test]
async fn it_is_newest_first_unless_asked_otherwise() {
    let blog = Blog::new();
    let first = blog.article("First");
    blog.article("Second");
    blog.add_views(first, 7, today());

    for address in ["/", "/?sort=newest"] {
        let list = blog.get(address).await;
        assert_eq!(list.titles(), ["Second", "First"]);
        assert_eq!(list.numbers("Views"), [0, 7]);
        assert_eq!(list.current(), "Newest");
    }
}

#[tokio::test]
async fn most_read_sorts_by_all_views_and_equal_ones_newest_first() {
    let blog = Blog::new();
    let [a, b, c, d] = ["A", "B", "C", "D"].map(|title| blog.article(title));
    blog.add_views(b, 3, today());
    blog.add_views(a, 1, today());
    blog.add_views(a, 4, day(2015, 5, 17));
    blog.add_views(a, 4, day(2020, 2, 29));
    blog.add_views(d, 3, day(2015, 5, 18));
    blog.add_likes(c, 100);
    blog.add_likes(d, 2);

    let list = blog.get("/?sort=most-read").await;
    assert_eq!(list.titles(), ["A", "D", "B", "C"]);
    assert_eq!(list.numbers("Views"), [9, 3, 3, 0]);
    assert_eq!(list.numbers("Likes"), [0, 2, 0, 100]);
    assert_eq!(list.numbers("Comments"), [0, 0, 0, 0]);
    assert_eq!(list.current(), "Most read");
}

#[tokio::test]
async fn most_read_this_week_counts_from_monday_to_today() {
    let blog = Blog::new();
    let monday = Period::Week.start(today());
    let [a, b, c, d] = ["A", "B", "C", "D"].map(|title| blog.article(title));
    blog.add_views(a, 100, monday - Days::new(1));
    blog.add_views(b, 3, monday);
    blog.add_views(b, 2, today());
    blog.add_views(c, 1, today());
    blog.add_views(c, 100, today() + Days::new(1));
    blog.add_views(d, 6, today());
    // Of the likes it has all.
    let liked_before = (
        article_counters::article_id.eq(d),
        article_counters::day.eq(day(2015, 5, 17)),
        article_counters::slot.eq(1),
        article_counters::views.eq(0),
        article_counters::likes.eq(1),
        article_counters::comments.eq(0),
    );
    diesel::insert_into(article_counters::table)
        .values(liked_before)
        .execute(&mut blog.pool.get().unwrap())
        .unwrap();

    let list = blog.get("/?sort=most-read-this-week").await;
    assert_eq!(list.titles(), ["D", "B", "C", "A"]);
    assert_eq!(list.numbers("Views this week"), [6, 5, 1, 0]);
    assert_eq!(list.numbers("Likes"), [1, 0, 0, 0]);
    assert!(
        list.body
            .contains("<th class=\"number\">Views this week</th>")
    );
    assert_eq!(list.current(), "Most read this week");

    let list = blog.get("/?sort=most-read").await;
    assert_eq!(list.titles(), ["C", "A", "D", "B"]);
}

#[tokio::test]
async fn a_page_has_twenty_and_its_links_keep_the_order() {
    let blog = Blog::new();
    for number in 1..=41 {
        let id = blog.article(&format!("Article {number}"));
        blog.add_views(id, number, today());
    }
    for (sort, before, after) in [
        ("newest", "Newer", "Older"),
        ("most-read", "Previous", "Next"),
        ("most-read-this-week", "Previous", "Next"),
    ] {
        let page = blog.get(&format!("/?sort={sort}&page=2")).await;
        let titles: Vec<_> = (2..=21)
            .rev()
            .map(|number| format!("Article {number}"))
            .collect();
        assert_eq!(page.titles(), titles);
        assert!(page.body.contains("Page 2 of 3"));
        for link in [
            format!("rel=\"prev\" href=\"/?sort={sort}&amp;page=1\">{before}</a>"),
            format!("rel=\"next\" href=\"/?sort={sort}&amp;page=3\">{after}</a>"),
        ] {
            assert!(page.body.contains(&link), "{link}");
        }

        let last = blog.get(&format!("/?sort={sort}&page=3")).await;
        assert_eq!(last.titles(), ["Article 1"]);
    }
}

#[tokio::test]
async fn it_is_one_query_besides_the_number_of_articles() {
    let blog = Blog::with_connections(1);
    for number in 1..=20 {
        blog.article(&format!("Article {number}"));
    }
    for sort in ["newest", "most-read", "most-read-this-week"] {
        let queries = blog.watch();
        let list = blog.get(&format!("/?sort={sort}")).await;
        assert_eq!(list.titles().len(), 20);

        let queries = queries.lock().unwrap();
        assert_eq!(queries.len(), 2, "{queries:?}");
        assert!(queries[0].to_lowercase().starts_with("select count(*)"));
        assert!(queries[1].starts_with("SELECT "));
    }
}

fn day(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).unwrap()
}

impl Blog {
    /// The queries from now on, of a blog with one connection.
    fn watch(&self) -> Arc<Mutex<Vec<String>>> {
        let queries = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&queries);
        let mut conn = self.pool.get().unwrap();
        conn.set_instrumentation(move |event: InstrumentationEvent<'_>| {
            if let InstrumentationEvent::StartQuery { query, .. } = event {
                let query = query.to_string();
                // The pool's own, which asks whether the connection still is one.
                if !query.starts_with("SELECT 1") {
                    seen.lock().unwrap().push(query);
                }
            }
        });
        queries
    }
}

impl Answer {
    /// The titles of a list, from above.
    fn titles(&self) -> Vec<&str> {
        self.between("<td><a href=\"/articles/", "</a>")
            .into_iter()
            .map(|link| link.split_once('>').unwrap().1)
            .collect()
    }

    /// The numbers of a column of a list, from above.
    fn numbers(&self, column: &str) -> Vec<i64> {
        self.between(&format!("data-label=\"{column}\">"), "</td>")
            .into_iter()
            .map(|number| number.parse().unwrap())
            .collect()
    }

    /// The order that is marked as the list's own.
    fn current(&self) -> &str {
        let links = self.between("aria-current=\"page\">", "</a>");
        assert_eq!(links.len(), 1);
        links[0]
    }

    fn between(&self, start: &str, end: &str) -> Vec<&str> {
        let after_start = self.body.split(start).skip(1);
        after_start
            .map(|rest| rest.split_once(end).unwrap().0)
            .collect()
    }
}
