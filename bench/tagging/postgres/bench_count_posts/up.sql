DO $diesel_counters$ DECLARE counting RECORD; BEGIN
IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE 'run this migration at READ COMMITTED, to count all rows that are committed';
END IF;
-- Until the migration ends, others can read these tables, but not write them.
LOCK TABLE "bench_posts" IN SHARE ROW EXCLUSIVE MODE;
-- The slot of the connection: it claims a number.
IF to_regprocedure('diesel_counters_slot(integer)') IS NULL THEN
    CREATE FUNCTION diesel_counters_slot(slots INTEGER) RETURNS INTEGER LANGUAGE plpgsql AS $slot$
    DECLARE of_node TEXT := COALESCE(NULLIF(current_setting('diesel_counters.partition', true), ''), '0/1');
        index INTEGER := split_part(of_node, '/', 1); parts INTEGER := split_part(of_node, '/', 2);
    BEGIN
        IF (index BETWEEN 0 AND parts - 1 AND parts < 32768) IS NOT TRUE THEN
            RAISE 'diesel_counters.partition is %: write 1/3 for the second of three partitions', of_node; END IF;
        RETURN 1 + index + parts * (COALESCE(CAST(NULLIF(current_setting('diesel_counters.number', true), '') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) FROM (SELECT generate_series(0, 32766) AS number) AS numbers WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1), pg_backend_pid())
            % greatest((slots - 1 - index) / parts + 1, 1)); END $slot$;
END IF;

-- Counts the rows of bench_posts in bench_site_counters.post_count.
CREATE VIEW "bench_count_posts" AS SELECT '{"definition":{"by":"1","count":["bench_site_counters.post_count"],"name":"bench_count_posts","period":"day","rows":"bench_posts","slots":32},"targets":[{"view":"bench_count_posts_drift","table":"bench_site_counters","key":[],"slots":["day","slot"],"counters":["post_count"]}]}' AS diesel_counters_trigger;
CREATE VIEW "bench_count_posts_new" AS SELECT  FROM "bench_posts" WHERE false;
CREATE VIEW "bench_count_posts_drift" AS SELECT SUM("post_count") AS "post_count", SUM("stored_post_count") AS "stored_post_count" FROM (
    SELECT 1 AS "post_count", 0 AS "stored_post_count" FROM "bench_posts" AS counted
    UNION ALL SELECT 0, "post_count" FROM "bench_site_counters"
) AS moved HAVING SUM("post_count") <> SUM("stored_post_count");
CREATE FUNCTION "bench_count_posts"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $counting$
DECLARE counting_path TEXT := CASE WHEN current_schema() IS DISTINCT FROM TG_TABLE_SCHEMA -- renamed
        THEN set_config('search_path', concat(quote_ident(TG_TABLE_SCHEMA), ', ', current_setting('search_path')), true) END;
    counting_slot SMALLINT := COALESCE(1 + CAST(NULLIF(current_setting('diesel_counters.number', true), '') AS INTEGER) % CASE WHEN COALESCE(current_setting('diesel_counters.partition', true), '') = '' THEN 32 END, diesel_counters_slot(32));
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO "bench_site_counters" AS kept ("day", "slot", "post_count")
        SELECT CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, COUNT(*) FROM "bench_count_posts_new" HAVING COUNT(*) <> 0
        ON CONFLICT ("day", "slot") DO UPDATE SET "post_count" = kept."post_count" + excluded."post_count";
    ELSE
        IF TG_OP = 'TRUNCATE' AND current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE', current_setting('transaction_isolation'); END IF;
        INSERT INTO "bench_site_counters" AS kept ("day", "slot", "post_count")
        SELECT CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, CAST(SUM("post_count") AS BIGINT) FROM (
            SELECT -1 AS "post_count" FROM "bench_posts"
            UNION ALL SELECT 1 AS "post_count" FROM "bench_count_posts_new"
        ) AS moved
        HAVING SUM("post_count") <> 0
        ON CONFLICT ("day", "slot") DO UPDATE SET "post_count" = kept."post_count" + excluded."post_count";
    END IF;
    RETURN NULL; END $counting$;
INSERT INTO "bench_site_counters" AS kept ("day", "slot", "post_count")
SELECT DATE '1970-01-01', -CAST(split_part(COALESCE(NULLIF(current_setting('diesel_counters.partition', true), ''), '0'), '/', 1) AS SMALLINT), "post_count" - "stored_post_count" FROM "bench_count_posts_drift" WHERE true
ON CONFLICT ("day", "slot") DO UPDATE SET "post_count" = kept."post_count" + excluded."post_count";

FOR counting IN SELECT * FROM (VALUES
    ('bench_count_posts', '"bench_posts"', 'bench_posts', 'bench_count_posts_new', false)
) AS counting (name, rows, old, new, has_updates) LOOP
    -- Otherwise a temporary table could take the place of the counters.
    EXECUTE format('ALTER FUNCTION %I() SET search_path = %s, pg_temp', counting.name, current_setting('search_path'));
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %I() FROM PUBLIC', counting.name);
    -- In a trigger, the names of these tables are those of the rows of the statement.
    EXECUTE format('CREATE TRIGGER %I AFTER INSERT ON %s REFERENCING NEW TABLE AS %I
        FOR EACH STATEMENT EXECUTE FUNCTION %I()', counting.name || '_insert', counting.rows, counting.new, counting.name);
    IF counting.has_updates THEN
    EXECUTE format('CREATE TRIGGER %I AFTER UPDATE ON %s REFERENCING OLD TABLE AS %I NEW TABLE AS %I
        FOR EACH STATEMENT EXECUTE FUNCTION %I()', counting.name || '_update', counting.rows, counting.old, counting.new, counting.name);
    END IF;
    EXECUTE format('CREATE TRIGGER %I AFTER DELETE ON %s REFERENCING OLD TABLE AS %I
        FOR EACH STATEMENT EXECUTE FUNCTION %I()', counting.name || '_delete', counting.rows, counting.old, counting.name);
    EXECUTE format('CREATE TRIGGER %I BEFORE TRUNCATE ON %s
        FOR EACH STATEMENT EXECUTE FUNCTION %I()', counting.name || '_truncate', counting.rows, counting.name);
END LOOP;
END $diesel_counters$;
