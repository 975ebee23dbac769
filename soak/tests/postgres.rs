//! The checker and the enumerator on the PostgreSQL server that `POSTGRES_URL` names.

mod checker;
mod interleave;

const IS_POSTGRES: bool = true;
const HAS_SLOTS: bool = true;
const SESSION: &str = "";

fn url() -> Option<String> {
    Some(std::env::var("POSTGRES_URL").expect("POSTGRES_URL names the server to use"))
}
