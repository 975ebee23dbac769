DO $diesel_counters$ DECLARE counting RECORD; BEGIN
IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE 'run this migration at READ COMMITTED, to count all rows that are committed';
END IF;
-- Until the migration ends, others can read these tables, but not write them.
LOCK TABLE "article_likes" IN SHARE ROW EXCLUSIVE MODE;
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

-- Counts the rows of article_likes in article_counters.likes.
CREATE VIEW "count_article_likes" AS SELECT '{"definition":{"by":"1","count":["article_id:article_counters.likes"],"name":"count_article_likes","period":"day","rows":"article_likes","slots":32},"targets":[{"view":"count_article_likes_drift","table":"article_counters","key":["article_id"],"slots":["day","slot"],"counters":["likes"]}]}' AS diesel_counters_trigger;
CREATE VIEW "count_article_likes_new" AS SELECT "article_id" FROM "article_likes" WHERE false;
CREATE VIEW "count_article_likes_drift" AS SELECT "article_id", SUM("likes") AS "likes", SUM("stored_likes") AS "stored_likes" FROM (
    SELECT counted."article_id", 1 AS "likes", 0 AS "stored_likes" FROM "article_likes" AS counted
    UNION ALL SELECT "article_id", 0, "likes" FROM "article_counters"
) AS moved GROUP BY "article_id" HAVING SUM("likes") <> SUM("stored_likes");
CREATE FUNCTION "count_article_likes"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $counting$
DECLARE counting_path TEXT := CASE WHEN current_schema() IS DISTINCT FROM TG_TABLE_SCHEMA -- renamed
        THEN set_config('search_path', concat(quote_ident(TG_TABLE_SCHEMA), ', ', current_setting('search_path')), true) END;
    counting_slot SMALLINT := COALESCE(1 + CAST(NULLIF(current_setting('diesel_counters.number', true), '') AS INTEGER) % CASE WHEN COALESCE(current_setting('diesel_counters.partition', true), '') = '' THEN 32 END, diesel_counters_slot(32));
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO "article_counters" AS kept ("article_id", "day", "slot", "likes")
        SELECT "article_id", CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, COUNT(*) FROM "count_article_likes_new" GROUP BY 1 ORDER BY 1
        ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes";
    ELSE
        IF TG_OP = 'TRUNCATE' AND current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE', current_setting('transaction_isolation'); END IF;
        INSERT INTO "article_counters" AS kept ("article_id", "day", "slot", "likes")
        SELECT "article_id", CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, CAST(SUM("likes") AS BIGINT) FROM (
            SELECT "article_id", -1 AS "likes" FROM "article_likes"
            UNION ALL SELECT "article_id", 1 AS "likes" FROM "count_article_likes_new"
        ) AS moved GROUP BY "article_id"
        HAVING SUM("likes") <> 0 AND EXISTS (SELECT 1 FROM "articles" AS parent WHERE parent."id" = moved."article_id") ORDER BY "article_id"
        ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes";
    END IF;
    RETURN NULL; END $counting$;
INSERT INTO "article_counters" AS kept ("article_id", "day", "slot", "likes")
SELECT "article_id", DATE '1970-01-01', -CAST(split_part(COALESCE(NULLIF(current_setting('diesel_counters.partition', true), ''), '0'), '/', 1) AS SMALLINT), "likes" - "stored_likes" FROM "count_article_likes_drift" ORDER BY "article_id"
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes";

FOR counting IN SELECT * FROM (VALUES
    ('count_article_likes', '"article_likes"', 'article_likes', 'count_article_likes_new', true)
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
