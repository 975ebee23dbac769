//! The checker on SQLite.

mod checker;

const HAS_SLOTS: bool = false;
const SESSION: &str = "";

fn url() -> Option<String> {
    None
}
