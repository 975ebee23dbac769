-- Counts the rows of article_likes in article_counters.likes.

DO $diesel_counters$ BEGIN
IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'run this migration at READ COMMITTED, to count all rows that are committed';
END IF;
-- Until the migration ends, others can read article_likes, but not write it.
LOCK TABLE "article_likes" IN SHARE ROW EXCLUSIVE MODE;

-- The definition of the triggers, for `diesel-counters check` and `recount`.
CREATE VIEW "count_article_likes" AS
SELECT '{"name":"count_article_likes","rows":"article_likes","count":["article_id:article_counters.likes"],"by":"1","period":"day","slots":32}' AS diesel_counters_trigger;

CREATE FUNCTION "count_article_likes"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $counting$
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
        INSERT INTO "article_counters" AS kept ("article_id", "day", "slot", "likes")
        SELECT entity, day, counting_slot, CAST(SUM(count_1) AS BIGINT)
        FROM (
            SELECT counted_1."article_id" AS entity, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, 1 AS count_1
            FROM new_rows AS counted_1
            WHERE counted_1."article_id" IS NOT NULL
        ) AS moved
        GROUP BY entity, day
        HAVING SUM(count_1) <> 0
        ORDER BY entity, day
        ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes";
    ELSIF TG_OP = 'UPDATE' THEN
        INSERT INTO "article_counters" AS kept ("article_id", "day", "slot", "likes")
        SELECT entity, day, counting_slot, CAST(SUM(count_1) AS BIGINT)
        FROM (
            SELECT counted_1."article_id" AS entity, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, -1 AS count_1
            FROM old_rows AS counted_1
            WHERE counted_1."article_id" IS NOT NULL
            UNION ALL
            SELECT counted_1."article_id" AS entity, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, 1 AS count_1
            FROM new_rows AS counted_1
            WHERE counted_1."article_id" IS NOT NULL
        ) AS moved
        GROUP BY entity, day
        HAVING (SUM(count_1) <> 0)
            AND EXISTS (SELECT 1 FROM "articles" AS parent_1 WHERE parent_1."id" = moved.entity)
        ORDER BY entity, day
        ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes";
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO "article_counters" AS kept ("article_id", "day", "slot", "likes")
        SELECT entity, day, counting_slot, CAST(SUM(count_1) AS BIGINT)
        FROM (
            SELECT counted_1."article_id" AS entity, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, -1 AS count_1
            FROM old_rows AS counted_1
            WHERE counted_1."article_id" IS NOT NULL
        ) AS moved
        GROUP BY entity, day
        HAVING (SUM(count_1) <> 0)
            AND EXISTS (SELECT 1 FROM "articles" AS parent_1 WHERE parent_1."id" = moved.entity)
        ORDER BY entity, day
        ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes";
    ELSIF current_setting('transaction_isolation') = 'read committed' THEN
        INSERT INTO "article_counters" AS kept ("article_id", "day", "slot", "likes")
        SELECT entity, day, counting_slot, CAST(SUM(count_1) AS BIGINT)
        FROM (
            SELECT counted_1."article_id" AS entity, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE) AS day, -1 AS count_1
            FROM "article_likes" AS counted_1
            WHERE counted_1."article_id" IS NOT NULL
        ) AS moved
        GROUP BY entity, day
        HAVING (SUM(count_1) <> 0)
            AND EXISTS (SELECT 1 FROM "articles" AS parent_1 WHERE parent_1."id" = moved.entity)
        ORDER BY entity, day
        ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes";
    ELSE
        RAISE EXCEPTION '%: TRUNCATE at % cannot see all rows, so they cannot be counted',
            TG_TABLE_NAME, current_setting('transaction_isolation')
            USING HINT = 'Use READ COMMITTED, or DELETE.';
    END IF;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "count_article_likes"() FROM PUBLIC;
DO $path$ BEGIN
    -- Otherwise a temporary table could take the place of the counters.
    EXECUTE $alter$ALTER FUNCTION "count_article_likes"() SET search_path = $alter$
        || current_setting('search_path') || ', pg_temp';
END $path$;

CREATE TRIGGER "count_article_likes_insert" AFTER INSERT ON "article_likes"
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "count_article_likes"();

CREATE TRIGGER "count_article_likes_update" AFTER UPDATE ON "article_likes"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "count_article_likes"();

CREATE TRIGGER "count_article_likes_delete" AFTER DELETE ON "article_likes"
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION "count_article_likes"();

CREATE TRIGGER "count_article_likes_truncate" BEFORE TRUNCATE ON "article_likes"
    FOR EACH STATEMENT EXECUTE FUNCTION "count_article_likes"();

-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO "article_counters" AS kept ("article_id", "day", "slot", "likes")
SELECT entity, day, 0, CAST(SUM(count_1) AS BIGINT)
FROM (
    SELECT counted_1."article_id" AS entity, DATE '1970-01-01' AS day, 1 AS count_1
    FROM "article_likes" AS counted_1
    WHERE counted_1."article_id" IS NOT NULL
    UNION ALL
    SELECT stored_1."article_id", DATE '1970-01-01', -stored_1."likes"
    FROM "article_counters" AS stored_1
) AS moved
GROUP BY entity, day
HAVING SUM(count_1) <> 0
ORDER BY entity, day
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes";
END $diesel_counters$;
