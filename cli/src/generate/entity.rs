//! What is counted for: `article_id:bigint:articles.id`.

use std::str::FromStr;

use diesel_counters::Dialect;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    pub column: String,
    pub key_type: KeyType,
    /// A table and a column of it.
    pub refers_to: Option<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyType {
    SmallInt,
    Integer,
    BigInt,
    Text,
    Binary,
    Uuid,
}

const HELP: &str =
    "write COLUMN:TYPE or COLUMN:TYPE:TABLE.COLUMN, such as article_id:bigint:articles.id";

impl FromStr for Entity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(3, ':');
        let (column, key_type) = match (parts.next(), parts.next()) {
            (Some(column), Some(key_type)) if !column.is_empty() => (column, key_type.parse()?),
            _ => return Err(HELP.to_owned()),
        };
        let refers_to = match parts.next().map(|refers_to| refers_to.rsplit_once('.')) {
            None => None,
            Some(Some((table, column))) if !table.is_empty() && !column.is_empty() => {
                Some((table.to_owned(), column.to_owned()))
            }
            Some(_) => return Err(HELP.to_owned()),
        };
        Ok(Entity {
            column: column.to_owned(),
            key_type,
            refers_to,
        })
    }
}

impl FromStr for KeyType {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Ok(match name.to_lowercase().as_str() {
            "smallint" => KeyType::SmallInt,
            "integer" => KeyType::Integer,
            "bigint" => KeyType::BigInt,
            "text" => KeyType::Text,
            "binary" => KeyType::Binary,
            "uuid" => KeyType::Uuid,
            _ => {
                return Err(format!(
                    "there is no type {name:?}: the types are smallint, integer, bigint, text, binary and uuid"
                ));
            }
        })
    }
}

impl KeyType {
    pub fn sql(self, dialect: Dialect) -> &'static str {
        match (self, dialect) {
            (KeyType::SmallInt, _) => "SMALLINT",
            (KeyType::Integer, _) => "INTEGER",
            (KeyType::BigInt, _) => "BIGINT",
            (KeyType::Text, Dialect::MySql) => "VARCHAR(255)",
            (KeyType::Text, _) => "TEXT",
            (KeyType::Binary, Dialect::PostgreSql) => "BYTEA",
            (KeyType::Binary, Dialect::MySql) => "VARBINARY(255)",
            (KeyType::Uuid, Dialect::PostgreSql) => "UUID",
            (KeyType::Uuid, Dialect::MySql) => "BINARY(16)",
            (KeyType::Binary | KeyType::Uuid, Dialect::Sqlite) => "BLOB",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_column_a_type_and_what_it_refers_to() {
        let entity: Entity = "article_id:bigint:blog.articles.id".parse().unwrap();
        let refers_to = Some(("blog.articles".to_owned(), "id".to_owned()));
        let expected = Entity {
            column: "article_id".to_owned(),
            key_type: KeyType::BigInt,
            refers_to,
        };
        assert_eq!(entity, expected);
        for wrong in [
            "",
            "id",
            ":bigint",
            "id:int4",
            "id:bigint:articles",
            "id:bigint:.id",
        ] {
            assert!(wrong.parse::<Entity>().is_err(), "{wrong}");
        }
    }
}
