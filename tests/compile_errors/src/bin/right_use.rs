//! The right use next to which the others are wrong.

use diesel::prelude::*;
use diesel_counters::prelude::*;

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
        likes -> BigInt,
    }
}
diesel_counters::counter_table!(article_counters { slots = 32767, period = Total });

#[derive(HasCounters)]
#[counters(table_name = article_counters)]
struct Article {
    id: i64,
}

fn main() {
    use article_counters::{likes, views};

    let conn = &mut SqliteConnection::establish(":memory:").unwrap();
    let no_such_table = Article { id: 1 }.incr_counter_by((views, likes), (1, 2), conn);
    assert!(no_such_table.is_err());
}

/// A column of this name is common: the prelude has no `total`.
#[allow(unused_imports)]
mod a_column_named_total {
    use diesel::prelude::*;
    use diesel_counters::prelude::*;

    mod schema {
        diesel::table! {
            orders (id) { id -> BigInt, total -> BigInt }
        }
    }
    use schema::orders::dsl::*;

    pub fn first(conn: &mut SqliteConnection) -> QueryResult<i64> {
        orders.select(total).first(conn)
    }
}
