-- Counts the rows of article_likes in article_counters.likes.
CREATE VIEW "count_article_likes" AS SELECT
    '{"name":"count_article_likes","rows":"article_likes",
    "count":["article_id:article_counters.likes"],"by":"1","day":"created_on","period":"day",
    "slots":16,"migration":1}'
    AS diesel_counters_trigger;


CREATE TRIGGER "count_article_likes_insert" AFTER INSERT ON "article_likes" FOR EACH ROW BEGIN
    INSERT INTO "article_counters" ("article_id", "day", "slot", "likes")
    VALUES (NEW."article_id", COALESCE(date(NEW."created_on"), '1970-01-01'), 0, 1)
    ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
        "likes" = CASE typeof("likes" + 1) WHEN 'integer' THEN "likes" + 1 ELSE abs(-9223372036854775807 - 1) END;
    SELECT RAISE(ABORT, 'a constraint or a trigger refused to count this row in article_counters.likes')
    WHERE changes() = 0;
END;
CREATE TRIGGER "count_article_likes_update" AFTER UPDATE ON "article_likes" FOR EACH ROW BEGIN
    INSERT INTO "article_counters" ("article_id", "day", "slot", "likes")
    SELECT OLD."article_id", COALESCE(date(OLD."created_on"), '1970-01-01'), 0, -1
    WHERE EXISTS (SELECT 1 FROM "articles" AS parent WHERE parent."id" = OLD."article_id")
        AND (NEW."article_id" COLLATE BINARY IS NOT OLD."article_id"
            OR date(NEW."created_on") COLLATE BINARY IS NOT date(OLD."created_on"))
    ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
        "likes" = CASE typeof("likes" + -1) WHEN 'integer' THEN "likes" + -1 ELSE abs(-9223372036854775807 - 1) END;
    SELECT RAISE(ABORT, 'a constraint or a trigger refused to count this row in article_counters.likes')
    WHERE changes() = 0
        AND EXISTS (SELECT 1 FROM "articles" AS parent WHERE parent."id" = OLD."article_id")
        AND (NEW."article_id" COLLATE BINARY IS NOT OLD."article_id"
            OR date(NEW."created_on") COLLATE BINARY IS NOT date(OLD."created_on"));
    INSERT INTO "article_counters" ("article_id", "day", "slot", "likes")
    SELECT NEW."article_id", COALESCE(date(NEW."created_on"), '1970-01-01'), 0, 1
    WHERE (EXISTS (SELECT 1 FROM "articles" AS parent WHERE parent."id" = NEW."article_id")
        OR NEW."article_id" COLLATE BINARY IS NOT OLD."article_id")
        AND (NEW."article_id" COLLATE BINARY IS NOT OLD."article_id"
            OR date(NEW."created_on") COLLATE BINARY IS NOT date(OLD."created_on"))
    ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
        "likes" = CASE typeof("likes" + 1) WHEN 'integer' THEN "likes" + 1 ELSE abs(-9223372036854775807 - 1) END;
    SELECT RAISE(ABORT, 'a constraint or a trigger refused to count this row in article_counters.likes')
    WHERE changes() = 0
        AND (EXISTS (SELECT 1 FROM "articles" AS parent WHERE parent."id" = NEW."article_id")
            OR NEW."article_id" COLLATE BINARY IS NOT OLD."article_id")
        AND (NEW."article_id" COLLATE BINARY IS NOT OLD."article_id"
            OR date(NEW."created_on") COLLATE BINARY IS NOT date(OLD."created_on"));
END;
CREATE TRIGGER "count_article_likes_delete" AFTER DELETE ON "article_likes" FOR EACH ROW BEGIN
    INSERT INTO "article_counters" ("article_id", "day", "slot", "likes")
    SELECT OLD."article_id", COALESCE(date(OLD."created_on"), '1970-01-01'), 0, -1
    WHERE EXISTS (SELECT 1 FROM "articles" AS parent WHERE parent."id" = OLD."article_id")
    ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
        "likes" = CASE typeof("likes" + -1) WHEN 'integer' THEN "likes" + -1 ELSE abs(-9223372036854775807 - 1) END;
    SELECT RAISE(ABORT, 'a constraint or a trigger refused to count this row in article_counters.likes')
    WHERE changes() = 0
        AND EXISTS (SELECT 1 FROM "articles" AS parent WHERE parent."id" = OLD."article_id");
END;
CREATE TRIGGER "count_article_likes_replace_by_insert" BEFORE INSERT ON "article_likes" FOR EACH ROW
    WHEN (EXISTS (SELECT 1 FROM "article_likes" AS other WHERE other."article_id" = NEW."article_id"
    AND other."visitor" = NEW."visitor" COLLATE BINARY)
    OR EXISTS (SELECT 1 FROM "article_likes" AS other WHERE other.rowid = NEW.rowid))
    AND (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0 BEGIN
    SELECT RAISE(ABORT,
        'article_likes has this row: run PRAGMA recursive_triggers = ON, so that SQLite counts what it replaces');
END;
CREATE TRIGGER "count_article_likes_replace_by_update" BEFORE UPDATE ON "article_likes" FOR EACH ROW
    WHEN ((NEW."article_id", NEW."visitor" COLLATE BINARY) IS NOT (OLD."article_id", OLD."visitor") AND EXISTS (SELECT 1
    FROM "article_likes" AS other WHERE other."article_id" = NEW."article_id"
    AND other."visitor" = NEW."visitor" COLLATE BINARY)
    OR (NEW.rowid) IS NOT (OLD.rowid) AND EXISTS (SELECT 1 FROM "article_likes" AS other WHERE other.rowid = NEW.rowid))
    AND (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0 BEGIN
    SELECT RAISE(ABORT,
        'article_likes has this row: run PRAGMA recursive_triggers = ON, so that SQLite counts what it replaces');
END;

-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO "article_counters" ("article_id", "day", "slot", "likes")
SELECT "article_id", "day", 0, CASE typeof(drift."likes" - drift."stored_likes") WHEN 'integer'
    THEN drift."likes" - drift."stored_likes" ELSE abs(-9223372036854775807 - 1) END
FROM (
    SELECT "article_id", "day", SUM("likes") AS "likes", SUM("stored_likes") AS "stored_likes"
    FROM (
        SELECT counted."article_id", COALESCE(date(counted."created_on"), '1970-01-01') AS "day", 1 AS "likes",
            0 AS "stored_likes"
        FROM "article_likes" AS counted
        UNION ALL
        SELECT kept."article_id", kept."day", 0, kept."likes"
        FROM "article_counters" AS kept
    ) AS moved
    GROUP BY "article_id", "day"
    HAVING SUM("likes") <> SUM("stored_likes")
) AS drift
ORDER BY 1, 2
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
    "likes" = CASE typeof("likes" + excluded."likes") WHEN 'integer' THEN "likes" + excluded."likes"
        ELSE abs(-9223372036854775807 - 1) END;
