DO $diesel_counters$
#variable_conflict use_column
DECLARE
    counting_search_path TEXT := pg_catalog.current_setting('search_path');
    counting_row_security TEXT := pg_catalog.current_setting('row_security');
BEGIN
-- Names are those of the server's own functions, and a policy that would hide rows is an error.
PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
    pg_catalog.set_config('row_security', 'off', true);
IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE 'run this migration at READ COMMITTED, to count all rows that are committed';
END IF;
-- The triggers run with the rights of this role, and the triggers of these tables run within them.
IF EXISTS (SELECT FROM pg_class WHERE pg_get_userbyid(relowner) <> current_user
    AND oid IN ('"public"."bench_forum_comment_votes"'::regclass, '"public"."bench_forum_comment_counters"'::regclass,
        '"public"."bench_forum_person_counters"'::regclass, '"public"."bench_forum_post_votes"'::regclass,
        '"public"."bench_forum_post_counters"'::regclass, '"public"."bench_forum_comments"'::regclass,
        '"public"."bench_forum_community_counters"'::regclass, '"public"."bench_forum_site_counters"'::regclass,
        '"public"."bench_forum_posts"'::regclass)) THEN
    RAISE 'run this migration as the role that owns its tables: % does not', current_user;
END IF;
-- The owner of a table that is read can have code run with the rights of this role, so it must have them already.
IF EXISTS (SELECT FROM pg_class WHERE NOT pg_has_role(relowner, current_user, 'USAGE')
    AND oid IN ('"public"."bench_forum_people"'::regclass, '"public"."bench_forum_communities"'::regclass)) THEN
    RAISE 'the owner of a table that the counters refer to could use the rights of %: give the tables to one role',
        current_user;
END IF;
-- Until this ends, others cannot write these tables.
LOCK TABLE "public"."bench_forum_comment_votes", "public"."bench_forum_post_votes", "public"."bench_forum_comments",
    "public"."bench_forum_posts" IN SHARE ROW EXCLUSIVE MODE;

