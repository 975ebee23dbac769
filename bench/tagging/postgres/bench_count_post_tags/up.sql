-- Rows are locked in this order, as the program must lock them: bench_post_tags, bench_posts.
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
    AND oid IN ('"public"."bench_post_tags"'::regclass, '"public"."bench_posts"'::regclass, '"public"."bench_tag_counters"'::regclass)) THEN
    RAISE 'run this migration as the role that owns its tables: % does not', current_user;
END IF;
-- Until the migration ends, others can read these tables, but not write them.
LOCK TABLE "public"."bench_posts", "public"."bench_post_tags" IN SHARE ROW EXCLUSIVE MODE;

-- Counts the rows of bench_post_tags in bench_posts.tag_count, bench_tag_counters.usage_count.
CREATE FUNCTION "public"."bench_count_post_tags"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
DECLARE
    counting_slot SMALLINT; counting_node TEXT; counting_index INTEGER; counting_parts INTEGER;
    counting_sums RECORD;
BEGIN
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_post_tags' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_post_tags', TG_TABLE_SCHEMA, TG_TABLE_NAME;
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
        FOR counting_sums IN
            SELECT "post_id" AS "id", COUNT(*) AS "tag_count" FROM new_rows GROUP BY 1 ORDER BY 1
        LOOP
            UPDATE "public"."bench_posts" AS kept SET "tag_count" = kept."tag_count" + counting_sums."tag_count" WHERE kept."id" = counting_sums."id";
        END LOOP;
        INSERT INTO "public"."bench_tag_counters" AS kept ("tag_id", "day", "slot", "usage_count")
        SELECT "tag_id", CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, COUNT(*) FROM new_rows GROUP BY 1 ORDER BY 1
        ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = kept."usage_count" + excluded."usage_count";
    ELSIF TG_OP = 'UPDATE' THEN
        FOR counting_sums IN
            SELECT "id", CAST(SUM("tag_count") AS BIGINT) AS "tag_count" FROM (
                SELECT "post_id" AS "id", -1 AS "tag_count" FROM old_rows
                UNION ALL SELECT "post_id" AS "id", 1 AS "tag_count" FROM new_rows
            ) AS moved GROUP BY "id"
            HAVING SUM("tag_count") <> 0 ORDER BY "id"
        LOOP
            UPDATE "public"."bench_posts" AS kept SET "tag_count" = kept."tag_count" + counting_sums."tag_count" WHERE kept."id" = counting_sums."id";
        END LOOP;
        INSERT INTO "public"."bench_tag_counters" AS kept ("tag_id", "day", "slot", "usage_count")
        SELECT "tag_id", CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, CAST(SUM("usage_count") AS BIGINT) FROM (
            SELECT "tag_id", -1 AS "usage_count" FROM old_rows
            UNION ALL SELECT "tag_id", 1 AS "usage_count" FROM new_rows
        ) AS moved GROUP BY "tag_id"
        HAVING SUM("usage_count") <> 0 AND EXISTS (SELECT 1 FROM "public"."bench_tags" AS parent WHERE parent."id" = moved."tag_id") ORDER BY "tag_id"
        ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = kept."usage_count" + excluded."usage_count";
    ELSIF TG_OP = 'DELETE' THEN
        FOR counting_sums IN
            SELECT "post_id" AS "id", -COUNT(*) AS "tag_count" FROM old_rows GROUP BY 1 ORDER BY 1
        LOOP
            UPDATE "public"."bench_posts" AS kept SET "tag_count" = kept."tag_count" + counting_sums."tag_count" WHERE kept."id" = counting_sums."id";
        END LOOP;
        INSERT INTO "public"."bench_tag_counters" AS kept ("tag_id", "day", "slot", "usage_count")
        SELECT "tag_id", CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, -COUNT(*) FROM old_rows AS moved GROUP BY 1
        HAVING EXISTS (SELECT 1 FROM "public"."bench_tags" AS parent WHERE parent."id" = moved."tag_id") ORDER BY 1
        ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = kept."usage_count" + excluded."usage_count";
    ELSE -- TRUNCATE
        IF current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
                current_setting('transaction_isolation');
        END IF;
        FOR counting_sums IN
            SELECT "post_id" AS "id", -COUNT(*) AS "tag_count" FROM "public"."bench_post_tags" GROUP BY 1 ORDER BY 1
        LOOP
            UPDATE "public"."bench_posts" AS kept SET "tag_count" = kept."tag_count" + counting_sums."tag_count" WHERE kept."id" = counting_sums."id";
        END LOOP;
        INSERT INTO "public"."bench_tag_counters" AS kept ("tag_id", "day", "slot", "usage_count")
        SELECT "tag_id", CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, -COUNT(*) FROM "public"."bench_post_tags" AS moved GROUP BY 1
        HAVING EXISTS (SELECT 1 FROM "public"."bench_tags" AS parent WHERE parent."id" = moved."tag_id") ORDER BY 1
        ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = kept."usage_count" + excluded."usage_count";
    END IF;
    RETURN NULL;
