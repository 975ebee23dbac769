-- Counts the rows of article_likes in article_counters.likes.

-- The definition of the triggers, for `diesel-counters check` and `recount`.
CREATE VIEW "count_article_likes" AS
SELECT '{"name":"count_article_likes","rows":"article_likes","count":["article_id:article_counters.likes"],"by":"1","period":"day","slots":32}' AS diesel_counters_trigger;

CREATE TRIGGER "count_article_likes_insert" AFTER INSERT ON "article_likes" FOR EACH ROW BEGIN
    INSERT INTO "article_counters" ("article_id", "day", "slot", "likes")
    SELECT NEW."article_id", date('now'), 0, 1
    WHERE NEW."article_id" IS NOT NULL
    ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET "likes" = CASE typeof("likes" + 1) WHEN 'integer' THEN "likes" + 1 ELSE abs(-9223372036854775807 - 1) END;
END;

CREATE TRIGGER "count_article_likes_update" AFTER UPDATE ON "article_likes" FOR EACH ROW BEGIN
    INSERT INTO "article_counters" ("article_id", "day", "slot", "likes")
    SELECT OLD."article_id", date('now'), 0, -1
    WHERE OLD."article_id" IS NOT NULL
        AND EXISTS (SELECT 1 FROM "articles" AS parent_1 WHERE parent_1."id" = OLD."article_id")
        AND (NEW."article_id" COLLATE BINARY IS NOT OLD."article_id")
    ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET "likes" = CASE typeof("likes" + -1) WHEN 'integer' THEN "likes" + -1 ELSE abs(-9223372036854775807 - 1) END;
    INSERT INTO "article_counters" ("article_id", "day", "slot", "likes")
    SELECT NEW."article_id", date('now'), 0, 1
    WHERE NEW."article_id" IS NOT NULL
        AND (NEW."article_id" COLLATE BINARY IS NOT OLD."article_id")
    ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET "likes" = CASE typeof("likes" + 1) WHEN 'integer' THEN "likes" + 1 ELSE abs(-9223372036854775807 - 1) END;
END;

CREATE TRIGGER "count_article_likes_delete" AFTER DELETE ON "article_likes" FOR EACH ROW BEGIN
    INSERT INTO "article_counters" ("article_id", "day", "slot", "likes")
    SELECT OLD."article_id", date('now'), 0, -1
    WHERE OLD."article_id" IS NOT NULL
        AND EXISTS (SELECT 1 FROM "articles" AS parent_1 WHERE parent_1."id" = OLD."article_id")
    ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET "likes" = CASE typeof("likes" + -1) WHEN 'integer' THEN "likes" + -1 ELSE abs(-9223372036854775807 - 1) END;
END;

CREATE TRIGGER "count_article_likes_replace_by_insert" BEFORE INSERT ON "article_likes" FOR EACH ROW WHEN (EXISTS (SELECT 1 FROM "article_likes" AS other WHERE other."article_id" = NEW."article_id" AND other."user_id" = NEW."user_id"))
    AND (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0 BEGIN
    SELECT RAISE(ABORT, 'article_likes has this row, and SQLite would not count that it is replaced: run PRAGMA recursive_triggers = ON on this connection');
END;

CREATE TRIGGER "count_article_likes_replace_by_update" BEFORE UPDATE ON "article_likes" FOR EACH ROW WHEN ((NEW."article_id", NEW."user_id") IS NOT (OLD."article_id", OLD."user_id") AND EXISTS (SELECT 1 FROM "article_likes" AS other WHERE other."article_id" = NEW."article_id" AND other."user_id" = NEW."user_id"))
    AND (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0 BEGIN
    SELECT RAISE(ABORT, 'article_likes has this row, and SQLite would not count that it is replaced: run PRAGMA recursive_triggers = ON on this connection');
END;

-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO "article_counters" ("article_id", "day", "slot", "likes")
SELECT entity, day, 0, CASE typeof(SUM(count_1)) WHEN 'integer' THEN SUM(count_1) ELSE abs(-9223372036854775807 - 1) END
FROM (
    SELECT counted_1."article_id" AS entity, '1970-01-01' AS day, 1 AS count_1
    FROM "article_likes" AS counted_1
    WHERE counted_1."article_id" IS NOT NULL
    UNION ALL
    SELECT stored_1."article_id", '1970-01-01', -stored_1."likes"
    FROM "article_counters" AS stored_1
) AS moved
GROUP BY entity, day
HAVING SUM(count_1) <> 0
ORDER BY entity, day
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET "likes" = CASE typeof("likes" + excluded."likes") WHEN 'integer' THEN "likes" + excluded."likes" ELSE abs(-9223372036854775807 - 1) END;
