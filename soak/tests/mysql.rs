//! The checker and the enumerator on the MySQL or MariaDB server that `MYSQL_URL` names.

mod checker;
mod interleave;

const IS_POSTGRES: bool = false;
const HAS_SLOTS: bool = true;
const SESSION: &str = "";

fn url() -> Option<String> {
    Some(std::env::var("MYSQL_URL").expect("MYSQL_URL names the server to use"))
}

/// The snapshot was taken in a savepoint that was rolled back, and the transaction has counted since.
#[test]
fn a_read_of_two_times_is_not_checked() {
    let count = r#"{"Count":{"article":1,"day":0,"views":1}}"#;
    let read = r#"{"Read":{"Total":{"article":1}}}"#;
    let savepoint = format!(r#"{{"Savepoint":{{"steps":[{count},{count},{read}],"fails":true}}}}"#);
    let transaction = checker::transaction(&[&savepoint, count, read].join(","));
    let printed = checker::replay(&format!("[[{transaction}]]"), &[]);
    assert!(printed.contains(" reads checked, 100 not"), "{printed}");
}
