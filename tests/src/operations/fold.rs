//! `fold`.

use diesel_counters::dsl::fold;

use super::*;
use crate::examples::*;

/// Merges days before this one into periods, and returns how many rows it has merged, and how many it
/// has left.
#[derive(Debug, Clone)]
pub struct Fold {
    pub per: Period,
    pub before: NaiveDate,
    /// The number of rows in a transaction.
    pub batch: usize,
}

impl Describe for Fold {
    const WEIGHT: u32 = 2;

    fn random() -> impl Strategy<Value = Self> {
        let all = (values::period(), values::a_day(), 1..5_usize);
        all.prop_map(|(per, before, batch)| Fold { per, before, batch })
    }

    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned> {
        if place.in_transaction {
            return Err(Fault::Refused);
        }
        let folded = |day| map::folded(day, self.per, self.before, place.period());
        for ((of, day, counter), n) in std::mem::take(&mut map.counts) {
            let day = folded(day).unwrap_or(day);
            *map.counts.entry((of, day, counter)).or_default() += n;
        }
        let rows = place.rows.keys();
        let is_merged = |day, slot| folded(day).is_some_and(|into| into != day || slot > 0);
        let merged = rows.filter(|(_, day, slot)| is_merged(*day, *slot)).count();
        Ok(vec![(None, None, vec![merged as i64, 0])])
    }

    fn begins_transactions(&self) -> bool {
        true
    }

    fn is_in_parts(&self) -> bool {
        true
    }

    fn merges_days_into(&self) -> Option<Period> {
        Some(self.per)
    }

    fn scripts() -> Vec<Script> {
        fn fold(per: Period) -> Operation {
            Fold {
                per,
                before: tables::folded_before(),
                batch: 100,
            }
            .into()
        }
        vec![
            Script {
                name: "fold",
                does: "Merges old days",
                table: Table::ARTICLES,
                operation: |_| fold(Period::Total),
            },
            Script {
                name: "fold-months",
                does: "Merges old days into months",
                table: Table::ARTICLES,
                operation: |_| fold(Period::Month),
            },
        ]
    }
}

run!(Fold, on_table, |self, conn| {
    let merge = fold(counters).per(self.per).before(self.before);
    let done = merge.batch(self.batch).execute(conn)?;
    Ok(vec![(
        None,
        None,
        vec![done.merged as i64, done.left as i64],
    )])
});

examples!(Fold, |conn| {
    fold_into_weeks: fold(article_counters::table).per(Period::Week).before(day(2026, 4, 1)).execute(conn);
    fold_into_months: fold(article_counters::table).per(Period::Month).before(day(2026, 4, 1)).execute(conn);
    fold_into_years: fold(article_counters::table).per(Period::Year).before(day(2027, 4, 1)).execute(conn);
    fold: fold(article_counters::table).before(day(2026, 4, 1)).execute(conn);
});
