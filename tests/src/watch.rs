//! What a connection did, by Diesel's instrumentation.

use std::sync::{Arc, Mutex};

use diesel::connection::{Connection, InstrumentationEvent};

/// The SQL that a connection ran and prepared while it was watched.
#[derive(Debug, Clone, Default)]
pub struct Watched {
    pub queries: Vec<String>,
    pub prepared: Vec<String>,
}

/// Runs `f` and tells what `conn` did meanwhile.
pub fn watch<C: Connection>(conn: &mut C, f: impl FnOnce(&mut C)) -> Watched {
    let watched = Arc::new(Mutex::new(Watched::default()));
    let seen = Arc::clone(&watched);
    conn.set_instrumentation(move |event: InstrumentationEvent<'_>| match event {
        InstrumentationEvent::StartQuery { query, .. } => {
            seen.lock().unwrap().queries.push(query.to_string());
        }
        InstrumentationEvent::CacheQuery { sql, .. } => {
            seen.lock().unwrap().prepared.push(sql.to_owned());
        }
        _ => {}
    });
    f(conn);
    conn.set_instrumentation(|_: InstrumentationEvent<'_>| {});
    Arc::try_unwrap(watched).map_or_else(|w| w.lock().unwrap().clone(), |w| w.into_inner().unwrap())
}
