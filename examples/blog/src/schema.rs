// @generated automatically by Diesel CLI.

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
    article_likes (article_id, visitor) {
        article_id -> BigInt,
        visitor -> Text,
        created_on -> Date,
    }
}

diesel::table! {
    articles (id) {
        id -> BigInt,
        slug -> Text,
        title -> Text,
        author -> Text,
        body -> Text,
        created_at -> Timestamp,
    }
}

diesel::table! {
    comments (id) {
        id -> BigInt,
        article_id -> BigInt,
        author -> Text,
        body -> Text,
        created_at -> Timestamp,
    }
}

diesel::table! {
    race_articles (id) {
        id -> BigInt,
        comments -> BigInt,
    }
}

diesel::table! {
    race_comments (id) {
        id -> BigInt,
        article_id -> BigInt,
        body -> Text,
    }
}

diesel::table! {
    race_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        comments -> BigInt,
    }
}

diesel::joinable!(article_counters -> articles (article_id));
diesel::joinable!(article_likes -> articles (article_id));
diesel::joinable!(comments -> articles (article_id));
diesel::joinable!(race_counters -> race_articles (article_id));

diesel::allow_tables_to_appear_in_same_query!(
    article_counters,
    article_likes,
    articles,
    comments,
    race_articles,
    race_comments,
    race_counters,
);
