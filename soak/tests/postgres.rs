//! The checker on the PostgreSQL server that `POSTGRES_URL` names.

mod checker;

const HAS_SLOTS: bool = true;
const SESSION: &str = "";

fn url() -> Option<String> {
    Some(std::env::var("POSTGRES_URL").expect("POSTGRES_URL names the server to use"))
}
