//! What `counter_table!` refuses.

diesel_counters::counter_table!();
diesel_counters::counter_table!("article_counters");
diesel_counters::counter_table!(article_counters, slots = 32);
diesel_counters::counter_table!(article_counters { shards = 32 });
diesel_counters::counter_table!(article_counters { slots = 0 });
diesel_counters::counter_table!(article_counters { slots = 32768 });
diesel_counters::counter_table!(article_counters { slots = -1 });
diesel_counters::counter_table!(article_counters { slots = "32" });
diesel_counters::counter_table!(article_counters { period = "week" });
diesel_counters::counter_table!(article_counters { period = Fortnight });
diesel_counters::counter_table!(article_counters { slots = 1, slots = 2 });
diesel_counters::counter_table!(article_counters { parent = id });
diesel_counters::counter_table!(article_counters { parent = articles::id, parent = articles::id });
diesel_counters::counter_table!(article_counters { parent = (articles::id, users::id) });
diesel_counters::counter_table!(article_counters { parent = () });
diesel_counters::counter_table!(article_counters { counted_by_database = "views" });
diesel_counters::counter_table!(article_counters { stock = (views) });
diesel_counters::counter_table!(article_counters { period = Total, stock = (views), counted_by_database = (views) });
diesel_counters::counter_table!(article_counters { slots = 1 } page_counters { slots = 2 });
diesel_counters::counter_table!(article_counters { slots = 1 period = Week });
diesel_counters::counter_table!(article_counters { slot = random });

fn main() {}
