//! Wrong uses of totals, rankings and recounts.

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_counters::dsl::{recount, total};
use diesel_counters::prelude::*;

diesel::table! {
    articles (id) { id -> BigInt, total_views -> BigInt, recent -> Integer, short -> SmallInt, }
}
diesel::table! {
    comments (id) { id -> BigInt, article_id -> BigInt, author -> Text, }
}
diesel::table! {
    article_counters (article_id, day, slot) { article_id -> BigInt, day -> Date, slot -> SmallInt, views -> BigInt, likes -> BigInt, }
}
diesel_counters::counter_table!(article_counters { parent = articles::id });
diesel::table! {
    user_counters (user_id, day, slot) { user_id -> Integer, day -> Date, slot -> SmallInt, visits -> BigInt, }
}
diesel_counters::counter_table!(user_counters);
diesel::table! {
    site_counters (day, slot) { day -> Date, slot -> SmallInt, hits -> BigInt, }
}
diesel_counters::counter_table!(site_counters);

#[derive(HasCounters)]
#[counters(table_name = article_counters)]
struct Article {
    id: i64,
}

fn in_a_query_without_the_models_table(conn: &mut SqliteConnection) {
    let _ = comments::table.select(total(article_counters::views)).load::<i64>(conn);
}

fn as_a_filter_there(conn: &mut SqliteConnection) {
    let read = comments::table.filter(total(article_counters::views).gt(1));
    let _ = read.select(comments::id).load::<i64>(conn);
}

fn of_a_table_without_a_parent(conn: &mut SqliteConnection) {
    let _ = articles::table.select(total(user_counters::visits)).load::<i64>(conn);
}

fn of_several_counters() {
    let _ = total((article_counters::views, article_counters::likes));
}

fn of_a_key_of_another_type() {
    let _ = total(article_counters::views).of(comments::author);
}

fn of_no_entity() {
    let _ = ranking(site_counters::hits);
    let _ = counter_value(site_counters::hits).of(1);
}

fn of_what_is_no_range(conn: &mut SqliteConnection, article: &Article) {
    let _ = article.daily_counts(article_counters::views, "2026-11-21", conn);
}

fn a_recount_from_something_else(conn: &mut SqliteConnection, article: &Article) {
    let _ = recount(article_counters::views, comments::table.select(comments::id)).of(article).execute::<i64, _>(conn);
    let by_author = comments::table.group_by(comments::author).select((comments::author, count_star()));
    let _ = recount(article_counters::views, by_author).of(article).execute::<i64, _>(conn);
}

fn into_other_columns() {
    let (one, both) = (article_counters::views, (article_counters::views, article_counters::likes));
    let _ = Article::materialize(one, articles::short);
    let _ = Article::materialize(one, comments::article_id);
    let _ = Article::materialize(one, (articles::id, articles::total_views));
    let _ = Article::materialize(both, articles::total_views);
    let _ = Article::materialize(both, (articles::total_views, comments::article_id));
    let _ = Article::materialize((one, total(one).between(..)), articles::total_views);
    let _ = Article::materialize((one, user_counters::visits), (articles::total_views, articles::recent));
    let _ = Article::materialize(total(one).of(articles::id), articles::recent);
}

fn main() {}
