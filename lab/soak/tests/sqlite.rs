//! The checker and the enumerator on SQLite.

mod checker;
mod interleave;

const IS_MYSQL: bool = false;
const HAS_SLOTS: bool = false;

fn url() -> Option<String> {
    None
}