-- Counts the rows of bench_forum_comment_votes in bench_forum_comment_counters.upvotes,
-- bench_forum_comment_counters.downvotes, bench_forum_comment_counters.score,
-- bench_forum_person_counters.comment_score.
CREATE FUNCTION "public"."bench_count_comment_votes_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"bench_count_comment_votes","rows":"bench_forum_comment_votes",
--     "count":["comment_id:bench_forum_comment_counters.upvotes=CASE WHEN vote > 0 THEN 1 ELSE 0 END",
--     "comment_id:bench_forum_comment_counters.downvotes=CASE WHEN vote < 0 THEN 1 ELSE 0 END",
--     "comment_id:bench_forum_comment_counters.score=vote",
--     "creator_id:bench_forum_person_counters.comment_score=vote"],"by":"1","period":"total",
--     "slots":32,"migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_comment_votes' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_comment_votes', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'INSERT' THEN
        RAISE 'this function counts at INSERT, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_comment_votes"'::regclass,
            '"public"."bench_forum_comment_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass,
            '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 4;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."bench_forum_comment_votes"'::regclass,
            '"public"."bench_forum_comment_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass)
            AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."bench_forum_people"'::regclass) AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = 4;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    INSERT INTO "public"."bench_forum_comment_counters" AS kept ("comment_id", "day", "slot", "upvotes", "downvotes",
        "score")
    SELECT "comment_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM(COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1
        ELSE 0 END) AS BIGINT), 0)) AS BIGINT), CAST(SUM(COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1
        ELSE 0 END) AS BIGINT), 0)) AS BIGINT), CAST(SUM(COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT)
    FROM new_rows
    GROUP BY 1
    HAVING (CAST(SUM(COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
        OR CAST(SUM(COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
        OR CAST(SUM(COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
    ORDER BY 1
    ON CONFLICT ("comment_id", "day", "slot") DO UPDATE SET
        "upvotes" = kept."upvotes" + excluded."upvotes",
        "downvotes" = kept."downvotes" + excluded."downvotes",
        "score" = kept."score" + excluded."score";
    INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "comment_score")
    SELECT "creator_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM(COALESCE(CAST("vote" AS BIGINT),
        0)) AS BIGINT)
    FROM new_rows AS moved
    GROUP BY 1
    HAVING (CAST(SUM(COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_people" AS parent WHERE parent."id" = moved."creator_id")
    ORDER BY 1
    ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
        "comment_score" = kept."comment_score" + excluded."comment_score";
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."bench_count_comment_votes_insert"() IS
    'diesel_counters: {"name":"bench_count_comment_votes","rows":"bench_forum_comment_votes",'
    '"count":["comment_id:bench_forum_comment_counters.upvotes=CASE WHEN vote > 0 THEN 1 ELSE 0 END",'
    '"comment_id:bench_forum_comment_counters.downvotes=CASE WHEN vote < 0 THEN 1 ELSE 0 END",'
    '"comment_id:bench_forum_comment_counters.score=vote",'
    '"creator_id:bench_forum_person_counters.comment_score=vote"],"by":"1","period":"total",'
    '"slots":32,"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comment_votes_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_comment_votes_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_comment_votes_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_comment_votes' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_comment_votes', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'UPDATE' THEN
        RAISE 'this function counts at UPDATE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_comment_votes"'::regclass,
            '"public"."bench_forum_comment_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass,
            '"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 5;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."bench_forum_comment_votes"'::regclass,
            '"public"."bench_forum_comment_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass)
            AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_people"'::regclass)
                AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = 5;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    INSERT INTO "public"."bench_forum_comment_counters" AS kept ("comment_id", "day", "slot", "upvotes", "downvotes",
        "score")
    SELECT "comment_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM("upvotes") AS BIGINT),
        CAST(SUM("downvotes") AS BIGINT), CAST(SUM("score") AS BIGINT)
    FROM (
        SELECT "comment_id", -COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS "upvotes",
            -COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS "downvotes",
            -COALESCE(CAST("vote" AS BIGINT), 0) AS "score"
        FROM old_rows
        UNION ALL
        SELECT "comment_id", COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS "upvotes",
            COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS "downvotes",
            COALESCE(CAST("vote" AS BIGINT), 0) AS "score"
        FROM new_rows
    ) AS moved
    GROUP BY "comment_id"
    HAVING (SUM("upvotes") <> 0 OR SUM("downvotes") <> 0 OR SUM("score") <> 0)
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_comments" AS parent WHERE parent."id" = moved."comment_id")
    ORDER BY 1
    ON CONFLICT ("comment_id", "day", "slot") DO UPDATE SET
        "upvotes" = kept."upvotes" + excluded."upvotes",
        "downvotes" = kept."downvotes" + excluded."downvotes",
        "score" = kept."score" + excluded."score";
    INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "comment_score")
    SELECT "person_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM("comment_score") AS BIGINT)
    FROM (
        SELECT "creator_id" AS "person_id", -COALESCE(CAST("vote" AS BIGINT), 0) AS "comment_score"
        FROM old_rows
        UNION ALL
        SELECT "creator_id" AS "person_id", COALESCE(CAST("vote" AS BIGINT), 0) AS "comment_score"
        FROM new_rows
    ) AS moved
    GROUP BY "person_id"
    HAVING SUM("comment_score") <> 0
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_people" AS parent WHERE parent."id" = moved."person_id")
    ORDER BY 1
    ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
        "comment_score" = kept."comment_score" + excluded."comment_score";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comment_votes_update"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_comment_votes_delete"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_comment_votes_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_comment_votes' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_comment_votes', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'DELETE' THEN
        RAISE 'this function counts at DELETE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_comment_votes"'::regclass,
            '"public"."bench_forum_comment_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass,
            '"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 5;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."bench_forum_comment_votes"'::regclass,
            '"public"."bench_forum_comment_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass)
            AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_people"'::regclass)
                AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = 5;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    INSERT INTO "public"."bench_forum_comment_counters" AS kept ("comment_id", "day", "slot", "upvotes", "downvotes",
        "score")
    SELECT "comment_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1
        ELSE 0 END) AS BIGINT), 0)) AS BIGINT), CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1
        ELSE 0 END) AS BIGINT), 0)) AS BIGINT), CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT)
    FROM old_rows AS moved
    GROUP BY 1
    HAVING (CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
        OR CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
        OR CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_comments" AS parent WHERE parent."id" = moved."comment_id")
    ORDER BY 1
    ON CONFLICT ("comment_id", "day", "slot") DO UPDATE SET
        "upvotes" = kept."upvotes" + excluded."upvotes",
        "downvotes" = kept."downvotes" + excluded."downvotes",
        "score" = kept."score" + excluded."score";
    INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "comment_score")
    SELECT "creator_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM(-COALESCE(CAST("vote" AS BIGINT),
        0)) AS BIGINT)
    FROM old_rows AS moved
    GROUP BY 1
    HAVING (CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_people" AS parent WHERE parent."id" = moved."creator_id")
    ORDER BY 1
    ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
        "comment_score" = kept."comment_score" + excluded."comment_score";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comment_votes_delete"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_comment_votes_truncate"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_comment_votes_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_comment_votes' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_comment_votes', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'TRUNCATE' THEN
        RAISE 'this function counts at TRUNCATE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_comment_votes"'::regclass,
            '"public"."bench_forum_comment_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass,
            '"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 5;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."bench_forum_comment_votes"'::regclass,
            '"public"."bench_forum_comment_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass)
            AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_people"'::regclass)
                AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = 5;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    INSERT INTO "public"."bench_forum_comment_counters" AS kept ("comment_id", "day", "slot", "upvotes", "downvotes",
        "score")
    SELECT "comment_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1
        ELSE 0 END) AS BIGINT), 0)) AS BIGINT), CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1
        ELSE 0 END) AS BIGINT), 0)) AS BIGINT), CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT)
    FROM "public"."bench_forum_comment_votes" AS moved
    GROUP BY 1
    HAVING (CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
        OR CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
        OR CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_comments" AS parent WHERE parent."id" = moved."comment_id")
    ORDER BY 1
    ON CONFLICT ("comment_id", "day", "slot") DO UPDATE SET
        "upvotes" = kept."upvotes" + excluded."upvotes",
        "downvotes" = kept."downvotes" + excluded."downvotes",
        "score" = kept."score" + excluded."score";
    INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "comment_score")
    SELECT "creator_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM(-COALESCE(CAST("vote" AS BIGINT),
        0)) AS BIGINT)
    FROM "public"."bench_forum_comment_votes" AS moved
    GROUP BY 1
    HAVING (CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_people" AS parent WHERE parent."id" = moved."creator_id")
    ORDER BY 1
    ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
        "comment_score" = kept."comment_score" + excluded."comment_score";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comment_votes_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO "public"."bench_forum_comment_counters" AS kept ("comment_id", "day", "slot", "upvotes", "downvotes",
    "score")
SELECT "comment_id", DATE '1970-01-01', 0, drift."upvotes" - drift."stored_upvotes",
    drift."downvotes" - drift."stored_downvotes", drift."score" - drift."stored_score"
FROM (
    SELECT "comment_id", SUM("upvotes") AS "upvotes", SUM("downvotes") AS "downvotes", SUM("score") AS "score",
        SUM("stored_upvotes") AS "stored_upvotes", SUM("stored_downvotes") AS "stored_downvotes",
        SUM("stored_score") AS "stored_score"
    FROM (
        SELECT counted."comment_id", COALESCE(CAST((CASE WHEN counted."vote" > 0 THEN 1 ELSE 0 END) AS BIGINT),
            0) AS "upvotes", COALESCE(CAST((CASE WHEN counted."vote" < 0 THEN 1 ELSE 0 END) AS BIGINT),
            0) AS "downvotes", COALESCE(CAST(counted."vote" AS BIGINT), 0) AS "score", 0 AS "stored_upvotes",
            0 AS "stored_downvotes", 0 AS "stored_score"
        FROM "public"."bench_forum_comment_votes" AS counted
        UNION ALL
        SELECT kept."comment_id", 0, 0, 0, kept."upvotes", kept."downvotes", kept."score"
        FROM "public"."bench_forum_comment_counters" AS kept
    ) AS moved
    GROUP BY "comment_id"
    HAVING SUM("upvotes") <> SUM("stored_upvotes") OR SUM("downvotes") <> SUM("stored_downvotes")
        OR SUM("score") <> SUM("stored_score")
) AS drift
ORDER BY 1
ON CONFLICT ("comment_id", "day", "slot") DO UPDATE SET
    "upvotes" = kept."upvotes" + excluded."upvotes",
    "downvotes" = kept."downvotes" + excluded."downvotes",
    "score" = kept."score" + excluded."score";
INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "comment_score")
SELECT "person_id", DATE '1970-01-01', 0, drift."comment_score" - drift."stored_comment_score"
FROM (
    SELECT "person_id", SUM("comment_score") AS "comment_score", SUM("stored_comment_score") AS "stored_comment_score"
    FROM (
        SELECT counted."creator_id" AS "person_id", COALESCE(CAST(counted."vote" AS BIGINT), 0) AS "comment_score",
            0 AS "stored_comment_score"
        FROM "public"."bench_forum_comment_votes" AS counted
        WHERE EXISTS (SELECT 1 FROM "public"."bench_forum_people" AS parent WHERE parent."id" = counted."creator_id")
        UNION ALL
        SELECT kept."person_id", 0, kept."comment_score"
        FROM "public"."bench_forum_person_counters" AS kept
    ) AS moved
    GROUP BY "person_id"
    HAVING SUM("comment_score") <> SUM("stored_comment_score")
) AS drift
ORDER BY 1
ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
    "comment_score" = kept."comment_score" + excluded."comment_score";
CREATE TRIGGER "bench_count_comment_votes_insert" AFTER INSERT ON "public"."bench_forum_comment_votes"
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comment_votes_insert"();
CREATE TRIGGER "bench_count_comment_votes_update" AFTER UPDATE ON "public"."bench_forum_comment_votes"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comment_votes_update"();
CREATE TRIGGER "bench_count_comment_votes_delete" AFTER DELETE ON "public"."bench_forum_comment_votes"
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comment_votes_delete"();
CREATE TRIGGER "bench_count_comment_votes_truncate" BEFORE TRUNCATE ON "public"."bench_forum_comment_votes"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comment_votes_truncate"();

