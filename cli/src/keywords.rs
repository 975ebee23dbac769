//! The words that can't be a name without quotes.

use crate::database::Database;

/// The keywords of PostgreSQL 15 to 18 that `pg_get_keywords()` doesn't list as unreserved, and the
/// reserved words of PL/pgSQL. For example, a table called `loop` would end the query of a FOR
/// statement, and PL/pgSQL refuses a field called `by`.
#[rustfmt::skip]
pub const POSTGRES: &[&str] = &[
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric",
    "authorization", "begin", "between", "bigint", "binary", "bit", "boolean", "both", "by",
    "case", "cast", "char", "character", "check", "coalesce", "collate", "collation", "column",
    "concurrently", "constraint", "create", "cross", "current_catalog", "current_date",
    "current_role", "current_schema", "current_time", "current_timestamp", "current_user",
    "dec", "decimal", "declare", "default", "deferrable", "desc", "distinct", "do", "else",
    "end", "except", "execute", "exists", "extract", "false", "fetch", "float", "for",
    "foreach", "foreign", "freeze", "from", "full", "grant", "greatest", "group", "grouping",
    "having", "if", "ilike", "in", "initially", "inner", "inout", "int", "integer", "intersect",
    "interval", "into", "is", "isnull", "join", "json", "json_array", "json_arrayagg",
    "json_exists", "json_object", "json_objectagg", "json_query", "json_scalar",
    "json_serialize", "json_table", "json_value", "lateral", "leading", "least", "left", "like",
    "limit", "localtime", "localtimestamp", "loop", "merge_action", "national", "natural",
    "nchar", "none", "normalize", "not", "notnull", "null", "nullif", "numeric", "offset", "on",
    "only", "or", "order", "out", "outer", "overlaps", "overlay", "placing", "position",
    "precision", "primary", "real", "references", "returning", "right", "row", "select",
    "session_user", "setof", "similar", "smallint", "some", "strict", "substring", "symmetric",
    "system_user", "table", "tablesample", "then", "time", "timestamp", "to", "trailing",
    "treat", "trim", "true", "union", "unique", "user", "using", "values", "varchar",
    "variadic", "verbose", "when", "where", "while", "window", "with", "xmlattributes",
    "xmlconcat", "xmlelement", "xmlexists", "xmlforest", "xmlnamespaces", "xmlparse", "xmlpi",
    "xmlroot", "xmlserialize", "xmltable",
];

