-- Counts the rows of bench_posts in bench_site_counters.post_count.

DO $diesel_counters$ BEGIN
IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'run this migration at READ COMMITTED, to count all rows that are committed';
END IF;
-- Until the migration ends, others can read bench_posts, but not write it.
LOCK TABLE "bench_posts" IN SHARE ROW EXCLUSIVE MODE;

-- The definition of the triggers, for `diesel-counters check` and `recount`.
CREATE VIEW "bench_count_posts" AS
SELECT '{"name":"bench_count_posts","rows":"bench_posts","count":["bench_site_counters.post_count"],"by":"1","period":"day","slots":32}' AS diesel_counters_trigger;

CREATE FUNCTION "bench_count_posts"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $counting$
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
        INSERT INTO "bench_site_counters" AS kept ("day", "slot", "post_count")
        SELECT day, counting_slot, CAST(SUM(count_1) AS BIGINT)
        FROM (
            SELECT CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, 1 AS count_1
            FROM new_rows AS counted_1
        ) AS moved
        GROUP BY day
        HAVING SUM(count_1) <> 0
        ORDER BY day
        ON CONFLICT ("day", "slot") DO UPDATE SET "post_count" = kept."post_count" + excluded."post_count";
    ELSIF TG_OP = 'UPDATE' THEN
        INSERT INTO "bench_site_counters" AS kept ("day", "slot", "post_count")
        SELECT day, counting_slot, CAST(SUM(count_1) AS BIGINT)
        FROM (
            SELECT CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, -1 AS count_1
            FROM old_rows AS counted_1
            UNION ALL
            SELECT CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, 1 AS count_1
            FROM new_rows AS counted_1
        ) AS moved
        GROUP BY day
        HAVING SUM(count_1) <> 0
        ORDER BY day
        ON CONFLICT ("day", "slot") DO UPDATE SET "post_count" = kept."post_count" + excluded."post_count";
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO "bench_site_counters" AS kept ("day", "slot", "post_count")
        SELECT day, counting_slot, CAST(SUM(count_1) AS BIGINT)
        FROM (
            SELECT CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, -1 AS count_1
            FROM old_rows AS counted_1
        ) AS moved
        GROUP BY day
        HAVING SUM(count_1) <> 0
        ORDER BY day
        ON CONFLICT ("day", "slot") DO UPDATE SET "post_count" = kept."post_count" + excluded."post_count";
    ELSIF current_setting('transaction_isolation') = 'read committed' THEN
        INSERT INTO "bench_site_counters" AS kept ("day", "slot", "post_count")
        SELECT day, counting_slot, CAST(SUM(count_1) AS BIGINT)
        FROM (
            SELECT CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, -1 AS count_1
            FROM "bench_posts" AS counted_1
        ) AS moved
        GROUP BY day
        HAVING SUM(count_1) <> 0
        ORDER BY day
        ON CONFLICT ("day", "slot") DO UPDATE SET "post_count" = kept."post_count" + excluded."post_count";
    ELSE
        RAISE EXCEPTION '%: TRUNCATE at % cannot see all rows, so they cannot be counted',
            TG_TABLE_NAME, current_setting('transaction_isolation')
            USING HINT = 'Use READ COMMITTED, or DELETE.';
    END IF;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "bench_count_posts"() FROM PUBLIC;
DO $path$ BEGIN
    -- Otherwise a temporary table could take the place of the counters.
    EXECUTE $alter$ALTER FUNCTION "bench_count_posts"() SET search_path = $alter$
        || current_setting('search_path') || ', pg_temp';
END $path$;

CREATE TRIGGER "bench_count_posts_insert" AFTER INSERT ON "bench_posts"
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "bench_count_posts"();

CREATE TRIGGER "bench_count_posts_update" AFTER UPDATE ON "bench_posts"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "bench_count_posts"();

CREATE TRIGGER "bench_count_posts_delete" AFTER DELETE ON "bench_posts"
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION "bench_count_posts"();

CREATE TRIGGER "bench_count_posts_truncate" BEFORE TRUNCATE ON "bench_posts"
    FOR EACH STATEMENT EXECUTE FUNCTION "bench_count_posts"();

-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO "bench_site_counters" AS kept ("day", "slot", "post_count")
SELECT day, 0, CAST(SUM(count_1) AS BIGINT)
FROM (
    SELECT DATE '1970-01-01' AS day, 1 AS count_1
    FROM "bench_posts" AS counted_1
    UNION ALL
    SELECT DATE '1970-01-01', -stored_1."post_count"
    FROM "bench_site_counters" AS stored_1
) AS moved
GROUP BY day
HAVING SUM(count_1) <> 0
ORDER BY day
ON CONFLICT ("day", "slot") DO UPDATE SET "post_count" = kept."post_count" + excluded."post_count";
END $diesel_counters$;
