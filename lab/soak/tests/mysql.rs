//! The checker and the enumerator on the MySQL or MariaDB server that `MYSQL_URL` names.

mod checker;
mod interleave;

const IS_MYSQL: bool = true;
const HAS_SLOTS: bool = true;

fn url() -> Option<String> {
    Some(std::env::var("MYSQL_URL").expect("MYSQL_URL names the server to use"))
}
