-- Rows are locked in this order, as the program must lock them: bench_hot_comments, bench_hot_articles.
-- Counts the rows of bench_hot_comments in bench_hot_articles.comments.

CREATE OR REPLACE VIEW `bench_count_hot` AS SELECT
    '{"name":"bench_count_hot","rows":"bench_hot_comments",'
    '"count":["article_id:bench_hot_articles.comments"],"by":"1","period":"day","slots":32,'
    '"migration":1}'
    AS diesel_counters_trigger;

-- If the server has a binary log, creating triggers requires SUPER, or
-- log_bin_trust_function_creators = ON.
-- Until UNLOCK TABLES, other sessions wait for these tables.
LOCK TABLES
    `bench_hot_articles` AS `kept_bench_hot_articles` READ,
    `bench_hot_articles` WRITE,
    `bench_hot_comments` AS `counted_bench_hot_comments` READ,
    `bench_hot_comments` WRITE;

-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE `bench_hot_articles` JOIN (
    SELECT `id`, SUM(`comments`) AS `comments`, SUM(`stored_comments`) AS `stored_comments`
    FROM (
        SELECT `counted_bench_hot_comments`.`article_id` AS `id`, 1 AS `comments`, 0 AS `stored_comments`,
            0 AS kept_rows
        FROM `bench_hot_comments` AS `counted_bench_hot_comments`
        UNION ALL
        SELECT `kept_bench_hot_articles`.`id`, 0, `kept_bench_hot_articles`.`comments`, 1 AS kept_rows
        FROM `bench_hot_articles` AS `kept_bench_hot_articles`
    ) AS moved
    GROUP BY `id`
    HAVING (SUM(`comments`) <> SUM(`stored_comments`)) AND SUM(kept_rows) > 0
) AS drift ON `bench_hot_articles`.`id` = drift.`id` SET
    `bench_hot_articles`.`comments` = `bench_hot_articles`.`comments` + (drift.`comments` - drift.`stored_comments`);

DROP TRIGGER IF EXISTS `bench_count_hot_insert`;
CREATE TRIGGER `bench_count_hot_insert` AFTER INSERT ON `bench_hot_comments` FOR EACH ROW
BEGIN
    UPDATE `bench_hot_articles` SET
        `comments` = `comments` + 1
    WHERE `id` = NEW.`article_id`;
END;
DROP TRIGGER IF EXISTS `bench_count_hot_update`;
CREATE TRIGGER `bench_count_hot_update` AFTER UPDATE ON `bench_hot_comments` FOR EACH ROW
BEGIN
    IF NOT (CAST(NEW.`article_id` AS BINARY) <=> CAST(OLD.`article_id` AS BINARY))
        AND NOT EXISTS (SELECT 1 FROM `bench_hot_comments` AS same
            WHERE same.`id` = OLD.`id` AND CAST(same.`article_id` AS BINARY) <=> CAST(OLD.`article_id` AS BINARY)
                LOCK IN SHARE MODE) THEN
        UPDATE `bench_hot_articles` SET
            `comments` = `comments` + -1
        WHERE `id` = OLD.`article_id`;
        UPDATE `bench_hot_articles` SET
            `comments` = `comments` + 1
        WHERE `id` = NEW.`article_id`;
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_hot_delete`;
CREATE TRIGGER `bench_count_hot_delete` AFTER DELETE ON `bench_hot_comments` FOR EACH ROW
BEGIN
    UPDATE `bench_hot_articles` SET
        `comments` = `comments` + -1
    WHERE `id` = OLD.`article_id`;
END;

UNLOCK TABLES;

