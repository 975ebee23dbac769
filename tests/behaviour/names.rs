//! Tables and columns whose names are those of aliases, in our SQL or the database's own, or that
//! would be something else if they were not quoted.

use diesel::connection::SimpleConnection;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::query_builder::QueryFragment;
use diesel_counters::Drift;
use diesel_counters::dsl::total;
use diesel_counters::dsl::{compact, delete_counters, fold, recount, set_counter};
use diesel_counters::prelude::*;

use super::day;
use crate::{Conn, HAS_SLOTS, TestDatabase, write_transaction};

type DB = <Conn as Connection>::Backend;

fn sql_of(table: impl QueryFragment<DB>) -> String {
    let sql = diesel::debug_query::<DB, _>(&table).to_string();
    sql.split(" -- binds").next().unwrap().to_owned()
}

fn column<C: Column>(_column: C) -> String {
    let quote = if crate::IS_MYSQL { "`" } else { "\"" };
    format!("{quote}{}{quote}", C::NAME.replace(quote, &quote.repeat(2)))
}

/// Runs every operation on these tables.
macro_rules! each_operation_is_right {
    ($models:ident, $source:ident, $counters:ident) => {
        each_operation_is_right!($models, $source, $counters, ["SELECT 1"; 2]);
    };
    ($models:ident, $source:ident, $counters:ident, $schema:expr) => {
        allow_tables_to_appear_in_same_query!($models, $counters);
        diesel_counters::counter_table!($counters { parent = $models::id });

        #[derive(Identifiable, HasCounters)]
        #[diesel(table_name = $models)]
        #[counters(table_name = $counters)]
        struct Model {
            id: i64,
        }

        #[test]
        fn each_operation_is_right() {
            let database = TestDatabase::create();
            let conn = &mut database.connect();
            let [create, drop] = $schema;
            conn.batch_execute(create).unwrap();
            let models = sql_of($models::table.from_clause());
            let source = sql_of($source::table.from_clause());
            let counters = sql_of($counters::table.from_clause());
            let [id, held] = [column($models::id), column($models::stored_0)];
            let [source_id, source_entity] = [column($source::id), column($source::entity)];
            let key = [column($counters::entity), column($counters::day), column($counters::slot)];
            let counts = [column($counters::total), column($counters::wanted_0), column($counters::stored_0), column($counters::actual_0)];
            let counts = counts.map(|name| format!("{name} BIGINT NOT NULL DEFAULT 0"));
            conn.batch_execute(&format!(
                "CREATE TABLE {models} ({id} BIGINT PRIMARY KEY, {held} BIGINT);
                 CREATE TABLE {source} ({source_id} BIGINT PRIMARY KEY, {source_entity} BIGINT);
                 CREATE TABLE {counters} (
                    {} BIGINT NOT NULL, {} DATE NOT NULL, {} SMALLINT NOT NULL, {},
                    PRIMARY KEY ({})
                 );
                 INSERT INTO {models} VALUES (1, 0), (2, 0);
                 INSERT INTO {source} VALUES (1, 1), (2, 2), (3, 2);",
                key[0], key[1], key[2], counts.join(", "), key.join(", "),
            ))
            .unwrap();
            let result = each_operation(conn);
            conn.batch_execute(drop).unwrap();
            result.unwrap();
        }

        fn each_operation(conn: &mut Conn) -> QueryResult<()> {
            use self::$counters::{stored_0, table, total as count, wanted_0};

            let [one, two] = [1, 2].map(|id| Model { id });
            for (model, n) in [(&one, 100), (&two, 200)] {
                model.incr_counter_by((count, wanted_0), (n - 7, 1), conn)?;
                model.incr_counter_by(count, 5, conn)?;
            }
            increment(count).of_many([(1_i64, 2), (2, 2)]).execute(conn)?;
            let old = increment(count).on(day(2020, 1, 1));
            old.of_many([(1_i64, 0), (2, 0)]).execute(conn)?;

            assert_eq!(one.counter_value((count, wanted_0), conn), Ok((100, 1)));
            let found = Model::counter_values([&one, &two], count, conn)?;
            assert_eq!(found, [100, 200]);
            let totals = $models::table.select(($models::id, total(count)));
            let totals = totals.filter(total(count).gt(1)).order(total(count).desc());
            assert_eq!(totals.load::<(i64, i64)>(conn)?, [(2, 200), (1, 100)]);
            let of_rows = $source::table
                .select(total(count).of($source::entity))
                .order($source::id);
            assert_eq!(of_rows.load::<i64>(conn)?, [100, 200, 200]);
            let top = ranking(count).limit(1);
            assert_eq!(top.load::<(i64, i64)>(conn)?, [(2, 200)]);

            let rows = $source::table.group_by($source::entity);
            let rows = rows.select(($source::entity, count_star()));
            let drift = recount(stored_0, rows);
            let drift: Vec<Drift<i64>> = drift.execute(conn)?;
            assert_eq!(drift.len(), 2);
            assert_eq!(Model::counter_values([&one, &two], stored_0, conn)?, [1, 2]);
            let corrected: Vec<Drift<i64>> = recount(count, rows).of(&one).execute(conn)?;
            assert_eq!(corrected.len(), 1);
            let found = Model::materialize(count, $models::stored_0).execute(conn);
            assert_eq!(found, Ok(2));

            assert_eq!(set_counter(count).of(&two).to(7).execute(conn), Ok(200));
            let set = write_transaction(conn, |conn| set_counter(count).of(2_i64).to(8).execute(conn));
            assert_eq!(set, Ok(7));

            compact(table).before(day(2100, 1, 1)).execute(conn)?;
            fold(table).before(day(2100, 1, 1)).execute(conn)?;
            assert_eq!(Model::counter_values([&one, &two], count, conn)?, [1, 8]);
            let rows: i64 = table.count().get_result(conn)?;
            assert_eq!(rows, 2, "{HAS_SLOTS}");
            let found = delete_counters(table).of_many(&[1_i64, 2]).execute(conn);
            assert_eq!(found, Ok(2));
            Ok(())
        }
    };
}

