//! What `#[derive(HasCounters)]` makes of its attributes.

use diesel_counters::HasCounters;
use diesel_counters_tests::models::{File, NumberedArticle, Page, Visitor};
use diesel_counters_tests::schema::article_counters;

#[test]
fn the_key_is_the_field_of_the_primary_keys_column() {
    let visitor = Visitor { id: 7, name: "Ada" };
    assert_eq!((visitor.counter_key(), visitor.name), (&7, "Ada"));
    let article = NumberedArticle {
        number: 3,
        id: "99".into(),
    };
    assert_eq!(article.counter_key(), &3);
    let page = Page { url: "/".into() };
    assert_eq!(page.counter_key(), "/");
    assert_eq!(File(vec![1]).counter_key(), &[1]);
    let odd = OddColumns {
        place: "b",
        number: 5,
    };
    assert_eq!((odd.counter_key(), odd.place), (&5, "b"));
}

/// The names of the columns are two words and a keyword. The `>` of `Signed<-1>` is not that of a
/// `->`.
#[derive(HasCounters)]
#[diesel(primary_key(r#type))]
#[counters(table_name = article_counters)]
struct OddColumns {
    #[diesel(column_name = "two words")]
    place: &'static str,
    #[diesel(deserialize_as = Signed<-1>, column_name = "type")]
    number: i64,
}

/// Counters that triggers count. The other `table!` of the same table stands for the trigger.
mod counted_by_database {
    use diesel::prelude::*;
    use diesel_counters::dsl::{delete_counters, recount};
    use diesel_counters::prelude::*;
    use diesel_counters::{CounterTable, counter_table};
    use diesel_counters_tests::schema::article_counters;

    use post_counters::{comments, hearts};

    use crate::TestDatabase;
    use crate::behaviour::{added, comments_by_article};

    diesel::table! {
        #[sql_name = "articles"]
        posts (id) {
            id -> BigInt,
            total_views -> BigInt,
        }
    }
    diesel::table! {
        #[sql_name = "article_counters"]
        post_counters (article_id, day, slot) {
            article_id -> BigInt,
            day -> Date,
            slot -> SmallInt,
            #[sql_name = "likes"]
            hearts -> BigInt,
            comments -> BigInt,
            views -> BigInt,
        }
    }
    counter_table! {
        post_counters {
            parent = posts::id,
            counted_by_database = (hearts, comments,),
        }
    }

    diesel::table! {
        odd_counters (id, day, slot) {
            id -> BigInt,
            day -> Date,
            slot -> SmallInt,
            #[sql_name = "größe"]
            gr_e -> BigInt,
            r#type -> BigInt,
        }
    }
    counter_table!(odd_counters { counted_by_database = (gr_e, r#type) });

    #[derive(HasCounters)]
    #[counters(table_name = post_counters)]
    struct Post {
        id: i64,
    }

    #[test]
    fn they_are_named_as_in_the_database() {
        let names = |of: &[diesel_counters::__private::Name<'static>]| {
            of.iter().map(|name| name.0).collect::<Vec<_>>()
        };
        let of_posts = names(post_counters::table::COUNTED_BY_DATABASE);
        assert_eq!(of_posts, ["likes", "comments"]);
        let of_odd = names(odd_counters::table::COUNTED_BY_DATABASE);
        assert_eq!(of_odd, ["größe", "type"]);
        assert!(article_counters::table::COUNTED_BY_DATABASE.is_empty());
    }

    #[test]
    fn a_model_reads_corrects_and_removes_them() {
        let (conn, _database, _article) = &mut TestDatabase::with_connection();
        let post = Post { id: 1 };
        let counted = increment((article_counters::likes, article_counters::comments));
        counted.of(1_i64).by((2, 7)).execute(conn).unwrap();
        assert_eq!(post.counter_value((hearts, comments), conn), Ok((2, 7)));
        assert_eq!(ranking(hearts).limit(1).load(conn), Ok(vec![(1, 2)]));
        let copied = Post::materialize(hearts, posts::total_views).execute(conn);
        assert_eq!(copied, Ok(1));
        let corrected = recount(comments, comments_by_article()).of(&post);
        assert_eq!(added(corrected.execute::<i64, _>(conn)), Ok(-7));
        let drift = recount(comments, comments_by_article()).execute::<i64, _>(conn);
        assert!(drift.unwrap().is_empty());
        let delete = delete_counters(post_counters::table).of(&post);
        assert_eq!(delete.execute(conn), Ok(1));
        assert_eq!(post.counter_value((hearts, comments), conn), Ok((0, 0)));
    }
}
