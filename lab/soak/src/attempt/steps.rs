//! What each step does.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use diesel::prelude::*;
use diesel_counters::counting_transaction;
use diesel_counters::dsl::{put_back, set_counter};
use diesel_counters::prelude::*;

use super::super::reads::read_values;
use super::super::{Conn, like, planted};
use super::{Attempt, Comment, Stop, Writer};
use crate::fault::Fault;
use crate::history::Step;
use crate::record::{Cell, Kind, NO_DAY, Value};
use crate::tables::article_counters::dsl::{comments, views};
use crate::tables::tickets::dsl::remaining;
use crate::tables::{self, TODAY, article_likes, day};

impl Attempt {
    pub(super) fn step(&mut self, step: &Step, of: &Writer, conn: &mut Conn) -> Result<(), Stop> {
        let run = of.run;
        match *step {
            Step::Count((article, on, amount)) => {
                let count = increment(views).of(article).by(amount).on(day(on));
                // With this fault, `planted::count_before` has run it.
                if !run.has(Fault::CountOutsideOfTheTransaction) {
                    count.execute(conn)?;
                }
                self.expect_increment(article, Kind::Views, on, amount);
            }
            Step::CountMany(on, ref amounts) => {
                let many = increment(views).on(day(on));
                many.of_many(amounts.iter().copied()).execute(conn)?;
                for &(article, amount) in amounts {
                    self.expect_increment(article, Kind::Views, on, amount);
                }
            }
            Step::CountLast(ref amounts) => {
                let counts = amounts.iter().map(|&(article, on, amount)| {
                    let count = increment(views).of(article).by(amount);
                    count.on(day(on))
                });
                counting_transaction(conn, |tx| {
                    counts.for_each(|count| tx.count(count));
                    QueryResult::Ok(())
                })?;
                for &(article, on, amount) in amounts {
                    self.expect_increment(article, Kind::Views, on, amount);
                }
            }
            Step::Comment((article, on, amount)) => {
                let id = run.next_id();
                diesel::insert_into(tables::comments::table)
                    .values((
                        tables::comments::id.eq(id),
                        tables::comments::article_id.eq(article),
                        tables::comments::day.eq(day(on)),
                    ))
                    .execute(conn)?;
                let count = increment((views, comments)).of(article);
                count.by((amount, 1)).on(day(on)).execute(conn)?;
                self.expect_increment(article, Kind::Views, on, amount);
                self.expect_increment(article, Kind::Comments, on, 1);
                self.expect(article, Kind::CommentRows, on, 1);
                self.comments.push(Comment {
                    id,
                    article,
                    day: on,
                });
            }
            Step::Uncomment => {
                let mut own = of.comments.iter();
                let Some(comment) = own.find(|own| !self.uncommented.contains(&own.id)) else {
                    return Ok(());
                };
                let row = tables::comments::table.find(comment.id);
                let rows = diesel::delete(row).execute(conn)?;
                if rows == 1 {
                    let count = increment(comments).of(comment.article).by(-1);
                    count.on(day(comment.day)).execute(conn)?;
                    self.expect_increment(comment.article, Kind::Comments, comment.day, -1);
                    self.expect(comment.article, Kind::CommentRows, comment.day, -1);
                    self.uncommented.push(comment.id);
                }
            }
            Step::Like { article, user } => {
                let rows = like(article, user, conn)?;
                self.liked(article, rows as i64);
            }
            Step::Unlike { article, user } => {
                let like = article_likes::table.find((article, user));
                let rows = diesel::delete(like).execute(conn)?;
                self.liked(article, -(rows as i64));
            }
            Step::Set { article, to } => {
                let from = self.lock_from();
                let before = set_counter(views).of(article).to(to).execute(conn)?;
                let value = Value::sum(Cell::of(article, Kind::Views), before);
                self.see(from, vec![value]);
                self.expect(article, Kind::Views, TODAY, to - before);
            }
            Step::Take { article, units } => {
                let from = self.refusal_from();
                let is_taken = planted::take_tickets(article, units, run.settings.fault, conn)?;
                if is_taken {
                    self.expect(article, Kind::Tickets, NO_DAY, -units);
                    self.takes += 1;
                } else {
                    self.refusals += 1;
                    if self.sees_a_mixture_of_tickets(article) {
                        run.tally.not_checked.fetch_add(1, Relaxed);
                    } else {
                        // Fewer units were left than it wanted, at some moment from then on.
                        let left = Value::sum(Cell::of(article, Kind::Tickets), units - 1);
                        let left = Value {
                            at_most: true,
                            ..left
                        };
                        self.see(from, vec![left]);
                    }
                }
                // It can have read what is left before it locked, which takes the snapshot. Its own
                // effect can then be later, but no `Read` adds up tickets.
                self.snapshot.get_or_insert(self.effects.len());
            }
            Step::PutBack { article, units } => {
                put_back(remaining).of(article).by(units).execute(conn)?;
                self.expect(article, Kind::Tickets, NO_DAY, units);
            }
            Step::SetStock { article, to } => {
                let from = self.lock_from();
                let before = set_counter(remaining).of(article).to(to).execute(conn)?;
                let value = Value::sum(Cell::of(article, Kind::Tickets), before);
                self.see(from, vec![value]);
                self.expect(article, Kind::Tickets, NO_DAY, to - before);
                self.fills += u64::from(before == 0);
            }
            // The rows of `counted` do not have it, and nothing else is left of a killed client.
            Step::Miscount { .. } if run.is_client() => {}
            Step::Miscount { article, amount } => {
                let count = increment(comments).of(article).by(amount);
                count.execute(conn)?;
                self.expect_increment(article, Kind::Comments, TODAY, amount);
            }
            Step::Read(read) => {
                if self.has_an_older_snapshot() {
                    run.tally.not_checked.fetch_add(1, Relaxed);
                    return Ok(());
                }
                let from = self.snapshot_from();
                let values = read_values(read, conn)?;
                self.see(from, values);
                self.snapshot.get_or_insert(self.effects.len());
            }
            Step::Savepoint { ref steps, fails } => {
                let before = self.clone();
                let result = conn.transaction(|conn| {
                    self.steps(steps, of, conn)?;
                    if fails { Err(Stop::Planned) } else { Ok(()) }
                });
                match result {
                    Err(Stop::Planned) if fails => {
                        // The savepoint is rolled back, and what was read in it stays true. The
                        // snapshot that a query in it took stays that of the transaction.
                        let effects = before.effects.len();
                        *self = Attempt {
                            snapshot: self.snapshot.map(|taken| taken.min(effects)),
                            seen: std::mem::take(&mut self.seen),
                            ..before
                        };
                    }
                    result => result?,
                }
            }
            Step::Pause(milliseconds) => {
                std::thread::sleep(Duration::from_millis(milliseconds.into()));
            }
        }
        Ok(())
    }

    fn liked(&mut self, article: i64, rows: i64) {
        if rows != 0 {
            self.expect(article, Kind::LikeRows, NO_DAY, rows);
            self.expect_increment(article, Kind::Likes, NO_DAY, rows);
        }
    }
}
