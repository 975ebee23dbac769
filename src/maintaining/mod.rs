//! Keeping counter tables small.

pub mod compact;
#[cfg(feature = "r2d2")]
pub mod compactor;
pub mod fold;
pub mod layout;
mod one_at_a_time;
mod statements;
pub mod stored_key;
