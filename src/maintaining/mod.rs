//! Keeping counter tables small, and copying totals.

/// A statement whose text depends on the layout of its table, and on its number of rows.
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
