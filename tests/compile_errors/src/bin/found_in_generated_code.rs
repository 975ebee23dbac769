//! What is found when code is generated: a counter that triggers count, which the program counts
//! too; the key's own columns, and a counter that is named twice; daily counts of weeks.

use diesel::prelude::*;
use diesel_counters::dsl::set_counter;
use diesel_counters::prelude::*;

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
        #[sql_name = "number of likes"]
        likes -> BigInt,
    }
}
diesel_counters::counter_table!(article_counters { counted_by_database = likes, period = Week });

#[derive(HasCounters)]
#[counters(table_name = article_counters)]
struct Article {
    id: i64,
}

fn main() -> QueryResult<()> {
    use article_counters::{article_id, likes, views};

    let conn = &mut SqliteConnection::establish(":memory:").unwrap();
    let article = Article { id: 1 };
    article.incr_counter(likes, conn)?;
    article.incr_counter((views, likes), conn)?;
    article.incr_counter_by(likes, 2, conn)?;
    article.incr_counter_by(likes, -1, conn)?;
    article.incr_counter_by((views, likes), (1, 2), conn)?;
    increment(likes).of(1_i64).execute(conn)?;
    increment((likes, views)).of_many([(1_i64, (1, 1))]).execute(conn)?;
    increment(likes).of_many([(1_i64, 1)]).execute(conn)?;
    set_counter(likes).of(1_i64).to(7).execute(conn)?;
    increment(article_id).of(1_i64).execute(conn)?;
    increment((views, views)).of(1_i64).execute(conn)?;
    article.daily_counts(views, .., conn)?;
    Ok(())
}
