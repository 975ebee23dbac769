//! "A total as a field of the model", a section of docs/reading.md.

use std::cell::Cell;

use chrono::NaiveDate;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_counters::dsl::{TotalBetween, total};
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::{article_counters, articles, comments};
use diesel_counters_tests::watch::watch;

use crate::behaviour::{count_on, day, insert_comment};
use crate::{Conn, TestDatabase};

#[derive(
    Debug,
    Clone,
    PartialEq,
    Identifiable,
    Queryable,
    Selectable,
    Insertable,
    AsChangeset,
    HasCounters,
)]
#[diesel(table_name = articles, check_for_backend(<Conn as Connection>::Backend))]
#[counters(table_name = article_counters)]
pub struct Article {
    pub id: i64,
    pub title: String,
    #[diesel(select_expression = total(article_counters::views))]
    #[diesel(skip_insertion, skip_update)]
    pub views: i64,
    #[diesel(select_expression = total(article_counters::likes))]
    #[diesel(skip_insertion, skip_update)]
    pub likes: i64,
    #[diesel(select_expression = total(article_counters::views).between(this_week()..))]
    #[diesel(select_expression_type = TotalBetween<article_counters::views>)]
    #[diesel(skip_insertion, skip_update)]
    pub views_this_week: i64,
}

/// Long ago, so that what is counted today is later.
fn today() -> NaiveDate {
    day(2020, 3, 8)
}

thread_local! {
    static WEEKS: Cell<u64> = const { Cell::new(1) };
}

fn this_week() -> NaiveDate {
    today() - chrono::Days::new(7 * WEEKS.get() - 1)
}

#[derive(Debug, PartialEq, Identifiable, Associations, Queryable, Selectable)]
#[diesel(table_name = comments, belongs_to(Article))]
struct Comment {
    id: i64,
    article_id: i64,
    body: String,
}

pub fn article(id: i64, [views, likes, views_this_week]: [i64; 3]) -> Article {
    Article {
        id,
        title: format!("Article {id}"),
        views,
        likes,
        views_this_week,
    }
}

/// Article 1 has 13 views, of which 3 are of this week, and a like. Article 3 has 5 views of today.
pub fn counted() -> (Conn, TestDatabase) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    let before = this_week() - chrono::Days::new(1);
    for (id, day, n) in [(1, before, 10), (1, this_week(), 1), (1, today(), 2)] {
        count_on(id, day, n, &mut conn);
    }
    count_on(3, today(), 5, &mut conn);
    let like = increment(article_counters::likes).of(1_i64);
    like.execute(&mut conn).unwrap();
    (conn, database)
}

const COUNTS_OF_1: [i64; 3] = [13, 1, 3];
const COUNTS_OF_3: [i64; 3] = [5, 0, 5];

#[test]
fn a_query_loads_the_totals_with_the_model() {
    let (conn, _database) = &mut counted();
    let one = articles::table.find(1).select(Article::as_select());
    assert_eq!(one.first(conn), Ok(article(1, COUNTS_OF_1)));

    let watched = watch(conn, |conn| {
        let all = articles::table.select(Article::as_select());
        let all = all.order(articles::id).load(conn);
        let counts = [COUNTS_OF_1, [0; 3], COUNTS_OF_3, [0; 3], [0; 3]];
        let expected = (1..).zip(counts).map(|(id, counts)| article(id, counts));
        assert_eq!(all, Ok(expected.collect()));
    });
    assert_eq!(watched.queries.len(), 1, "{watched:?}");
}

/// A server runs for longer than a day.
#[test]
fn the_days_are_those_of_the_query() {
    let (conn, _database) = &mut counted();
    for (weeks, views) in [(1, 3), (2, 13)] {
        WEEKS.set(weeks);
        let one = articles::table.find(1).select(Article::as_select());
        let one = one.first(conn).unwrap();
        assert_eq!(one.views_this_week, views);
    }
}

#[test]
fn a_model_with_totals_is_counted_and_read_again() {
    let (conn, _database) = &mut counted();
    let query = articles::table.find(3).select(Article::as_select());
    let three = query.first(conn).unwrap();
    let counters = (article_counters::views, article_counters::likes);
    three.incr_counter_by(counters, (1, 1), conn).unwrap();
    assert_eq!(query.first(conn), Ok(article(3, [6, 1, 6])));
    // The field has what was loaded.
    assert_eq!((three.views, three.likes), (5, 0));
    assert_eq!(three.counter_value(counters, conn), Ok((6, 1)));
}

#[test]
fn boxed_queries_are_filtered_and_sorted_by_the_total() {
    let (conn, _database) = &mut counted();
    for (min, ids) in [(None, vec![1, 3, 2, 4, 5]), (Some(1), vec![1, 3])] {
        let mut query = articles::table.select(Article::as_select()).into_boxed();
        if let Some(min) = min {
            query = query.filter(total(article_counters::views).ge(min));
        }
        let order = (total(article_counters::views).desc(), articles::id);
        let found = query.order(order).load(conn).unwrap();
        assert_eq!(Vec::from_iter(found.iter().map(|found| found.id)), ids);
        assert_eq!(found[0], article(1, COUNTS_OF_1));
    }
}

#[test]
fn a_boxed_join_has_the_totals() {
    let (conn, _database) = &mut counted();
    insert_comment(3, "three", conn).unwrap();
    let joined = articles::table.inner_join(comments::table);
    let mut joined = joined
        .select((Article::as_select(), comments::body))
        .into_boxed();
    joined = joined.filter(
        comments::body
            .ne("")
            .and(total(article_counters::views).gt(1)),
    );
    let expected = (article(3, COUNTS_OF_3), "three".to_owned());
    assert_eq!(joined.load(conn), Ok(vec![expected]));
}

