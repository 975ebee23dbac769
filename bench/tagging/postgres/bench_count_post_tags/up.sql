DO $diesel_counters$ DECLARE counting RECORD; BEGIN
IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE 'run this migration at READ COMMITTED, to count all rows that are committed';
END IF;
-- Until the migration ends, others can read these tables, but not write them.
LOCK TABLE "bench_posts", "bench_post_tags" IN SHARE ROW EXCLUSIVE MODE;
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

-- Counts the rows of bench_post_tags in bench_posts.tag_count, bench_tag_counters.usage_count.
CREATE VIEW "bench_count_post_tags" AS SELECT '{"definition":{"by":"1","count":["post_id:bench_posts.tag_count","tag_id:bench_tag_counters.usage_count"],"name":"bench_count_post_tags","period":"day","rows":"bench_post_tags","slots":32},"targets":[{"view":"bench_count_post_tags_drift","table":"bench_posts","key":["id"],"counters":["tag_count"]},{"view":"bench_count_post_tags_drift_2","table":"bench_tag_counters","key":["tag_id"],"slots":["day","slot"],"counters":["usage_count"]}]}' AS diesel_counters_trigger;
CREATE VIEW "bench_count_post_tags_new" AS SELECT "post_id", "tag_id" FROM "bench_post_tags" WHERE false;
CREATE VIEW "bench_count_post_tags_drift" AS SELECT "id", SUM("tag_count") AS "tag_count", SUM("stored_tag_count") AS "stored_tag_count" FROM (
    SELECT counted."post_id" AS "id", 1 AS "tag_count", 0 AS "stored_tag_count" FROM "bench_post_tags" AS counted
    UNION ALL SELECT "id", 0, "tag_count" FROM "bench_posts"
) AS moved GROUP BY "id" HAVING SUM("tag_count") <> SUM("stored_tag_count");
CREATE VIEW "bench_count_post_tags_drift_2" AS SELECT "tag_id", SUM("usage_count") AS "usage_count", SUM("stored_usage_count") AS "stored_usage_count" FROM (
    SELECT counted."tag_id", 1 AS "usage_count", 0 AS "stored_usage_count" FROM "bench_post_tags" AS counted
    UNION ALL SELECT "tag_id", 0, "usage_count" FROM "bench_tag_counters"
) AS moved GROUP BY "tag_id" HAVING SUM("usage_count") <> SUM("stored_usage_count");
CREATE FUNCTION "bench_count_post_tags"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $counting$
DECLARE counting_path TEXT := CASE WHEN current_schema() IS DISTINCT FROM TG_TABLE_SCHEMA -- renamed
        THEN set_config('search_path', concat(quote_ident(TG_TABLE_SCHEMA), ', ', current_setting('search_path')), true) END;
    counting_slot SMALLINT := COALESCE(1 + CAST(NULLIF(current_setting('diesel_counters.number', true), '') AS INTEGER) % CASE WHEN COALESCE(current_setting('diesel_counters.partition', true), '') = '' THEN 32 END, diesel_counters_slot(32));
    counting_sums RECORD;
BEGIN
    IF TG_OP = 'INSERT' THEN
        FOR counting_sums IN
            SELECT "post_id" AS "id", COUNT(*) AS "tag_count" FROM "bench_count_post_tags_new" GROUP BY 1 ORDER BY 1
        LOOP
            UPDATE "bench_posts" AS kept SET "tag_count" = kept."tag_count" + counting_sums."tag_count" WHERE kept."id" = counting_sums."id";
        END LOOP;
        INSERT INTO "bench_tag_counters" AS kept ("tag_id", "day", "slot", "usage_count")
        SELECT "tag_id", CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, COUNT(*) FROM "bench_count_post_tags_new" GROUP BY 1 ORDER BY 1
        ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = kept."usage_count" + excluded."usage_count";
    ELSE
        IF TG_OP = 'TRUNCATE' AND current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE', current_setting('transaction_isolation'); END IF;
        FOR counting_sums IN
            SELECT "id", CAST(SUM("tag_count") AS BIGINT) AS "tag_count" FROM (
                SELECT "post_id" AS "id", -1 AS "tag_count" FROM "bench_post_tags"
                UNION ALL SELECT "post_id" AS "id", 1 AS "tag_count" FROM "bench_count_post_tags_new"
            ) AS moved GROUP BY "id"
            HAVING SUM("tag_count") <> 0 ORDER BY "id"
        LOOP
            UPDATE "bench_posts" AS kept SET "tag_count" = kept."tag_count" + counting_sums."tag_count" WHERE kept."id" = counting_sums."id";
        END LOOP;
        INSERT INTO "bench_tag_counters" AS kept ("tag_id", "day", "slot", "usage_count")
        SELECT "tag_id", CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, CAST(SUM("usage_count") AS BIGINT) FROM (
            SELECT "tag_id", -1 AS "usage_count" FROM "bench_post_tags"
            UNION ALL SELECT "tag_id", 1 AS "usage_count" FROM "bench_count_post_tags_new"
        ) AS moved GROUP BY "tag_id"
        HAVING SUM("usage_count") <> 0 AND EXISTS (SELECT 1 FROM "bench_tags" AS parent WHERE parent."id" = moved."tag_id") ORDER BY "tag_id"
        ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = kept."usage_count" + excluded."usage_count";
    END IF;
    RETURN NULL; END $counting$;
UPDATE "bench_posts" SET "tag_count" = "bench_posts"."tag_count" + "bench_count_post_tags_drift"."tag_count" - "bench_count_post_tags_drift"."stored_tag_count"
FROM "bench_count_post_tags_drift" WHERE "bench_posts"."id" = "bench_count_post_tags_drift"."id";
INSERT INTO "bench_tag_counters" AS kept ("tag_id", "day", "slot", "usage_count")
SELECT "tag_id", DATE '1970-01-01', -CAST(split_part(COALESCE(NULLIF(current_setting('diesel_counters.partition', true), ''), '0'), '/', 1) AS SMALLINT), "usage_count" - "stored_usage_count" FROM "bench_count_post_tags_drift_2" ORDER BY "tag_id"
ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = kept."usage_count" + excluded."usage_count";

FOR counting IN SELECT * FROM (VALUES
    ('bench_count_post_tags', '"bench_post_tags"', 'bench_post_tags', 'bench_count_post_tags_new', true)
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
