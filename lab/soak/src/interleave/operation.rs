//! What the enumerator runs beside each other: the scripts of the library's operations, and what only
//! it knows.

use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use diesel_counters::Period;
use diesel_counters_tests::operations::{self, Script};
use diesel_counters_tests::tables::Table;

/// What runs beside others. Each works on article 1, and some on article 2 too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// The place of a script among those of the library's operations.
    Library(usize),
    Own(Own),
}

/// The operations of an application, and planted faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Own {
    /// Increments the views of articles 1 and 2 through a `CounterBuffer`
    Buffer,
    /// Inserts a comment and counts it in one statement, on PostgreSQL
    Counting,
    /// Inserts a comment, and counts it, in one transaction
    Comment,
    /// Deletes a comment, and counts it if it existed, in one transaction
    Uncomment,
    /// Increments the views in a transaction, and sets them in another
    CountThenSet,
    /// Sets the likes of article 1, which triggers count
    SetLikes,
    /// Recounts the likes of article 1
    RecountLikes,
    /// Inserts a like, which a trigger counts
    Like,
    /// Moves the likes of article 1 to article 2
    MoveLikes,
    /// Deletes the likes of article 1
    Unlike,
    /// Truncates the likes, on PostgreSQL
    TruncateLikes,
    /// Deletes article 1, and by cascade its rows and counters
    DeleteArticle,
    /// Deletes article 1, and inserts it again
    ReplaceArticle,
    /// Corrects what the triggers count in slots
    RecountTriggers,
    /// Corrects what the triggers count in a column
    RecountColumn,
    /// Puts two tickets of article 1 back and takes two, in one transaction
    Exchange,
    /// Planted: the command's recount under a lock of its own, beside which `planted-set` sets
    #[value(hide = true)]
    PlantedCommandRecount,
    /// Planted: sets the views, adding them up without locking the rows
    #[value(hide = true)]
    PlantedSet,
    /// Planted: counts, and sets as `planted-set`
    #[value(hide = true)]
    PlantedCountThenSet,
    /// Planted: deletes the counters, and locks nothing if there are none
    #[value(hide = true)]
    PlantedDelete,
    /// Planted: merges without locking the rows
    #[value(hide = true)]
    PlantedCompact,
    /// Planted: sets the count to 0, and then counts the rows
    #[value(hide = true)]
    PlantedRecount,
    /// Planted: compares the count with its rows, and then corrects it in another transaction
    #[value(hide = true)]
    PlantedRecountWithoutALock,
    /// Planted: deletes the counters in one statement
    #[value(hide = true)]
    PlantedDeleteInOneStatement,
    /// Planted: counts a comment before the transaction that inserts it
    #[value(hide = true)]
    PlantedComment,
    /// Planted: counts, and a row is lost afterwards
    #[value(hide = true)]
    PlantedLoss,
}

/// The transaction in which an operation runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Context {
    /// In one of its own, if it begins one
    Own,
    /// In the caller's
    Caller,
    /// In the caller's, which has read before
    Read,
}

/// The databases on which different operations run. MariaDB is MySQL here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    Postgres,
    Mysql,
    Sqlite,
}

static SCRIPTS: LazyLock<Vec<Script>> = LazyLock::new(operations::Operation::scripts);

static ALL: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    let library = (0..SCRIPTS.len()).map(Operation::Library);
    let own = Own::value_variants().iter().copied();
    library.chain(own.map(Operation::Own)).collect()
});

impl ValueEnum for Operation {
    fn value_variants<'a>() -> &'a [Self] {
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Operation::Library(place) => {
                let script = &SCRIPTS[*place];
                Some(PossibleValue::new(script.name).help(script.does))
            }
            Operation::Own(own) => own.to_possible_value(),
        }
    }
}

impl From<Own> for Operation {
    fn from(own: Own) -> Self {
        Operation::Own(own)
    }
}

impl Operation {
    /// The operations of a database that are not planted faults.
    pub fn all(on: Database) -> Vec<Operation> {
        let all = Operation::value_variants().iter().copied();
        all.filter(|operation| !operation.is_planted() && operation.runs_on(on))
            .collect()
    }

    /// The operation of this name. Panics if there is none.
    pub fn named(name: &str) -> Operation {
        Operation::from_str(name, false).expect("an operation has this name")
    }