/// The words that MySQL 8.0 to 9 or MariaDB 10.6 to 11.8 reserves, and four more that can be
/// misread: MariaDB refuses `INSERT INTO value`, and in a SELECT, `sql_cache`, `sql_no_cache` and
/// `sql_buffer_result` are read as the start of an option.
#[rustfmt::skip]
pub const MYSQL: &[&str] = &[
    "accessible", "add", "all", "alter", "analyze", "and", "as", "asc", "asensitive", "before",
    "between", "bigint", "binary", "blob", "both", "by", "call", "cascade", "case", "change",
    "char", "character", "check", "collate", "column", "condition", "constraint", "continue",
    "convert", "create", "cross", "cube", "cume_dist", "current_date", "current_role",
    "current_time", "current_timestamp", "current_user", "cursor", "database", "databases",
    "day_hour", "day_microsecond", "day_minute", "day_second", "dec", "decimal", "declare",
    "default", "delayed", "delete", "delete_domain_id", "dense_rank", "desc", "describe",
    "deterministic", "distinct", "distinctrow", "div", "do_domain_ids", "double", "drop",
    "dual", "each", "else", "elseif", "empty", "enclosed", "escaped", "except", "exists",
    "exit", "explain", "external", "false", "fetch", "first_value", "float", "float4", "float8",
    "for", "force", "foreign", "from", "fulltext", "function", "generated", "get", "grant",
    "group", "grouping", "groups", "having", "high_priority", "hour_microsecond", "hour_minute",
    "hour_second", "if", "ignore", "ignore_domain_ids", "in", "index", "infile", "inner",
    "inout", "insensitive", "insert", "int", "int1", "int2", "int3", "int4", "int8", "integer",
    "intersect", "interval", "into", "io_after_gtids", "io_before_gtids", "is", "iterate",
    "join", "json_table", "key", "keys", "kill", "lag", "last_value", "lateral", "lead",
    "leading", "leave", "left", "library", "like", "limit", "linear", "lines", "load",
    "localtime", "localtimestamp", "lock", "long", "longblob", "longtext", "loop",
    "low_priority", "master_bind", "master_demote_to_replica", "master_demote_to_slave",
    "master_ssl_verify_server_cert", "match", "maxvalue", "mediumblob", "mediumint",
    "mediumtext", "middleint", "minute_microsecond", "minute_second", "mod", "modifies",
    "natural", "no_write_to_binlog", "not", "nth_value", "ntile", "null", "numeric", "of",
    "offset", "on", "optimize", "optimizer_costs", "option", "optionally", "or", "order", "out",
    "outer", "outfile", "over", "page_checksum", "parse_vcol_expr", "partition", "percent_rank",
    "portion", "precision", "primary", "procedure", "purge", "qualify", "range", "rank", "read",
    "read_write", "reads", "real", "recursive", "ref_system_id", "references", "regexp",
    "release", "rename", "repeat", "replace", "require", "resignal", "restrict", "return",
    "returning", "revoke", "right", "rlike", "row", "row_number", "rows", "schema", "schemas",
    "second_microsecond", "select", "sensitive", "separator", "set", "show", "signal",
    "smallint", "spatial", "specific", "sql", "sql_after_gtids", "sql_before_gtids",
    "sql_big_result", "sql_buffer_result", "sql_cache", "sql_calc_found_rows", "sql_no_cache",
    "sql_small_result", "sqlexception", "sqlstate", "sqlwarning", "ssl", "starting",
    "stats_auto_recalc", "stats_persistent", "stats_sample_pages", "stored", "straight_join",
    "system", "table", "tablesample", "terminated", "then", "tinyblob", "tinyint", "tinytext",
    "to", "trailing", "trigger", "true", "undo", "union", "unique", "unlock", "unsigned",
    "update", "usage", "use", "using", "utc_date", "utc_time", "utc_timestamp", "value",
    "values", "varbinary", "varchar", "varcharacter", "varying", "vector", "virtual", "when",
    "where", "while", "window", "with", "write", "xor", "year_month", "zerofill",
];

/// The keywords that SQLite doesn't accept as a name everywhere. It accepts others, such as
/// `abort`. `true` and `false` aren't keywords, but SQLite would read a subquery's column with such
/// a name as a constant.
#[rustfmt::skip]
pub const SQLITE: &[&str] = &[
    "add", "all", "alter", "and", "as", "autoincrement", "between", "case", "cast", "check",
    "collate", "commit", "constraint", "create", "current_date", "current_time",
    "current_timestamp", "default", "deferrable", "delete", "distinct", "drop", "else",
    "escape", "except", "exists", "false", "foreign", "from", "group", "having", "if", "in",
    "index", "insert", "intersect", "into", "is", "isnull", "join", "limit", "not", "nothing",
    "notnull", "null", "on", "or", "order", "primary", "raise", "references", "returning",
    "select", "set", "table", "then", "to", "transaction", "true", "union", "unique", "update",
    "using", "values", "when", "where", "with",
];

/// Whether a name is a word that needs quotes. Ignores case.
pub fn is_keyword(database: Database, name: &str) -> bool {
    let keywords = match database {
        Database::Postgres => POSTGRES,
        Database::MySql => MYSQL,
        Database::Sqlite => SQLITE,
    };
    let lower = name.to_ascii_lowercase();
    keywords.binary_search(&lower.as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted_and_in_lower_case() {
        for keywords in [POSTGRES, MYSQL, SQLITE] {
            assert!(keywords.is_sorted_by(|one, next| one < next));
            for word in keywords {
                assert_eq!(*word, word.to_ascii_lowercase());
            }
        }
    }

    #[test]
    fn the_case_of_a_keyword_does_not_matter() {
        for word in ["order", "Order", "ORDER"] {
            for database in [Database::Postgres, Database::MySql, Database::Sqlite] {
                assert!(is_keyword(database, word), "{word}");
            }
        }
        assert!(!is_keyword(Database::Sqlite, "orders"));
    }

    #[test]
    fn each_database_has_words_of_its_own() {
        assert!(is_keyword(Database::Postgres, "loop"));
        assert!(!is_keyword(Database::Sqlite, "loop"));
        assert!(is_keyword(Database::MySql, "value"));
        assert!(!is_keyword(Database::Postgres, "value"));
    }
}
