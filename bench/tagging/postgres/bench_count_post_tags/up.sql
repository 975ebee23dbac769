-- Counts the rows of bench_post_tags in bench_post_counters.tag_count, bench_tag_counters.usage_count.

DO $diesel_counters$ BEGIN
IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'run this migration at READ COMMITTED, to count all rows that are committed';
END IF;
-- Until the migration ends, others can read bench_post_tags, but not write it.
LOCK TABLE "bench_post_tags" IN SHARE ROW EXCLUSIVE MODE;

-- The definition of the triggers, for `diesel-counters check` and `recount`.
CREATE VIEW "bench_count_post_tags" AS
SELECT '{"name":"bench_count_post_tags","rows":"bench_post_tags","count":["post_id:bench_post_counters.tag_count","tag_id:bench_tag_counters.usage_count"],"by":"1","period":"day","slots":32}' AS diesel_counters_trigger;

CREATE FUNCTION "bench_count_post_tags"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $counting$
DECLARE
    counting_slot SMALLINT := 1 + CAST(NULLIF(current_setting('diesel_counters.number', true), '') AS INTEGER) % 32;
BEGIN
    -- The schema of the rows, if it has been renamed or is not the first.
    IF current_schema() IS DISTINCT FROM TG_TABLE_SCHEMA THEN
        PERFORM set_config('search_path', concat(quote_ident(TG_TABLE_SCHEMA), ', ', current_setting('search_path')), true);
    END IF;
    IF counting_slot IS NULL THEN
        counting_slot := 1 + COALESCE(CAST(NULLIF(current_setting('diesel_counters.number', true), '') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) FROM (SELECT generate_series(0, 32766) AS number) AS numbers WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1), pg_backend_pid()) % 32;
    END IF;
    IF TG_OP = 'INSERT' THEN
        INSERT INTO "bench_post_counters" AS kept ("post_id", "day", "slot", "tag_count")
        SELECT entity, day, counting_slot, CAST(SUM(count_1) AS BIGINT)
        FROM (
            SELECT counted_1."post_id" AS entity, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, 1 AS count_1
            FROM new_rows AS counted_1
            WHERE counted_1."post_id" IS NOT NULL
        ) AS moved
        GROUP BY entity, day
        HAVING SUM(count_1) <> 0
        ORDER BY entity, day
        ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET "tag_count" = kept."tag_count" + excluded."tag_count";
        INSERT INTO "bench_tag_counters" AS kept ("tag_id", "day", "slot", "usage_count")
        SELECT entity, day, counting_slot, CAST(SUM(count_1) AS BIGINT)
        FROM (
            SELECT counted_2."tag_id" AS entity, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, 1 AS count_1
            FROM new_rows AS counted_2
            WHERE counted_2."tag_id" IS NOT NULL
        ) AS moved
        GROUP BY entity, day
        HAVING SUM(count_1) <> 0
        ORDER BY entity, day
        ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = kept."usage_count" + excluded."usage_count";
    ELSIF TG_OP = 'UPDATE' THEN
        INSERT INTO "bench_post_counters" AS kept ("post_id", "day", "slot", "tag_count")
        SELECT entity, day, counting_slot, CAST(SUM(count_1) AS BIGINT)
        FROM (
            SELECT counted_1."post_id" AS entity, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, -1 AS count_1
            FROM old_rows AS counted_1
            WHERE counted_1."post_id" IS NOT NULL
            UNION ALL
            SELECT counted_1."post_id" AS entity, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, 1 AS count_1
            FROM new_rows AS counted_1
            WHERE counted_1."post_id" IS NOT NULL
        ) AS moved
        GROUP BY entity, day
        HAVING (SUM(count_1) <> 0)
            AND EXISTS (SELECT 1 FROM "bench_posts" AS parent_1 WHERE parent_1."id" = moved.entity)
        ORDER BY entity, day
        ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET "tag_count" = kept."tag_count" + excluded."tag_count";
        INSERT INTO "bench_tag_counters" AS kept ("tag_id", "day", "slot", "usage_count")
        SELECT entity, day, counting_slot, CAST(SUM(count_1) AS BIGINT)
        FROM (
            SELECT counted_2."tag_id" AS entity, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, -1 AS count_1
            FROM old_rows AS counted_2
            WHERE counted_2."tag_id" IS NOT NULL
            UNION ALL
            SELECT counted_2."tag_id" AS entity, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, 1 AS count_1
            FROM new_rows AS counted_2
            WHERE counted_2."tag_id" IS NOT NULL
        ) AS moved
        GROUP BY entity, day
        HAVING (SUM(count_1) <> 0)
            AND EXISTS (SELECT 1 FROM "bench_tags" AS parent_2 WHERE parent_2."id" = moved.entity)
        ORDER BY entity, day
        ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = kept."usage_count" + excluded."usage_count";
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO "bench_post_counters" AS kept ("post_id", "day", "slot", "tag_count")
        SELECT entity, day, counting_slot, CAST(SUM(count_1) AS BIGINT)
        FROM (
            SELECT counted_1."post_id" AS entity, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, -1 AS count_1
            FROM old_rows AS counted_1
            WHERE counted_1."post_id" IS NOT NULL
        ) AS moved
        GROUP BY entity, day
        HAVING (SUM(count_1) <> 0)
            AND EXISTS (SELECT 1 FROM "bench_posts" AS parent_1 WHERE parent_1."id" = moved.entity)
        ORDER BY entity, day
        ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET "tag_count" = kept."tag_count" + excluded."tag_count";
        INSERT INTO "bench_tag_counters" AS kept ("tag_id", "day", "slot", "usage_count")
        SELECT entity, day, counting_slot, CAST(SUM(count_1) AS BIGINT)
        FROM (
            SELECT counted_2."tag_id" AS entity, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, -1 AS count_1
            FROM old_rows AS counted_2
            WHERE counted_2."tag_id" IS NOT NULL
        ) AS moved
        GROUP BY entity, day
        HAVING (SUM(count_1) <> 0)
            AND EXISTS (SELECT 1 FROM "bench_tags" AS parent_2 WHERE parent_2."id" = moved.entity)
        ORDER BY entity, day
        ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = kept."usage_count" + excluded."usage_count";
    ELSIF current_setting('transaction_isolation') = 'read committed' THEN
        INSERT INTO "bench_post_counters" AS kept ("post_id", "day", "slot", "tag_count")
        SELECT entity, day, counting_slot, CAST(SUM(count_1) AS BIGINT)
        FROM (
            SELECT counted_1."post_id" AS entity, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, -1 AS count_1
            FROM "bench_post_tags" AS counted_1
            WHERE counted_1."post_id" IS NOT NULL
        ) AS moved
        GROUP BY entity, day
        HAVING (SUM(count_1) <> 0)
            AND EXISTS (SELECT 1 FROM "bench_posts" AS parent_1 WHERE parent_1."id" = moved.entity)
        ORDER BY entity, day
        ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET "tag_count" = kept."tag_count" + excluded."tag_count";
        INSERT INTO "bench_tag_counters" AS kept ("tag_id", "day", "slot", "usage_count")
        SELECT entity, day, counting_slot, CAST(SUM(count_1) AS BIGINT)
        FROM (
            SELECT counted_2."tag_id" AS entity, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, -1 AS count_1
            FROM "bench_post_tags" AS counted_2
            WHERE counted_2."tag_id" IS NOT NULL
        ) AS moved
        GROUP BY entity, day
        HAVING (SUM(count_1) <> 0)
            AND EXISTS (SELECT 1 FROM "bench_tags" AS parent_2 WHERE parent_2."id" = moved.entity)
        ORDER BY entity, day
        ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = kept."usage_count" + excluded."usage_count";
    ELSE
        RAISE EXCEPTION '%: TRUNCATE at % cannot see all rows, so they cannot be counted',
            TG_TABLE_NAME, current_setting('transaction_isolation')
            USING HINT = 'Use READ COMMITTED, or DELETE.';
    END IF;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "bench_count_post_tags"() FROM PUBLIC;
