//! The catalogue of MySQL and MariaDB.

use super::rows::Catalogue;
use super::table::Kind;

pub const CATALOGUE: Catalogue = Catalogue {
    // MariaDB's catalogue ignores case when it compares table names.
    columns: "
    SELECT CASE WHEN t.table_schema <> DATABASE()
                THEN CAST(t.table_schema AS CHAR) END AS schema_name,
           CAST(t.table_schema AS CHAR) AS in_schema, CAST(t.table_name AS CHAR) AS table_name,
           FALSE AS is_strict, FALSE AS is_partitioned, NULL AS part_of, NULL AS inherited_by,
           (SELECT CAST(e.engine AS CHAR) FROM information_schema.engines e
            WHERE e.engine = t.engine AND COALESCE(e.transactions, 'NO') <> 'YES')
               AS unsafe_storage,
           CAST(c.column_name AS CHAR) AS column_name, CAST(c.column_type AS CHAR) AS column_type,
           c.is_nullable = 'YES' AS is_nullable,
           CAST(COALESCE(c.column_default, NULLIF(c.generation_expression, '')) AS CHAR)
               AS column_default,
           c.extra LIKE '%auto_increment%' AS is_auto_increment,
           COALESCE(c.generation_expression, '') <> '' AS is_generated,
           -- Those that ignore case or accents, and those that ignore spaces at the end.
           CASE WHEN c.collation_name LIKE '%\\_ci' OR c.collation_name LIKE '%\\_ai\\_%'
                     OR c.collation_name NOT LIKE '%nopad\\_%'
                     AND c.collation_name NOT LIKE '%\\_0900\\_%'
                THEN CAST(c.collation_name AS CHAR) END AS loose_collation,
           c.extra LIKE '%VIRTUAL%' AS is_not_stored,
           CAST(NULLIF(c.column_comment, '') AS CHAR) AS column_comment
    FROM information_schema.tables t
    JOIN information_schema.columns c
      ON c.table_schema = t.table_schema AND c.table_name = t.table_name
     AND CAST(c.table_name AS BINARY) = CAST(t.table_name AS BINARY)
    WHERE {where}
    ORDER BY t.table_schema, CAST(t.table_name AS BINARY), c.ordinal_position",
    indexes: "
    SELECT CAST(t.table_schema AS CHAR) AS in_schema, CAST(t.table_name AS CHAR) AS table_name,
           CAST(s.index_name AS CHAR) AS index_name,
           s.non_unique = 0 AS is_unique, s.index_name = 'PRIMARY' AS is_primary,
           FALSE AS is_partial, FALSE AS is_deferrable,
           COALESCE(CAST(s.column_name AS CHAR), '(expression)') AS column_name,
           CAST(NULL AS CHAR) AS collation,
           FALSE AS is_included, s.column_name IS NULL OR s.sub_part IS NOT NULL AS is_expression
    FROM information_schema.tables t
    JOIN information_schema.statistics s
      ON s.table_schema = t.table_schema AND s.table_name = t.table_name
     AND CAST(s.table_name AS BINARY) = CAST(t.table_name AS BINARY)
    WHERE {where}
    ORDER BY t.table_schema, CAST(t.table_name AS BINARY), is_primary DESC, s.index_name,
        s.seq_in_index",
    foreign_keys: "
    SELECT CAST(t.table_schema AS CHAR) AS in_schema, CAST(t.table_name AS CHAR) AS table_name,
           CAST(k.column_name AS CHAR) AS column_name,
           (SELECT CAST(o.constraint_name AS CHAR) FROM information_schema.key_column_usage o
            WHERE o.table_schema = k.table_schema AND o.table_name = k.table_name
              AND o.constraint_name = k.constraint_name AND o.ordinal_position = 2) AS wide_name,
           CAST(k.referenced_table_schema AS CHAR) AS parent_schema,
           CAST(k.referenced_table_name AS CHAR) AS parent_table,
           CAST(k.referenced_column_name AS CHAR) AS parent_column,
           CAST(r.delete_rule AS CHAR) AS on_delete, CAST(r.update_rule AS CHAR) AS on_update,
           'NOT DEFERRABLE' AS deferrability, TRUE AS is_valid
    FROM information_schema.tables t
    JOIN information_schema.key_column_usage k
      ON k.table_schema = t.table_schema AND k.table_name = t.table_name
     AND CAST(k.table_name AS BINARY) = CAST(t.table_name AS BINARY)
     AND k.referenced_table_name IS NOT NULL AND k.ordinal_position = 1
    JOIN information_schema.referential_constraints r
      ON r.constraint_schema = k.table_schema AND r.table_name = k.table_name
     AND r.constraint_name = k.constraint_name
    WHERE {where}
    ORDER BY k.constraint_name",
    // There are no CHECKs before MySQL 8.0.16. MySQL runs the comments that begin with a version,
    // and MariaDB those that begin with M, because their tables have different columns here.
    checks: "
    SELECT CAST(t.table_schema AS CHAR) AS in_schema, CAST(t.table_name AS CHAR) AS table_name,
           CONCAT('CHECK (', ''
               /*!80016 , CAST(k.check_clause AS CHAR) */ /*M! , k.check_clause */, ')')
               AS check_sql
    FROM information_schema.tables t
    /*!80016 JOIN information_schema.table_constraints o
      ON o.table_schema = t.table_schema AND o.table_name = t.table_name AND o.enforced = 'YES'
    JOIN information_schema.check_constraints k USING (constraint_schema, constraint_name) */
    /*M! JOIN information_schema.check_constraints k ON k.constraint_schema = t.table_schema
     AND CAST(k.table_name AS BINARY) = CAST(t.table_name AS BINARY) */
    WHERE {where}",
    all: "t.table_type = 'BASE TABLE' AND t.table_schema = DATABASE()",
    by_name: "t.table_type = 'BASE TABLE' AND t.table_name = {name}
        AND t.table_schema = DATABASE()",
    by_schema: "t.table_type = 'BASE TABLE' AND t.table_name = {name}
        AND t.table_schema = {schema}",
    kind_of,
    complete: |_| {},
};

/// MySQL before 8.0.19 and MariaDB write `bigint(20)`.
fn kind_of(column_type: &str) -> Kind {
    match column_type.split(['(', ' ']).next().unwrap_or_default() {
        name if name.ends_with("int") && column_type.contains("unsigned") => Kind::Unsigned,
        "tinyint" | "mediumint" => Kind::OtherInteger,
        _ if column_type.contains("unsigned") => Kind::Other,
        "smallint" => Kind::SmallInt,
        "int" => Kind::Integer,
        "bigint" => Kind::BigInt,
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => Kind::Text,
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => Kind::Binary,
        "uuid" => Kind::Uuid,
        "date" => Kind::Date,
        // TIMESTAMP isn't one: its text depends on the session's time zone.
        "datetime" => Kind::Timestamp,
        "float" | "double" => Kind::Real,
        _ => Kind::Other,
    }
}
