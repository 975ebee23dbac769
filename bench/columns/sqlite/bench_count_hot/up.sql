-- Counts the rows of bench_hot_comments in bench_hot_articles.comments.
CREATE VIEW "bench_count_hot" AS SELECT
    '{"name":"bench_count_hot","rows":"bench_hot_comments",
    "count":["article_id:bench_hot_articles.comments"],"by":"1","period":"day","slots":32,
    "migration":1}'
    AS diesel_counters_trigger;


CREATE TRIGGER "bench_count_hot_insert" AFTER INSERT ON "bench_hot_comments" FOR EACH ROW BEGIN
    UPDATE "bench_hot_articles" SET
        "comments" = CASE typeof("comments" + 1) WHEN 'integer' THEN "comments" + 1
            ELSE abs(-9223372036854775807 - 1) END
    WHERE "id" = NEW."article_id";
    SELECT RAISE(ABORT, 'a constraint or a trigger refused to count this row in bench_hot_articles.comments')
    WHERE changes() = 0
        AND EXISTS (SELECT 1 FROM "bench_hot_articles" WHERE "id" = NEW."article_id");
END;
CREATE TRIGGER "bench_count_hot_update" AFTER UPDATE ON "bench_hot_comments" FOR EACH ROW BEGIN
    UPDATE "bench_hot_articles" SET
        "comments" = CASE typeof("comments" + -1) WHEN 'integer' THEN "comments" + -1
            ELSE abs(-9223372036854775807 - 1) END
    WHERE "id" = OLD."article_id"
        AND NEW."article_id" COLLATE BINARY IS NOT OLD."article_id";
    SELECT RAISE(ABORT, 'a constraint or a trigger refused to count this row in bench_hot_articles.comments')
    WHERE changes() = 0
        AND EXISTS (SELECT 1 FROM "bench_hot_articles" WHERE "id" = OLD."article_id"
        AND NEW."article_id" COLLATE BINARY IS NOT OLD."article_id");
    UPDATE "bench_hot_articles" SET
        "comments" = CASE typeof("comments" + 1) WHEN 'integer' THEN "comments" + 1
            ELSE abs(-9223372036854775807 - 1) END
    WHERE "id" = NEW."article_id"
        AND NEW."article_id" COLLATE BINARY IS NOT OLD."article_id";
    SELECT RAISE(ABORT, 'a constraint or a trigger refused to count this row in bench_hot_articles.comments')
    WHERE changes() = 0
        AND EXISTS (SELECT 1 FROM "bench_hot_articles" WHERE "id" = NEW."article_id"
        AND NEW."article_id" COLLATE BINARY IS NOT OLD."article_id");
END;
CREATE TRIGGER "bench_count_hot_delete" AFTER DELETE ON "bench_hot_comments" FOR EACH ROW BEGIN
    UPDATE "bench_hot_articles" SET
        "comments" = CASE typeof("comments" + -1) WHEN 'integer' THEN "comments" + -1
            ELSE abs(-9223372036854775807 - 1) END
    WHERE "id" = OLD."article_id";
    SELECT RAISE(ABORT, 'a constraint or a trigger refused to count this row in bench_hot_articles.comments')
    WHERE changes() = 0
        AND EXISTS (SELECT 1 FROM "bench_hot_articles" WHERE "id" = OLD."article_id");
END;
CREATE TRIGGER "bench_count_hot_replace_by_insert" BEFORE INSERT ON "bench_hot_comments" FOR EACH ROW
    WHEN (EXISTS (SELECT 1 FROM "bench_hot_comments" AS other WHERE other."id" = NEW."id")
    OR EXISTS (SELECT 1 FROM "bench_hot_comments" AS other WHERE other.rowid = NEW.rowid))
    AND (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0 BEGIN
    SELECT RAISE(ABORT,
        'bench_hot_comments has this row: run PRAGMA recursive_triggers = ON, so that SQLite counts what it replaces');
END;
CREATE TRIGGER "bench_count_hot_replace_by_update" BEFORE UPDATE ON "bench_hot_comments" FOR EACH ROW
    WHEN ((NEW."id") IS NOT (OLD."id") AND EXISTS (SELECT 1 FROM "bench_hot_comments" AS other
    WHERE other."id" = NEW."id")
    OR (NEW.rowid) IS NOT (OLD.rowid) AND EXISTS (SELECT 1 FROM "bench_hot_comments" AS other
        WHERE other.rowid = NEW.rowid))
    AND (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0 BEGIN
    SELECT RAISE(ABORT,
        'bench_hot_comments has this row: run PRAGMA recursive_triggers = ON, so that SQLite counts what it replaces');
END;

-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE "bench_hot_articles" SET
    "comments" = CASE typeof("bench_hot_articles"."comments" + (drift."comments" - drift."stored_comments"))
        WHEN 'integer' THEN "bench_hot_articles"."comments" + (drift."comments" - drift."stored_comments")
        ELSE abs(-9223372036854775807 - 1) END
FROM (
    SELECT "id", SUM("comments") AS "comments", SUM("stored_comments") AS "stored_comments"
    FROM (
        SELECT counted."article_id" AS "id", 1 AS "comments", 0 AS "stored_comments", 0 AS kept_rows
        FROM "bench_hot_comments" AS counted
        UNION ALL
        SELECT kept."id", 0, kept."comments", 1 AS kept_rows
        FROM "bench_hot_articles" AS kept
    ) AS moved
    GROUP BY "id"
    HAVING (SUM("comments") <> SUM("stored_comments")) AND SUM(kept_rows) > 0
) AS drift
WHERE "bench_hot_articles"."id" = drift."id";
