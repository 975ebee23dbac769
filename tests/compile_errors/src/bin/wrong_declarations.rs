//! What `counter_table!` accepts, and the compiler does not.

diesel::table! {
    users (id) { id -> Text }
}

diesel::table! {
    site_counters (day, slot) { day -> Date, slot -> SmallInt, hits -> BigInt }
}

macro_rules! article_counters {
    ($name:ident) => {
        diesel::table! {
            $name (article_id, day, slot) {
                article_id -> BigInt,
                day -> Date,
                slot -> SmallInt,
                views -> BigInt,
                likes -> BigInt,
                note -> Text,
            }
        }
    };
}
article_counters!(of_users);
article_counters!(of_no_column);
article_counters!(misspelt);
article_counters!(not_a_counter);
article_counters!(not_a_day);
article_counters!(declared_twice);

diesel_counters::counter_table!(of_users { parent = users::id });
diesel_counters::counter_table!(of_no_column { parent = users::name });
diesel_counters::counter_table!(site_counters { parent = users::id });
diesel_counters::counter_table!(misspelt { counted_by_database = (views, lieks) });
diesel_counters::counter_table!(not_a_counter { counted_by_database = (likes, note) });
diesel_counters::counter_table!(not_a_day { today = a_text });
diesel_counters::counter_table!(declared_twice);
diesel_counters::counter_table!(declared_twice);

fn a_text() -> &'static str {
    "today"
}

fn main() {}
