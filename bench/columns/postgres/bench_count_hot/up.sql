DO $diesel_counters$ DECLARE counting RECORD; BEGIN
IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE 'run this migration at READ COMMITTED, to count all rows that are committed';
END IF;
-- Until the migration ends, others can read these tables, but not write them.
LOCK TABLE "bench_hot_articles", "bench_hot_comments" IN SHARE ROW EXCLUSIVE MODE;

-- Counts the rows of bench_hot_comments in bench_hot_articles.comments.
CREATE VIEW "bench_count_hot" AS SELECT '{"definition":{"by":"1","count":["article_id:bench_hot_articles.comments"],"name":"bench_count_hot","period":"day","rows":"bench_hot_comments","slots":32},"targets":[{"view":"bench_count_hot_drift","table":"bench_hot_articles","key":["id"],"counters":["comments"]}]}' AS diesel_counters_trigger;
CREATE VIEW "bench_count_hot_new" AS SELECT "article_id" FROM "bench_hot_comments" WHERE false;
CREATE VIEW "bench_count_hot_drift" AS SELECT "id", SUM("comments") AS "comments", SUM("stored_comments") AS "stored_comments" FROM (
    SELECT counted."article_id" AS "id", 1 AS "comments", 0 AS "stored_comments" FROM "bench_hot_comments" AS counted WHERE EXISTS (SELECT 1 FROM "bench_hot_articles" AS parent WHERE parent."id" = counted."article_id")
    UNION ALL SELECT "id", 0, "comments" FROM "bench_hot_articles"
) AS moved GROUP BY "id" HAVING SUM("comments") <> SUM("stored_comments");
CREATE FUNCTION "bench_count_hot"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $counting$
DECLARE counting_path TEXT := CASE WHEN current_schema() IS DISTINCT FROM TG_TABLE_SCHEMA -- renamed
        THEN set_config('search_path', concat(quote_ident(TG_TABLE_SCHEMA), ', ', current_setting('search_path')), true) END;
    counting_sums RECORD;
BEGIN
    IF TG_OP = 'INSERT' THEN
        FOR counting_sums IN
            SELECT "article_id" AS "id", COUNT(*) AS "comments" FROM "bench_count_hot_new" GROUP BY 1 ORDER BY 1
        LOOP
            UPDATE "bench_hot_articles" AS kept SET "comments" = kept."comments" + counting_sums."comments" WHERE kept."id" = counting_sums."id";
        END LOOP;
    ELSE
        IF TG_OP = 'TRUNCATE' AND current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE', current_setting('transaction_isolation'); END IF;
        FOR counting_sums IN
            SELECT "id", CAST(SUM("comments") AS BIGINT) AS "comments" FROM (
                SELECT "article_id" AS "id", -1 AS "comments" FROM "bench_hot_comments"
                UNION ALL SELECT "article_id" AS "id", 1 AS "comments" FROM "bench_count_hot_new"
            ) AS moved GROUP BY "id"
            HAVING SUM("comments") <> 0 ORDER BY "id"
        LOOP
            UPDATE "bench_hot_articles" AS kept SET "comments" = kept."comments" + counting_sums."comments" WHERE kept."id" = counting_sums."id";
        END LOOP;
    END IF;
    RETURN NULL; END $counting$;
UPDATE "bench_hot_articles" SET "comments" = "bench_hot_articles"."comments" + "bench_count_hot_drift"."comments" - "bench_count_hot_drift"."stored_comments"
FROM "bench_count_hot_drift" WHERE "bench_hot_articles"."id" = "bench_count_hot_drift"."id";

FOR counting IN SELECT * FROM (VALUES
    ('bench_count_hot', '"bench_hot_comments"', 'bench_hot_comments', 'bench_count_hot_new', true)
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