#[test]
fn joins_repeat_the_totals_and_do_not_multiply_them() {
    let (conn, _database) = &mut counted();
    for (id, body) in [(1, "one"), (1, "two"), (3, "three")] {
        insert_comment(id, body, conn).unwrap();
    }
    let (one, two) = (article(1, COUNTS_OF_1), article(2, [0; 3]));
    let three = article(3, COUNTS_OF_3);

    let joined = comments::table.inner_join(articles::table);
    let joined = joined.order(comments::id);
    let joined: Vec<(Article, String)> = joined
        .select((Article::as_select(), comments::body))
        .load(conn)
        .unwrap();
    let expected = [(&one, "one"), (&one, "two"), (&three, "three")];
    assert_eq!(
        joined,
        expected.map(|(of, body)| (of.clone(), body.to_owned()))
    );

    let left = articles::table.left_join(comments::table);
    let left = left
        .filter(articles::id.le(3))
        .order((articles::id, comments::id));
    let left: Vec<(Article, Option<Comment>)> = left
        .select((Article::as_select(), Option::<Comment>::as_select()))
        .load(conn)
        .unwrap();
    let bodies = |(of, comment): (Article, Option<Comment>)| (of, comment.map(|c| c.body));
    let expected = [
        (&one, Some("one")),
        (&one, Some("two")),
        (&two, None),
        (&three, Some("three")),
    ];
    assert_eq!(
        Vec::from_iter(left.into_iter().map(bodies)),
        expected.map(|(of, body)| (of.clone(), body.map(str::to_owned)))
    );
}

/// The total of no row is 0 and not NULL, and the model is still none.
#[test]
fn a_left_join_can_find_no_model() {
    let (conn, _database) = &mut counted();
    for body in ["one", "two"] {
        insert_comment(1, body, conn).unwrap();
    }
    let found = articles::id.eq(comments::article_id);
    let found = found.and(comments::body.eq("one"));
    let joined = comments::table.left_join(articles::table.on(found));
    let joined = joined.order(comments::id);
    let joined = joined.select((comments::body, Option::<Article>::as_select()));
    let expected = vec![
        ("one".to_owned(), Some(article(1, COUNTS_OF_1))),
        ("two".to_owned(), None),
    ];
    assert_eq!(joined.load(conn), Ok(expected));
}

/// A total is no aggregate of the query: without a `group_by` it needs none, and with one it is
/// allowed as the other columns of the model are.
#[test]
fn a_grouped_query_has_the_totals() {
    let (conn, _database) = &mut counted();
    for (id, body) in [(1, "one"), (1, "two"), (3, "three")] {
        insert_comment(id, body, conn).unwrap();
    }
    let grouped = articles::table.inner_join(comments::table);
    let grouped = grouped.group_by(articles::id).order(articles::id);
    let grouped = grouped.select((Article::as_select(), count_star()));
    let expected = vec![
        (article(1, COUNTS_OF_1), 2_i64),
        (article(3, COUNTS_OF_3), 1),
    ];
    assert_eq!(grouped.load(conn), Ok(expected));
}

#[test]
fn associations_of_a_model_with_totals_are_loaded() {
    let (conn, _database) = &mut counted();
    insert_comment(3, "three", conn).unwrap();
    let page = articles::table.filter(articles::id.eq_any([1, 3]));
    let page = page.order(articles::id).select(Article::as_select());
    let page: Vec<Article> = page.load(conn).unwrap();
    let theirs = Comment::belonging_to(&page).select(Comment::as_select());
    let theirs: Vec<Comment> = theirs.load(conn).unwrap();
    let numbers = theirs.grouped_by(&page).into_iter().map(|of| of.len());
    assert_eq!(Vec::from_iter(numbers), [0, 1]);
}

/// With `skip_insertion` and `skip_update`, the fields are not columns of the table.
#[test]
fn the_model_is_inserted_and_updated_without_its_totals() {
    let (conn, _database) = &mut counted();
    let mut six = article(6, [100; 3]);
    let inserted = diesel::insert_into(articles::table).values(&six);
    assert_eq!(inserted.execute(conn), Ok(1));
    six.title = "New".to_owned();
    let updated = diesel::update(&six).set(&six).execute(conn);
    assert_eq!(updated, Ok(1));
    let found = articles::table.find(6).select(Article::as_select());
    let found = found.first(conn).unwrap();
    assert_eq!((&*found.title, found.views), ("New", 0));
}

#[derive(Debug, PartialEq, Queryable, Selectable)]
#[diesel(table_name = articles)]
struct Counts {
    #[diesel(select_expression = total(article_counters::views))]
    views: i64,
    #[diesel(select_expression = total(article_counters::likes))]
    likes: i64,
}

/// Diesel's `HasQuery` writes the `select`.
#[derive(Debug, PartialEq, HasQuery)]
#[diesel(table_name = articles)]
struct Listed {
    id: i64,
    #[diesel(embed)]
    counts: Counts,
}

#[test]
fn totals_are_embedded_in_several_models() {
    let (conn, _database) = &mut counted();
    let counts = Counts {
        views: 13,
        likes: 1,
    };
    let query = Listed::query().filter(articles::id.eq(1));
    assert_eq!(query.first(conn), Ok(Listed { id: 1, counts }));
}
