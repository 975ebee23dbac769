DO $diesel_counters$ DECLARE
    counting_path TEXT := pg_catalog.current_setting('search_path');
    counting_security TEXT := pg_catalog.current_setting('row_security');
BEGIN
-- Only the server's own functions, and all rows or an error.
PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true), pg_catalog.set_config('row_security', 'off', true);
IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE 'run this migration at READ COMMITTED, to count all rows that are committed';
END IF;
-- The triggers run with the rights of this role, and so do those of these tables.
IF EXISTS (SELECT FROM pg_class WHERE pg_get_userbyid(relowner) <> current_user
    AND oid IN ('"public"."bench_posts"'::regclass, '"public"."bench_site_counters"'::regclass)) THEN
    RAISE 'run this migration as the role that owns its tables: % does not', current_user;
END IF;
-- Until the migration ends, others can read these tables, but not write them.
LOCK TABLE "public"."bench_posts" IN SHARE ROW EXCLUSIVE MODE;

-- Counts the rows of bench_posts in bench_site_counters.post_count.
CREATE FUNCTION "public"."bench_count_posts"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
DECLARE
    counting_slot SMALLINT; counting_node TEXT; counting_index INTEGER; counting_parts INTEGER;
BEGIN
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_posts' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_posts', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    END IF;
    counting_slot := length(NULLIF(left(current_setting('diesel_counters.slot_32_0_1', true), 32 + 1), ''));
    IF counting_slot IS NULL OR counting_slot > 32 OR current_setting('diesel_counters.partition', true) <> '' THEN
        counting_node := COALESCE(NULLIF(current_setting('diesel_counters.partition', true), ''), '0/1');
        counting_index := split_part(counting_node, '/', 1);
        counting_parts := split_part(counting_node, '/', 2);
        IF (counting_index BETWEEN 0 AND counting_parts - 1 AND counting_parts < 32768) IS NOT TRUE THEN
            RAISE 'diesel_counters.partition is %: write 1/3 for the second of three partitions', counting_node;
        END IF;
        counting_slot := 1 + counting_index + counting_parts * (COALESCE(COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) FROM (SELECT generate_series(0, 32766) AS number) AS numbers WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)), pg_backend_pid())
            % greatest((32 - 1 - counting_index) / counting_parts + 1, 1));
        PERFORM set_config('diesel_counters.slot_32_0_1', repeat('x', counting_slot), false) WHERE counting_parts = 1;
    END IF;
    IF TG_OP = 'INSERT' THEN
        INSERT INTO "public"."bench_site_counters" AS kept ("day", "slot", "post_count")
        SELECT CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, COUNT(*) FROM new_rows
        HAVING (COUNT(*) <> 0)
        ON CONFLICT ("day", "slot") DO UPDATE SET "post_count" = kept."post_count" + excluded."post_count";
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO "public"."bench_site_counters" AS kept ("day", "slot", "post_count")
        SELECT CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, -COUNT(*) FROM old_rows
        HAVING (-COUNT(*) <> 0)
        ON CONFLICT ("day", "slot") DO UPDATE SET "post_count" = kept."post_count" + excluded."post_count";
    ELSE -- TRUNCATE
        IF current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
                current_setting('transaction_isolation');
        END IF;
        INSERT INTO "public"."bench_site_counters" AS kept ("day", "slot", "post_count")
        SELECT CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, -COUNT(*) FROM "public"."bench_posts"
        HAVING (-COUNT(*) <> 0)
        ON CONFLICT ("day", "slot") DO UPDATE SET "post_count" = kept."post_count" + excluded."post_count";
    END IF;
    RETURN NULL;
END $counting$;
COMMENT ON FUNCTION "public"."bench_count_posts"() IS 'diesel_counters: {"name":"bench_count_posts","rows":"bench_posts","count":["bench_site_counters.post_count"],"by":"1","period":"day","slots":32}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO "public"."bench_site_counters" AS kept ("day", "slot", "post_count")
SELECT DATE '1970-01-01', -CAST(split_part(COALESCE(NULLIF(current_setting('diesel_counters.partition', true), ''), '0'), '/', 1) AS SMALLINT), drift."post_count" - drift."stored_post_count" FROM (SELECT SUM("post_count") AS "post_count", SUM("stored_post_count") AS "stored_post_count" FROM (
    SELECT 1 AS "post_count", 0 AS "stored_post_count" FROM "public"."bench_posts" AS counted
    UNION ALL SELECT 0, kept."post_count" FROM "public"."bench_site_counters" AS kept
) AS moved HAVING SUM("post_count") <> SUM("stored_post_count")) AS drift WHERE true
ON CONFLICT ("day", "slot") DO UPDATE SET "post_count" = kept."post_count" + excluded."post_count";
CREATE TRIGGER "bench_count_posts_insert" AFTER INSERT ON "public"."bench_posts"
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts"();
CREATE TRIGGER "bench_count_posts_delete" AFTER DELETE ON "public"."bench_posts"
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts"();
CREATE TRIGGER "bench_count_posts_truncate" BEFORE TRUNCATE ON "public"."bench_posts"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts"();

PERFORM set_config('search_path', counting_path, true), set_config('row_security', counting_security, true);
END $diesel_counters$;
