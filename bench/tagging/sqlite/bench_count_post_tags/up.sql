-- Counts the rows of bench_post_tags in bench_posts.tag_count, bench_tag_counters.usage_count.
CREATE VIEW "bench_count_post_tags" AS SELECT '{"name":"bench_count_post_tags","rows":"bench_post_tags","count":["post_id:bench_posts.tag_count","tag_id:bench_tag_counters.usage_count"],"by":"1","period":"day","slots":32}' AS diesel_counters_trigger;

CREATE TRIGGER "bench_count_post_tags_insert" AFTER INSERT ON "bench_post_tags" FOR EACH ROW BEGIN
    UPDATE "bench_posts" SET "tag_count" = CASE typeof("tag_count" + 1) WHEN 'integer' THEN "tag_count" + 1 ELSE abs(-9223372036854775807 - 1) END
    WHERE "id" = NEW."post_id";
    INSERT INTO "bench_tag_counters" ("tag_id", "day", "slot", "usage_count")
    VALUES (NEW."tag_id", date('now'), 0, 1)
    ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = CASE typeof("usage_count" + 1) WHEN 'integer' THEN "usage_count" + 1 ELSE abs(-9223372036854775807 - 1) END;
END;
CREATE TRIGGER "bench_count_post_tags_update" AFTER UPDATE ON "bench_post_tags" FOR EACH ROW BEGIN
    UPDATE "bench_posts" SET "tag_count" = CASE typeof("tag_count" + -1) WHEN 'integer' THEN "tag_count" + -1 ELSE abs(-9223372036854775807 - 1) END
    WHERE "id" = OLD."post_id"
        AND NEW."post_id" COLLATE BINARY IS NOT OLD."post_id";
    UPDATE "bench_posts" SET "tag_count" = CASE typeof("tag_count" + 1) WHEN 'integer' THEN "tag_count" + 1 ELSE abs(-9223372036854775807 - 1) END
    WHERE "id" = NEW."post_id"
        AND NEW."post_id" COLLATE BINARY IS NOT OLD."post_id";
    INSERT INTO "bench_tag_counters" ("tag_id", "day", "slot", "usage_count")
    SELECT OLD."tag_id", date('now'), 0, -1
    WHERE EXISTS (SELECT 1 FROM "bench_tags" AS parent WHERE parent."id" = OLD."tag_id")
        AND NEW."tag_id" COLLATE BINARY IS NOT OLD."tag_id"
    ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = CASE typeof("usage_count" + -1) WHEN 'integer' THEN "usage_count" + -1 ELSE abs(-9223372036854775807 - 1) END;
    INSERT INTO "bench_tag_counters" ("tag_id", "day", "slot", "usage_count")
    SELECT NEW."tag_id", date('now'), 0, 1
    WHERE NEW."tag_id" COLLATE BINARY IS NOT OLD."tag_id"
    ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = CASE typeof("usage_count" + 1) WHEN 'integer' THEN "usage_count" + 1 ELSE abs(-9223372036854775807 - 1) END;
END;
CREATE TRIGGER "bench_count_post_tags_delete" AFTER DELETE ON "bench_post_tags" FOR EACH ROW BEGIN
    UPDATE "bench_posts" SET "tag_count" = CASE typeof("tag_count" + -1) WHEN 'integer' THEN "tag_count" + -1 ELSE abs(-9223372036854775807 - 1) END
    WHERE "id" = OLD."post_id";
    INSERT INTO "bench_tag_counters" ("tag_id", "day", "slot", "usage_count")
    SELECT OLD."tag_id", date('now'), 0, -1
    WHERE EXISTS (SELECT 1 FROM "bench_tags" AS parent WHERE parent."id" = OLD."tag_id")
    ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = CASE typeof("usage_count" + -1) WHEN 'integer' THEN "usage_count" + -1 ELSE abs(-9223372036854775807 - 1) END;
END;
CREATE TRIGGER "bench_count_post_tags_replace_by_insert" BEFORE INSERT ON "bench_post_tags" FOR EACH ROW WHEN (EXISTS (SELECT 1 FROM "bench_post_tags" AS other WHERE other."post_id" = NEW."post_id" AND other."tag_id" = NEW."tag_id"))
    AND (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0 BEGIN
    SELECT RAISE(ABORT, 'bench_post_tags has this row, and SQLite would not count that it is replaced: run PRAGMA recursive_triggers = ON on this connection');
END;
CREATE TRIGGER "bench_count_post_tags_replace_by_update" BEFORE UPDATE ON "bench_post_tags" FOR EACH ROW WHEN ((NEW."post_id", NEW."tag_id") IS NOT (OLD."post_id", OLD."tag_id") AND EXISTS (SELECT 1 FROM "bench_post_tags" AS other WHERE other."post_id" = NEW."post_id" AND other."tag_id" = NEW."tag_id"))
    AND (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0 BEGIN
    SELECT RAISE(ABORT, 'bench_post_tags has this row, and SQLite would not count that it is replaced: run PRAGMA recursive_triggers = ON on this connection');
END;

-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE "bench_posts" SET "tag_count" = CASE typeof("bench_posts"."tag_count" + (drift."tag_count" - drift."stored_tag_count")) WHEN 'integer' THEN "bench_posts"."tag_count" + (drift."tag_count" - drift."stored_tag_count") ELSE abs(-9223372036854775807 - 1) END
FROM (SELECT "id", SUM("tag_count") AS "tag_count", SUM("stored_tag_count") AS "stored_tag_count" FROM (
    SELECT counted."post_id" AS "id", 1 AS "tag_count", 0 AS "stored_tag_count" FROM "bench_post_tags" AS counted
    UNION ALL SELECT kept."id", 0, kept."tag_count" FROM "bench_posts" AS kept
) AS moved GROUP BY "id" HAVING SUM("tag_count") <> SUM("stored_tag_count")) AS drift WHERE "bench_posts"."id" = drift."id";
INSERT INTO "bench_tag_counters" ("tag_id", "day", "slot", "usage_count")
SELECT "tag_id", '1970-01-01', 0, CASE typeof(drift."usage_count" - drift."stored_usage_count") WHEN 'integer' THEN drift."usage_count" - drift."stored_usage_count" ELSE abs(-9223372036854775807 - 1) END FROM (SELECT "tag_id", SUM("usage_count") AS "usage_count", SUM("stored_usage_count") AS "stored_usage_count" FROM (
    SELECT counted."tag_id", 1 AS "usage_count", 0 AS "stored_usage_count" FROM "bench_post_tags" AS counted
    UNION ALL SELECT kept."tag_id", 0, kept."usage_count" FROM "bench_tag_counters" AS kept
) AS moved GROUP BY "tag_id" HAVING SUM("usage_count") <> SUM("stored_usage_count")) AS drift ORDER BY "tag_id"
ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = CASE typeof("usage_count" + excluded."usage_count") WHEN 'integer' THEN "usage_count" + excluded."usage_count" ELSE abs(-9223372036854775807 - 1) END;