END $counting$;
COMMENT ON FUNCTION "public"."bench_count_post_tags"() IS 'diesel_counters: {"name":"bench_count_post_tags","rows":"bench_post_tags","count":["post_id:bench_posts.tag_count","tag_id:bench_tag_counters.usage_count"],"by":"1","period":"day","slots":32}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_post_tags"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE "public"."bench_posts" SET "tag_count" = "public"."bench_posts"."tag_count" + (drift."tag_count" - drift."stored_tag_count")
FROM (SELECT "id", SUM("tag_count") AS "tag_count", SUM("stored_tag_count") AS "stored_tag_count" FROM (
    SELECT counted."post_id" AS "id", 1 AS "tag_count", 0 AS "stored_tag_count" FROM "public"."bench_post_tags" AS counted
    UNION ALL SELECT kept."id", 0, kept."tag_count" FROM "public"."bench_posts" AS kept
) AS moved GROUP BY "id" HAVING SUM("tag_count") <> SUM("stored_tag_count")) AS drift WHERE "public"."bench_posts"."id" = drift."id";
INSERT INTO "public"."bench_tag_counters" AS kept ("tag_id", "day", "slot", "usage_count")
SELECT "tag_id", DATE '1970-01-01', -CAST(split_part(COALESCE(NULLIF(current_setting('diesel_counters.partition', true), ''), '0'), '/', 1) AS SMALLINT), drift."usage_count" - drift."stored_usage_count" FROM (SELECT "tag_id", SUM("usage_count") AS "usage_count", SUM("stored_usage_count") AS "stored_usage_count" FROM (
    SELECT counted."tag_id", 1 AS "usage_count", 0 AS "stored_usage_count" FROM "public"."bench_post_tags" AS counted
    UNION ALL SELECT kept."tag_id", 0, kept."usage_count" FROM "public"."bench_tag_counters" AS kept
) AS moved GROUP BY "tag_id" HAVING SUM("usage_count") <> SUM("stored_usage_count")) AS drift ORDER BY "tag_id"
ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = kept."usage_count" + excluded."usage_count";
CREATE TRIGGER "bench_count_post_tags_insert" AFTER INSERT ON "public"."bench_post_tags"
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_post_tags"();
CREATE TRIGGER "bench_count_post_tags_update" AFTER UPDATE ON "public"."bench_post_tags"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_post_tags"();
CREATE TRIGGER "bench_count_post_tags_delete" AFTER DELETE ON "public"."bench_post_tags"
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_post_tags"();
CREATE TRIGGER "bench_count_post_tags_truncate" BEFORE TRUNCATE ON "public"."bench_post_tags"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_post_tags"();

PERFORM set_config('search_path', counting_path, true), set_config('row_security', counting_security, true);
END $diesel_counters$;
