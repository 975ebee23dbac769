//! Keeping counter tables small.

/// The text of a statement depends on the table's layout and on how many rows it has.
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
pub mod fold;
pub mod layout;
pub mod merge;
mod next_rows;
mod one_at_a_time;
mod rows;
mod skipped;
pub mod stored_key;
mod targets;
