//! Merging the rows of counter tables, and copying totals.

/// Implements `RunQueryDsl` and `QueryId` for a statement, and `Query` if it returns rows. The text
/// depends on the layout of the table and on the number of rows, so there is no static id.
macro_rules! statement {
    ($Statement:ident $generics:tt) => {
        statement!(@impl QueryId for $Statement $generics {
            type QueryId = ();
            const HAS_STATIC_QUERY_ID: bool = false;
        });
        statement!(@impl RunQueryDsl<Conn> for $Statement $generics {});
    };
    ($Statement:ident $generics:tt -> $SqlType:ty) => {
        statement!($Statement $generics);
        statement!(@impl Query for $Statement $generics {
            type SqlType = $SqlType;
        });
    };
    (@impl RunQueryDsl<Conn> for $Statement:ident ($($P:ident),*) {}) => {
        impl<$($P,)* Conn> RunQueryDsl<Conn> for $Statement<$($P),*> {}
    };
    (@impl $Trait:ident for $Statement:ident ($($P:ident),*) { $($body:tt)* }) => {
        impl<$($P),*> $Trait for $Statement<$($P),*> { $($body)* }
    };
}

pub mod compact;
#[cfg(feature = "r2d2")]
pub mod compactor;
pub mod materialize;
pub mod merge;
mod range;
mod skipped;
pub mod statements;
