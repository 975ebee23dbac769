//! What `#[derive(HasCounters)]` makes of its attributes.

use diesel_counters::{CountersOf, DEFAULT_SLOTS, HasCounters, Period};
use diesel_counters_tests::models::{
    Article, File, NumberedArticle, Page, TimelessArticle, Visitor, WeeklyArticle,
};
use diesel_counters_tests::schema::{article_counters, odd_name, user_counters};

#[test]
fn a_model_has_thirty_two_slots_and_counts_by_the_day() {
    assert_eq!(DEFAULT_SLOTS, 32);
    assert_eq!(<article_counters::table as CountersOf<Article>>::SLOTS, 32);
    assert_eq!(
        <article_counters::table as CountersOf<Article>>::PERIOD,
        Period::Day
    );
}

#[test]
fn attributes_change_that() {
    assert_eq!(
        <article_counters::table as CountersOf<TimelessArticle>>::SLOTS,
        2
    );
    assert_eq!(
        <article_counters::table as CountersOf<WeeklyArticle>>::PERIOD,
        Period::Week
    );
}

#[test]
fn each_counter_table_of_a_model_has_its_own() {
    assert_eq!(<user_counters::table as CountersOf<Visitor>>::SLOTS, 32);
    assert_eq!(<odd_name::table as CountersOf<Visitor>>::SLOTS, 4);
}

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

/// As in a workspace: the tables are of `diesel_counters_tests`, and this is another crate.
mod of_tables_in_another_crate {
    use diesel::prelude::*;
    use diesel_counters::dsl::total;
    use diesel_counters::prelude::*;
    use diesel_counters_tests::schema::{article_counters, articles};

    use article_counters::views;

    use crate::TestDatabase;

    #[derive(Identifiable, Queryable, Selectable, HasCounters)]
    #[diesel(table_name = articles)]
    #[counters(table_name = article_counters)]
    struct Post {
        id: i64,
    }

    #[test]
    fn a_model_counts_and_is_read_by_its_totals() {
        let (_database, mut conn, _article) = TestDatabase::with_article();
        let conn = &mut conn;
        let post: Post = articles::table
            .find(2)
            .select(Post::as_select())
            .first(conn)
            .unwrap();
        post.incr_counter_by(views, 5, conn).unwrap();
        assert_eq!(post.counter_value(views, conn), Ok(5));

        let top = ranking(views).limit(3);
        let read: Vec<(Post, i64, i64, i64)> = articles::table
            .inner_join(top)
            .select((
                Post::as_select(),
                total(views),
                total(views).of(articles::id),
                top.total(),
            ))
            .load(conn)
            .unwrap();
        let read: Vec<_> = read
            .iter()
            .map(|(post, a, b, c)| (post.id, *a, *b, *c))
            .collect();
        assert_eq!(read, [(2, 5, 5, 5)]);
        assert_eq!(
            Post::materialize(views, articles::total_views).execute(conn),
            Ok(1)
        );
    }
}

/// Counters that triggers count. `increment` without the model stands for the trigger.
mod counted_by_database {
    use diesel::prelude::*;
    use diesel_counters::CountersOf;
    use diesel_counters::prelude::*;
    use diesel_counters_tests::schema::{article_counters, articles, odd_name};

    use article_counters::{comments, likes, views};

    use crate::TestDatabase;
    use crate::behaviour::comments_by_article;

    #[derive(HasCounters)]
    #[counters(table_name = article_counters, counted_by_database(likes, comments))]
    struct Post {
        id: i64,
    }

    #[derive(HasCounters)]
    #[counters(table_name = odd_name, slots = 4, counted_by_database(gr_e,))]
    struct Odd {
        id: i32,
    }

    #[test]
    fn they_are_named_as_in_the_database() {
        let of_post = <article_counters::table as CountersOf<Post>>::COUNTED_BY_DATABASE;
        assert_eq!(of_post, ["likes", "comments"]);
        let of_odd = <odd_name::table as CountersOf<Odd>>::COUNTED_BY_DATABASE;
        assert_eq!(of_odd, ["größe"]);
        let of_visitor = <odd_name::table as CountersOf<super::Visitor<'_>>>::COUNTED_BY_DATABASE;
        assert!(of_visitor.is_empty());
    }

    #[test]
    fn the_program_counts_the_others_of_the_table() {
        let (_database, mut conn, _article) = TestDatabase::with_article();
        let conn = &mut conn;
        let post = Post { id: 1 };
        post.incr_counter_by(views, 3, conn).unwrap();
        Post::increment(views).of(1_i64).execute(conn).unwrap();
        assert_eq!(post.set_counter(views, 5, conn), Ok(4));
        let odd = Odd { id: 1 };
        odd.incr_counter(odd_name::views_, conn).unwrap();
        assert_eq!(odd.counter_value(odd_name::views_, conn), Ok(1));
    }

    #[test]
    fn a_model_reads_corrects_and_removes_them() {
        let (_database, mut conn, _article) = TestDatabase::with_article();
        let conn = &mut conn;
        let post = Post { id: 1 };
        increment((likes, comments))
            .of(1_i64)
            .by((2, 7))
            .execute(conn)
            .unwrap();
        assert_eq!(post.counter_value((likes, comments), conn), Ok((2, 7)));
        assert_eq!(Post::top(likes, 1, .., conn), Ok(vec![(1, 2)]));
        let copied = Post::materialize(likes, articles::total_views).execute(conn);
        assert_eq!(copied, Ok(1));
        assert_eq!(post.recount(comments, comments_by_article(), conn), Ok(-7));
        let drift = Post::recount_all(comments, comments_by_article(), conn);
        assert!(drift.unwrap().is_empty());
        assert_eq!(post.delete_counters(conn), Ok(1));
        assert_eq!(post.counter_value((likes, comments), conn), Ok((0, 0)));
    }
}
