//! The modules of the command, which is a program and no library, and what its parsers must do.

#![allow(dead_code, unused_imports)]

macro_rules! modules {
    ($($path:literal $name:ident)*) => { $(#[path = $path] mod $name;)* };
}
modules! {
    "../../../cli/src/any_key.rs" any_key
    "../../../cli/src/catalogue/mod.rs" catalogue
    "../../../cli/src/check/mod.rs" check
    "../../../cli/src/chosen.rs" chosen
    "../../../cli/src/connection.rs" connection
    "../../../cli/src/database.rs" database
    "../../../cli/src/doctor/mod.rs" doctor
    "../../../cli/src/fault.rs" fault
    "../../../cli/src/generate/mod.rs" generate
    "../../../cli/src/holder.rs" holder
    "../../../cli/src/keywords.rs" keywords
    "../../../cli/src/merge.rs" merge
    "../../../cli/src/options.rs" options
    "../../../cli/src/output.rs" output
    "../../../cli/src/period.rs" period
    "../../../cli/src/recount.rs" recount
    "../../../cli/src/sql.rs" sql
    "../../../cli/src/template.rs" template
    "../../../cli/src/triggers/mod.rs" triggers
}

pub mod arguments;
pub mod expression;
pub mod server_text;
