//! Names in SQL that people read: quoted only where that is needed.

use diesel_counters::Dialect;

use crate::sql::quoted;

/// A name as it can stand in SQL.
pub fn identifier(dialect: Dialect, name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_plain && RESERVED.binary_search(&name).is_err() {
        name.to_owned()
    } else {
        quoted(dialect, name)
    }
}

/// `schema.table`, or `table`.
pub fn qualified(dialect: Dialect, name: &str) -> String {
    let names: Vec<_> = name
        .split('.')
        .map(|name| identifier(dialect, name))
        .collect();
    names.join(".")
}

/// The words that one or another of the databases keeps to itself, in order.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "accessible", "add", "all", "alter", "always", "analyse", "analyze", "and", "any", "array",
    "as", "asc", "asensitive", "asymmetric", "attach", "authorization", "autoincrement", "before",
    "begin", "between", "bigint", "binary", "blob", "both", "by", "call", "cascade", "case",
    "cast", "change", "char", "character", "check", "collate", "collation", "column", "commit",
    "concurrently", "condition", "conflict", "constraint", "continue", "convert", "create",
    "cross", "cube", "cume_dist", "current", "current_catalog", "current_date", "current_role",
    "current_schema", "current_time", "current_timestamp", "current_user", "cursor", "database",
    "databases", "day_hour", "day_microsecond", "day_minute", "day_second", "dec", "decimal",
    "declare", "default", "deferrable", "deferred", "delayed", "delete", "dense_rank", "desc",
    "describe", "detach", "deterministic", "distinct", "distinctrow", "div", "do", "double",
    "drop", "dual", "each", "else", "elseif", "empty", "enclosed", "end", "escape", "escaped",
    "except", "exclude", "exclusive", "exists", "exit", "explain", "fail", "false", "fetch",
    "filter", "first_value", "float", "float4", "float8", "following", "for", "force", "foreign",
    "freeze", "from", "full", "fulltext", "function", "general", "generated", "get", "glob",
    "global", "grant", "group", "grouping", "groups", "having", "high_priority",
    "hour_microsecond", "hour_minute", "hour_second", "if", "ignore", "ignore_server_ids", "ilike",
    "immediate", "in", "index", "indexed", "infile", "initially", "inner", "inout", "insensitive",
    "insert", "instead", "int", "int1", "int2", "int3", "int4", "int8", "integer", "intersect",
    "interval", "into", "io_after_gtids", "io_before_gtids", "is", "isnull", "iterate", "join",
    "json_table", "key", "keys", "kill", "lag", "last", "last_value", "lateral", "lead", "leading",
    "leave", "left", "library", "like", "limit", "linear", "lines", "load", "local", "localtime",
    "localtimestamp", "lock", "long", "longblob", "longtext", "loop", "low_priority", "manual",
    "master_bind", "master_heartbeat_period", "master_ssl_verify_server_cert", "match",
    "materialized", "maxvalue", "mediumblob", "mediumint", "mediumtext", "middleint",
    "minute_microsecond", "minute_second", "mod", "modifies", "natural", "no",
    "no_write_to_binlog", "not", "nothing", "notnull", "nth_value", "ntile", "null", "nulls",
    "numeric", "of", "offset", "on", "only", "optimize", "optimizer_costs", "option", "optionally",
    "or", "order", "others", "out", "outer", "outfile", "over", "overlaps", "page_checksum",
    "parallel", "parse_vcol_expr", "partition", "percent_rank", "placing", "plan", "position",
    "pragma", "preceding", "precision", "primary", "procedure", "purge", "qualify", "query",
    "raise", "range", "rank", "read", "read_write", "reads", "real", "recursive", "ref_system_id",
    "references", "regexp", "reindex", "release", "rename", "repeat", "replace", "require",
    "resignal", "restrict", "return", "returning", "revoke", "right", "rlike", "rollback", "row",
    "row_number", "rows", "savepoint", "schema", "schemas", "second_microsecond", "select",
    "sensitive", "separator", "session_user", "set", "show", "signal", "similar", "slow",
    "smallint", "some", "spatial", "specific", "sql", "sql_big_result", "sql_calc_found_rows",
    "sql_small_result", "sqlexception", "sqlstate", "sqlwarning", "ssl", "starting",
    "stats_auto_recalc", "stats_persistent", "stats_sample_pages", "stored", "straight_join",
    "symmetric", "system", "system_user", "table", "tables", "tablesample", "temp", "temporary",
    "terminated", "text", "then", "ties", "tinyblob", "tinyint", "tinytext", "to", "trailing",
    "transaction", "trigger", "true", "unbounded", "undo", "union", "unique", "unlock", "unsigned",
    "update", "usage", "use", "user", "using", "utc_date", "utc_time", "utc_timestamp", "vacuum",
    "values", "varbinary", "varchar", "varcharacter", "variadic", "varying", "vector", "verbose",
    "view", "virtual", "when", "where", "while", "window", "with", "without", "write", "xor",
    "year_month", "zerofill",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_quoted_where_that_is_needed() {
        let names = [
            "views", "Views", "größe", "order", "2d", "a b", r#"a"b"#, "",
        ];
        let expected = [
            "views",
            "\"Views\"",
            "\"größe\"",
            "\"order\"",
            "\"2d\"",
            "\"a b\"",
            r#""a""b""#,
            "\"\"",
        ];
        assert_eq!(
            names.map(|name| identifier(Dialect::PostgreSql, name)),
            expected
        );
        assert_eq!(qualified(Dialect::MySql, "blog.order"), "blog.`order`");
    }

    #[test]
    fn the_reserved_words_are_in_order() {
        assert!(RESERVED.is_sorted());
    }
}