-- Counts the rows of bench_forum_post_votes in bench_forum_post_counters.upvotes, bench_forum_post_counters.downvotes,
-- bench_forum_post_counters.score, bench_forum_person_counters.post_score.
CREATE FUNCTION "public"."bench_count_post_votes_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"bench_count_post_votes","rows":"bench_forum_post_votes",
--     "count":["post_id:bench_forum_post_counters.upvotes=CASE WHEN vote > 0 THEN 1 ELSE 0 END",
--     "post_id:bench_forum_post_counters.downvotes=CASE WHEN vote < 0 THEN 1 ELSE 0 END",
--     "post_id:bench_forum_post_counters.score=vote",
--     "creator_id:bench_forum_person_counters.post_score=vote"],"by":"1","period":"total","slots":32,
--     "migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_post_votes' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_post_votes', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'INSERT' THEN
        RAISE 'this function counts at INSERT, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_post_votes"'::regclass, '"public"."bench_forum_post_counters"'::regclass,
            '"public"."bench_forum_person_counters"'::regclass, '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 4;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."bench_forum_post_votes"'::regclass,
            '"public"."bench_forum_post_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass)
            AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."bench_forum_people"'::regclass) AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = 4;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    INSERT INTO "public"."bench_forum_post_counters" AS kept ("post_id", "day", "slot", "upvotes", "downvotes", "score")
    SELECT "post_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM(COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1
        ELSE 0 END) AS BIGINT), 0)) AS BIGINT), CAST(SUM(COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1
        ELSE 0 END) AS BIGINT), 0)) AS BIGINT), CAST(SUM(COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT)
    FROM new_rows
    GROUP BY 1
    HAVING (CAST(SUM(COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
        OR CAST(SUM(COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
        OR CAST(SUM(COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
    ORDER BY 1
    ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET
        "upvotes" = kept."upvotes" + excluded."upvotes",
        "downvotes" = kept."downvotes" + excluded."downvotes",
        "score" = kept."score" + excluded."score";
    INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "post_score")
    SELECT "creator_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM(COALESCE(CAST("vote" AS BIGINT),
        0)) AS BIGINT)
    FROM new_rows AS moved
    GROUP BY 1
    HAVING (CAST(SUM(COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_people" AS parent WHERE parent."id" = moved."creator_id")
    ORDER BY 1
    ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
        "post_score" = kept."post_score" + excluded."post_score";
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."bench_count_post_votes_insert"() IS
    'diesel_counters: {"name":"bench_count_post_votes","rows":"bench_forum_post_votes",'
    '"count":["post_id:bench_forum_post_counters.upvotes=CASE WHEN vote > 0 THEN 1 ELSE 0 END",'
    '"post_id:bench_forum_post_counters.downvotes=CASE WHEN vote < 0 THEN 1 ELSE 0 END",'
    '"post_id:bench_forum_post_counters.score=vote",'
    '"creator_id:bench_forum_person_counters.post_score=vote"],"by":"1","period":"total","slots":32,'
    '"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_post_votes_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_post_votes_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_post_votes_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_post_votes' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_post_votes', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'UPDATE' THEN
        RAISE 'this function counts at UPDATE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_post_votes"'::regclass, '"public"."bench_forum_post_counters"'::regclass,
            '"public"."bench_forum_person_counters"'::regclass, '"public"."bench_forum_posts"'::regclass,
            '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 5;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."bench_forum_post_votes"'::regclass,
            '"public"."bench_forum_post_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass)
            AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_people"'::regclass)
                AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = 5;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    INSERT INTO "public"."bench_forum_post_counters" AS kept ("post_id", "day", "slot", "upvotes", "downvotes", "score")
    SELECT "post_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM("upvotes") AS BIGINT),
        CAST(SUM("downvotes") AS BIGINT), CAST(SUM("score") AS BIGINT)
    FROM (
        SELECT "post_id", -COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS "upvotes",
            -COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS "downvotes",
            -COALESCE(CAST("vote" AS BIGINT), 0) AS "score"
        FROM old_rows
        UNION ALL
        SELECT "post_id", COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS "upvotes",
            COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS "downvotes",
            COALESCE(CAST("vote" AS BIGINT), 0) AS "score"
        FROM new_rows
    ) AS moved
    GROUP BY "post_id"
    HAVING (SUM("upvotes") <> 0 OR SUM("downvotes") <> 0 OR SUM("score") <> 0)
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_posts" AS parent WHERE parent."id" = moved."post_id")
    ORDER BY 1
    ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET
        "upvotes" = kept."upvotes" + excluded."upvotes",
        "downvotes" = kept."downvotes" + excluded."downvotes",
        "score" = kept."score" + excluded."score";
    INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "post_score")
    SELECT "person_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM("post_score") AS BIGINT)
    FROM (
        SELECT "creator_id" AS "person_id", -COALESCE(CAST("vote" AS BIGINT), 0) AS "post_score"
        FROM old_rows
        UNION ALL
        SELECT "creator_id" AS "person_id", COALESCE(CAST("vote" AS BIGINT), 0) AS "post_score"
        FROM new_rows
    ) AS moved
    GROUP BY "person_id"
    HAVING SUM("post_score") <> 0
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_people" AS parent WHERE parent."id" = moved."person_id")
    ORDER BY 1
    ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
        "post_score" = kept."post_score" + excluded."post_score";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_post_votes_update"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_post_votes_delete"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_post_votes_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_post_votes' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_post_votes', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'DELETE' THEN
        RAISE 'this function counts at DELETE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_post_votes"'::regclass, '"public"."bench_forum_post_counters"'::regclass,
            '"public"."bench_forum_person_counters"'::regclass, '"public"."bench_forum_posts"'::regclass,
            '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 5;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."bench_forum_post_votes"'::regclass,
            '"public"."bench_forum_post_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass)
            AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_people"'::regclass)
                AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = 5;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    INSERT INTO "public"."bench_forum_post_counters" AS kept ("post_id", "day", "slot", "upvotes", "downvotes", "score")
    SELECT "post_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1
        ELSE 0 END) AS BIGINT), 0)) AS BIGINT), CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1
        ELSE 0 END) AS BIGINT), 0)) AS BIGINT), CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT)
    FROM old_rows AS moved
    GROUP BY 1
    HAVING (CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
        OR CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
        OR CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_posts" AS parent WHERE parent."id" = moved."post_id")
    ORDER BY 1
    ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET
        "upvotes" = kept."upvotes" + excluded."upvotes",
        "downvotes" = kept."downvotes" + excluded."downvotes",
        "score" = kept."score" + excluded."score";
    INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "post_score")
    SELECT "creator_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM(-COALESCE(CAST("vote" AS BIGINT),
        0)) AS BIGINT)
    FROM old_rows AS moved
    GROUP BY 1
    HAVING (CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_people" AS parent WHERE parent."id" = moved."creator_id")
    ORDER BY 1
    ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
        "post_score" = kept."post_score" + excluded."post_score";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_post_votes_delete"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_post_votes_truncate"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_post_votes_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_post_votes' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_post_votes', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'TRUNCATE' THEN
        RAISE 'this function counts at TRUNCATE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_post_votes"'::regclass, '"public"."bench_forum_post_counters"'::regclass,
            '"public"."bench_forum_person_counters"'::regclass, '"public"."bench_forum_posts"'::regclass,
            '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 5;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."bench_forum_post_votes"'::regclass,
            '"public"."bench_forum_post_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass)
            AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_people"'::regclass)
                AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = 5;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    INSERT INTO "public"."bench_forum_post_counters" AS kept ("post_id", "day", "slot", "upvotes", "downvotes", "score")
    SELECT "post_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1
        ELSE 0 END) AS BIGINT), 0)) AS BIGINT), CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1
        ELSE 0 END) AS BIGINT), 0)) AS BIGINT), CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT)
    FROM "public"."bench_forum_post_votes" AS moved
    GROUP BY 1
    HAVING (CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
        OR CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
        OR CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_posts" AS parent WHERE parent."id" = moved."post_id")
    ORDER BY 1
    ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET
        "upvotes" = kept."upvotes" + excluded."upvotes",
        "downvotes" = kept."downvotes" + excluded."downvotes",
        "score" = kept."score" + excluded."score";
    INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "post_score")
    SELECT "creator_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM(-COALESCE(CAST("vote" AS BIGINT),
        0)) AS BIGINT)
    FROM "public"."bench_forum_post_votes" AS moved
    GROUP BY 1
    HAVING (CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_people" AS parent WHERE parent."id" = moved."creator_id")
    ORDER BY 1
    ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
        "post_score" = kept."post_score" + excluded."post_score";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_post_votes_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO "public"."bench_forum_post_counters" AS kept ("post_id", "day", "slot", "upvotes", "downvotes", "score")
SELECT "post_id", DATE '1970-01-01', 0, drift."upvotes" - drift."stored_upvotes",
    drift."downvotes" - drift."stored_downvotes", drift."score" - drift."stored_score"
FROM (
    SELECT "post_id", SUM("upvotes") AS "upvotes", SUM("downvotes") AS "downvotes", SUM("score") AS "score",
        SUM("stored_upvotes") AS "stored_upvotes", SUM("stored_downvotes") AS "stored_downvotes",
        SUM("stored_score") AS "stored_score"
    FROM (
        SELECT counted."post_id", COALESCE(CAST((CASE WHEN counted."vote" > 0 THEN 1 ELSE 0 END) AS BIGINT),
            0) AS "upvotes", COALESCE(CAST((CASE WHEN counted."vote" < 0 THEN 1 ELSE 0 END) AS BIGINT),
            0) AS "downvotes", COALESCE(CAST(counted."vote" AS BIGINT), 0) AS "score", 0 AS "stored_upvotes",
            0 AS "stored_downvotes", 0 AS "stored_score"
        FROM "public"."bench_forum_post_votes" AS counted
        UNION ALL
        SELECT kept."post_id", 0, 0, 0, kept."upvotes", kept."downvotes", kept."score"
        FROM "public"."bench_forum_post_counters" AS kept
    ) AS moved
    GROUP BY "post_id"
    HAVING SUM("upvotes") <> SUM("stored_upvotes") OR SUM("downvotes") <> SUM("stored_downvotes")
        OR SUM("score") <> SUM("stored_score")
) AS drift
ORDER BY 1
ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET
    "upvotes" = kept."upvotes" + excluded."upvotes",
    "downvotes" = kept."downvotes" + excluded."downvotes",
    "score" = kept."score" + excluded."score";
INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "post_score")
SELECT "person_id", DATE '1970-01-01', 0, drift."post_score" - drift."stored_post_score"
FROM (
    SELECT "person_id", SUM("post_score") AS "post_score", SUM("stored_post_score") AS "stored_post_score"
    FROM (
        SELECT counted."creator_id" AS "person_id", COALESCE(CAST(counted."vote" AS BIGINT), 0) AS "post_score",
            0 AS "stored_post_score"
        FROM "public"."bench_forum_post_votes" AS counted
        WHERE EXISTS (SELECT 1 FROM "public"."bench_forum_people" AS parent WHERE parent."id" = counted."creator_id")
        UNION ALL
        SELECT kept."person_id", 0, kept."post_score"
        FROM "public"."bench_forum_person_counters" AS kept
    ) AS moved
    GROUP BY "person_id"
    HAVING SUM("post_score") <> SUM("stored_post_score")
) AS drift
ORDER BY 1
ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
    "post_score" = kept."post_score" + excluded."post_score";
