//! `--entity`: `article_id:bigint:articles.id`.

use clap::ValueEnum;

use super::create_table::{Entity, KeyType};

const HELP: &str =
    "write COLUMN:TYPE or COLUMN:TYPE:TABLE.COLUMN, such as article_id:bigint:articles.id";

pub fn parse(text: &str) -> Result<Entity, String> {
    let parts: Vec<&str> = text.splitn(3, ':').collect();
    let (column, key_type, refers_to) = match *parts {
        [column, key_type] => (column, key_type, None),
        [column, key_type, key] => (column, key_type, Some(key.rsplit_once('.').ok_or(HELP)?)),
        _ => return Err(HELP.to_owned()),
    };
    if column.is_empty() || refers_to.is_some_and(|(table, key)| table.is_empty() || key.is_empty())
    {
        return Err(HELP.to_owned());
    }
    let key_type = KeyType::from_str(key_type, true).map_err(|_| {
        format!(
            "there is no type {key_type:?}: the types are smallint, integer, bigint, text, binary \
             and uuid"
        )
    })?;
    Ok(Entity {
        column: column.to_owned(),
        key_type,
        refers_to: refers_to.map(|(table, key)| (table.to_owned(), key.to_owned())),
    })
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
