//! A node writes the rows of its partition, and no others.

use diesel::prelude::*;
use diesel_counters::dsl::{compact, delete_counters, fold, recount, set_counter};
use diesel_counters::prelude::*;
use diesel_counters::{Drift, Period, Slot, counting_transaction, with_default_slot};
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::article_counters::{self, comments, views};

use super::{added, article, comments_by_article, count_on, day, rows};
use crate::{Conn, HAS_SLOTS, TestDatabase};

/// The second of two nodes.
const NODE: Slot = Slot::Partition { index: 1, of: 2 };

/// The other node's rows of article 1, and the rows of this one.
type Nodes = [Vec<super::Row>; 2];

fn by_node(conn: &mut Conn) -> Nodes {
    let is_of_first = |row: &super::Row| match row.slot {
        slot @ ..=0 => slot == 0,
        slot => (slot - 1) % 2 == 0,
    };
    let (first, second) = rows(&article(1), conn).into_iter().partition(is_of_first);
    [first, second]
}

/// Both nodes have counted on old days, and the first one has merged and corrected its own.
fn counted_on_both() -> (Conn, TestDatabase, Article) {
    let (database, mut conn, article) = TestDatabase::with_article();
    for index in [0, 1] {
        with_default_slot(Slot::Partition { index, of: 2 }, || {
            for on in [day(2026, 1, 3), day(2026, 1, 5), day(2026, 3, 1)] {
                count_on(1, on, 10, &mut conn);
            }
            let index = index + 2;
            let count = increment(views).of(1_i64).on(day(2026, 1, 3));
            let late = count.slot(Slot::Partition { index, of: 32 });
            late.execute(&mut conn).unwrap();
        });
    }
    with_default_slot(Slot::Partition { index: 0, of: 2 }, || {
        let merge = compact(article_counters::table).before(day(2026, 2, 1));
        merge.execute(&mut conn).unwrap();
        let set = set_counter(views).of(1_i64).on(day(2026, 3, 1)).to(50);
        set.execute(&mut conn).unwrap();
    });
    (conn, database, article)
}

type Run = fn(&Article, &mut Conn) -> QueryResult<()>;

/// What writes rows of counters.
pub const RUNS: [(&str, Run); 11] = [
    ("increment", |article, conn| {
        article.incr_counter(views, conn).map(drop)
    }),
    ("increment_many", |_, conn| {
        let counts = increment(views).of_many([(1_i64, 5), (2, 7)]);
        counts.execute(conn).map(drop)
    }),
    ("counting_transaction", |_, conn| {
        counting_transaction(conn, |tx| {
            tx.count(increment(views).of(1_i64));
            Ok(())
        })
    }),
    ("compact", |_, conn| {
        let merge = compact(article_counters::table);
        merge.before(day(2026, 4, 1)).execute(conn).map(drop)
    }),
    ("fold into months", |_, conn| {
        let months = fold(article_counters::table).per(Period::Month);
        months.before(day(2026, 4, 1)).execute(conn).map(drop)
    }),
    ("fold", |_, conn| {
        let merge = fold(article_counters::table);
        merge.before(day(2026, 4, 1)).execute(conn).map(drop)
    }),
    ("set_counter", |article, conn| {
        set_counter(views).of(article).to(7).execute(conn).map(drop)
    }),
    ("set_counter on a day", |_, conn| {
        let set = set_counter(views).of(1_i64).on(day(2026, 1, 5));
        set.to(3).execute(conn).map(drop)
    }),
    ("an import", |_, conn| {
        let log = [(1_i64, day(2026, 1, 3), 4), (1, day(2026, 1, 9), 5)];
        set_counter(views).of_days(log).execute(conn).map(drop)
    }),
    ("recount", |article, conn| {
        super::insert_comment(1, "", conn)?;
        let corrected = recount(comments, comments_by_article()).of(article);
        assert!(added(corrected.execute::<i64, _>(conn))? > 0);
        super::insert_comment(1, "", conn)?;
        let drift: Vec<Drift<i64>> = recount(comments, comments_by_article()).execute(conn)?;
        assert_eq!(drift.len(), 1);
        Ok(())
    }),
    ("delete_counters", |article, conn| {
        let delete = delete_counters(article_counters::table).of(article);
        delete.execute(conn).map(drop)
    }),
];