CREATE TRIGGER "bench_count_post_votes_insert" AFTER INSERT ON "public"."bench_forum_post_votes"
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_post_votes_insert"();
CREATE TRIGGER "bench_count_post_votes_update" AFTER UPDATE ON "public"."bench_forum_post_votes"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_post_votes_update"();
CREATE TRIGGER "bench_count_post_votes_delete" AFTER DELETE ON "public"."bench_forum_post_votes"
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_post_votes_delete"();
CREATE TRIGGER "bench_count_post_votes_truncate" BEFORE TRUNCATE ON "public"."bench_forum_post_votes"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_post_votes_truncate"();

-- Counts the rows of bench_forum_comments in bench_forum_post_counters.comments,
-- bench_forum_community_counters.comments, bench_forum_person_counters.comment_count.
CREATE FUNCTION "public"."bench_count_comments_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"bench_count_comments","rows":"bench_forum_comments",
--     "count":["post_id:bench_forum_post_counters.comments",
--     "community_id:bench_forum_community_counters.comments",
--     "creator_id:bench_forum_person_counters.comment_count"],"by":"1",
--     "when":"NOT deleted AND NOT removed","period":"total","slots":32,"migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_comments' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_comments', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'INSERT' THEN
        RAISE 'this function counts at INSERT, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_post_counters"'::regclass,
            '"public"."bench_forum_community_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass,
            '"public"."bench_forum_communities"'::regclass)
        HAVING COUNT(*) = 5;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."bench_forum_comments"'::regclass,
            '"public"."bench_forum_post_counters"'::regclass, '"public"."bench_forum_community_counters"'::regclass,
            '"public"."bench_forum_person_counters"'::regclass) AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."bench_forum_communities"'::regclass) AND pg_has_role(relowner, current_user,
                'USAGE'))
            HAVING COUNT(*) = 5;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    INSERT INTO "public"."bench_forum_post_counters" AS kept ("post_id", "day", "slot", "comments")
    SELECT "post_id", DATE '1970-01-01', counting.counting_slot, COUNT(*)
    FROM new_rows
    WHERE (NOT "deleted" AND NOT "removed")
    GROUP BY 1
    ORDER BY 1
    ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET
        "comments" = kept."comments" + excluded."comments";
    INSERT INTO "public"."bench_forum_community_counters" AS kept ("community_id", "day", "slot", "comments")
    SELECT "community_id", DATE '1970-01-01', counting.counting_slot, COUNT(*)
    FROM new_rows AS moved
    WHERE (NOT "deleted" AND NOT "removed")
    GROUP BY 1
    HAVING EXISTS (SELECT 1 FROM "public"."bench_forum_communities" AS parent WHERE parent."id" = moved."community_id")
    ORDER BY 1
    ON CONFLICT ("community_id", "day", "slot") DO UPDATE SET
        "comments" = kept."comments" + excluded."comments";
    INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "comment_count")
    SELECT "creator_id", DATE '1970-01-01', counting.counting_slot, COUNT(*)
    FROM new_rows
    WHERE (NOT "deleted" AND NOT "removed")
    GROUP BY 1
    ORDER BY 1
    ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
        "comment_count" = kept."comment_count" + excluded."comment_count";
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."bench_count_comments_insert"() IS
    'diesel_counters: {"name":"bench_count_comments","rows":"bench_forum_comments",'
    '"count":["post_id:bench_forum_post_counters.comments",'
    '"community_id:bench_forum_community_counters.comments",'
    '"creator_id:bench_forum_person_counters.comment_count"],"by":"1",'
    '"when":"NOT deleted AND NOT removed","period":"total","slots":32,"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comments_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_comments_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_comments_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_comments' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_comments', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'UPDATE' THEN
        RAISE 'this function counts at UPDATE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_post_counters"'::regclass,
            '"public"."bench_forum_community_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass,
            '"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_communities"'::regclass,
            '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 7;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."bench_forum_comments"'::regclass,
            '"public"."bench_forum_post_counters"'::regclass, '"public"."bench_forum_community_counters"'::regclass,
            '"public"."bench_forum_person_counters"'::regclass) AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_communities"'::regclass,
                '"public"."bench_forum_people"'::regclass) AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = 7;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    INSERT INTO "public"."bench_forum_post_counters" AS kept ("post_id", "day", "slot", "comments")
    SELECT "post_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM("comments") AS BIGINT)
    FROM (
        SELECT "post_id", -1 AS "comments"
        FROM old_rows
        WHERE (NOT "deleted" AND NOT "removed")
        UNION ALL
        SELECT "post_id", 1 AS "comments"
        FROM new_rows
        WHERE (NOT "deleted" AND NOT "removed")
    ) AS moved
    GROUP BY "post_id"
    HAVING SUM("comments") <> 0
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_posts" AS parent WHERE parent."id" = moved."post_id")
    ORDER BY 1
    ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET
        "comments" = kept."comments" + excluded."comments";
    INSERT INTO "public"."bench_forum_community_counters" AS kept ("community_id", "day", "slot", "comments")
    SELECT "community_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM("comments") AS BIGINT)
    FROM (
        SELECT "community_id", -1 AS "comments"
        FROM old_rows
        WHERE (NOT "deleted" AND NOT "removed")
        UNION ALL
        SELECT "community_id", 1 AS "comments"
        FROM new_rows
        WHERE (NOT "deleted" AND NOT "removed")
    ) AS moved
    GROUP BY "community_id"
    HAVING SUM("comments") <> 0
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_communities" AS parent WHERE parent."id" = moved."community_id")
    ORDER BY 1
    ON CONFLICT ("community_id", "day", "slot") DO UPDATE SET
        "comments" = kept."comments" + excluded."comments";
    INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "comment_count")
    SELECT "person_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM("comment_count") AS BIGINT)
    FROM (
        SELECT "creator_id" AS "person_id", -1 AS "comment_count"
        FROM old_rows
        WHERE (NOT "deleted" AND NOT "removed")
        UNION ALL
        SELECT "creator_id" AS "person_id", 1 AS "comment_count"
        FROM new_rows
        WHERE (NOT "deleted" AND NOT "removed")
    ) AS moved
    GROUP BY "person_id"
    HAVING SUM("comment_count") <> 0
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_people" AS parent WHERE parent."id" = moved."person_id")
    ORDER BY 1
    ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
        "comment_count" = kept."comment_count" + excluded."comment_count";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comments_update"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_comments_delete"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_comments_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_comments' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_comments', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'DELETE' THEN
        RAISE 'this function counts at DELETE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_post_counters"'::regclass,
            '"public"."bench_forum_community_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass,
            '"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_communities"'::regclass,
            '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 7;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."bench_forum_comments"'::regclass,
            '"public"."bench_forum_post_counters"'::regclass, '"public"."bench_forum_community_counters"'::regclass,
            '"public"."bench_forum_person_counters"'::regclass) AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_communities"'::regclass,
                '"public"."bench_forum_people"'::regclass) AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = 7;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    INSERT INTO "public"."bench_forum_post_counters" AS kept ("post_id", "day", "slot", "comments")
    SELECT "post_id", DATE '1970-01-01', counting.counting_slot, -COUNT(*)
    FROM old_rows AS moved
    WHERE (NOT "deleted" AND NOT "removed")
    GROUP BY 1
    HAVING EXISTS (SELECT 1 FROM "public"."bench_forum_posts" AS parent WHERE parent."id" = moved."post_id")
    ORDER BY 1
    ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET
        "comments" = kept."comments" + excluded."comments";
    INSERT INTO "public"."bench_forum_community_counters" AS kept ("community_id", "day", "slot", "comments")
    SELECT "community_id", DATE '1970-01-01', counting.counting_slot, -COUNT(*)
    FROM old_rows AS moved
    WHERE (NOT "deleted" AND NOT "removed")
    GROUP BY 1
    HAVING EXISTS (SELECT 1 FROM "public"."bench_forum_communities" AS parent WHERE parent."id" = moved."community_id")
    ORDER BY 1
    ON CONFLICT ("community_id", "day", "slot") DO UPDATE SET
        "comments" = kept."comments" + excluded."comments";
    INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "comment_count")
    SELECT "creator_id", DATE '1970-01-01', counting.counting_slot, -COUNT(*)
    FROM old_rows AS moved
    WHERE (NOT "deleted" AND NOT "removed")
    GROUP BY 1
    HAVING EXISTS (SELECT 1 FROM "public"."bench_forum_people" AS parent WHERE parent."id" = moved."creator_id")
    ORDER BY 1
    ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
        "comment_count" = kept."comment_count" + excluded."comment_count";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comments_delete"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_comments_truncate"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_comments_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_comments' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_comments', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'TRUNCATE' THEN
        RAISE 'this function counts at TRUNCATE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_post_counters"'::regclass,
            '"public"."bench_forum_community_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass,
            '"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_communities"'::regclass,
            '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 7;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."bench_forum_comments"'::regclass,
            '"public"."bench_forum_post_counters"'::regclass, '"public"."bench_forum_community_counters"'::regclass,
            '"public"."bench_forum_person_counters"'::regclass) AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_communities"'::regclass,
                '"public"."bench_forum_people"'::regclass) AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = 7;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    INSERT INTO "public"."bench_forum_post_counters" AS kept ("post_id", "day", "slot", "comments")
    SELECT "post_id", DATE '1970-01-01', counting.counting_slot, -COUNT(*)
    FROM "public"."bench_forum_comments" AS moved
    WHERE (NOT "deleted" AND NOT "removed")
    GROUP BY 1
    HAVING EXISTS (SELECT 1 FROM "public"."bench_forum_posts" AS parent WHERE parent."id" = moved."post_id")
    ORDER BY 1
    ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET
        "comments" = kept."comments" + excluded."comments";
    INSERT INTO "public"."bench_forum_community_counters" AS kept ("community_id", "day", "slot", "comments")
    SELECT "community_id", DATE '1970-01-01', counting.counting_slot, -COUNT(*)
    FROM "public"."bench_forum_comments" AS moved
    WHERE (NOT "deleted" AND NOT "removed")
    GROUP BY 1
    HAVING EXISTS (SELECT 1 FROM "public"."bench_forum_communities" AS parent WHERE parent."id" = moved."community_id")
    ORDER BY 1
    ON CONFLICT ("community_id", "day", "slot") DO UPDATE SET
        "comments" = kept."comments" + excluded."comments";
    INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "comment_count")
    SELECT "creator_id", DATE '1970-01-01', counting.counting_slot, -COUNT(*)
    FROM "public"."bench_forum_comments" AS moved
    WHERE (NOT "deleted" AND NOT "removed")
    GROUP BY 1
    HAVING EXISTS (SELECT 1 FROM "public"."bench_forum_people" AS parent WHERE parent."id" = moved."creator_id")
    ORDER BY 1
    ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
        "comment_count" = kept."comment_count" + excluded."comment_count";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comments_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO "public"."bench_forum_post_counters" AS kept ("post_id", "day", "slot", "comments")
