//! Functions that are generic over the connection, and lack a bound.

use diesel::connection::LoadConnection;
use diesel::expression::AsExpression;
use diesel::prelude::*;
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::BigInt;
use diesel::sqlite::Sqlite;
use diesel_counters::dsl::compact;
use diesel_counters::prelude::*;
use diesel_counters::{CounterBackend, CounterBuffer, counting_transaction};
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::article_counters::{self, views};

fn no_backend(conn: &mut impl Connection) -> QueryResult<()> {
    counting_transaction(conn, |_| Ok(()))
}

fn no_key<Conn: Connection<Backend: CounterBackend>>(id: i64, conn: &mut Conn) {
    increment(views).of(id).execute(conn).unwrap();
}

fn neither<Conn: Connection>(id: i64, conn: &mut Conn) {
    increment(views).of(id).execute(conn).unwrap();
}

fn no_key_of_the_model<Conn>(article: &Article, conn: &mut Conn)
where
    Conn: Connection<Backend: CounterBackend>,
{
    article.incr_counter(views, conn).unwrap();
}

fn no_key_to_read<Conn>(ids: &[i64], conn: &mut Conn) -> QueryResult<Vec<i64>>
where
    Conn: LoadConnection<Backend: CounterBackend>,
{
    counter_value(views).of_many(ids).load(conn)
}

fn no_key_to_merge<Conn: LoadConnection<Backend: CounterBackend>>(conn: &mut Conn) {
    compact(article_counters::table).execute(conn).unwrap();
}

struct App<Conn: Connection<Backend: CounterBackend> + 'static> {
    buffer: CounterBuffer<Conn>,
}

impl<Conn: Connection<Backend: CounterBackend> + 'static> App<Conn> {
    fn no_key_to_buffer(&self, id: i64) {
        self.buffer.count(increment(views).of(id)).unwrap();
    }

    fn no_key_of_what_is_pending(&self, id: i64) -> i64 {
        self.buffer.pending_of(views, &id)
    }
}

#[derive(Debug, AsExpression)]
#[diesel(sql_type = BigInt)]
struct ArticleId(i64);

impl ToSql<BigInt, Sqlite> for ArticleId {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        ToSql::<BigInt, Sqlite>::to_sql(&self.0, out)
    }
}

/// If only SQLite is enabled, an `i64` is such a key too.
fn no_key_of_one_database<Conn>(id: ArticleId, conn: &mut Conn)
where
    Conn: Connection<Backend: CounterBackend>,
{
    increment(views).of(id).execute(conn).unwrap();
}

fn main() {}