#[test]
fn whatever_runs_on_a_node_writes_only_rows_of_its_partition() {
    if !HAS_SLOTS {
        return;
    }
    for (name, run) in RUNS {
        let (conn, _database, article) = &mut counted_on_both();
        let [others, own] = by_node(conn);
        let before = article.counter_value(views, conn).unwrap();
        with_default_slot(NODE, || run(article, conn)).unwrap();
        let [others_after, own_after] = by_node(conn);
        assert_eq!(others_after, others, "{name}");
        assert_ne!(own_after, own, "{name}");
        let after = article.counter_value(views, conn).unwrap();
        match name {
            "compact" | "fold into months" | "fold" => {
                assert_eq!(after, before, "{name}");
                let are_merged = own_after.iter().all(|row| row.slot == -1);
                assert!(are_merged, "{name}: {own_after:?}");
            }
            // Each node deletes its own.
            "delete_counters" => {
                assert_eq!(own_after, []);
                assert_eq!(after, others.iter().map(|row| row.views).sum::<i64>());
            }
            "set_counter" => assert_eq!(after, 7),
            _ => {}
        }
    }
}

#[test]
fn after_partitions_are_given_up_a_merge_takes_the_rows_of_all_of_them() {
    for folds in [false, true] {
        let (conn, _database, article) = &mut TestDatabase::with_connection();
        let merge = |conn: &mut Conn| {
            let (table, before) = (article_counters::table, day(2026, 4, 1));
            match folds {
                false => compact(table).before(before).execute(conn),
                true => fold(table).before(before).execute(conn),
            }
        };
        for index in 0..3 {
            with_default_slot(Slot::Partition { index, of: 3 }, || {
                let count = increment(views).of_many([(1_i64, 1), (2, 1)]);
                count.execute(conn).unwrap();
                for on in [day(2026, 1, 3), day(2026, 1, 5)] {
                    count_on(1, on, 10, conn);
                }
                // It locks a row of its own.
                let set = set_counter(comments).of(&*article).to(7);
                set.execute(conn).unwrap();
                merge(conn).unwrap();
            });
        }
        let total = |conn: &mut Conn| article.counter_value((views, comments), conn);
        assert_eq!(total(conn), Ok((63, 7)));
        assert_eq!(merge(conn).unwrap().left, 0);
        // A fold leaves the rows without a day, whose slots `compact` merges.
        let slots = compact(article_counters::table).before(day(2026, 4, 1));
        assert_eq!(slots.execute(conn).unwrap().left, 0);
        assert_eq!(total(conn), Ok((63, 7)));
        let merged = rows(article, conn);
        let merged = merged.iter().filter(|row| row.day < day(2026, 4, 1));
        let slots: Vec<i16> = merged.map(|row| row.slot).collect();
        // The row that corrections lock, and the two days.
        assert_eq!(slots, vec![0; if folds { 1 } else { 3 }]);
        assert_eq!(merge(conn).unwrap().merged, 0);
    }
}

#[test]
fn after_partitions_are_given_up_a_deletion_takes_the_rows_of_all_of_them() {
    let (conn, _database, article) = &mut TestDatabase::with_connection();
    with_default_slot(NODE, || {
        // It leaves a row without counts, which corrections lock.
        let set = set_counter(views).of(&*article).to(0);
        assert_eq!(set.execute(conn), Ok(0));
    });
    assert_eq!(rows(article, conn).len(), 1);
    let all = delete_counters(article_counters::table).of(());
    all.execute(conn).unwrap();
    assert_eq!(rows(article, conn).len(), 0);
}
