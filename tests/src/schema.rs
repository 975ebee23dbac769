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
    articles (id) {
        id -> BigInt,
        title -> Text,
        total_views -> BigInt,
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
    file_counters (digest, day, slot) {
        digest -> Binary,
        day -> Date,
        slot -> SmallInt,
        downloads -> BigInt,
    }
}

diesel::table! {
    #[sql_name = r#"odd `"name"#]
    odd_name (the_entity_, select, slot_s) {
        #[sql_name = r#"the "entity`"#]
        the_entity_ -> Integer,
        select -> Date,
        #[sql_name = "slot's"]
        slot_s -> SmallInt,
        #[sql_name = "views; --"]
        views_ -> BigInt,
        #[sql_name = "größe"]
        gr_e -> BigInt,
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
    site_counters (day, slot) {
        day -> Date,
        slot -> SmallInt,
        hits -> BigInt,
        errors -> BigInt,
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

diesel::joinable!(article_counters -> articles (article_id));
diesel::joinable!(comments -> articles (article_id));

diesel::allow_tables_to_appear_in_same_query!(
    article_counters,
    articles,
    comments,
    file_counters,
    odd_name,
    page_counters,
    site_counters,
    user_counters,
);
