//! r2d2, with a buffer that has the test's connection too.

use std::time::Duration;

use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, Pool, TestCustomizer};
use diesel_counters::CounterBuffer;
use diesel_counters::prelude::*;
use pools::schema::article_counters::views;
use pools::schema::articles;

use super::{Conn, Database};

#[test]
fn a_buffer_writes_in_the_transaction_of_the_test() {
    let database = Database::create("r2d2");
    let pool = Pool::builder()
        .max_size(1)
        .connection_customizer(Box::new(TestCustomizer))
        .build(ConnectionManager::<Conn>::new(database.url()))
        .unwrap();
    let source = pool.clone();
    let buffer = CounterBuffer::builder(move || source.get()).every(Duration::MAX);
    let buffer = buffer.start().unwrap();
    let views_of = |id: i64, conn: &mut Conn| counter_value(views).of(id).get_result::<i64>(conn);

    let article = (articles::id.eq(2), articles::title.eq("A new one"));
    let insert = diesel::insert_into(articles::table).values(article);
    insert.execute(&mut pool.get().unwrap()).unwrap();
    for id in [1, 2, 2, 99] {
        buffer.count(increment(views).of(id)).unwrap();
    }
    let write = buffer.flush();
    // Nobody else sees article 2, and there is no article 99.
    assert_eq!((write.written, write.refused.len()), (2, 1), "{write}");
    let conn = &mut *pool.get().unwrap();
    assert_eq!([1, 2].map(|id| views_of(id, conn)), [Ok(1), Ok(2)]);

    let other = &mut database.connect();
    assert_eq!([1, 2].map(|id| views_of(id, other)), [Ok(0), Ok(0)]);
}
