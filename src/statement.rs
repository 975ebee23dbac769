//! What all statements have in common.

/// Implements the traits of a statement without a static query id, and of a query if it has an SQL
/// type. Diesel caches such a statement by its text. There are few texts.
macro_rules! statement {
    ($Statement:ident ($($P:ident),*)) => {
        impl<$($P),*> diesel::query_builder::QueryId for $Statement<$($P),*> {
            type QueryId = ();
            const HAS_STATIC_QUERY_ID: bool = false;
        }
        impl<$($P,)* Conn> diesel::RunQueryDsl<Conn> for $Statement<$($P),*> {}
    };
    ($Statement:ident ($($P:ident),*) -> $SqlType:ty $(where $($bounds:tt)*)?) => {
        statement!($Statement ($($P),*));
        impl<$($P),*> diesel::query_builder::Query for $Statement<$($P),*> $(where $($bounds)*)? {
            type SqlType = $SqlType;
        }
    };
}
