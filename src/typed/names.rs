//! The names of tables and columns.

use std::any::TypeId;

use diesel::Column;

use crate::shape::{Name, TableName};

/// Returns a table's name, and its schema if it has one. Both are kept for as long as the program
/// runs.
pub(crate) fn table_name(table: impl RenderName) -> TableName<'static> {
    // For example, `"stats"."article_counters"`. A quote inside a name is doubled.
    let (quote, sql) = table.render();
    let mut is_quoted = false;
    let names = sql.split(|char| {
        is_quoted ^= char == quote;
        char == '.' && !is_quoted
    });
    let names = names.map(|name| {
        let name = name.strip_prefix(quote).unwrap_or(name);
        let name = name.strip_suffix(quote).unwrap_or(name);
        let name = name.replace(&format!("{quote}{quote}"), &quote.to_string());
        Name(name.leak())
    });
    let mut names = Vec::from_iter(names);
    TableName {
        name: names.pop().unwrap_or(Name("")),
        schema: names.pop(),
    }
}

/// A table whose name one of the enabled backends can write.
pub trait RenderName {
    /// Returns the backend's quote character, and the name as SQL.
    #[doc(hidden)]
    fn render(&self) -> (char, String);
}

#[cfg(any(feature = "sqlite", feature = "mysql", feature = "postgres"))]
macro_rules! render_name {
    ($quote:literal, $Backend:expr, $DB:ty) => {
        impl<T: diesel::query_builder::QueryFragment<$DB>> RenderName for T {
            fn render(&self) -> (char, String) {
                use diesel::query_builder::QueryBuilder;
                let mut sql = <$DB as diesel::backend::Backend>::QueryBuilder::default();
                let rendered = self.to_sql(&mut sql, &$Backend);
                rendered.expect("the name of a table is SQL");
                ($quote, sql.finish())
            }
        }
    };
}

#[cfg(feature = "postgres")]
render_name!('"', diesel::pg::Pg, diesel::pg::Pg);
#[cfg(all(feature = "mysql", not(feature = "postgres")))]
render_name!('`', diesel::mysql::Mysql, diesel::mysql::Mysql);
#[cfg(all(feature = "sqlite", not(any(feature = "mysql", feature = "postgres"))))]
render_name!('`', diesel::sqlite::Sqlite, diesel::sqlite::Sqlite);
#[cfg(not(any(feature = "sqlite", feature = "mysql", feature = "postgres")))]
impl<T> RenderName for T {
    fn render(&self) -> (char, String) {
        ('"', String::new())
    }
}

/// Returns the name of the module that `table!` makes: `article_counters` for the type
/// `schema::article_counters::table`.
pub(crate) fn module_name<T>() -> &'static str {
    let path = std::any::type_name::<T>();
    path.rsplit("::").nth(1).unwrap_or(path)
}

/// The columns of a table, with their SQL types: a tuple of up to 32.
#[diagnostic::on_unimplemented(
    message = "a counter table has up to 32 columns",
    label = "this table has more than 32 columns"
)]
pub trait ColumnNames {
    /// Returns the name and the SQL type of every column.
    #[doc(hidden)]
    fn column_names() -> Vec<(Name<'static>, TypeId)>;
}

macro_rules! column_names {
    () => {};
    ($First:ident $($C:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<$First, $($C),*> ColumnNames for ($First, $($C,)*)
        where
            $First: Column<SqlType: 'static>,
            $($C: Column<SqlType: 'static>,)*
        {
            fn column_names() -> Vec<(Name<'static>, TypeId)> {
                vec![
                    (Name($First::NAME), TypeId::of::<$First::SqlType>()),
                    $((Name($C::NAME), TypeId::of::<$C::SqlType>())),*
                ]
            }
        }
        column_names!($($C)*);
    };
}

column_names! {
    A B C D E F G H I J K L M N O P Q R S T U V W X Y Z Aa Ab Ac Ad Ae Af
}
