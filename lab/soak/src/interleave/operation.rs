//! The operations, and what runs them.

use clap::ValueEnum;

/// What runs beside others. Each works on article 1, and some on article 2 too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Operation {
    /// Increments the views of article 1
    Increment,
    /// Increments the views of articles 1 and 2 in one statement
    Many,
    /// Increments the views of a day that compact and fold merge
    Past,
    /// Increments views at the end of a `counting_transaction`
    CountingTransaction,
    /// Increments the views of articles 1 and 2 through a `CounterBuffer`
    Buffer,
    /// Inserts a comment and counts it in one statement, on PostgreSQL
    Counting,
    /// Inserts a comment, and counts it, in one transaction
    Comment,
    /// Deletes a comment, and counts it if it existed, in one transaction
    Uncomment,
    /// Sets the views of article 1
    Set,
    /// Sets the views of today, of article 1
    SetDay,
    /// Sets the views of two days of articles 1 and 2
    SetDays,
    /// Increments the views in a transaction, and sets them in another
    CountThenSet,
    /// Recounts the comments of article 1
    Recount,
    /// Recounts the comments of article 1 by day
    RecountByDay,
    /// Sets the likes of article 1, which triggers count
    SetLikes,
    /// Recounts the likes of article 1
    RecountLikes,
    /// Recounts the comments of all articles
    RecountAll,
    /// Recounts the comments of all articles by day
    RecountAllByDay,
    /// Deletes the counters of article 1
    Delete,
    /// Deletes the counters of articles 1 and 2
    DeleteMany,
    /// Merges the slots of old days
    Compact,
    /// Merges old days
    Fold,
    /// Merges old days into months
    FoldMonths,
    /// Copies the views into a column
    Materialize,
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
    /// Increments label a of article 1
    Label,
    /// Increments labels a and b of article 1 in one statement
    ManyLabels,
    /// Sets label a of article 1
    SetLabel,
    /// Deletes the counters of label a of article 1
    DeleteLabel,
    /// Deletes the counters of all labels of article 1
    DeleteLabels,
    /// Recounts label a of article 1
    RecountLabel,
    /// Recounts all labels of article 1
    RecountLabels,
    /// Merges the slots of old days of labels
    CompactLabels,
    /// Takes two tickets of article 1
    Take,
    /// Puts a ticket of article 1 back
    PutBack,
    /// Puts two tickets of article 1 back and takes two, in one transaction
    Exchange,
    /// Sets the number of tickets of article 1
    SetStock,
    /// Deletes the tickets of article 1
    DeleteStock,
    /// Merges the slots of tickets
    CompactStock,
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

use Operation::*;

impl Operation {
    /// The operations of a database that are not planted faults.
    pub fn all(on: Database) -> Vec<Operation> {
        let all = Operation::value_variants().iter().copied();
        all.filter(|operation| *operation < PlantedCommandRecount && operation.runs_on(on))
            .collect()
    }

    /// Whether the database has the statement of this operation.
    pub fn runs_on(self, on: Database) -> bool {
        on == Database::Postgres || !matches!(self, Counting | TruncateLikes)
    }

    /// The transactions in which it can run.
    pub fn contexts(self) -> &'static [Context] {
        match self {
            // They begin their own and end it.
            Buffer | Compact | Fold | FoldMonths | RecountTriggers | RecountColumn
            | CountThenSet | CompactLabels | CompactStock => &[Context::Own],
            // They are the caller's transactions.
            Comment | Uncomment | ReplaceArticle | Exchange => &[Context::Caller, Context::Read],
            planted if planted >= PlantedCommandRecount => &[Context::Own],
            _ => &[Context::Own, Context::Caller, Context::Read],
        }
    }

    /// The number of its transactions, each of which commits by itself.
    pub fn transactions(self) -> usize {
        match self {
            CountThenSet | PlantedCountThenSet => 2,
            _ => 1,
        }
    }

    /// Whether it reads, and then writes what it has read in other transactions or with another
    /// snapshot. Then articles are compared one by one, and after an error it may have run or not.
    pub fn is_in_parts(self) -> bool {
        matches!(
            self,
            Buffer
                | Compact
                | Fold
                | FoldMonths
                | Materialize
                | RecountAll
                | RecountAllByDay
                | RecountTriggers
                | RecountColumn
                | DeleteLabels
                | RecountLabels
                | CompactLabels
                | CompactStock
                | PlantedCompact
        )
    }

    /// Whether what it returns has to be that of a serial order. The number of rows that were
    /// merged or copied is not compared, and nor is what a statement of the application returns.
    pub fn returns_what_is_compared(self) -> bool {
        !self.is_in_parts() && !self.writes_rows()
    }

    /// Whether it writes the rows that are counted, or articles, and not only counters.
    pub fn writes_rows(self) -> bool {
        let likes = matches!(self, Like | MoveLikes | Unlike | TruncateLikes);
        let comments = matches!(self, Counting | Comment | Uncomment | PlantedComment);
        likes || comments || self.deletes_articles()
    }

    /// The number of its counter table: 0 for that of articles, 1 for that of labels, whose key has
    /// two columns, and 2 for that of tickets.
    pub fn table(self) -> u8 {
        let tables = [Label..=CompactLabels, Take..=CompactStock];
        let place = tables.iter().position(|of| of.contains(&self));
        place.map_or(0, |place| place as u8 + 1)
    }

    /// Whether it may use a table that the other operation uses. If not, their pair is left out.
    pub fn meets(self, other: Operation) -> bool {
        let tables = [self.table(), other.table()];
        // A recount of labels counts the rows of comments.
        let labels = |one| matches!(one, Comment | Uncomment) && tables.contains(&1);
        let is_of_both = |one: Operation| labels(one) || one.deletes_articles();
        tables[0] == tables[1] || is_of_both(self) || is_of_both(other)
    }

    pub fn deletes_articles(self) -> bool {
        matches!(self, DeleteArticle | ReplaceArticle)
    }
}
