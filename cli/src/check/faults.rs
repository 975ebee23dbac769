//! The faults that a table of any database can have, and what they cost.

use crate::database::faults;

faults! {
    NO_KEY = Wrong, "no_key": "It is not a counter table: diesel_counters cannot count in it.";
    KEY_COLUMNS = Wrong, "key_columns":
        "diesel_counters does not compile with it: an entity has up to five columns.";
    KEY_ORDER = Slow, "key_order":
        "The rows of one entity are not next to each other: a read of its count scans all rows. \
         diesel_counters does not compile with it.";
    NOT_PRIMARY_KEY = Slow, "not_primary_key":
        "Each increment writes two indexes. diesel_counters does not compile with it.";
    DEFERRABLE_KEY = Wrong, "deferrable_key":
        "Each increment fails: ON CONFLICT does not accept such a key.";
    NULL_KEY = Wrong, "null_key":
        "SQLite treats each NULL as different: an increment adds a row, and never adds to an \
         existing one.";
    DAY_TYPE = Wrong, "day_type":
        "diesel_counters does not compile with it. A column that holds a time as well, or a day \
         in several spellings, has many rows for one day.";
    SLOT_TYPE = Wrong, "slot_type": "diesel_counters does not compile with it.";
    COLLATION = Wrong, "collation": "It takes 'Foo' and 'foo' as equal, and counts them as one.";
    PADDING = Hint, "padding":
        "It takes 'foo ', with a space at its end, and 'foo' as equal, and counts them as one.";
    NO_DEFAULT = Wrong, "no_default":
        "An increment that adds a row fails, because it sets the key and the counters only.";
    REAL_COUNTER = Wrong, "counter_type":
        "A large floating-point number does not count by ones, and diesel_counters counts in \
         BIGINT columns only.";
    SMALLINT_COUNTER = Wrong, "counter_type":
        "Increments fail from 32,767 on, and diesel_counters counts in BIGINT columns only.";
    INTEGER_COUNTER = Wrong, "counter_type":
        "Increments fail from 2,147,483,647 on, and diesel_counters counts in BIGINT columns only.";
    OTHER_COUNTER = Wrong, "counter_type": "diesel_counters counts in BIGINT columns only.";
    NO_COUNTER = Hint, "no_counter": "Nothing can be counted in it.";
    NULL_COUNTER = Wrong, "null_counter": "NULL + 1 is NULL: the counts of such a row are lost.";
    COUNTER_WITHOUT_DEFAULT = Wrong, "no_default":
        "An increment of other counters that adds a row fails.";
    DEFAULT_NOT_0 = Wrong, "default_not_0":
        "An increment of other counters that adds a row adds this much to it.";
    REPLACED = Wrong, "replaced":
        "It replaces a row by deleting it, and ON DELETE CASCADE deletes the counts of that row.";
    CASCADE = Note, "cascade":
        "It replaces a row by deleting it, and ON DELETE CASCADE deletes the counts of that row.";
    TRIGGER_MISSING = Wrong, "trigger_missing": "The rows that it should count are not counted.";
    TRIGGER_DISABLED = Wrong, "trigger_disabled":
        "Rows that are written meanwhile are not counted, or counted twice.";
    TRIGGER_CHANGED = Wrong, "trigger_changed":
        "Somebody changed it, or another version of diesel-counters wrote it. It may not count what its \
         definition says.";
    TRIGGER_OTHER = Wrong, "trigger_other": "Rows are counted twice, if both count the same.";
    TRIGGER_OWN = Note, "trigger_own": "If it counts the same elsewhere, it only costs time.";
    TRIGGER_TWICE = Wrong, "trigger_twice":
        "The counter has the rows of both, and a recount sets it to the rows of one.";
    TRIGGER_DEFINITION = Wrong, "trigger_definition":
        "They fail, or they do not count these rows.";
}
