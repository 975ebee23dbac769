-- Counts the rows of bench_posts in bench_site_counters.post_count.
CREATE VIEW "bench_count_posts" AS SELECT '{"name":"bench_count_posts","rows":"bench_posts","count":["bench_site_counters.post_count"],"by":"1","period":"day","slots":32}' AS diesel_counters_trigger;

CREATE TRIGGER "bench_count_posts_insert" AFTER INSERT ON "bench_posts" FOR EACH ROW BEGIN
    INSERT INTO "bench_site_counters" ("day", "slot", "post_count")
    VALUES (date('now'), 0, 1)
    ON CONFLICT ("day", "slot") DO UPDATE SET "post_count" = CASE typeof("post_count" + 1) WHEN 'integer' THEN "post_count" + 1 ELSE abs(-9223372036854775807 - 1) END;
END;
CREATE TRIGGER "bench_count_posts_delete" AFTER DELETE ON "bench_posts" FOR EACH ROW BEGIN
    INSERT INTO "bench_site_counters" ("day", "slot", "post_count")
    VALUES (date('now'), 0, -1)
    ON CONFLICT ("day", "slot") DO UPDATE SET "post_count" = CASE typeof("post_count" + -1) WHEN 'integer' THEN "post_count" + -1 ELSE abs(-9223372036854775807 - 1) END;
END;
CREATE TRIGGER "bench_count_posts_replace_by_insert" BEFORE INSERT ON "bench_posts" FOR EACH ROW WHEN (EXISTS (SELECT 1 FROM "bench_posts" AS other WHERE other."id" = NEW."id"))
    AND (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0 BEGIN
    SELECT RAISE(ABORT, 'bench_posts has this row, and SQLite would not count that it is replaced: run PRAGMA recursive_triggers = ON on this connection');
END;
CREATE TRIGGER "bench_count_posts_replace_by_update" BEFORE UPDATE ON "bench_posts" FOR EACH ROW WHEN ((NEW."id") IS NOT (OLD."id") AND EXISTS (SELECT 1 FROM "bench_posts" AS other WHERE other."id" = NEW."id"))
    AND (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0 BEGIN
    SELECT RAISE(ABORT, 'bench_posts has this row, and SQLite would not count that it is replaced: run PRAGMA recursive_triggers = ON on this connection');
END;

-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO "bench_site_counters" ("day", "slot", "post_count")
SELECT '1970-01-01', 0, CASE typeof(drift."post_count" - drift."stored_post_count") WHEN 'integer' THEN drift."post_count" - drift."stored_post_count" ELSE abs(-9223372036854775807 - 1) END FROM (SELECT SUM("post_count") AS "post_count", SUM("stored_post_count") AS "stored_post_count" FROM (
    SELECT 1 AS "post_count", 0 AS "stored_post_count" FROM "bench_posts" AS counted
    UNION ALL SELECT 0, kept."post_count" FROM "bench_site_counters" AS kept
) AS moved HAVING SUM("post_count") <> SUM("stored_post_count")) AS drift WHERE true
ON CONFLICT ("day", "slot") DO UPDATE SET "post_count" = CASE typeof("post_count" + excluded."post_count") WHEN 'integer' THEN "post_count" + excluded."post_count" ELSE abs(-9223372036854775807 - 1) END;
