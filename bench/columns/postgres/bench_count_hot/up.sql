-- Rows are locked in this order, as the program must lock them: bench_hot_comments, bench_hot_articles.
DO $diesel_counters$
#variable_conflict use_column
DECLARE
    counting_search_path TEXT := pg_catalog.current_setting('search_path');
    counting_row_security TEXT := pg_catalog.current_setting('row_security');
BEGIN
-- Names are those of the server's own functions, and a policy that would hide rows is an error.
PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
    pg_catalog.set_config('row_security', 'off', true);
IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE 'run this migration at READ COMMITTED, to count all rows that are committed';
END IF;
-- The triggers run with the rights of this role, and the triggers of these tables run within them.
IF EXISTS (SELECT FROM pg_class WHERE pg_get_userbyid(relowner) <> current_user
    AND oid IN ('"public"."bench_hot_comments"'::regclass, '"public"."bench_hot_articles"'::regclass)) THEN
    RAISE 'run this migration as the role that owns its tables: % does not', current_user;
END IF;
-- Until this ends, others cannot write these tables.
LOCK TABLE "public"."bench_hot_articles", "public"."bench_hot_comments" IN SHARE ROW EXCLUSIVE MODE;

-- Counts the rows of bench_hot_comments in bench_hot_articles.comments.
CREATE FUNCTION "public"."bench_count_hot_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"bench_count_hot","rows":"bench_hot_comments",
--     "count":["article_id:bench_hot_articles.comments"],"by":"1","period":"day","slots":32,
--     "migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_hot_comments' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_hot_comments', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'INSERT' THEN
        RAISE 'this function counts at INSERT, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_hot_comments"'::regclass, '"public"."bench_hot_articles"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "article_id" AS "id", COUNT(*) AS "comments"
        FROM new_rows
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_hot_articles" AS kept SET
            "comments" = kept."comments" + counting_sums."comments"
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."bench_count_hot_insert"() IS
    'diesel_counters: {"name":"bench_count_hot","rows":"bench_hot_comments",'
    '"count":["article_id:bench_hot_articles.comments"],"by":"1","period":"day","slots":32,'
    '"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_hot_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_hot_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_hot_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_hot_comments' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_hot_comments', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'UPDATE' THEN
        RAISE 'this function counts at UPDATE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_hot_comments"'::regclass, '"public"."bench_hot_articles"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "id", CAST(SUM("comments") AS BIGINT) AS "comments"
        FROM (
            SELECT "article_id" AS "id", -1 AS "comments"
            FROM old_rows
            UNION ALL
            SELECT "article_id" AS "id", 1 AS "comments"
            FROM new_rows
        ) AS moved
        GROUP BY "id"
        HAVING SUM("comments") <> 0
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_hot_articles" AS kept SET
            "comments" = kept."comments" + counting_sums."comments"
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_hot_update"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_hot_delete"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_hot_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_hot_comments' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_hot_comments', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'DELETE' THEN
        RAISE 'this function counts at DELETE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_hot_comments"'::regclass, '"public"."bench_hot_articles"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "article_id" AS "id", -COUNT(*) AS "comments"
        FROM old_rows
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_hot_articles" AS kept SET
            "comments" = kept."comments" + counting_sums."comments"
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_hot_delete"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_hot_truncate"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_hot_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_hot_comments' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_hot_comments', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'TRUNCATE' THEN
        RAISE 'this function counts at TRUNCATE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_hot_comments"'::regclass, '"public"."bench_hot_articles"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    FOR counting_sums IN
        SELECT "article_id" AS "id", -COUNT(*) AS "comments"
        FROM "public"."bench_hot_comments"
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_hot_articles" AS kept SET
            "comments" = kept."comments" + counting_sums."comments"
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_hot_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE "public"."bench_hot_articles" SET
    "comments" = "public"."bench_hot_articles"."comments" + (drift."comments" - drift."stored_comments")
FROM (
    SELECT "id", SUM("comments") AS "comments", SUM("stored_comments") AS "stored_comments"
    FROM (
        SELECT counted."article_id" AS "id", 1 AS "comments", 0 AS "stored_comments", 0 AS kept_rows
        FROM "public"."bench_hot_comments" AS counted
        UNION ALL
        SELECT kept."id", 0, kept."comments", 1 AS kept_rows
        FROM "public"."bench_hot_articles" AS kept
    ) AS moved
    GROUP BY "id"
    HAVING (SUM("comments") <> SUM("stored_comments")) AND SUM(kept_rows) > 0
) AS drift
WHERE "public"."bench_hot_articles"."id" = drift."id";
CREATE TRIGGER "bench_count_hot_insert" AFTER INSERT ON "public"."bench_hot_comments"
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_hot_insert"();
CREATE TRIGGER "bench_count_hot_update" AFTER UPDATE ON "public"."bench_hot_comments"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_hot_update"();
CREATE TRIGGER "bench_count_hot_delete" AFTER DELETE ON "public"."bench_hot_comments"
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_hot_delete"();
CREATE TRIGGER "bench_count_hot_truncate" BEFORE TRUNCATE ON "public"."bench_hot_comments"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_hot_truncate"();

PERFORM set_config('search_path', counting_search_path, true), set_config('row_security', counting_row_security, true);
END
$diesel_counters$;