SELECT "post_id", DATE '1970-01-01', 0, drift."comments" - drift."stored_comments"
FROM (
    SELECT "post_id", SUM("comments") AS "comments", SUM("stored_comments") AS "stored_comments"
    FROM (
        SELECT counted."post_id", 1 AS "comments", 0 AS "stored_comments"
        FROM "public"."bench_forum_comments" AS counted
        WHERE (NOT counted."deleted" AND NOT counted."removed")
        UNION ALL
        SELECT kept."post_id", 0, kept."comments"
        FROM "public"."bench_forum_post_counters" AS kept
    ) AS moved
    GROUP BY "post_id"
    HAVING SUM("comments") <> SUM("stored_comments")
) AS drift
ORDER BY 1
ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET
    "comments" = kept."comments" + excluded."comments";
INSERT INTO "public"."bench_forum_community_counters" AS kept ("community_id", "day", "slot", "comments")
SELECT "community_id", DATE '1970-01-01', 0, drift."comments" - drift."stored_comments"
FROM (
    SELECT "community_id", SUM("comments") AS "comments", SUM("stored_comments") AS "stored_comments"
    FROM (
        SELECT counted."community_id", 1 AS "comments", 0 AS "stored_comments"
        FROM "public"."bench_forum_comments" AS counted
        WHERE EXISTS (SELECT 1 FROM "public"."bench_forum_communities" AS parent
            WHERE parent."id" = counted."community_id")
            AND (NOT counted."deleted" AND NOT counted."removed")
        UNION ALL
        SELECT kept."community_id", 0, kept."comments"
        FROM "public"."bench_forum_community_counters" AS kept
    ) AS moved
    GROUP BY "community_id"
    HAVING SUM("comments") <> SUM("stored_comments")
) AS drift
ORDER BY 1
ON CONFLICT ("community_id", "day", "slot") DO UPDATE SET
    "comments" = kept."comments" + excluded."comments";
INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "comment_count")
SELECT "person_id", DATE '1970-01-01', 0, drift."comment_count" - drift."stored_comment_count"
FROM (
    SELECT "person_id", SUM("comment_count") AS "comment_count", SUM("stored_comment_count") AS "stored_comment_count"
    FROM (
        SELECT counted."creator_id" AS "person_id", 1 AS "comment_count", 0 AS "stored_comment_count"
        FROM "public"."bench_forum_comments" AS counted
        WHERE (NOT counted."deleted" AND NOT counted."removed")
        UNION ALL
        SELECT kept."person_id", 0, kept."comment_count"
        FROM "public"."bench_forum_person_counters" AS kept
    ) AS moved
    GROUP BY "person_id"
    HAVING SUM("comment_count") <> SUM("stored_comment_count")
) AS drift
ORDER BY 1
ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
    "comment_count" = kept."comment_count" + excluded."comment_count";
CREATE TRIGGER "bench_count_comments_insert" AFTER INSERT ON "public"."bench_forum_comments"
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comments_insert"();
CREATE TRIGGER "bench_count_comments_update" AFTER UPDATE ON "public"."bench_forum_comments"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comments_update"();
CREATE TRIGGER "bench_count_comments_delete" AFTER DELETE ON "public"."bench_forum_comments"
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comments_delete"();
CREATE TRIGGER "bench_count_comments_truncate" BEFORE TRUNCATE ON "public"."bench_forum_comments"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comments_truncate"();

-- Counts the rows of bench_forum_comments in bench_forum_site_counters.comments.
CREATE FUNCTION "public"."bench_count_site_comments_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"bench_count_site_comments","rows":"bench_forum_comments",
--     "count":["bench_forum_site_counters.comments"],"by":"1",
--     "when":"local AND NOT deleted AND NOT removed","period":"total","slots":32,"migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_comments' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_comments', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'INSERT' THEN
        RAISE 'this function counts at INSERT, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_site_counters"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    INSERT INTO "public"."bench_forum_site_counters" AS kept ("day", "slot", "comments")
    SELECT DATE '1970-01-01', counting.counting_slot, COUNT(*)
    FROM new_rows
    WHERE ("local" AND NOT "deleted" AND NOT "removed")
    HAVING (COUNT(*) <> 0)
    ON CONFLICT ("day", "slot") DO UPDATE SET
        "comments" = kept."comments" + excluded."comments";
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."bench_count_site_comments_insert"() IS
    'diesel_counters: {"name":"bench_count_site_comments","rows":"bench_forum_comments",'
    '"count":["bench_forum_site_counters.comments"],"by":"1",'
    '"when":"local AND NOT deleted AND NOT removed","period":"total","slots":32,"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_site_comments_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_site_comments_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_site_comments_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_comments' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_comments', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'UPDATE' THEN
        RAISE 'this function counts at UPDATE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_site_counters"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    INSERT INTO "public"."bench_forum_site_counters" AS kept ("day", "slot", "comments")
    SELECT DATE '1970-01-01', counting.counting_slot, CAST(SUM("comments") AS BIGINT)
    FROM (
        SELECT -1 AS "comments"
        FROM old_rows
        WHERE ("local" AND NOT "deleted" AND NOT "removed")
        UNION ALL
        SELECT 1 AS "comments"
        FROM new_rows
        WHERE ("local" AND NOT "deleted" AND NOT "removed")
    ) AS moved
    HAVING SUM("comments") <> 0
    ON CONFLICT ("day", "slot") DO UPDATE SET
        "comments" = kept."comments" + excluded."comments";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_site_comments_update"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_site_comments_delete"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_site_comments_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_comments' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_comments', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'DELETE' THEN
        RAISE 'this function counts at DELETE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_site_counters"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    INSERT INTO "public"."bench_forum_site_counters" AS kept ("day", "slot", "comments")
    SELECT DATE '1970-01-01', counting.counting_slot, -COUNT(*)
    FROM old_rows
    WHERE ("local" AND NOT "deleted" AND NOT "removed")
    HAVING (-COUNT(*) <> 0)
    ON CONFLICT ("day", "slot") DO UPDATE SET
        "comments" = kept."comments" + excluded."comments";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_site_comments_delete"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_site_comments_truncate"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_site_comments_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_comments' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_comments', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'TRUNCATE' THEN
        RAISE 'this function counts at TRUNCATE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_site_counters"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    INSERT INTO "public"."bench_forum_site_counters" AS kept ("day", "slot", "comments")
    SELECT DATE '1970-01-01', counting.counting_slot, -COUNT(*)
    FROM "public"."bench_forum_comments"
    WHERE ("local" AND NOT "deleted" AND NOT "removed")
    HAVING (-COUNT(*) <> 0)
    ON CONFLICT ("day", "slot") DO UPDATE SET
        "comments" = kept."comments" + excluded."comments";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_site_comments_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO "public"."bench_forum_site_counters" AS kept ("day", "slot", "comments")
SELECT DATE '1970-01-01', 0, drift."comments" - drift."stored_comments"
FROM (
    SELECT SUM("comments") AS "comments", SUM("stored_comments") AS "stored_comments"
    FROM (
        SELECT 1 AS "comments", 0 AS "stored_comments"
        FROM "public"."bench_forum_comments" AS counted
        WHERE (counted."local" AND NOT counted."deleted" AND NOT counted."removed")
        UNION ALL
        SELECT 0, kept."comments"
        FROM "public"."bench_forum_site_counters" AS kept
    ) AS moved
    HAVING SUM("comments") <> SUM("stored_comments")
) AS drift
WHERE true
ON CONFLICT ("day", "slot") DO UPDATE SET
    "comments" = kept."comments" + excluded."comments";
