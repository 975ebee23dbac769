-- Counts the rows of bench_post_tags in bench_post_counters.tag_count, bench_tag_counters.usage_count.

-- The definition of the triggers, for `diesel-counters check` and `recount`.
CREATE VIEW "bench_count_post_tags" AS
SELECT '{"name":"bench_count_post_tags","rows":"bench_post_tags","count":["post_id:bench_post_counters.tag_count","tag_id:bench_tag_counters.usage_count"],"by":"1","period":"day","slots":32}' AS diesel_counters_trigger;

CREATE TRIGGER "bench_count_post_tags_insert" AFTER INSERT ON "bench_post_tags" FOR EACH ROW BEGIN
    INSERT INTO "bench_post_counters" ("post_id", "day", "slot", "tag_count")
    SELECT NEW."post_id", date('now'), 0, 1
    WHERE NEW."post_id" IS NOT NULL
    ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET "tag_count" = CASE typeof("tag_count" + 1) WHEN 'integer' THEN "tag_count" + 1 ELSE abs(-9223372036854775807 - 1) END;
    INSERT INTO "bench_tag_counters" ("tag_id", "day", "slot", "usage_count")
    SELECT NEW."tag_id", date('now'), 0, 1
    WHERE NEW."tag_id" IS NOT NULL
    ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = CASE typeof("usage_count" + 1) WHEN 'integer' THEN "usage_count" + 1 ELSE abs(-9223372036854775807 - 1) END;
END;

CREATE TRIGGER "bench_count_post_tags_update" AFTER UPDATE ON "bench_post_tags" FOR EACH ROW BEGIN
    INSERT INTO "bench_post_counters" ("post_id", "day", "slot", "tag_count")
    SELECT OLD."post_id", date('now'), 0, -1
    WHERE OLD."post_id" IS NOT NULL
        AND EXISTS (SELECT 1 FROM "bench_posts" AS parent_1 WHERE parent_1."id" = OLD."post_id")
        AND (NEW."post_id" COLLATE BINARY IS NOT OLD."post_id")
    ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET "tag_count" = CASE typeof("tag_count" + -1) WHEN 'integer' THEN "tag_count" + -1 ELSE abs(-9223372036854775807 - 1) END;
    INSERT INTO "bench_post_counters" ("post_id", "day", "slot", "tag_count")
    SELECT NEW."post_id", date('now'), 0, 1
    WHERE NEW."post_id" IS NOT NULL
        AND (NEW."post_id" COLLATE BINARY IS NOT OLD."post_id")
    ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET "tag_count" = CASE typeof("tag_count" + 1) WHEN 'integer' THEN "tag_count" + 1 ELSE abs(-9223372036854775807 - 1) END;
    INSERT INTO "bench_tag_counters" ("tag_id", "day", "slot", "usage_count")
    SELECT OLD."tag_id", date('now'), 0, -1
    WHERE OLD."tag_id" IS NOT NULL
        AND EXISTS (SELECT 1 FROM "bench_tags" AS parent_2 WHERE parent_2."id" = OLD."tag_id")
        AND (NEW."tag_id" COLLATE BINARY IS NOT OLD."tag_id")
    ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = CASE typeof("usage_count" + -1) WHEN 'integer' THEN "usage_count" + -1 ELSE abs(-9223372036854775807 - 1) END;
    INSERT INTO "bench_tag_counters" ("tag_id", "day", "slot", "usage_count")
    SELECT NEW."tag_id", date('now'), 0, 1
    WHERE NEW."tag_id" IS NOT NULL
        AND (NEW."tag_id" COLLATE BINARY IS NOT OLD."tag_id")
    ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = CASE typeof("usage_count" + 1) WHEN 'integer' THEN "usage_count" + 1 ELSE abs(-9223372036854775807 - 1) END;
END;

CREATE TRIGGER "bench_count_post_tags_delete" AFTER DELETE ON "bench_post_tags" FOR EACH ROW BEGIN
    INSERT INTO "bench_post_counters" ("post_id", "day", "slot", "tag_count")
    SELECT OLD."post_id", date('now'), 0, -1
    WHERE OLD."post_id" IS NOT NULL
        AND EXISTS (SELECT 1 FROM "bench_posts" AS parent_1 WHERE parent_1."id" = OLD."post_id")
    ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET "tag_count" = CASE typeof("tag_count" + -1) WHEN 'integer' THEN "tag_count" + -1 ELSE abs(-9223372036854775807 - 1) END;
    INSERT INTO "bench_tag_counters" ("tag_id", "day", "slot", "usage_count")
    SELECT OLD."tag_id", date('now'), 0, -1
    WHERE OLD."tag_id" IS NOT NULL
        AND EXISTS (SELECT 1 FROM "bench_tags" AS parent_2 WHERE parent_2."id" = OLD."tag_id")
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
INSERT INTO "bench_post_counters" ("post_id", "day", "slot", "tag_count")
SELECT entity, day, 0, CASE typeof(SUM(count_1)) WHEN 'integer' THEN SUM(count_1) ELSE abs(-9223372036854775807 - 1) END
FROM (
    SELECT counted_1."post_id" AS entity, '1970-01-01' AS day, 1 AS count_1
    FROM "bench_post_tags" AS counted_1
    WHERE counted_1."post_id" IS NOT NULL
    UNION ALL
    SELECT stored_1."post_id", '1970-01-01', -stored_1."tag_count"
    FROM "bench_post_counters" AS stored_1
) AS moved
GROUP BY entity, day
HAVING SUM(count_1) <> 0
ORDER BY entity, day
ON CONFLICT ("post_id", "day", "slot") DO UPDATE SET "tag_count" = CASE typeof("tag_count" + excluded."tag_count") WHEN 'integer' THEN "tag_count" + excluded."tag_count" ELSE abs(-9223372036854775807 - 1) END;
INSERT INTO "bench_tag_counters" ("tag_id", "day", "slot", "usage_count")
SELECT entity, day, 0, CASE typeof(SUM(count_1)) WHEN 'integer' THEN SUM(count_1) ELSE abs(-9223372036854775807 - 1) END
FROM (
    SELECT counted_2."tag_id" AS entity, '1970-01-01' AS day, 1 AS count_1
    FROM "bench_post_tags" AS counted_2
    WHERE counted_2."tag_id" IS NOT NULL
    UNION ALL
    SELECT stored_2."tag_id", '1970-01-01', -stored_2."usage_count"
    FROM "bench_tag_counters" AS stored_2
) AS moved
GROUP BY entity, day
HAVING SUM(count_1) <> 0
ORDER BY entity, day
ON CONFLICT ("tag_id", "day", "slot") DO UPDATE SET "usage_count" = CASE typeof("usage_count" + excluded."usage_count") WHEN 'integer' THEN "usage_count" + excluded."usage_count" ELSE abs(-9223372036854775807 - 1) END;
