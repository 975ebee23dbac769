//! What the blog does not use of `diesel_counters`, on a connection that is one of
//! several kinds.

use blog::models::Article;
use blog::schema::article_counters::{comments, views};
use blog::schema::{articles, comments as written};
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_counters::dsl::recount;
use diesel_counters::prelude::*;
use diesel_counters::{Drift, counting_transaction};

use crate::database::TestDatabase;

#[test]
fn everything_works_on_one() {
    let database = TestDatabase::new();
    let conn = &mut database.connection();
    let [one, two] = ["One", "Two"].map(|title| Article::publish(title, "Text.", conn).unwrap());
    let counts = increment(views).of_many([(one, 10), (two, 20)]);
    counts.execute(conn).unwrap();

    let page: Vec<Article> = articles::table
        .order(articles::id)
        .select(Article::as_select())
        .load(conn)
        .unwrap();
    let values = Article::counter_values(&page, (views, comments), conn);
    assert_eq!(values, Ok(vec![(10, 0), (20, 0)]));
    let series = counter_series(views)
        .of_many(page.iter().map(|a| a.id))
        .load(conn)
        .unwrap();
    assert_eq!((series[0][0].1, series[1][0].1), (10, 20));
    assert_eq!(Article::top(views, 1, .., conn), Ok(vec![(two, 20)]));

    let top = ranking(views).limit(10);
    let ranked: Vec<(i64, i64)> = articles::table
        .inner_join(top)
        .order(top.total())
        .select((articles::id, top.total()))
        .load(conn)
        .unwrap();
    assert_eq!(ranked, [(one, 10), (two, 20)]);

    let [article, other] = &page[..] else {
        panic!("{page:?}");
    };
    assert_eq!(article.set_counter(views, 7, conn), Ok(10));
    assert_eq!(other.reset_counter(views, conn), Ok(20));

    article.comment("Somebody", "Nice.", conn).unwrap();
    article.incr_counter_by(comments, 5, conn).unwrap();
    other.incr_counter(comments, conn).unwrap();
    let source = written::table
        .group_by(written::article_id)
        .select((written::article_id, count_star()));
    let drift: Vec<Drift<i64>> = recount(comments, source).dry_run(conn).unwrap();
    assert_eq!(drift.len(), 2);
    assert_eq!(article.recount(comments, source, conn), Ok(-5));
    let corrected = Article::recount_all(comments, source, conn).unwrap();
    assert_eq!((corrected.len(), corrected[0].entity), (1, two));

    let values = Article::counter_values(&page, (views, comments), conn);
    assert_eq!(values, Ok(vec![(7, 1), (0, 0)]));
    counting_transaction(conn, |tx| {
        tx.count(increment(views).of(two));
        tx.count(increment(comments).of(one));
        QueryResult::Ok(())
    })
    .unwrap();
    let values = Article::counter_values(&page, (views, comments), conn);
    assert_eq!(values, Ok(vec![(7, 2), (1, 0)]));
    assert!(article.delete_counters(conn).unwrap() > 0);
    assert!(Article::delete_counters_of(&[one, two], conn).unwrap() > 0);
    assert_eq!(Article::top(views, 9, .., conn), Ok(vec![]));
}