CREATE TRIGGER "bench_count_site_comments_insert" AFTER INSERT ON "public"."bench_forum_comments"
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_site_comments_insert"();
CREATE TRIGGER "bench_count_site_comments_update" AFTER UPDATE ON "public"."bench_forum_comments"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_site_comments_update"();
CREATE TRIGGER "bench_count_site_comments_delete" AFTER DELETE ON "public"."bench_forum_comments"
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_site_comments_delete"();
CREATE TRIGGER "bench_count_site_comments_truncate" BEFORE TRUNCATE ON "public"."bench_forum_comments"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_site_comments_truncate"();

-- Counts the rows of bench_forum_posts in bench_forum_community_counters.posts, bench_forum_person_counters.post_count.
CREATE FUNCTION "public"."bench_count_posts_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"bench_count_posts","rows":"bench_forum_posts",
--     "count":["community_id:bench_forum_community_counters.posts",
--     "creator_id:bench_forum_person_counters.post_count"],"by":"1",
--     "when":"NOT deleted AND NOT removed","period":"total","slots":32,"migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_posts' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_posts', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'INSERT' THEN
        RAISE 'this function counts at INSERT, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_community_counters"'::regclass,
            '"public"."bench_forum_person_counters"'::regclass)
        HAVING COUNT(*) = 3;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    INSERT INTO "public"."bench_forum_community_counters" AS kept ("community_id", "day", "slot", "posts")
    SELECT "community_id", DATE '1970-01-01', counting.counting_slot, COUNT(*)
    FROM new_rows
    WHERE (NOT "deleted" AND NOT "removed")
    GROUP BY 1
    ORDER BY 1
    ON CONFLICT ("community_id", "day", "slot") DO UPDATE SET
        "posts" = kept."posts" + excluded."posts";
    INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "post_count")
    SELECT "creator_id", DATE '1970-01-01', counting.counting_slot, COUNT(*)
    FROM new_rows
    WHERE (NOT "deleted" AND NOT "removed")
    GROUP BY 1
    ORDER BY 1
    ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
        "post_count" = kept."post_count" + excluded."post_count";
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."bench_count_posts_insert"() IS
    'diesel_counters: {"name":"bench_count_posts","rows":"bench_forum_posts",'
    '"count":["community_id:bench_forum_community_counters.posts",'
    '"creator_id:bench_forum_person_counters.post_count"],"by":"1",'
    '"when":"NOT deleted AND NOT removed","period":"total","slots":32,"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_posts' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_posts', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'UPDATE' THEN
        RAISE 'this function counts at UPDATE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_community_counters"'::regclass,
            '"public"."bench_forum_person_counters"'::regclass, '"public"."bench_forum_communities"'::regclass,
            '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 5;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."bench_forum_posts"'::regclass,
            '"public"."bench_forum_community_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass)
            AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."bench_forum_communities"'::regclass, '"public"."bench_forum_people"'::regclass)
                AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = 5;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    INSERT INTO "public"."bench_forum_community_counters" AS kept ("community_id", "day", "slot", "posts")
    SELECT "community_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM("posts") AS BIGINT)
    FROM (
        SELECT "community_id", -1 AS "posts"
        FROM old_rows
        WHERE (NOT "deleted" AND NOT "removed")
        UNION ALL
        SELECT "community_id", 1 AS "posts"
        FROM new_rows
        WHERE (NOT "deleted" AND NOT "removed")
    ) AS moved
    GROUP BY "community_id"
    HAVING SUM("posts") <> 0
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_communities" AS parent WHERE parent."id" = moved."community_id")
    ORDER BY 1
    ON CONFLICT ("community_id", "day", "slot") DO UPDATE SET
        "posts" = kept."posts" + excluded."posts";
    INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "post_count")
    SELECT "person_id", DATE '1970-01-01', counting.counting_slot, CAST(SUM("post_count") AS BIGINT)
    FROM (
        SELECT "creator_id" AS "person_id", -1 AS "post_count"
        FROM old_rows
        WHERE (NOT "deleted" AND NOT "removed")
        UNION ALL
        SELECT "creator_id" AS "person_id", 1 AS "post_count"
        FROM new_rows
        WHERE (NOT "deleted" AND NOT "removed")
    ) AS moved
    GROUP BY "person_id"
    HAVING SUM("post_count") <> 0
        AND EXISTS (SELECT 1 FROM "public"."bench_forum_people" AS parent WHERE parent."id" = moved."person_id")
    ORDER BY 1
    ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
        "post_count" = kept."post_count" + excluded."post_count";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_update"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_delete"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_posts' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_posts', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'DELETE' THEN
        RAISE 'this function counts at DELETE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_community_counters"'::regclass,
            '"public"."bench_forum_person_counters"'::regclass, '"public"."bench_forum_communities"'::regclass,
            '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 5;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."bench_forum_posts"'::regclass,
            '"public"."bench_forum_community_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass)
            AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."bench_forum_communities"'::regclass, '"public"."bench_forum_people"'::regclass)
                AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = 5;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    INSERT INTO "public"."bench_forum_community_counters" AS kept ("community_id", "day", "slot", "posts")
    SELECT "community_id", DATE '1970-01-01', counting.counting_slot, -COUNT(*)
    FROM old_rows AS moved
    WHERE (NOT "deleted" AND NOT "removed")
    GROUP BY 1
    HAVING EXISTS (SELECT 1 FROM "public"."bench_forum_communities" AS parent WHERE parent."id" = moved."community_id")
    ORDER BY 1
    ON CONFLICT ("community_id", "day", "slot") DO UPDATE SET
        "posts" = kept."posts" + excluded."posts";
    INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "post_count")
    SELECT "creator_id", DATE '1970-01-01', counting.counting_slot, -COUNT(*)
    FROM old_rows AS moved
    WHERE (NOT "deleted" AND NOT "removed")
    GROUP BY 1
    HAVING EXISTS (SELECT 1 FROM "public"."bench_forum_people" AS parent WHERE parent."id" = moved."creator_id")
    ORDER BY 1
    ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
        "post_count" = kept."post_count" + excluded."post_count";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_delete"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_truncate"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_posts' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_posts', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'TRUNCATE' THEN
        RAISE 'this function counts at TRUNCATE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_community_counters"'::regclass,
            '"public"."bench_forum_person_counters"'::regclass, '"public"."bench_forum_communities"'::regclass,
            '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 5;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."bench_forum_posts"'::regclass,
            '"public"."bench_forum_community_counters"'::regclass, '"public"."bench_forum_person_counters"'::regclass)
            AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."bench_forum_communities"'::regclass, '"public"."bench_forum_people"'::regclass)
                AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = 5;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    INSERT INTO "public"."bench_forum_community_counters" AS kept ("community_id", "day", "slot", "posts")
    SELECT "community_id", DATE '1970-01-01', counting.counting_slot, -COUNT(*)
    FROM "public"."bench_forum_posts" AS moved
    WHERE (NOT "deleted" AND NOT "removed")
    GROUP BY 1
    HAVING EXISTS (SELECT 1 FROM "public"."bench_forum_communities" AS parent WHERE parent."id" = moved."community_id")
    ORDER BY 1
    ON CONFLICT ("community_id", "day", "slot") DO UPDATE SET
        "posts" = kept."posts" + excluded."posts";
    INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "post_count")
    SELECT "creator_id", DATE '1970-01-01', counting.counting_slot, -COUNT(*)
    FROM "public"."bench_forum_posts" AS moved
    WHERE (NOT "deleted" AND NOT "removed")
    GROUP BY 1
    HAVING EXISTS (SELECT 1 FROM "public"."bench_forum_people" AS parent WHERE parent."id" = moved."creator_id")
    ORDER BY 1
    ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
        "post_count" = kept."post_count" + excluded."post_count";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO "public"."bench_forum_community_counters" AS kept ("community_id", "day", "slot", "posts")
