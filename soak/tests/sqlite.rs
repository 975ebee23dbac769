//! The checker and the enumerator on SQLite.

mod checker;
mod interleave;

const IS_MYSQL: bool = false;
const HAS_SLOTS: bool = false;

fn url() -> Option<String> {
    None
}

#[test]
fn processes_that_are_killed_run_increments_alone_too() {
    use diesel::prelude::*;
    use diesel::{dsl::sql, sql_types::BigInt};

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("soak.db").display().to_string();
    let time = ["--seconds", "0", "--client-seconds", "3"];
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_soak"))
        .arg(&file)
        .args(time)
        .arg("--only-counts")
        .status()
        .unwrap();
    assert!(status.success());
    let rows = "(SELECT COUNT(*) FROM counted), (SELECT COUNT(*) FROM article_likes)";
    let rows = diesel::select(sql::<(BigInt, BigInt)>(rows));
    let conn = &mut SqliteConnection::establish(&file).unwrap();
    let (counted, likes): (i64, i64) = rows.get_result(conn).unwrap();
    assert!(counted > 0);
    assert_eq!(likes, 0);
}