DO $path$ BEGIN
    -- Otherwise a temporary table could take the place of the counters.
    EXECUTE $alter$ALTER FUNCTION "bench_count_post_tags"() SET search_path = $alter$
        || current_setting('search_path') || ', pg_temp';
END $path$;

CREATE TRIGGER "bench_count_post_tags_insert" AFTER INSERT ON "bench_post_tags"
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "bench_count_post_tags"();

CREATE TRIGGER "bench_count_post_tags_update" AFTER UPDATE ON "bench_post_tags"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "bench_count_post_tags"();

CREATE TRIGGER "bench_count_post_tags_delete" AFTER DELETE ON "bench_post_tags"
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION "bench_count_post_tags"();

CREATE TRIGGER "bench_count_post_tags_truncate" BEFORE TRUNCATE ON "bench_post_tags"
    FOR EACH STATEMENT EXECUTE FUNCTION "bench_count_post_tags"();

-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO "bench_post_counters" AS kept ("post_id", "day", "slot", "tag_count")
SELECT entity, day, 0, CAST(SUM(count_1) AS BIGINT)
FROM (
    SELECT counted_1."post_id" AS entity, DATE '1970-01-01' AS day, 1 AS count_1
    FROM "bench_post_tags" AS counted_1
    WHERE counted_1."post_id" IS NOT NULL
    UNION ALL
    SELECT stored_1."post_id", DATE '1970-01-01', -stored_1."tag_count"
    FROM "bench_post_counters" AS stored_1
) AS moved
GROUP BY entity, day
HAVING SUM(count_1) <> 0
ORDER BY entity, day
ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET "tag_count" = kept."tag_count" + excluded."tag_count";
INSERT INTO "bench_tag_counters" AS kept ("tag_id", "day", "slot", "usage_count")
SELECT entity, day, 0, CAST(SUM(count_1) AS BIGINT)
FROM (
    SELECT counted_2."tag_id" AS entity, DATE '1970-01-01' AS day, 1 AS count_1
    FROM "bench_post_tags" AS counted_2
    WHERE counted_2."tag_id" IS NOT NULL
    UNION ALL
    SELECT stored_2."tag_id", DATE '1970-01-01', -stored_2."usage_count"
    FROM "bench_tag_counters" AS stored_2
) AS moved
GROUP BY entity, day
HAVING SUM(count_1) <> 0
ORDER BY entity, day
ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = kept."usage_count" + excluded."usage_count";
END $diesel_counters$;