SELECT "community_id", DATE '1970-01-01', 0, drift."posts" - drift."stored_posts"
FROM (
    SELECT "community_id", SUM("posts") AS "posts", SUM("stored_posts") AS "stored_posts"
    FROM (
        SELECT counted."community_id", 1 AS "posts", 0 AS "stored_posts"
        FROM "public"."bench_forum_posts" AS counted
        WHERE (NOT counted."deleted" AND NOT counted."removed")
        UNION ALL
        SELECT kept."community_id", 0, kept."posts"
        FROM "public"."bench_forum_community_counters" AS kept
    ) AS moved
    GROUP BY "community_id"
    HAVING SUM("posts") <> SUM("stored_posts")
) AS drift
ORDER BY 1
ON CONFLICT ("community_id", "day", "slot") DO UPDATE SET
    "posts" = kept."posts" + excluded."posts";
INSERT INTO "public"."bench_forum_person_counters" AS kept ("person_id", "day", "slot", "post_count")
SELECT "person_id", DATE '1970-01-01', 0, drift."post_count" - drift."stored_post_count"
FROM (
    SELECT "person_id", SUM("post_count") AS "post_count", SUM("stored_post_count") AS "stored_post_count"
    FROM (
        SELECT counted."creator_id" AS "person_id", 1 AS "post_count", 0 AS "stored_post_count"
        FROM "public"."bench_forum_posts" AS counted
        WHERE (NOT counted."deleted" AND NOT counted."removed")
        UNION ALL
        SELECT kept."person_id", 0, kept."post_count"
        FROM "public"."bench_forum_person_counters" AS kept
    ) AS moved
    GROUP BY "person_id"
    HAVING SUM("post_count") <> SUM("stored_post_count")
) AS drift
ORDER BY 1
ON CONFLICT ("person_id", "day", "slot") DO UPDATE SET
    "post_count" = kept."post_count" + excluded."post_count";
CREATE TRIGGER "bench_count_posts_insert" AFTER INSERT ON "public"."bench_forum_posts"
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_insert"();
CREATE TRIGGER "bench_count_posts_update" AFTER UPDATE ON "public"."bench_forum_posts"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_update"();
CREATE TRIGGER "bench_count_posts_delete" AFTER DELETE ON "public"."bench_forum_posts"
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_delete"();
CREATE TRIGGER "bench_count_posts_truncate" BEFORE TRUNCATE ON "public"."bench_forum_posts"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_truncate"();

-- Counts the rows of bench_forum_posts in bench_forum_site_counters.posts.
CREATE FUNCTION "public"."bench_count_site_posts_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"bench_count_site_posts","rows":"bench_forum_posts",
--     "count":["bench_forum_site_counters.posts"],"by":"1",
--     "when":"local AND NOT deleted AND NOT removed","period":"total","slots":32,"migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_posts' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_posts', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'INSERT' THEN
        RAISE 'this function counts at INSERT, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_site_counters"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    INSERT INTO "public"."bench_forum_site_counters" AS kept ("day", "slot", "posts")
    SELECT DATE '1970-01-01', counting.counting_slot, COUNT(*)
    FROM new_rows
    WHERE ("local" AND NOT "deleted" AND NOT "removed")
    HAVING (COUNT(*) <> 0)
    ON CONFLICT ("day", "slot") DO UPDATE SET
        "posts" = kept."posts" + excluded."posts";
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."bench_count_site_posts_insert"() IS
    'diesel_counters: {"name":"bench_count_site_posts","rows":"bench_forum_posts",'
    '"count":["bench_forum_site_counters.posts"],"by":"1",'
    '"when":"local AND NOT deleted AND NOT removed","period":"total","slots":32,"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_site_posts_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_site_posts_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_site_posts_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_posts' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_posts', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'UPDATE' THEN
        RAISE 'this function counts at UPDATE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_site_counters"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    INSERT INTO "public"."bench_forum_site_counters" AS kept ("day", "slot", "posts")
    SELECT DATE '1970-01-01', counting.counting_slot, CAST(SUM("posts") AS BIGINT)
    FROM (
        SELECT -1 AS "posts"
        FROM old_rows
        WHERE ("local" AND NOT "deleted" AND NOT "removed")
        UNION ALL
        SELECT 1 AS "posts"
        FROM new_rows
        WHERE ("local" AND NOT "deleted" AND NOT "removed")
    ) AS moved
    HAVING SUM("posts") <> 0
    ON CONFLICT ("day", "slot") DO UPDATE SET
        "posts" = kept."posts" + excluded."posts";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_site_posts_update"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_site_posts_delete"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_site_posts_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_posts' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_posts', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'DELETE' THEN
        RAISE 'this function counts at DELETE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_site_counters"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    INSERT INTO "public"."bench_forum_site_counters" AS kept ("day", "slot", "posts")
    SELECT DATE '1970-01-01', counting.counting_slot, -COUNT(*)
    FROM old_rows
    WHERE ("local" AND NOT "deleted" AND NOT "removed")
    HAVING (-COUNT(*) <> 0)
    ON CONFLICT ("day", "slot") DO UPDATE SET
        "posts" = kept."posts" + excluded."posts";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_site_posts_delete"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_site_posts_truncate"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_site_posts_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'bench_forum_posts' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'bench_forum_posts', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'TRUNCATE' THEN
        RAISE 'this function counts at TRUNCATE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_site_counters"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    INSERT INTO "public"."bench_forum_site_counters" AS kept ("day", "slot", "posts")
    SELECT DATE '1970-01-01', counting.counting_slot, -COUNT(*)
    FROM "public"."bench_forum_posts"
    WHERE ("local" AND NOT "deleted" AND NOT "removed")
    HAVING (-COUNT(*) <> 0)
    ON CONFLICT ("day", "slot") DO UPDATE SET
        "posts" = kept."posts" + excluded."posts";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_site_posts_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO "public"."bench_forum_site_counters" AS kept ("day", "slot", "posts")
SELECT DATE '1970-01-01', 0, drift."posts" - drift."stored_posts"
FROM (
    SELECT SUM("posts") AS "posts", SUM("stored_posts") AS "stored_posts"
    FROM (
        SELECT 1 AS "posts", 0 AS "stored_posts"
        FROM "public"."bench_forum_posts" AS counted
        WHERE (counted."local" AND NOT counted."deleted" AND NOT counted."removed")
        UNION ALL
        SELECT 0, kept."posts"
        FROM "public"."bench_forum_site_counters" AS kept
    ) AS moved
    HAVING SUM("posts") <> SUM("stored_posts")
) AS drift
WHERE true
ON CONFLICT ("day", "slot") DO UPDATE SET
    "posts" = kept."posts" + excluded."posts";
CREATE TRIGGER "bench_count_site_posts_insert" AFTER INSERT ON "public"."bench_forum_posts"
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_site_posts_insert"();
CREATE TRIGGER "bench_count_site_posts_update" AFTER UPDATE ON "public"."bench_forum_posts"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_site_posts_update"();
CREATE TRIGGER "bench_count_site_posts_delete" AFTER DELETE ON "public"."bench_forum_posts"
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_site_posts_delete"();
CREATE TRIGGER "bench_count_site_posts_truncate" BEFORE TRUNCATE ON "public"."bench_forum_posts"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_site_posts_truncate"();

PERFORM set_config('search_path', counting_search_path, true), set_config('row_security', counting_row_security, true);
END
$diesel_counters$;
