//! The checker and the enumerator on the PostgreSQL server that `POSTGRES_URL` names.

mod checker;
mod interleave;

const IS_MYSQL: bool = false;
const HAS_SLOTS: bool = true;

fn url() -> Option<String> {
    Some(std::env::var("POSTGRES_URL").expect("POSTGRES_URL names the server to use"))
}