/// Tables in a module of their own.
macro_rules! module {
    ($module:ident: $models:ident, $source:ident, $counters:ident) => {
        mod $module {
            use super::*;

            diesel_counters_tests::counted_tables!([] $models, $source, $counters);
            each_operation_is_right!($models, $source, $counters);
        }
    };
}

module!(excluded_counts_rows_of_source: counted, source, excluded);
module!(wanted_counts_rows_of_source: compared, source, wanted);
module!(source_counts_rows_of_actual: entity, actual, source);
module!(counted_counts_rows_of_excluded: wanted, excluded, counted);

/// Tables of another schema.
mod qualified {
    use super::*;
    use crate::qualified::{counters, models, source};

    each_operation_is_right!(models, source, counters, crate::SCHEMA);
}

/// Each a part of SQL, of a format, of a bind, or of a comment if it were not quoted.
mod hostile {
    use super::*;

    table! {
        #[sql_name = r#"'; DROP TABLE "x"."y"; -- `.`"#]
        models (id) {
            #[sql_name = r#"id"`'\ $1"#]
            id -> BigInt,
            #[sql_name = "select ? %s"]
            stored_0 -> BigInt,
        }
    }
    table! {
        #[sql_name = "{} /* 雪 */ :a"]
        source (id) {
            #[sql_name = "?"]
            id -> BigInt,
            #[sql_name = "$1"]
            entity -> BigInt,
        }
    }
    table! {
        #[sql_name = r#"a""b``c''d ?1 %d"#]
        counters (entity, day, slot) {
            #[sql_name = " $1"]
            entity -> BigInt,
            #[sql_name = r#"date"; --"#]
            day -> Date,
            #[sql_name = "`"]
            slot -> SmallInt,
            #[sql_name = r#"""#]
            total -> BigInt,
            #[sql_name = "größe ?"]
            wanted_0 -> BigInt,
            #[sql_name = "group by"]
            stored_0 -> BigInt,
            #[sql_name = r"\"]
            actual_0 -> BigInt,
        }
    }
    each_operation_is_right!(models, source, counters);
}
