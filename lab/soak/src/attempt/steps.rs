//! What each step does.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use diesel::prelude::*;
use diesel_counters_tests::operations::{Increment, Operation, Run};

use super::super::reads::{read_likes, values};
use super::super::{Conn, like, planted};
use super::{Attempt, Comment, Stop, Writer, number_in};
use crate::fault::Fault;
use crate::history::Step;
use crate::record::{Cell, Kind, NO_DAY, Value};
use crate::tables::{self, TODAY, Table, article_likes, day, entity};

impl Attempt {
    pub(super) fn step(&mut self, step: &Step, of: &Writer, conn: &mut Conn) -> Result<(), Stop> {
        let run = of.run;
        match *step {
            // With this fault, `planted::count_before` has run it.
            Step::Add(ref count @ Operation::Increment(_))
                if run.has(Fault::CountOutsideOfTheTransaction) =>
            {
                self.expect_added(count);
            }
            Step::Add(ref operation) => self.add(operation.clone(), conn)?,
            Step::Comment((article, on, amount)) => {
                let id = run.next_id();
                diesel::insert_into(tables::comments::table)
                    .values((
                        tables::comments::id.eq(id),
                        tables::comments::article_id.eq(article),
                        tables::comments::day.eq(day(on)),
                    ))
                    .execute(conn)?;
                let count = Increment {
                    of: entity(article, on),
                    by: [amount, 1],
                    on: Some(day(on)),
                };
                self.add(count, conn)?;
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
                    let count = Increment {
                        of: entity(comment.article, comment.day),
                        by: [0, -1],
                        on: Some(day(comment.day)),
                    };
                    self.add(count, conn)?;
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
            Step::Set(ref set) => {
                let from = self.lock_from();
                let before = number_in(set.run(Table::ARTICLES, conn)?);
                let article = set.of.number;
                let value = Value::sum(Cell::of(article, Kind::Views), before);
                self.see(from, vec![value]);
                self.expect(article, Kind::Views, TODAY, set.to - before);
            }
            Step::Take(ref take) => {
                let from = self.refusal_from();
                let article = take.of.number;
                if planted::take_tickets(take, run.settings.fault, conn)? {
                    self.expect(article, Kind::Tickets, NO_DAY, -take.units);
                    self.takes += 1;
                } else {
                    self.refusals += 1;
                    if self.sees_a_mixture_of_tickets(article) {
                        run.tally.not_checked.fetch_add(1, Relaxed);
                    } else {
                        // Fewer units were left than it wanted, at some moment from then on.
                        let left = Value::sum(Cell::of(article, Kind::Tickets), take.units - 1);
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
            Step::SetStock(ref set) => {
                let from = self.lock_from();
                let before = number_in(set.run(Table::Tickets, conn)?);
                let article = set.of.number;
                let value = Value::sum(Cell::of(article, Kind::Tickets), before);
                self.see(from, vec![value]);
                self.expect(article, Kind::Tickets, NO_DAY, set.to - before);
                self.fills += u64::from(before == 0);
            }
            // The rows of `counted` do not have it, and nothing else is left of a killed client.
            Step::Miscount(_) if run.is_client() => {}
            Step::Miscount(ref count) => self.add(count.clone(), conn)?,
            Step::Read(_) | Step::ReadLikes if self.has_an_older_snapshot() => {
                run.tally.not_checked.fetch_add(1, Relaxed);
            }
            Step::Read(ref operation) => {
                let from = self.snapshot_from();
                let returned = operation.run(Table::ARTICLES, conn)?;
                self.see(from, values(returned));
                self.snapshot.get_or_insert(self.effects.len());
            }
            Step::ReadLikes => {
                let from = self.snapshot_from();
                let values = read_likes(conn)?;
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
