//! What the behaviour tests share: the tables, the models, and an eye on the
//! connection.

pub mod models;
pub mod schema;
pub mod watch;
