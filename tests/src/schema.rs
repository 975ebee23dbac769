//! The tests' tables, as `diesel print-schema` prints them.

diesel::table! {
    articles (id) {
        id -> BigInt,
        title -> Text,
    }
}

diesel::table! {
    comments (id) {
        id -> BigInt,
        article_id -> BigInt,
        body -> Text,
    }
}

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
        likes -> BigInt,
        comments -> BigInt,
    }
}

diesel::table! {
    user_counters (user_id, day, slot) {
        user_id -> Integer,
        day -> Date,
        slot -> SmallInt,
        visits -> BigInt,
    }
}

diesel::table! {
    page_counters (path, day, slot) {
        path -> Text,
        day -> Date,
        slot -> SmallInt,
        hits -> BigInt,
    }
}

diesel::table! {
    file_counters (digest, day, slot) {
        digest -> Binary,
        day -> Date,
        slot -> SmallInt,
        downloads -> BigInt,
    }
}

diesel::table! {
    #[sql_name = "odd `\"name"]
    odd_counters (entity, day, slot) {
        #[sql_name = "the \"entity`"]
        entity -> BigInt,
        #[sql_name = "select"]
        day -> Date,
        #[sql_name = "slot's"]
        slot -> SmallInt,
        #[sql_name = "views; --"]
        views -> BigInt,
        #[sql_name = "Größe"]
        size -> BigInt,
    }
}

/// A counter table named with its schema, which is called otherwise on each
/// database.
#[macro_export]
macro_rules! table_in_schema {
    ($schema:ident) => {
        diesel::table! {
            $schema.qualified_counters (entity_id, day, slot) {
                entity_id -> BigInt,
                day -> Date,
                slot -> SmallInt,
                views -> BigInt,
            }
        }
    };
}