    /// The script, if it is one of the library's operations.
    pub fn script(self) -> Option<&'static Script> {
        match self {
            Operation::Library(place) => Some(&SCRIPTS[place]),
            Operation::Own(_) => None,
        }
    }

    /// The library's operation that the first connection runs.
    fn library(self) -> Option<operations::Operation> {
        self.script().map(|script| (script.operation)(1))
    }

    fn is_planted(self) -> bool {
        matches!(self, Operation::Own(own) if own >= Own::PlantedCommandRecount)
    }

    /// Whether it is one of the application's.
    fn is_any_of(self, own: &[Own]) -> bool {
        own.iter().any(|own| self == (*own).into())
    }

    /// Whether the database has the statement of this operation.
    pub fn runs_on(self, on: Database) -> bool {
        on == Database::Postgres || !self.is_any_of(&[Own::Counting, Own::TruncateLikes])
    }

    /// The transactions in which it can run.
    pub fn contexts(self) -> &'static [Context] {
        let begins = self.library().is_some_and(|one| one.begins_transactions());
        let begins_and_ends = [
            Own::Buffer,
            Own::RecountTriggers,
            Own::RecountColumn,
            Own::CountThenSet,
        ];
        let in_the_callers = [
            Own::Comment,
            Own::Uncomment,
            Own::ReplaceArticle,
            Own::Exchange,
        ];
        if begins || self.is_planted() || self.is_any_of(&begins_and_ends) {
            &[Context::Own]
        } else if self.is_any_of(&in_the_callers) {
            &[Context::Caller, Context::Read]
        } else {
            &[Context::Own, Context::Caller, Context::Read]
        }
    }

    /// The number of its transactions, each of which commits by itself.
    pub fn transactions(self) -> usize {
        if self.is_any_of(&[Own::CountThenSet, Own::PlantedCountThenSet]) {
            2
        } else {
            1
        }
    }

    /// Whether it reads, and then writes what it has read in other transactions or with another
    /// snapshot. Then articles are compared one by one, and after an error it may have run or not.
    pub fn is_in_parts(self) -> bool {
        let own = [
            Own::Buffer,
            Own::RecountTriggers,
            Own::RecountColumn,
            Own::PlantedCompact,
        ];
        self.library().is_some_and(|one| one.is_in_parts()) || self.is_any_of(&own)
    }

    /// The period into which it merges days.
    pub fn merges_days_into(self) -> Option<Period> {
        self.library()?.merges_days_into()
    }

    /// Whether it copies totals into a column.
    pub fn copies_totals(self) -> bool {
        matches!(self.library(), Some(operations::Operation::Materialize(_)))
    }

    /// Whether what it returns has to be that of a serial order. The number of rows that were
    /// merged or copied is not compared, and nor is what a statement of the application returns.
    pub fn returns_what_is_compared(self) -> bool {
        !self.is_in_parts() && !self.writes_rows()
    }

    /// Whether it writes the rows that are counted, or articles, and not only counters.
    pub fn writes_rows(self) -> bool {
        let likes = [Own::Like, Own::MoveLikes, Own::Unlike, Own::TruncateLikes];
        let comments = [
            Own::Counting,
            Own::Comment,
            Own::Uncomment,
            Own::PlantedComment,
        ];
        self.is_any_of(&likes) || self.is_any_of(&comments) || self.deletes_articles()
    }

    /// The table of its counters.
    fn table(self) -> Table {
        match self.script() {
            Some(script) => script.table,
            None if self == Own::Exchange.into() => Table::Tickets,
            None => Table::ARTICLES,
        }
    }

    /// Whether it may use a table that the other operation uses. If not, their pair is left out.
    pub fn meets(self, other: Operation) -> bool {
        let tables = [self.table(), other.table()];
        // A recount of labels counts the rows of comments.
        let labels = |one: Operation| {
            one.is_any_of(&[Own::Comment, Own::Uncomment]) && tables.contains(&Table::LABELS)
        };
        let is_of_both = |one: Operation| labels(one) || one.deletes_articles();
        tables[0] == tables[1] || is_of_both(self) || is_of_both(other)
    }

    pub fn deletes_articles(self) -> bool {
        self.is_any_of(&[Own::DeleteArticle, Own::ReplaceArticle])
    }
}
