//! Collations of a counter table's key.

use crate::TestDatabase;

#[test]
fn check_says_which_texts_a_collation_takes_as_equal() {
    for (collation, texts) in [("RTRIM", "'foo '"), ("NOCASE", "'Foo' and 'foo'")] {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE TABLE page_counters (
                 path TEXT NOT NULL COLLATE {collation}, day DATE NOT NULL, slot SMALLINT NOT NULL,
                 hits BIGINT NOT NULL DEFAULT 0 CHECK (typeof(hits) = 'integer'),
                 PRIMARY KEY (path, day, slot)
             )"
        ));
        let faults = database.command("check --json").faults();
        assert_eq!(faults[0]["fault"], "text_key", "{faults:?}");
        let cost = faults[0]["cost"].as_str().unwrap();
        assert!(cost.contains(texts), "{cost}");
    }
}
