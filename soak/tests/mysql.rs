//! The checker on the MySQL or MariaDB server that `MYSQL_URL` names.

mod checker;

const HAS_SLOTS: bool = true;
const SESSION: &str = "";

fn url() -> Option<String> {
    Some(std::env::var("MYSQL_URL").expect("MYSQL_URL names the server to use"))
}
