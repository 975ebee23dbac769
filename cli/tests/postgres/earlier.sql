-- Rows are locked in this order, as the program must lock them: likes, posts.
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
    AND oid IN ('"public"."likes"'::regclass, '"public"."post_counters"'::regclass, '"public"."posts"'::regclass, '"public"."site_counters"'::regclass)) THEN
    RAISE 'run this migration as the role that owns its tables: % does not', current_user;
END IF;
-- Until the migration ends, others can read these tables, but not write them.
LOCK TABLE "public"."posts", "public"."likes" IN SHARE ROW EXCLUSIVE MODE;

-- Counts the rows of likes in post_counters.likes, post_counters.stars, posts.likes, site_counters.likes.
CREATE FUNCTION "public"."count_likes"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
DECLARE
    counting_slot SMALLINT; counting_node TEXT; counting_index INTEGER; counting_parts INTEGER;
    counting_sums RECORD;
BEGIN
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'likes' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'likes', TG_TABLE_SCHEMA, TG_TABLE_NAME;
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
        INSERT INTO "public"."post_counters" AS kept ("post", "day", "slot", "likes", "stars")
        SELECT "post", CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, COUNT(*), CAST(SUM(COALESCE(CAST("stars" AS BIGINT), 0)) AS BIGINT) FROM new_rows
        WHERE "post" IS NOT NULL AND ("kind" <> 'draft') GROUP BY 1 ORDER BY 1
        ON CONFLICT ("post", "day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes", "stars" = kept."stars" + excluded."stars";
        FOR counting_sums IN
            SELECT "post" AS "code", COUNT(*) AS "likes" FROM new_rows
            WHERE "post" IS NOT NULL AND ("kind" <> 'draft') GROUP BY 1 ORDER BY 1
        LOOP
            UPDATE "public"."posts" AS kept SET "likes" = kept."likes" + counting_sums."likes" WHERE kept."code" = counting_sums."code";
        END LOOP;
        INSERT INTO "public"."site_counters" AS kept ("day", "slot", "likes")
        SELECT CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, COUNT(*) FROM new_rows
        WHERE ("kind" <> 'draft')
        HAVING (COUNT(*) <> 0)
        ON CONFLICT ("day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes";
    ELSIF TG_OP = 'UPDATE' THEN
        INSERT INTO "public"."post_counters" AS kept ("post", "day", "slot", "likes", "stars")
        SELECT "post", CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, CAST(SUM("likes") AS BIGINT), CAST(SUM("stars") AS BIGINT) FROM (
            SELECT "post", -1 AS "likes", -COALESCE(CAST("stars" AS BIGINT), 0) AS "stars" FROM old_rows WHERE "post" IS NOT NULL AND ("kind" <> 'draft')
            UNION ALL SELECT "post", 1 AS "likes", COALESCE(CAST("stars" AS BIGINT), 0) AS "stars" FROM new_rows WHERE "post" IS NOT NULL AND ("kind" <> 'draft')
        ) AS moved GROUP BY "post"
        HAVING (SUM("likes") <> 0 OR SUM("stars") <> 0) AND EXISTS (SELECT 1 FROM "public"."posts" AS parent WHERE parent."code" = moved."post") ORDER BY "post"
        ON CONFLICT ("post", "day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes", "stars" = kept."stars" + excluded."stars";
        FOR counting_sums IN
            SELECT "code", CAST(SUM("likes") AS BIGINT) AS "likes" FROM (
                SELECT "post" AS "code", -1 AS "likes" FROM old_rows WHERE "post" IS NOT NULL AND ("kind" <> 'draft')
                UNION ALL SELECT "post" AS "code", 1 AS "likes" FROM new_rows WHERE "post" IS NOT NULL AND ("kind" <> 'draft')
            ) AS moved GROUP BY "code"
            HAVING SUM("likes") <> 0 ORDER BY "code"
        LOOP
            UPDATE "public"."posts" AS kept SET "likes" = kept."likes" + counting_sums."likes" WHERE kept."code" = counting_sums."code";
        END LOOP;
        INSERT INTO "public"."site_counters" AS kept ("day", "slot", "likes")
        SELECT CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, CAST(SUM("likes") AS BIGINT) FROM (
            SELECT -1 AS "likes" FROM old_rows WHERE ("kind" <> 'draft')
            UNION ALL SELECT 1 AS "likes" FROM new_rows WHERE ("kind" <> 'draft')
        ) AS moved
        HAVING SUM("likes") <> 0
        ON CONFLICT ("day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes";
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO "public"."post_counters" AS kept ("post", "day", "slot", "likes", "stars")
        SELECT "post", CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, -COUNT(*), CAST(SUM(-COALESCE(CAST("stars" AS BIGINT), 0)) AS BIGINT) FROM old_rows AS moved
        WHERE "post" IS NOT NULL AND ("kind" <> 'draft') GROUP BY 1
        HAVING EXISTS (SELECT 1 FROM "public"."posts" AS parent WHERE parent."code" = moved."post") ORDER BY 1
        ON CONFLICT ("post", "day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes", "stars" = kept."stars" + excluded."stars";
        FOR counting_sums IN
            SELECT "post" AS "code", -COUNT(*) AS "likes" FROM old_rows
            WHERE "post" IS NOT NULL AND ("kind" <> 'draft') GROUP BY 1 ORDER BY 1
        LOOP
            UPDATE "public"."posts" AS kept SET "likes" = kept."likes" + counting_sums."likes" WHERE kept."code" = counting_sums."code";
        END LOOP;
        INSERT INTO "public"."site_counters" AS kept ("day", "slot", "likes")
        SELECT CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, -COUNT(*) FROM old_rows
        WHERE ("kind" <> 'draft')
        HAVING (-COUNT(*) <> 0)
        ON CONFLICT ("day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes";
    ELSE -- TRUNCATE
        IF current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
                current_setting('transaction_isolation');
        END IF;
        INSERT INTO "public"."post_counters" AS kept ("post", "day", "slot", "likes", "stars")
        SELECT "post", CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, -COUNT(*), CAST(SUM(-COALESCE(CAST("stars" AS BIGINT), 0)) AS BIGINT) FROM "public"."likes" AS moved
        WHERE "post" IS NOT NULL AND ("kind" <> 'draft') GROUP BY 1
        HAVING EXISTS (SELECT 1 FROM "public"."posts" AS parent WHERE parent."code" = moved."post") ORDER BY 1
        ON CONFLICT ("post", "day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes", "stars" = kept."stars" + excluded."stars";
        FOR counting_sums IN
            SELECT "post" AS "code", -COUNT(*) AS "likes" FROM "public"."likes"
            WHERE "post" IS NOT NULL AND ("kind" <> 'draft') GROUP BY 1 ORDER BY 1
        LOOP
            UPDATE "public"."posts" AS kept SET "likes" = kept."likes" + counting_sums."likes" WHERE kept."code" = counting_sums."code";
        END LOOP;
        INSERT INTO "public"."site_counters" AS kept ("day", "slot", "likes")
        SELECT CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting_slot, -COUNT(*) FROM "public"."likes"
        WHERE ("kind" <> 'draft')
        HAVING (-COUNT(*) <> 0)
        ON CONFLICT ("day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes";
    END IF;
    RETURN NULL;
END $counting$;
COMMENT ON FUNCTION "public"."count_likes"() IS 'diesel_counters: {"name":"count_likes","rows":"likes","count":["post:post_counters.likes","post:post_counters.stars=stars","post:posts.likes","site_counters.likes"],"by":"1","when":"kind <> ''draft''","period":"day","slots":32}';
REVOKE EXECUTE ON FUNCTION "public"."count_likes"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO "public"."post_counters" AS kept ("post", "day", "slot", "likes", "stars")
SELECT "post", DATE '1970-01-01', -CAST(split_part(COALESCE(NULLIF(current_setting('diesel_counters.partition', true), ''), '0'), '/', 1) AS SMALLINT), drift."likes" - drift."stored_likes", drift."stars" - drift."stored_stars" FROM (SELECT "post", SUM("likes") AS "likes", SUM("stars") AS "stars", SUM("stored_likes") AS "stored_likes", SUM("stored_stars") AS "stored_stars" FROM (
    SELECT counted."post", 1 AS "likes", COALESCE(CAST(counted."stars" AS BIGINT), 0) AS "stars", 0 AS "stored_likes", 0 AS "stored_stars" FROM "public"."likes" AS counted WHERE counted."post" IS NOT NULL AND (counted."kind" <> 'draft')
    UNION ALL SELECT kept."post", 0, 0, kept."likes", kept."stars" FROM "public"."post_counters" AS kept
) AS moved GROUP BY "post" HAVING SUM("likes") <> SUM("stored_likes") OR SUM("stars") <> SUM("stored_stars")) AS drift ORDER BY "post"
ON CONFLICT ("post", "day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes", "stars" = kept."stars" + excluded."stars";
UPDATE "public"."posts" SET "likes" = "public"."posts"."likes" + (drift."likes" - drift."stored_likes")
FROM (SELECT "code", SUM("likes") AS "likes", SUM("stored_likes") AS "stored_likes" FROM (
    SELECT counted."post" AS "code", 1 AS "likes", 0 AS "stored_likes", 1 AS counted_rows FROM "public"."likes" AS counted WHERE counted."post" IS NOT NULL AND (counted."kind" <> 'draft')
    UNION ALL SELECT kept."code", 0, kept."likes", 0 AS counted_rows FROM "public"."posts" AS kept
) AS moved GROUP BY "code" HAVING (SUM("likes") <> SUM("stored_likes")) AND SUM(counted_rows) > 0) AS drift WHERE "public"."posts"."code" = drift."code";
INSERT INTO "public"."site_counters" AS kept ("day", "slot", "likes")
SELECT DATE '1970-01-01', -CAST(split_part(COALESCE(NULLIF(current_setting('diesel_counters.partition', true), ''), '0'), '/', 1) AS SMALLINT), drift."likes" - drift."stored_likes" FROM (SELECT SUM("likes") AS "likes", SUM("stored_likes") AS "stored_likes" FROM (
    SELECT 1 AS "likes", 0 AS "stored_likes" FROM "public"."likes" AS counted WHERE (counted."kind" <> 'draft')
    UNION ALL SELECT 0, kept."likes" FROM "public"."site_counters" AS kept
) AS moved HAVING SUM("likes") <> SUM("stored_likes")) AS drift WHERE true
ON CONFLICT ("day", "slot") DO UPDATE SET "likes" = kept."likes" + excluded."likes";
CREATE TRIGGER "count_likes_insert" AFTER INSERT ON "public"."likes"
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "public"."count_likes"();
CREATE TRIGGER "count_likes_update" AFTER UPDATE ON "public"."likes"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "public"."count_likes"();
CREATE TRIGGER "count_likes_delete" AFTER DELETE ON "public"."likes"
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION "public"."count_likes"();
CREATE TRIGGER "count_likes_truncate" BEFORE TRUNCATE ON "public"."likes"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."count_likes"();

PERFORM set_config('search_path', counting_path, true), set_config('row_security', counting_security, true);
END $diesel_counters$;
