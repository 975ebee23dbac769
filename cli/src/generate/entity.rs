//! `--entity`: `article_id:bigint:articles.id`.

use clap::ValueEnum;

use crate::database::{Entity, KeyType};

const HELP: &str =
    "write COLUMN:TYPE or COLUMN:TYPE:TABLE.COLUMN, such as article_id:bigint:articles.id";

pub fn parse(text: &str) -> Result<Entity, String> {
    let mut parts = text.splitn(3, ':');
    let (Some(column), Some(key_type)) = (parts.next(), parts.next()) else {
        return Err(HELP.to_owned());
    };
    let key_type = KeyType::from_str(key_type, true).map_err(|_| {
        format!(
            "there is no type {key_type:?}: the types are smallint, integer, bigint, text, binary \
             and uuid"
        )
    })?;
    let refers_to = parts.next().map(|refers_to| refers_to.rsplit_once('.'));
    let refers_to = match refers_to {
        None => None,
        Some(Some((table, key))) if !table.is_empty() && !key.is_empty() => {
            Some((table.to_owned(), key.to_owned()))
        }
        Some(_) => return Err(HELP.to_owned()),
    };
    match column {
        "" => Err(HELP.to_owned()),
        column => Ok(Entity {
            column: column.to_owned(),
            key_type,
            refers_to,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_column_a_type_and_what_it_refers_to() {
        let entity = parse("article_id:bigint:blog.articles.id").unwrap();
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
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
