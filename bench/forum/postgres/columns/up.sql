-- Rows are locked in this order, as the program must lock them: bench_forum_post_votes, bench_forum_comment_votes,
-- bench_forum_comments, bench_forum_posts, bench_forum_communities, bench_forum_people, bench_forum_site.
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
    AND oid IN ('"public"."bench_forum_post_votes"'::regclass, '"public"."bench_forum_posts"'::regclass,
        '"public"."bench_forum_comment_votes"'::regclass, '"public"."bench_forum_comments"'::regclass,
        '"public"."bench_forum_people"'::regclass, '"public"."bench_forum_site"'::regclass,
        '"public"."bench_forum_communities"'::regclass)) THEN
    RAISE 'run this migration as the role that owns its tables: % does not', current_user;
END IF;
-- Until this ends, others cannot write these tables.
LOCK TABLE "public"."bench_forum_posts", "public"."bench_forum_comments", "public"."bench_forum_people",
    "public"."bench_forum_site", "public"."bench_forum_communities", "public"."bench_forum_post_votes",
    "public"."bench_forum_comment_votes" IN SHARE ROW EXCLUSIVE MODE;

-- Counts the rows of bench_forum_post_votes in bench_forum_posts.upvotes, bench_forum_posts.downvotes,
-- bench_forum_posts.score.
CREATE FUNCTION "public"."bench_count_post_votes_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"bench_count_post_votes","rows":"bench_forum_post_votes",
--     "count":["post_id:bench_forum_posts.upvotes=CASE WHEN vote > 0 THEN 1 ELSE 0 END",
--     "post_id:bench_forum_posts.downvotes=CASE WHEN vote < 0 THEN 1 ELSE 0 END",
--     "post_id:bench_forum_posts.score=vote"],"by":"1","period":"day","slots":32,"migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_post_votes"'::regclass, '"public"."bench_forum_posts"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "post_id" AS "id", CAST(SUM(COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT),
            0)) AS BIGINT) AS "upvotes", CAST(SUM(COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT),
            0)) AS BIGINT) AS "downvotes", CAST(SUM(COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) AS "score"
        FROM new_rows
        GROUP BY 1
        HAVING (CAST(SUM(COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
            OR CAST(SUM(COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
            OR CAST(SUM(COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_posts" AS kept SET
            "upvotes" = CASE WHEN kept."upvotes" + counting_sums."upvotes" BETWEEN -2147483648 AND 2147483647
                THEN kept."upvotes" + counting_sums."upvotes"
                ELSE CAST('integer overflow of bench_forum_posts.upvotes' || ': ' || (kept."upvotes" +
                counting_sums."upvotes") AS INTEGER) END,
            "downvotes" = CASE WHEN kept."downvotes" + counting_sums."downvotes" BETWEEN -2147483648 AND 2147483647
                THEN kept."downvotes" + counting_sums."downvotes"
                ELSE CAST('integer overflow of bench_forum_posts.downvotes' || ': ' || (kept."downvotes" +
                counting_sums."downvotes") AS INTEGER) END,
            "score" = CASE WHEN kept."score" + counting_sums."score" BETWEEN -2147483648 AND 2147483647
                THEN kept."score" + counting_sums."score"
                ELSE CAST('integer overflow of bench_forum_posts.score' || ': ' || (kept."score" +
                counting_sums."score") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."bench_count_post_votes_insert"() IS
    'diesel_counters: {"name":"bench_count_post_votes","rows":"bench_forum_post_votes",'
    '"count":["post_id:bench_forum_posts.upvotes=CASE WHEN vote > 0 THEN 1 ELSE 0 END",'
    '"post_id:bench_forum_posts.downvotes=CASE WHEN vote < 0 THEN 1 ELSE 0 END",'
    '"post_id:bench_forum_posts.score=vote"],"by":"1","period":"day","slots":32,"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_post_votes_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_post_votes_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_post_votes_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_post_votes"'::regclass, '"public"."bench_forum_posts"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "id", CAST(SUM("upvotes") AS BIGINT) AS "upvotes", CAST(SUM("downvotes") AS BIGINT) AS "downvotes",
            CAST(SUM("score") AS BIGINT) AS "score"
        FROM (
            SELECT "post_id" AS "id", -COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT),
                0) AS "upvotes", -COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS "downvotes",
                -COALESCE(CAST("vote" AS BIGINT), 0) AS "score"
            FROM old_rows
            UNION ALL
            SELECT "post_id" AS "id", COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT),
                0) AS "upvotes", COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS "downvotes",
                COALESCE(CAST("vote" AS BIGINT), 0) AS "score"
            FROM new_rows
        ) AS moved
        GROUP BY "id"
        HAVING SUM("upvotes") <> 0 OR SUM("downvotes") <> 0 OR SUM("score") <> 0
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_posts" AS kept SET
            "upvotes" = CASE WHEN kept."upvotes" + counting_sums."upvotes" BETWEEN -2147483648 AND 2147483647
                THEN kept."upvotes" + counting_sums."upvotes"
                ELSE CAST('integer overflow of bench_forum_posts.upvotes' || ': ' || (kept."upvotes" +
                counting_sums."upvotes") AS INTEGER) END,
            "downvotes" = CASE WHEN kept."downvotes" + counting_sums."downvotes" BETWEEN -2147483648 AND 2147483647
                THEN kept."downvotes" + counting_sums."downvotes"
                ELSE CAST('integer overflow of bench_forum_posts.downvotes' || ': ' || (kept."downvotes" +
                counting_sums."downvotes") AS INTEGER) END,
            "score" = CASE WHEN kept."score" + counting_sums."score" BETWEEN -2147483648 AND 2147483647
                THEN kept."score" + counting_sums."score"
                ELSE CAST('integer overflow of bench_forum_posts.score' || ': ' || (kept."score" +
                counting_sums."score") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
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
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_post_votes"'::regclass, '"public"."bench_forum_posts"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "post_id" AS "id", CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT),
            0)) AS BIGINT) AS "upvotes", CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT),
            0)) AS BIGINT) AS "downvotes", CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) AS "score"
        FROM old_rows
        GROUP BY 1
        HAVING (CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
            OR CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
            OR CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_posts" AS kept SET
            "upvotes" = CASE WHEN kept."upvotes" + counting_sums."upvotes" BETWEEN -2147483648 AND 2147483647
                THEN kept."upvotes" + counting_sums."upvotes"
                ELSE CAST('integer overflow of bench_forum_posts.upvotes' || ': ' || (kept."upvotes" +
                counting_sums."upvotes") AS INTEGER) END,
            "downvotes" = CASE WHEN kept."downvotes" + counting_sums."downvotes" BETWEEN -2147483648 AND 2147483647
                THEN kept."downvotes" + counting_sums."downvotes"
                ELSE CAST('integer overflow of bench_forum_posts.downvotes' || ': ' || (kept."downvotes" +
                counting_sums."downvotes") AS INTEGER) END,
            "score" = CASE WHEN kept."score" + counting_sums."score" BETWEEN -2147483648 AND 2147483647
                THEN kept."score" + counting_sums."score"
                ELSE CAST('integer overflow of bench_forum_posts.score' || ': ' || (kept."score" +
                counting_sums."score") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
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
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_post_votes"'::regclass, '"public"."bench_forum_posts"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    FOR counting_sums IN
        SELECT "post_id" AS "id", CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT),
            0)) AS BIGINT) AS "upvotes", CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT),
            0)) AS BIGINT) AS "downvotes", CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) AS "score"
        FROM "public"."bench_forum_post_votes"
        GROUP BY 1
        HAVING (CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
            OR CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
            OR CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_posts" AS kept SET
            "upvotes" = CASE WHEN kept."upvotes" + counting_sums."upvotes" BETWEEN -2147483648 AND 2147483647
                THEN kept."upvotes" + counting_sums."upvotes"
                ELSE CAST('integer overflow of bench_forum_posts.upvotes' || ': ' || (kept."upvotes" +
                counting_sums."upvotes") AS INTEGER) END,
            "downvotes" = CASE WHEN kept."downvotes" + counting_sums."downvotes" BETWEEN -2147483648 AND 2147483647
                THEN kept."downvotes" + counting_sums."downvotes"
                ELSE CAST('integer overflow of bench_forum_posts.downvotes' || ': ' || (kept."downvotes" +
                counting_sums."downvotes") AS INTEGER) END,
            "score" = CASE WHEN kept."score" + counting_sums."score" BETWEEN -2147483648 AND 2147483647
                THEN kept."score" + counting_sums."score"
                ELSE CAST('integer overflow of bench_forum_posts.score' || ': ' || (kept."score" +
                counting_sums."score") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_post_votes_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE "public"."bench_forum_posts" SET
    "upvotes" = CASE WHEN "public"."bench_forum_posts"."upvotes" + (drift."upvotes" - drift."stored_upvotes") BETWEEN
        -2147483648 AND 2147483647 THEN "public"."bench_forum_posts"."upvotes" + (drift."upvotes" -
        drift."stored_upvotes") ELSE CAST('integer overflow of bench_forum_posts.upvotes' || ': ' ||
        ("public"."bench_forum_posts"."upvotes" + (drift."upvotes" - drift."stored_upvotes")) AS INTEGER) END,
    "downvotes" = CASE WHEN "public"."bench_forum_posts"."downvotes" + (drift."downvotes" - drift."stored_downvotes")
        BETWEEN -2147483648 AND 2147483647 THEN "public"."bench_forum_posts"."downvotes" + (drift."downvotes" -
        drift."stored_downvotes") ELSE CAST('integer overflow of bench_forum_posts.downvotes' || ': ' ||
        ("public"."bench_forum_posts"."downvotes" + (drift."downvotes" - drift."stored_downvotes")) AS INTEGER) END,
    "score" = CASE WHEN "public"."bench_forum_posts"."score" + (drift."score" - drift."stored_score") BETWEEN
        -2147483648 AND 2147483647 THEN "public"."bench_forum_posts"."score" + (drift."score" - drift."stored_score")
        ELSE CAST('integer overflow of bench_forum_posts.score' || ': ' || ("public"."bench_forum_posts"."score" +
        (drift."score" - drift."stored_score")) AS INTEGER) END
FROM (
    SELECT "id", SUM("upvotes") AS "upvotes", SUM("downvotes") AS "downvotes", SUM("score") AS "score",
        SUM("stored_upvotes") AS "stored_upvotes", SUM("stored_downvotes") AS "stored_downvotes",
        SUM("stored_score") AS "stored_score"
    FROM (
        SELECT counted."post_id" AS "id", COALESCE(CAST((CASE WHEN counted."vote" > 0 THEN 1 ELSE 0 END) AS BIGINT),
            0) AS "upvotes", COALESCE(CAST((CASE WHEN counted."vote" < 0 THEN 1 ELSE 0 END) AS BIGINT),
            0) AS "downvotes", COALESCE(CAST(counted."vote" AS BIGINT), 0) AS "score", 0 AS "stored_upvotes",
            0 AS "stored_downvotes", 0 AS "stored_score"
        FROM "public"."bench_forum_post_votes" AS counted
        UNION ALL
        SELECT kept."id", 0, 0, 0, kept."upvotes", kept."downvotes", kept."score"
        FROM "public"."bench_forum_posts" AS kept
    ) AS moved
    GROUP BY "id"
    HAVING SUM("upvotes") <> SUM("stored_upvotes") OR SUM("downvotes") <> SUM("stored_downvotes")
        OR SUM("score") <> SUM("stored_score")
) AS drift
WHERE "public"."bench_forum_posts"."id" = drift."id";
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

-- Counts the rows of bench_forum_comment_votes in bench_forum_comments.upvotes, bench_forum_comments.downvotes,
-- bench_forum_comments.score.
CREATE FUNCTION "public"."bench_count_comment_votes_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"bench_count_comment_votes","rows":"bench_forum_comment_votes",
--     "count":["comment_id:bench_forum_comments.upvotes=CASE WHEN vote > 0 THEN 1 ELSE 0 END",
--     "comment_id:bench_forum_comments.downvotes=CASE WHEN vote < 0 THEN 1 ELSE 0 END",
--     "comment_id:bench_forum_comments.score=vote"],"by":"1","period":"day","slots":32,"migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_comment_votes"'::regclass, '"public"."bench_forum_comments"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "comment_id" AS "id", CAST(SUM(COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT),
            0)) AS BIGINT) AS "upvotes", CAST(SUM(COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT),
            0)) AS BIGINT) AS "downvotes", CAST(SUM(COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) AS "score"
        FROM new_rows
        GROUP BY 1
        HAVING (CAST(SUM(COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
            OR CAST(SUM(COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
            OR CAST(SUM(COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_comments" AS kept SET
            "upvotes" = CASE WHEN kept."upvotes" + counting_sums."upvotes" BETWEEN -2147483648 AND 2147483647
                THEN kept."upvotes" + counting_sums."upvotes"
                ELSE CAST('integer overflow of bench_forum_comments.upvotes' || ': ' || (kept."upvotes" +
                counting_sums."upvotes") AS INTEGER) END,
            "downvotes" = CASE WHEN kept."downvotes" + counting_sums."downvotes" BETWEEN -2147483648 AND 2147483647
                THEN kept."downvotes" + counting_sums."downvotes"
                ELSE CAST('integer overflow of bench_forum_comments.downvotes' || ': ' || (kept."downvotes" +
                counting_sums."downvotes") AS INTEGER) END,
            "score" = CASE WHEN kept."score" + counting_sums."score" BETWEEN -2147483648 AND 2147483647
                THEN kept."score" + counting_sums."score"
                ELSE CAST('integer overflow of bench_forum_comments.score' || ': ' || (kept."score" +
                counting_sums."score") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."bench_count_comment_votes_insert"() IS
    'diesel_counters: {"name":"bench_count_comment_votes","rows":"bench_forum_comment_votes",'
    '"count":["comment_id:bench_forum_comments.upvotes=CASE WHEN vote > 0 THEN 1 ELSE 0 END",'
    '"comment_id:bench_forum_comments.downvotes=CASE WHEN vote < 0 THEN 1 ELSE 0 END",'
    '"comment_id:bench_forum_comments.score=vote"],"by":"1","period":"day","slots":32,"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comment_votes_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_comment_votes_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_comment_votes_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_comment_votes"'::regclass, '"public"."bench_forum_comments"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "id", CAST(SUM("upvotes") AS BIGINT) AS "upvotes", CAST(SUM("downvotes") AS BIGINT) AS "downvotes",
            CAST(SUM("score") AS BIGINT) AS "score"
        FROM (
            SELECT "comment_id" AS "id", -COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT),
                0) AS "upvotes", -COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS "downvotes",
                -COALESCE(CAST("vote" AS BIGINT), 0) AS "score"
            FROM old_rows
            UNION ALL
            SELECT "comment_id" AS "id", COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT),
                0) AS "upvotes", COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS "downvotes",
                COALESCE(CAST("vote" AS BIGINT), 0) AS "score"
            FROM new_rows
        ) AS moved
        GROUP BY "id"
        HAVING SUM("upvotes") <> 0 OR SUM("downvotes") <> 0 OR SUM("score") <> 0
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_comments" AS kept SET
            "upvotes" = CASE WHEN kept."upvotes" + counting_sums."upvotes" BETWEEN -2147483648 AND 2147483647
                THEN kept."upvotes" + counting_sums."upvotes"
                ELSE CAST('integer overflow of bench_forum_comments.upvotes' || ': ' || (kept."upvotes" +
                counting_sums."upvotes") AS INTEGER) END,
            "downvotes" = CASE WHEN kept."downvotes" + counting_sums."downvotes" BETWEEN -2147483648 AND 2147483647
                THEN kept."downvotes" + counting_sums."downvotes"
                ELSE CAST('integer overflow of bench_forum_comments.downvotes' || ': ' || (kept."downvotes" +
                counting_sums."downvotes") AS INTEGER) END,
            "score" = CASE WHEN kept."score" + counting_sums."score" BETWEEN -2147483648 AND 2147483647
                THEN kept."score" + counting_sums."score"
                ELSE CAST('integer overflow of bench_forum_comments.score' || ': ' || (kept."score" +
                counting_sums."score") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
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
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_comment_votes"'::regclass, '"public"."bench_forum_comments"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "comment_id" AS "id", CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT),
            0)) AS BIGINT) AS "upvotes", CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT),
            0)) AS BIGINT) AS "downvotes", CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) AS "score"
        FROM old_rows
        GROUP BY 1
        HAVING (CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
            OR CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
            OR CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_comments" AS kept SET
            "upvotes" = CASE WHEN kept."upvotes" + counting_sums."upvotes" BETWEEN -2147483648 AND 2147483647
                THEN kept."upvotes" + counting_sums."upvotes"
                ELSE CAST('integer overflow of bench_forum_comments.upvotes' || ': ' || (kept."upvotes" +
                counting_sums."upvotes") AS INTEGER) END,
            "downvotes" = CASE WHEN kept."downvotes" + counting_sums."downvotes" BETWEEN -2147483648 AND 2147483647
                THEN kept."downvotes" + counting_sums."downvotes"
                ELSE CAST('integer overflow of bench_forum_comments.downvotes' || ': ' || (kept."downvotes" +
                counting_sums."downvotes") AS INTEGER) END,
            "score" = CASE WHEN kept."score" + counting_sums."score" BETWEEN -2147483648 AND 2147483647
                THEN kept."score" + counting_sums."score"
                ELSE CAST('integer overflow of bench_forum_comments.score' || ': ' || (kept."score" +
                counting_sums."score") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
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
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_comment_votes"'::regclass, '"public"."bench_forum_comments"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    FOR counting_sums IN
        SELECT "comment_id" AS "id", CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT),
            0)) AS BIGINT) AS "upvotes", CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT),
            0)) AS BIGINT) AS "downvotes", CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) AS "score"
        FROM "public"."bench_forum_comment_votes"
        GROUP BY 1
        HAVING (CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
            OR CAST(SUM(-COALESCE(CAST((CASE WHEN "vote" < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS BIGINT) <> 0
            OR CAST(SUM(-COALESCE(CAST("vote" AS BIGINT), 0)) AS BIGINT) <> 0)
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_comments" AS kept SET
            "upvotes" = CASE WHEN kept."upvotes" + counting_sums."upvotes" BETWEEN -2147483648 AND 2147483647
                THEN kept."upvotes" + counting_sums."upvotes"
                ELSE CAST('integer overflow of bench_forum_comments.upvotes' || ': ' || (kept."upvotes" +
                counting_sums."upvotes") AS INTEGER) END,
            "downvotes" = CASE WHEN kept."downvotes" + counting_sums."downvotes" BETWEEN -2147483648 AND 2147483647
                THEN kept."downvotes" + counting_sums."downvotes"
                ELSE CAST('integer overflow of bench_forum_comments.downvotes' || ': ' || (kept."downvotes" +
                counting_sums."downvotes") AS INTEGER) END,
            "score" = CASE WHEN kept."score" + counting_sums."score" BETWEEN -2147483648 AND 2147483647
                THEN kept."score" + counting_sums."score"
                ELSE CAST('integer overflow of bench_forum_comments.score' || ': ' || (kept."score" +
                counting_sums."score") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comment_votes_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE "public"."bench_forum_comments" SET
    "upvotes" = CASE WHEN "public"."bench_forum_comments"."upvotes" + (drift."upvotes" - drift."stored_upvotes") BETWEEN
        -2147483648 AND 2147483647 THEN "public"."bench_forum_comments"."upvotes" + (drift."upvotes" -
        drift."stored_upvotes") ELSE CAST('integer overflow of bench_forum_comments.upvotes' || ': ' ||
        ("public"."bench_forum_comments"."upvotes" + (drift."upvotes" - drift."stored_upvotes")) AS INTEGER) END,
    "downvotes" = CASE WHEN "public"."bench_forum_comments"."downvotes" + (drift."downvotes" - drift."stored_downvotes")
        BETWEEN -2147483648 AND 2147483647 THEN "public"."bench_forum_comments"."downvotes" + (drift."downvotes" -
        drift."stored_downvotes") ELSE CAST('integer overflow of bench_forum_comments.downvotes' || ': ' ||
        ("public"."bench_forum_comments"."downvotes" + (drift."downvotes" - drift."stored_downvotes")) AS INTEGER) END,
    "score" = CASE WHEN "public"."bench_forum_comments"."score" + (drift."score" - drift."stored_score") BETWEEN
        -2147483648 AND 2147483647 THEN "public"."bench_forum_comments"."score" + (drift."score" - drift."stored_score")
        ELSE CAST('integer overflow of bench_forum_comments.score' || ': ' || ("public"."bench_forum_comments"."score" +
        (drift."score" - drift."stored_score")) AS INTEGER) END
FROM (
    SELECT "id", SUM("upvotes") AS "upvotes", SUM("downvotes") AS "downvotes", SUM("score") AS "score",
        SUM("stored_upvotes") AS "stored_upvotes", SUM("stored_downvotes") AS "stored_downvotes",
        SUM("stored_score") AS "stored_score"
    FROM (
        SELECT counted."comment_id" AS "id", COALESCE(CAST((CASE WHEN counted."vote" > 0 THEN 1 ELSE 0 END) AS BIGINT),
            0) AS "upvotes", COALESCE(CAST((CASE WHEN counted."vote" < 0 THEN 1 ELSE 0 END) AS BIGINT),
            0) AS "downvotes", COALESCE(CAST(counted."vote" AS BIGINT), 0) AS "score", 0 AS "stored_upvotes",
            0 AS "stored_downvotes", 0 AS "stored_score"
        FROM "public"."bench_forum_comment_votes" AS counted
        UNION ALL
        SELECT kept."id", 0, 0, 0, kept."upvotes", kept."downvotes", kept."score"
        FROM "public"."bench_forum_comments" AS kept
    ) AS moved
    GROUP BY "id"
    HAVING SUM("upvotes") <> SUM("stored_upvotes") OR SUM("downvotes") <> SUM("stored_downvotes")
        OR SUM("score") <> SUM("stored_score")
) AS drift
WHERE "public"."bench_forum_comments"."id" = drift."id";
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

-- Counts the rows of bench_forum_comments in bench_forum_posts.comments, bench_forum_people.comment_count.
CREATE FUNCTION "public"."bench_count_comments_by_post_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"bench_count_comments_by_post","rows":"bench_forum_comments",
--     "count":["post_id:bench_forum_posts.comments","creator_id:bench_forum_people.comment_count"],
--     "by":"1","when":"NOT deleted AND NOT removed","period":"day","slots":32,"migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_posts"'::regclass,
            '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 3;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "post_id" AS "id", COUNT(*) AS "comments"
        FROM new_rows
        WHERE (NOT "deleted" AND NOT "removed")
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_posts" AS kept SET
            "comments" = CASE WHEN kept."comments" + counting_sums."comments" BETWEEN -2147483648 AND 2147483647
                THEN kept."comments" + counting_sums."comments"
                ELSE CAST('integer overflow of bench_forum_posts.comments' || ': ' || (kept."comments" +
                counting_sums."comments") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    FOR counting_sums IN
        SELECT "creator_id" AS "id", COUNT(*) AS "comment_count"
        FROM new_rows
        WHERE (NOT "deleted" AND NOT "removed")
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_people" AS kept SET
            "comment_count" = CASE WHEN kept."comment_count" + counting_sums."comment_count" BETWEEN -2147483648
                AND 2147483647 THEN kept."comment_count" + counting_sums."comment_count"
                ELSE CAST('integer overflow of bench_forum_people.comment_count' || ': ' || (kept."comment_count" +
                counting_sums."comment_count") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."bench_count_comments_by_post_insert"() IS
    'diesel_counters: {"name":"bench_count_comments_by_post","rows":"bench_forum_comments",'
    '"count":["post_id:bench_forum_posts.comments","creator_id:bench_forum_people.comment_count"],'
    '"by":"1","when":"NOT deleted AND NOT removed","period":"day","slots":32,"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comments_by_post_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_comments_by_post_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_comments_by_post_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_posts"'::regclass,
            '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 3;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "id", CAST(SUM("comments") AS BIGINT) AS "comments"
        FROM (
            SELECT "post_id" AS "id", -1 AS "comments"
            FROM old_rows
            WHERE (NOT "deleted" AND NOT "removed")
            UNION ALL
            SELECT "post_id" AS "id", 1 AS "comments"
            FROM new_rows
            WHERE (NOT "deleted" AND NOT "removed")
        ) AS moved
        GROUP BY "id"
        HAVING SUM("comments") <> 0
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_posts" AS kept SET
            "comments" = CASE WHEN kept."comments" + counting_sums."comments" BETWEEN -2147483648 AND 2147483647
                THEN kept."comments" + counting_sums."comments"
                ELSE CAST('integer overflow of bench_forum_posts.comments' || ': ' || (kept."comments" +
                counting_sums."comments") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    FOR counting_sums IN
        SELECT "id", CAST(SUM("comment_count") AS BIGINT) AS "comment_count"
        FROM (
            SELECT "creator_id" AS "id", -1 AS "comment_count"
            FROM old_rows
            WHERE (NOT "deleted" AND NOT "removed")
            UNION ALL
            SELECT "creator_id" AS "id", 1 AS "comment_count"
            FROM new_rows
            WHERE (NOT "deleted" AND NOT "removed")
        ) AS moved
        GROUP BY "id"
        HAVING SUM("comment_count") <> 0
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_people" AS kept SET
            "comment_count" = CASE WHEN kept."comment_count" + counting_sums."comment_count" BETWEEN -2147483648
                AND 2147483647 THEN kept."comment_count" + counting_sums."comment_count"
                ELSE CAST('integer overflow of bench_forum_people.comment_count' || ': ' || (kept."comment_count" +
                counting_sums."comment_count") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comments_by_post_update"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_comments_by_post_delete"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_comments_by_post_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_posts"'::regclass,
            '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 3;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "post_id" AS "id", -COUNT(*) AS "comments"
        FROM old_rows
        WHERE (NOT "deleted" AND NOT "removed")
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_posts" AS kept SET
            "comments" = CASE WHEN kept."comments" + counting_sums."comments" BETWEEN -2147483648 AND 2147483647
                THEN kept."comments" + counting_sums."comments"
                ELSE CAST('integer overflow of bench_forum_posts.comments' || ': ' || (kept."comments" +
                counting_sums."comments") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    FOR counting_sums IN
        SELECT "creator_id" AS "id", -COUNT(*) AS "comment_count"
        FROM old_rows
        WHERE (NOT "deleted" AND NOT "removed")
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_people" AS kept SET
            "comment_count" = CASE WHEN kept."comment_count" + counting_sums."comment_count" BETWEEN -2147483648
                AND 2147483647 THEN kept."comment_count" + counting_sums."comment_count"
                ELSE CAST('integer overflow of bench_forum_people.comment_count' || ': ' || (kept."comment_count" +
                counting_sums."comment_count") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comments_by_post_delete"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_comments_by_post_truncate"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_comments_by_post_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_posts"'::regclass,
            '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 3;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    FOR counting_sums IN
        SELECT "post_id" AS "id", -COUNT(*) AS "comments"
        FROM "public"."bench_forum_comments"
        WHERE (NOT "deleted" AND NOT "removed")
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_posts" AS kept SET
            "comments" = CASE WHEN kept."comments" + counting_sums."comments" BETWEEN -2147483648 AND 2147483647
                THEN kept."comments" + counting_sums."comments"
                ELSE CAST('integer overflow of bench_forum_posts.comments' || ': ' || (kept."comments" +
                counting_sums."comments") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    FOR counting_sums IN
        SELECT "creator_id" AS "id", -COUNT(*) AS "comment_count"
        FROM "public"."bench_forum_comments"
        WHERE (NOT "deleted" AND NOT "removed")
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_people" AS kept SET
            "comment_count" = CASE WHEN kept."comment_count" + counting_sums."comment_count" BETWEEN -2147483648
                AND 2147483647 THEN kept."comment_count" + counting_sums."comment_count"
                ELSE CAST('integer overflow of bench_forum_people.comment_count' || ': ' || (kept."comment_count" +
                counting_sums."comment_count") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comments_by_post_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE "public"."bench_forum_posts" SET
    "comments" = CASE WHEN "public"."bench_forum_posts"."comments" + (drift."comments" - drift."stored_comments")
        BETWEEN -2147483648 AND 2147483647 THEN "public"."bench_forum_posts"."comments" + (drift."comments" -
        drift."stored_comments") ELSE CAST('integer overflow of bench_forum_posts.comments' || ': ' ||
        ("public"."bench_forum_posts"."comments" + (drift."comments" - drift."stored_comments")) AS INTEGER) END
FROM (
    SELECT "id", SUM("comments") AS "comments", SUM("stored_comments") AS "stored_comments"
    FROM (
        SELECT counted."post_id" AS "id", 1 AS "comments", 0 AS "stored_comments", 1 AS counted_rows
        FROM "public"."bench_forum_comments" AS counted
        WHERE (NOT counted."deleted" AND NOT counted."removed")
        UNION ALL
        SELECT kept."id", 0, kept."comments", 0 AS counted_rows
        FROM "public"."bench_forum_posts" AS kept
    ) AS moved
    GROUP BY "id"
    HAVING (SUM("comments") <> SUM("stored_comments")) AND SUM(counted_rows) > 0
) AS drift
WHERE "public"."bench_forum_posts"."id" = drift."id";
UPDATE "public"."bench_forum_people" SET
    "comment_count" = CASE WHEN "public"."bench_forum_people"."comment_count" + (drift."comment_count" -
        drift."stored_comment_count") BETWEEN -2147483648 AND 2147483647
        THEN "public"."bench_forum_people"."comment_count" + (drift."comment_count" - drift."stored_comment_count")
        ELSE CAST('integer overflow of bench_forum_people.comment_count' || ': ' ||
        ("public"."bench_forum_people"."comment_count" + (drift."comment_count" - drift."stored_comment_count")) AS
        INTEGER) END
FROM (
    SELECT "id", SUM("comment_count") AS "comment_count", SUM("stored_comment_count") AS "stored_comment_count"
    FROM (
        SELECT counted."creator_id" AS "id", 1 AS "comment_count", 0 AS "stored_comment_count", 1 AS counted_rows
        FROM "public"."bench_forum_comments" AS counted
        WHERE (NOT counted."deleted" AND NOT counted."removed")
        UNION ALL
        SELECT kept."id", 0, kept."comment_count", 0 AS counted_rows
        FROM "public"."bench_forum_people" AS kept
    ) AS moved
    GROUP BY "id"
    HAVING (SUM("comment_count") <> SUM("stored_comment_count")) AND SUM(counted_rows) > 0
) AS drift
WHERE "public"."bench_forum_people"."id" = drift."id";
CREATE TRIGGER "bench_count_comments_by_post_insert" AFTER INSERT ON "public"."bench_forum_comments"
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comments_by_post_insert"();
CREATE TRIGGER "bench_count_comments_by_post_update" AFTER UPDATE ON "public"."bench_forum_comments"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comments_by_post_update"();
CREATE TRIGGER "bench_count_comments_by_post_delete" AFTER DELETE ON "public"."bench_forum_comments"
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comments_by_post_delete"();
CREATE TRIGGER "bench_count_comments_by_post_truncate" BEFORE TRUNCATE ON "public"."bench_forum_comments"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comments_by_post_truncate"();

-- Counts the rows of bench_forum_comments in bench_forum_people.comment_score.
CREATE FUNCTION "public"."bench_count_comments_by_score_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"bench_count_comments_by_score","rows":"bench_forum_comments",
--     "count":["creator_id:bench_forum_people.comment_score=score"],"by":"1","period":"day",
--     "slots":32,"migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "creator_id" AS "id", CAST(SUM(COALESCE(CAST("score" AS BIGINT), 0)) AS BIGINT) AS "comment_score"
        FROM new_rows
        GROUP BY 1
        HAVING (CAST(SUM(COALESCE(CAST("score" AS BIGINT), 0)) AS BIGINT) <> 0)
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_people" AS kept SET
            "comment_score" = CASE WHEN kept."comment_score" + counting_sums."comment_score" BETWEEN -2147483648
                AND 2147483647 THEN kept."comment_score" + counting_sums."comment_score"
                ELSE CAST('integer overflow of bench_forum_people.comment_score' || ': ' || (kept."comment_score" +
                counting_sums."comment_score") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."bench_count_comments_by_score_insert"() IS
    'diesel_counters: {"name":"bench_count_comments_by_score","rows":"bench_forum_comments",'
    '"count":["creator_id:bench_forum_people.comment_score=score"],"by":"1","period":"day",'
    '"slots":32,"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comments_by_score_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_comments_by_score_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_comments_by_score_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "id", CAST(SUM("comment_score") AS BIGINT) AS "comment_score"
        FROM (
            SELECT "creator_id" AS "id", -COALESCE(CAST("score" AS BIGINT), 0) AS "comment_score"
            FROM old_rows
            UNION ALL
            SELECT "creator_id" AS "id", COALESCE(CAST("score" AS BIGINT), 0) AS "comment_score"
            FROM new_rows
        ) AS moved
        GROUP BY "id"
        HAVING SUM("comment_score") <> 0
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_people" AS kept SET
            "comment_score" = CASE WHEN kept."comment_score" + counting_sums."comment_score" BETWEEN -2147483648
                AND 2147483647 THEN kept."comment_score" + counting_sums."comment_score"
                ELSE CAST('integer overflow of bench_forum_people.comment_score' || ': ' || (kept."comment_score" +
                counting_sums."comment_score") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comments_by_score_update"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_comments_by_score_delete"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_comments_by_score_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "creator_id" AS "id", CAST(SUM(-COALESCE(CAST("score" AS BIGINT), 0)) AS BIGINT) AS "comment_score"
        FROM old_rows
        GROUP BY 1
        HAVING (CAST(SUM(-COALESCE(CAST("score" AS BIGINT), 0)) AS BIGINT) <> 0)
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_people" AS kept SET
            "comment_score" = CASE WHEN kept."comment_score" + counting_sums."comment_score" BETWEEN -2147483648
                AND 2147483647 THEN kept."comment_score" + counting_sums."comment_score"
                ELSE CAST('integer overflow of bench_forum_people.comment_score' || ': ' || (kept."comment_score" +
                counting_sums."comment_score") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comments_by_score_delete"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_comments_by_score_truncate"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_comments_by_score_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    FOR counting_sums IN
        SELECT "creator_id" AS "id", CAST(SUM(-COALESCE(CAST("score" AS BIGINT), 0)) AS BIGINT) AS "comment_score"
        FROM "public"."bench_forum_comments"
        GROUP BY 1
        HAVING (CAST(SUM(-COALESCE(CAST("score" AS BIGINT), 0)) AS BIGINT) <> 0)
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_people" AS kept SET
            "comment_score" = CASE WHEN kept."comment_score" + counting_sums."comment_score" BETWEEN -2147483648
                AND 2147483647 THEN kept."comment_score" + counting_sums."comment_score"
                ELSE CAST('integer overflow of bench_forum_people.comment_score' || ': ' || (kept."comment_score" +
                counting_sums."comment_score") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comments_by_score_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE "public"."bench_forum_people" SET
    "comment_score" = CASE WHEN "public"."bench_forum_people"."comment_score" + (drift."comment_score" -
        drift."stored_comment_score") BETWEEN -2147483648 AND 2147483647
        THEN "public"."bench_forum_people"."comment_score" + (drift."comment_score" - drift."stored_comment_score")
        ELSE CAST('integer overflow of bench_forum_people.comment_score' || ': ' ||
        ("public"."bench_forum_people"."comment_score" + (drift."comment_score" - drift."stored_comment_score")) AS
        INTEGER) END
FROM (
    SELECT "id", SUM("comment_score") AS "comment_score", SUM("stored_comment_score") AS "stored_comment_score"
    FROM (
        SELECT counted."creator_id" AS "id", COALESCE(CAST(counted."score" AS BIGINT), 0) AS "comment_score",
            0 AS "stored_comment_score"
        FROM "public"."bench_forum_comments" AS counted
        UNION ALL
        SELECT kept."id", 0, kept."comment_score"
        FROM "public"."bench_forum_people" AS kept
    ) AS moved
    GROUP BY "id"
    HAVING SUM("comment_score") <> SUM("stored_comment_score")
) AS drift
WHERE "public"."bench_forum_people"."id" = drift."id";
CREATE TRIGGER "bench_count_comments_by_score_insert" AFTER INSERT ON "public"."bench_forum_comments"
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comments_by_score_insert"();
CREATE TRIGGER "bench_count_comments_by_score_update" AFTER UPDATE ON "public"."bench_forum_comments"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comments_by_score_update"();
CREATE TRIGGER "bench_count_comments_by_score_delete" AFTER DELETE ON "public"."bench_forum_comments"
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comments_by_score_delete"();
CREATE TRIGGER "bench_count_comments_by_score_truncate" BEFORE TRUNCATE ON "public"."bench_forum_comments"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comments_by_score_truncate"();

-- Counts the rows of bench_forum_comments in bench_forum_site.comments.
CREATE FUNCTION "public"."bench_count_comments_by_site_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"bench_count_comments_by_site","rows":"bench_forum_comments",
--     "count":[":bench_forum_site.comments"],"by":"1","when":"local AND NOT deleted AND NOT removed",
--     "period":"day","slots":32,"migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_site"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT COUNT(*) AS "comments"
        FROM new_rows
        WHERE ("local" AND NOT "deleted" AND NOT "removed")
        HAVING (COUNT(*) <> 0)
    LOOP
        UPDATE "public"."bench_forum_site" AS kept SET
            "comments" = CASE WHEN kept."comments" + counting_sums."comments" BETWEEN -2147483648 AND 2147483647
                THEN kept."comments" + counting_sums."comments"
                ELSE CAST('integer overflow of bench_forum_site.comments' || ': ' || (kept."comments" +
                counting_sums."comments") AS INTEGER) END
        WHERE 1 = 1;
    END LOOP;
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."bench_count_comments_by_site_insert"() IS
    'diesel_counters: {"name":"bench_count_comments_by_site","rows":"bench_forum_comments",'
    '"count":[":bench_forum_site.comments"],"by":"1","when":"local AND NOT deleted AND NOT removed",'
    '"period":"day","slots":32,"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comments_by_site_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_comments_by_site_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_comments_by_site_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_site"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT CAST(SUM("comments") AS BIGINT) AS "comments"
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
    LOOP
        UPDATE "public"."bench_forum_site" AS kept SET
            "comments" = CASE WHEN kept."comments" + counting_sums."comments" BETWEEN -2147483648 AND 2147483647
                THEN kept."comments" + counting_sums."comments"
                ELSE CAST('integer overflow of bench_forum_site.comments' || ': ' || (kept."comments" +
                counting_sums."comments") AS INTEGER) END
        WHERE 1 = 1;
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comments_by_site_update"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_comments_by_site_delete"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_comments_by_site_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_site"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT -COUNT(*) AS "comments"
        FROM old_rows
        WHERE ("local" AND NOT "deleted" AND NOT "removed")
        HAVING (-COUNT(*) <> 0)
    LOOP
        UPDATE "public"."bench_forum_site" AS kept SET
            "comments" = CASE WHEN kept."comments" + counting_sums."comments" BETWEEN -2147483648 AND 2147483647
                THEN kept."comments" + counting_sums."comments"
                ELSE CAST('integer overflow of bench_forum_site.comments' || ': ' || (kept."comments" +
                counting_sums."comments") AS INTEGER) END
        WHERE 1 = 1;
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comments_by_site_delete"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_comments_by_site_truncate"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_comments_by_site_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_comments"'::regclass, '"public"."bench_forum_site"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    FOR counting_sums IN
        SELECT -COUNT(*) AS "comments"
        FROM "public"."bench_forum_comments"
        WHERE ("local" AND NOT "deleted" AND NOT "removed")
        HAVING (-COUNT(*) <> 0)
    LOOP
        UPDATE "public"."bench_forum_site" AS kept SET
            "comments" = CASE WHEN kept."comments" + counting_sums."comments" BETWEEN -2147483648 AND 2147483647
                THEN kept."comments" + counting_sums."comments"
                ELSE CAST('integer overflow of bench_forum_site.comments' || ': ' || (kept."comments" +
                counting_sums."comments") AS INTEGER) END
        WHERE 1 = 1;
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_comments_by_site_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE "public"."bench_forum_site" SET
    "comments" = CASE WHEN "public"."bench_forum_site"."comments" + (drift."comments" - drift."stored_comments") BETWEEN
        -2147483648 AND 2147483647 THEN "public"."bench_forum_site"."comments" + (drift."comments" -
        drift."stored_comments") ELSE CAST('integer overflow of bench_forum_site.comments' || ': ' ||
        ("public"."bench_forum_site"."comments" + (drift."comments" - drift."stored_comments")) AS INTEGER) END
FROM (
    SELECT SUM("comments") AS "comments", SUM("stored_comments") AS "stored_comments"
    FROM (
        SELECT 1 AS "comments", 0 AS "stored_comments", 0 AS kept_rows
        FROM "public"."bench_forum_comments" AS counted
        WHERE (counted."local" AND NOT counted."deleted" AND NOT counted."removed")
        UNION ALL
        SELECT 0, kept."comments", 1 AS kept_rows
        FROM "public"."bench_forum_site" AS kept
    ) AS moved
    HAVING (SUM("comments") <> SUM("stored_comments")) AND SUM(kept_rows) > 0
) AS drift
WHERE 1 = 1;
CREATE TRIGGER "bench_count_comments_by_site_insert" AFTER INSERT ON "public"."bench_forum_comments"
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comments_by_site_insert"();
CREATE TRIGGER "bench_count_comments_by_site_update" AFTER UPDATE ON "public"."bench_forum_comments"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comments_by_site_update"();
CREATE TRIGGER "bench_count_comments_by_site_delete" AFTER DELETE ON "public"."bench_forum_comments"
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comments_by_site_delete"();
CREATE TRIGGER "bench_count_comments_by_site_truncate" BEFORE TRUNCATE ON "public"."bench_forum_comments"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_comments_by_site_truncate"();

-- Counts the rows of bench_forum_posts in bench_forum_communities.posts.
CREATE FUNCTION "public"."bench_count_posts_by_community_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"bench_count_posts_by_community","rows":"bench_forum_posts",
--     "count":["community_id:bench_forum_communities.posts"],"by":"1",
--     "when":"NOT deleted AND NOT removed","only":"local","period":"day","slots":32,"migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_communities"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "community_id" AS "id", COUNT(*) AS "posts"
        FROM new_rows
        WHERE (NOT "deleted" AND NOT "removed")
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_communities" AS kept SET
            "posts" = CASE WHEN kept."posts" + counting_sums."posts" BETWEEN -2147483648 AND 2147483647
                THEN kept."posts" + counting_sums."posts"
                ELSE CAST('integer overflow of bench_forum_communities.posts' || ': ' || (kept."posts" +
                counting_sums."posts") AS INTEGER) END
        WHERE kept."id" = counting_sums."id" AND kept."local";
    END LOOP;
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."bench_count_posts_by_community_insert"() IS
    'diesel_counters: {"name":"bench_count_posts_by_community","rows":"bench_forum_posts",'
    '"count":["community_id:bench_forum_communities.posts"],"by":"1",'
    '"when":"NOT deleted AND NOT removed","only":"local","period":"day","slots":32,"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_community_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_by_community_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_by_community_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_communities"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "id", CAST(SUM("posts") AS BIGINT) AS "posts"
        FROM (
            SELECT "community_id" AS "id", -1 AS "posts"
            FROM old_rows
            WHERE (NOT "deleted" AND NOT "removed")
            UNION ALL
            SELECT "community_id" AS "id", 1 AS "posts"
            FROM new_rows
            WHERE (NOT "deleted" AND NOT "removed")
        ) AS moved
        GROUP BY "id"
        HAVING SUM("posts") <> 0
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_communities" AS kept SET
            "posts" = CASE WHEN kept."posts" + counting_sums."posts" BETWEEN -2147483648 AND 2147483647
                THEN kept."posts" + counting_sums."posts"
                ELSE CAST('integer overflow of bench_forum_communities.posts' || ': ' || (kept."posts" +
                counting_sums."posts") AS INTEGER) END
        WHERE kept."id" = counting_sums."id" AND kept."local";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_community_update"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_by_community_delete"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_by_community_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_communities"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "community_id" AS "id", -COUNT(*) AS "posts"
        FROM old_rows
        WHERE (NOT "deleted" AND NOT "removed")
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_communities" AS kept SET
            "posts" = CASE WHEN kept."posts" + counting_sums."posts" BETWEEN -2147483648 AND 2147483647
                THEN kept."posts" + counting_sums."posts"
                ELSE CAST('integer overflow of bench_forum_communities.posts' || ': ' || (kept."posts" +
                counting_sums."posts") AS INTEGER) END
        WHERE kept."id" = counting_sums."id" AND kept."local";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_community_delete"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_by_community_truncate"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_by_community_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_communities"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    FOR counting_sums IN
        SELECT "community_id" AS "id", -COUNT(*) AS "posts"
        FROM "public"."bench_forum_posts"
        WHERE (NOT "deleted" AND NOT "removed")
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_communities" AS kept SET
            "posts" = CASE WHEN kept."posts" + counting_sums."posts" BETWEEN -2147483648 AND 2147483647
                THEN kept."posts" + counting_sums."posts"
                ELSE CAST('integer overflow of bench_forum_communities.posts' || ': ' || (kept."posts" +
                counting_sums."posts") AS INTEGER) END
        WHERE kept."id" = counting_sums."id" AND kept."local";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_community_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE "public"."bench_forum_communities" SET
    "posts" = CASE WHEN "public"."bench_forum_communities"."posts" + (drift."posts" - drift."stored_posts") BETWEEN
        -2147483648 AND 2147483647 THEN "public"."bench_forum_communities"."posts" + (drift."posts" -
        drift."stored_posts") ELSE CAST('integer overflow of bench_forum_communities.posts' || ': ' ||
        ("public"."bench_forum_communities"."posts" + (drift."posts" - drift."stored_posts")) AS INTEGER) END
FROM (
    SELECT "id", SUM("posts") AS "posts", SUM("stored_posts") AS "stored_posts"
    FROM (
        SELECT counted."community_id" AS "id", 1 AS "posts", 0 AS "stored_posts", 0 AS kept_rows
        FROM "public"."bench_forum_posts" AS counted
        WHERE (NOT counted."deleted" AND NOT counted."removed")
        UNION ALL
        SELECT kept."id", 0, kept."posts", 1 AS kept_rows
        FROM "public"."bench_forum_communities" AS kept
        WHERE kept."local"
    ) AS moved
    GROUP BY "id"
    HAVING (SUM("posts") <> SUM("stored_posts")) AND SUM(kept_rows) > 0
) AS drift
WHERE "public"."bench_forum_communities"."id" = drift."id" AND "public"."bench_forum_communities"."local";
CREATE TRIGGER "bench_count_posts_by_community_insert" AFTER INSERT ON "public"."bench_forum_posts"
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_community_insert"();
CREATE TRIGGER "bench_count_posts_by_community_update" AFTER UPDATE ON "public"."bench_forum_posts"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_community_update"();
CREATE TRIGGER "bench_count_posts_by_community_delete" AFTER DELETE ON "public"."bench_forum_posts"
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_community_delete"();
CREATE TRIGGER "bench_count_posts_by_community_truncate" BEFORE TRUNCATE ON "public"."bench_forum_posts"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_community_truncate"();

-- Counts the rows of bench_forum_posts in bench_forum_communities.comments.
CREATE FUNCTION "public"."bench_count_posts_by_comments_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"bench_count_posts_by_comments","rows":"bench_forum_posts",
--     "count":["community_id:bench_forum_communities.comments=comments"],"by":"1","only":"local",
--     "period":"day","slots":32,"migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_communities"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "community_id" AS "id", CAST(SUM(COALESCE(CAST("comments" AS BIGINT), 0)) AS BIGINT) AS "comments"
        FROM new_rows
        GROUP BY 1
        HAVING (CAST(SUM(COALESCE(CAST("comments" AS BIGINT), 0)) AS BIGINT) <> 0)
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_communities" AS kept SET
            "comments" = CASE WHEN kept."comments" + counting_sums."comments" BETWEEN -2147483648 AND 2147483647
                THEN kept."comments" + counting_sums."comments"
                ELSE CAST('integer overflow of bench_forum_communities.comments' || ': ' || (kept."comments" +
                counting_sums."comments") AS INTEGER) END
        WHERE kept."id" = counting_sums."id" AND kept."local";
    END LOOP;
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."bench_count_posts_by_comments_insert"() IS
    'diesel_counters: {"name":"bench_count_posts_by_comments","rows":"bench_forum_posts",'
    '"count":["community_id:bench_forum_communities.comments=comments"],"by":"1","only":"local",'
    '"period":"day","slots":32,"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_comments_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_by_comments_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_by_comments_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_communities"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "id", CAST(SUM("comments") AS BIGINT) AS "comments"
        FROM (
            SELECT "community_id" AS "id", -COALESCE(CAST("comments" AS BIGINT), 0) AS "comments"
            FROM old_rows
            UNION ALL
            SELECT "community_id" AS "id", COALESCE(CAST("comments" AS BIGINT), 0) AS "comments"
            FROM new_rows
        ) AS moved
        GROUP BY "id"
        HAVING SUM("comments") <> 0
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_communities" AS kept SET
            "comments" = CASE WHEN kept."comments" + counting_sums."comments" BETWEEN -2147483648 AND 2147483647
                THEN kept."comments" + counting_sums."comments"
                ELSE CAST('integer overflow of bench_forum_communities.comments' || ': ' || (kept."comments" +
                counting_sums."comments") AS INTEGER) END
        WHERE kept."id" = counting_sums."id" AND kept."local";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_comments_update"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_by_comments_delete"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_by_comments_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_communities"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "community_id" AS "id", CAST(SUM(-COALESCE(CAST("comments" AS BIGINT), 0)) AS BIGINT) AS "comments"
        FROM old_rows
        GROUP BY 1
        HAVING (CAST(SUM(-COALESCE(CAST("comments" AS BIGINT), 0)) AS BIGINT) <> 0)
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_communities" AS kept SET
            "comments" = CASE WHEN kept."comments" + counting_sums."comments" BETWEEN -2147483648 AND 2147483647
                THEN kept."comments" + counting_sums."comments"
                ELSE CAST('integer overflow of bench_forum_communities.comments' || ': ' || (kept."comments" +
                counting_sums."comments") AS INTEGER) END
        WHERE kept."id" = counting_sums."id" AND kept."local";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_comments_delete"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_by_comments_truncate"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_by_comments_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_communities"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    FOR counting_sums IN
        SELECT "community_id" AS "id", CAST(SUM(-COALESCE(CAST("comments" AS BIGINT), 0)) AS BIGINT) AS "comments"
        FROM "public"."bench_forum_posts"
        GROUP BY 1
        HAVING (CAST(SUM(-COALESCE(CAST("comments" AS BIGINT), 0)) AS BIGINT) <> 0)
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_communities" AS kept SET
            "comments" = CASE WHEN kept."comments" + counting_sums."comments" BETWEEN -2147483648 AND 2147483647
                THEN kept."comments" + counting_sums."comments"
                ELSE CAST('integer overflow of bench_forum_communities.comments' || ': ' || (kept."comments" +
                counting_sums."comments") AS INTEGER) END
        WHERE kept."id" = counting_sums."id" AND kept."local";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_comments_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE "public"."bench_forum_communities" SET
    "comments" = CASE WHEN "public"."bench_forum_communities"."comments" + (drift."comments" - drift."stored_comments")
        BETWEEN -2147483648 AND 2147483647 THEN "public"."bench_forum_communities"."comments" + (drift."comments" -
        drift."stored_comments") ELSE CAST('integer overflow of bench_forum_communities.comments' || ': ' ||
        ("public"."bench_forum_communities"."comments" + (drift."comments" - drift."stored_comments")) AS INTEGER) END
FROM (
    SELECT "id", SUM("comments") AS "comments", SUM("stored_comments") AS "stored_comments"
    FROM (
        SELECT counted."community_id" AS "id", COALESCE(CAST(counted."comments" AS BIGINT), 0) AS "comments",
            0 AS "stored_comments", 0 AS kept_rows
        FROM "public"."bench_forum_posts" AS counted
        UNION ALL
        SELECT kept."id", 0, kept."comments", 1 AS kept_rows
        FROM "public"."bench_forum_communities" AS kept
        WHERE kept."local"
    ) AS moved
    GROUP BY "id"
    HAVING (SUM("comments") <> SUM("stored_comments")) AND SUM(kept_rows) > 0
) AS drift
WHERE "public"."bench_forum_communities"."id" = drift."id" AND "public"."bench_forum_communities"."local";
CREATE TRIGGER "bench_count_posts_by_comments_insert" AFTER INSERT ON "public"."bench_forum_posts"
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_comments_insert"();
CREATE TRIGGER "bench_count_posts_by_comments_update" AFTER UPDATE ON "public"."bench_forum_posts"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_comments_update"();
CREATE TRIGGER "bench_count_posts_by_comments_delete" AFTER DELETE ON "public"."bench_forum_posts"
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_comments_delete"();
CREATE TRIGGER "bench_count_posts_by_comments_truncate" BEFORE TRUNCATE ON "public"."bench_forum_posts"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_comments_truncate"();

-- Counts the rows of bench_forum_posts in bench_forum_people.post_count.
CREATE FUNCTION "public"."bench_count_posts_by_person_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"bench_count_posts_by_person","rows":"bench_forum_posts",
--     "count":["creator_id:bench_forum_people.post_count"],"by":"1",
--     "when":"NOT deleted AND NOT removed","period":"day","slots":32,"migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "creator_id" AS "id", COUNT(*) AS "post_count"
        FROM new_rows
        WHERE (NOT "deleted" AND NOT "removed")
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_people" AS kept SET
            "post_count" = CASE WHEN kept."post_count" + counting_sums."post_count" BETWEEN -2147483648 AND 2147483647
                THEN kept."post_count" + counting_sums."post_count"
                ELSE CAST('integer overflow of bench_forum_people.post_count' || ': ' || (kept."post_count" +
                counting_sums."post_count") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."bench_count_posts_by_person_insert"() IS
    'diesel_counters: {"name":"bench_count_posts_by_person","rows":"bench_forum_posts",'
    '"count":["creator_id:bench_forum_people.post_count"],"by":"1",'
    '"when":"NOT deleted AND NOT removed","period":"day","slots":32,"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_person_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_by_person_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_by_person_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "id", CAST(SUM("post_count") AS BIGINT) AS "post_count"
        FROM (
            SELECT "creator_id" AS "id", -1 AS "post_count"
            FROM old_rows
            WHERE (NOT "deleted" AND NOT "removed")
            UNION ALL
            SELECT "creator_id" AS "id", 1 AS "post_count"
            FROM new_rows
            WHERE (NOT "deleted" AND NOT "removed")
        ) AS moved
        GROUP BY "id"
        HAVING SUM("post_count") <> 0
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_people" AS kept SET
            "post_count" = CASE WHEN kept."post_count" + counting_sums."post_count" BETWEEN -2147483648 AND 2147483647
                THEN kept."post_count" + counting_sums."post_count"
                ELSE CAST('integer overflow of bench_forum_people.post_count' || ': ' || (kept."post_count" +
                counting_sums."post_count") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_person_update"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_by_person_delete"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_by_person_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "creator_id" AS "id", -COUNT(*) AS "post_count"
        FROM old_rows
        WHERE (NOT "deleted" AND NOT "removed")
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_people" AS kept SET
            "post_count" = CASE WHEN kept."post_count" + counting_sums."post_count" BETWEEN -2147483648 AND 2147483647
                THEN kept."post_count" + counting_sums."post_count"
                ELSE CAST('integer overflow of bench_forum_people.post_count' || ': ' || (kept."post_count" +
                counting_sums."post_count") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_person_delete"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_by_person_truncate"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_by_person_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    FOR counting_sums IN
        SELECT "creator_id" AS "id", -COUNT(*) AS "post_count"
        FROM "public"."bench_forum_posts"
        WHERE (NOT "deleted" AND NOT "removed")
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_people" AS kept SET
            "post_count" = CASE WHEN kept."post_count" + counting_sums."post_count" BETWEEN -2147483648 AND 2147483647
                THEN kept."post_count" + counting_sums."post_count"
                ELSE CAST('integer overflow of bench_forum_people.post_count' || ': ' || (kept."post_count" +
                counting_sums."post_count") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_person_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE "public"."bench_forum_people" SET
    "post_count" = CASE WHEN "public"."bench_forum_people"."post_count" + (drift."post_count" -
        drift."stored_post_count") BETWEEN -2147483648 AND 2147483647
        THEN "public"."bench_forum_people"."post_count" + (drift."post_count" - drift."stored_post_count")
        ELSE CAST('integer overflow of bench_forum_people.post_count' || ': ' ||
        ("public"."bench_forum_people"."post_count" + (drift."post_count" - drift."stored_post_count")) AS INTEGER) END
FROM (
    SELECT "id", SUM("post_count") AS "post_count", SUM("stored_post_count") AS "stored_post_count"
    FROM (
        SELECT counted."creator_id" AS "id", 1 AS "post_count", 0 AS "stored_post_count", 1 AS counted_rows
        FROM "public"."bench_forum_posts" AS counted
        WHERE (NOT counted."deleted" AND NOT counted."removed")
        UNION ALL
        SELECT kept."id", 0, kept."post_count", 0 AS counted_rows
        FROM "public"."bench_forum_people" AS kept
    ) AS moved
    GROUP BY "id"
    HAVING (SUM("post_count") <> SUM("stored_post_count")) AND SUM(counted_rows) > 0
) AS drift
WHERE "public"."bench_forum_people"."id" = drift."id";
CREATE TRIGGER "bench_count_posts_by_person_insert" AFTER INSERT ON "public"."bench_forum_posts"
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_person_insert"();
CREATE TRIGGER "bench_count_posts_by_person_update" AFTER UPDATE ON "public"."bench_forum_posts"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_person_update"();
CREATE TRIGGER "bench_count_posts_by_person_delete" AFTER DELETE ON "public"."bench_forum_posts"
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_person_delete"();
CREATE TRIGGER "bench_count_posts_by_person_truncate" BEFORE TRUNCATE ON "public"."bench_forum_posts"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_person_truncate"();

-- Counts the rows of bench_forum_posts in bench_forum_people.post_score.
CREATE FUNCTION "public"."bench_count_posts_by_score_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"bench_count_posts_by_score","rows":"bench_forum_posts",
--     "count":["creator_id:bench_forum_people.post_score=score"],"by":"1","period":"day","slots":32,
--     "migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "creator_id" AS "id", CAST(SUM(COALESCE(CAST("score" AS BIGINT), 0)) AS BIGINT) AS "post_score"
        FROM new_rows
        GROUP BY 1
        HAVING (CAST(SUM(COALESCE(CAST("score" AS BIGINT), 0)) AS BIGINT) <> 0)
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_people" AS kept SET
            "post_score" = CASE WHEN kept."post_score" + counting_sums."post_score" BETWEEN -2147483648 AND 2147483647
                THEN kept."post_score" + counting_sums."post_score"
                ELSE CAST('integer overflow of bench_forum_people.post_score' || ': ' || (kept."post_score" +
                counting_sums."post_score") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."bench_count_posts_by_score_insert"() IS
    'diesel_counters: {"name":"bench_count_posts_by_score","rows":"bench_forum_posts",'
    '"count":["creator_id:bench_forum_people.post_score=score"],"by":"1","period":"day","slots":32,'
    '"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_score_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_by_score_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_by_score_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "id", CAST(SUM("post_score") AS BIGINT) AS "post_score"
        FROM (
            SELECT "creator_id" AS "id", -COALESCE(CAST("score" AS BIGINT), 0) AS "post_score"
            FROM old_rows
            UNION ALL
            SELECT "creator_id" AS "id", COALESCE(CAST("score" AS BIGINT), 0) AS "post_score"
            FROM new_rows
        ) AS moved
        GROUP BY "id"
        HAVING SUM("post_score") <> 0
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_people" AS kept SET
            "post_score" = CASE WHEN kept."post_score" + counting_sums."post_score" BETWEEN -2147483648 AND 2147483647
                THEN kept."post_score" + counting_sums."post_score"
                ELSE CAST('integer overflow of bench_forum_people.post_score' || ': ' || (kept."post_score" +
                counting_sums."post_score") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_score_update"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_by_score_delete"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_by_score_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT "creator_id" AS "id", CAST(SUM(-COALESCE(CAST("score" AS BIGINT), 0)) AS BIGINT) AS "post_score"
        FROM old_rows
        GROUP BY 1
        HAVING (CAST(SUM(-COALESCE(CAST("score" AS BIGINT), 0)) AS BIGINT) <> 0)
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_people" AS kept SET
            "post_score" = CASE WHEN kept."post_score" + counting_sums."post_score" BETWEEN -2147483648 AND 2147483647
                THEN kept."post_score" + counting_sums."post_score"
                ELSE CAST('integer overflow of bench_forum_people.post_score' || ': ' || (kept."post_score" +
                counting_sums."post_score") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_score_delete"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_by_score_truncate"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_by_score_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_people"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    FOR counting_sums IN
        SELECT "creator_id" AS "id", CAST(SUM(-COALESCE(CAST("score" AS BIGINT), 0)) AS BIGINT) AS "post_score"
        FROM "public"."bench_forum_posts"
        GROUP BY 1
        HAVING (CAST(SUM(-COALESCE(CAST("score" AS BIGINT), 0)) AS BIGINT) <> 0)
        ORDER BY 1
    LOOP
        UPDATE "public"."bench_forum_people" AS kept SET
            "post_score" = CASE WHEN kept."post_score" + counting_sums."post_score" BETWEEN -2147483648 AND 2147483647
                THEN kept."post_score" + counting_sums."post_score"
                ELSE CAST('integer overflow of bench_forum_people.post_score' || ': ' || (kept."post_score" +
                counting_sums."post_score") AS INTEGER) END
        WHERE kept."id" = counting_sums."id";
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_score_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE "public"."bench_forum_people" SET
    "post_score" = CASE WHEN "public"."bench_forum_people"."post_score" + (drift."post_score" -
        drift."stored_post_score") BETWEEN -2147483648 AND 2147483647
        THEN "public"."bench_forum_people"."post_score" + (drift."post_score" - drift."stored_post_score")
        ELSE CAST('integer overflow of bench_forum_people.post_score' || ': ' ||
        ("public"."bench_forum_people"."post_score" + (drift."post_score" - drift."stored_post_score")) AS INTEGER) END
FROM (
    SELECT "id", SUM("post_score") AS "post_score", SUM("stored_post_score") AS "stored_post_score"
    FROM (
        SELECT counted."creator_id" AS "id", COALESCE(CAST(counted."score" AS BIGINT), 0) AS "post_score",
            0 AS "stored_post_score"
        FROM "public"."bench_forum_posts" AS counted
        UNION ALL
        SELECT kept."id", 0, kept."post_score"
        FROM "public"."bench_forum_people" AS kept
    ) AS moved
    GROUP BY "id"
    HAVING SUM("post_score") <> SUM("stored_post_score")
) AS drift
WHERE "public"."bench_forum_people"."id" = drift."id";
CREATE TRIGGER "bench_count_posts_by_score_insert" AFTER INSERT ON "public"."bench_forum_posts"
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_score_insert"();
CREATE TRIGGER "bench_count_posts_by_score_update" AFTER UPDATE ON "public"."bench_forum_posts"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_score_update"();
CREATE TRIGGER "bench_count_posts_by_score_delete" AFTER DELETE ON "public"."bench_forum_posts"
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_score_delete"();
CREATE TRIGGER "bench_count_posts_by_score_truncate" BEFORE TRUNCATE ON "public"."bench_forum_posts"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_score_truncate"();

-- Counts the rows of bench_forum_posts in bench_forum_site.posts.
CREATE FUNCTION "public"."bench_count_posts_by_site_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"bench_count_posts_by_site","rows":"bench_forum_posts",
--     "count":[":bench_forum_site.posts"],"by":"1","when":"local AND NOT deleted AND NOT removed",
--     "period":"day","slots":32,"migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_site"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT COUNT(*) AS "posts"
        FROM new_rows
        WHERE ("local" AND NOT "deleted" AND NOT "removed")
        HAVING (COUNT(*) <> 0)
    LOOP
        UPDATE "public"."bench_forum_site" AS kept SET
            "posts" = CASE WHEN kept."posts" + counting_sums."posts" BETWEEN -2147483648 AND 2147483647
                THEN kept."posts" + counting_sums."posts"
                ELSE CAST('integer overflow of bench_forum_site.posts' || ': ' || (kept."posts" + counting_sums."posts")
                AS INTEGER) END
        WHERE 1 = 1;
    END LOOP;
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."bench_count_posts_by_site_insert"() IS
    'diesel_counters: {"name":"bench_count_posts_by_site","rows":"bench_forum_posts",'
    '"count":[":bench_forum_site.posts"],"by":"1","when":"local AND NOT deleted AND NOT removed",'
    '"period":"day","slots":32,"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_site_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_by_site_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_by_site_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_site"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT CAST(SUM("posts") AS BIGINT) AS "posts"
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
    LOOP
        UPDATE "public"."bench_forum_site" AS kept SET
            "posts" = CASE WHEN kept."posts" + counting_sums."posts" BETWEEN -2147483648 AND 2147483647
                THEN kept."posts" + counting_sums."posts"
                ELSE CAST('integer overflow of bench_forum_site.posts' || ': ' || (kept."posts" + counting_sums."posts")
                AS INTEGER) END
        WHERE 1 = 1;
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_site_update"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_by_site_delete"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_by_site_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_site"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    FOR counting_sums IN
        SELECT -COUNT(*) AS "posts"
        FROM old_rows
        WHERE ("local" AND NOT "deleted" AND NOT "removed")
        HAVING (-COUNT(*) <> 0)
    LOOP
        UPDATE "public"."bench_forum_site" AS kept SET
            "posts" = CASE WHEN kept."posts" + counting_sums."posts" BETWEEN -2147483648 AND 2147483647
                THEN kept."posts" + counting_sums."posts"
                ELSE CAST('integer overflow of bench_forum_site.posts' || ': ' || (kept."posts" + counting_sums."posts")
                AS INTEGER) END
        WHERE 1 = 1;
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_site_delete"() FROM PUBLIC;
CREATE FUNCTION "public"."bench_count_posts_by_site_truncate"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see bench_count_posts_by_site_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_sums RECORD;
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
        AND oid IN ('"public"."bench_forum_posts"'::regclass, '"public"."bench_forum_site"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    FOR counting_sums IN
        SELECT -COUNT(*) AS "posts"
        FROM "public"."bench_forum_posts"
        WHERE ("local" AND NOT "deleted" AND NOT "removed")
        HAVING (-COUNT(*) <> 0)
    LOOP
        UPDATE "public"."bench_forum_site" AS kept SET
            "posts" = CASE WHEN kept."posts" + counting_sums."posts" BETWEEN -2147483648 AND 2147483647
                THEN kept."posts" + counting_sums."posts"
                ELSE CAST('integer overflow of bench_forum_site.posts' || ': ' || (kept."posts" + counting_sums."posts")
                AS INTEGER) END
        WHERE 1 = 1;
    END LOOP;
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."bench_count_posts_by_site_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE "public"."bench_forum_site" SET
    "posts" = CASE WHEN "public"."bench_forum_site"."posts" + (drift."posts" - drift."stored_posts") BETWEEN -2147483648
        AND 2147483647 THEN "public"."bench_forum_site"."posts" + (drift."posts" - drift."stored_posts")
        ELSE CAST('integer overflow of bench_forum_site.posts' || ': ' || ("public"."bench_forum_site"."posts" +
        (drift."posts" - drift."stored_posts")) AS INTEGER) END
FROM (
    SELECT SUM("posts") AS "posts", SUM("stored_posts") AS "stored_posts"
    FROM (
        SELECT 1 AS "posts", 0 AS "stored_posts", 0 AS kept_rows
        FROM "public"."bench_forum_posts" AS counted
        WHERE (counted."local" AND NOT counted."deleted" AND NOT counted."removed")
        UNION ALL
        SELECT 0, kept."posts", 1 AS kept_rows
        FROM "public"."bench_forum_site" AS kept
    ) AS moved
    HAVING (SUM("posts") <> SUM("stored_posts")) AND SUM(kept_rows) > 0
) AS drift
WHERE 1 = 1;
CREATE TRIGGER "bench_count_posts_by_site_insert" AFTER INSERT ON "public"."bench_forum_posts"
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_site_insert"();
CREATE TRIGGER "bench_count_posts_by_site_update" AFTER UPDATE ON "public"."bench_forum_posts"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_site_update"();
CREATE TRIGGER "bench_count_posts_by_site_delete" AFTER DELETE ON "public"."bench_forum_posts"
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_site_delete"();
CREATE TRIGGER "bench_count_posts_by_site_truncate" BEFORE TRUNCATE ON "public"."bench_forum_posts"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."bench_count_posts_by_site_truncate"();

PERFORM set_config('search_path', counting_search_path, true), set_config('row_security', counting_row_security, true);
END
$diesel_counters$;
