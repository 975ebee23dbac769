-- Rows are locked in this order, as the program must lock them: bench_forum_post_votes, bench_forum_comment_votes,
-- bench_forum_comments, bench_forum_posts, bench_forum_communities, bench_forum_people, bench_forum_site.
-- Counts the rows of bench_forum_post_votes in bench_forum_posts.upvotes, bench_forum_posts.downvotes,
-- bench_forum_posts.score.
-- Counts the rows of bench_forum_comment_votes in bench_forum_comments.upvotes, bench_forum_comments.downvotes,
-- bench_forum_comments.score.
-- Counts the rows of bench_forum_comments in bench_forum_posts.comments, bench_forum_people.comment_count.
-- Counts the rows of bench_forum_comments in bench_forum_people.comment_score.
-- Counts the rows of bench_forum_comments in bench_forum_site.comments.
-- Counts the rows of bench_forum_posts in bench_forum_communities.posts.
-- Counts the rows of bench_forum_posts in bench_forum_communities.comments.
-- Counts the rows of bench_forum_posts in bench_forum_people.post_count.
-- Counts the rows of bench_forum_posts in bench_forum_people.post_score.
-- Counts the rows of bench_forum_posts in bench_forum_site.posts.

CREATE OR REPLACE VIEW `bench_count_post_votes` AS SELECT
    '{"name":"bench_count_post_votes","rows":"bench_forum_post_votes",'
    '"count":["post_id:bench_forum_posts.upvotes=CASE WHEN vote > 0 THEN 1 ELSE 0 END",'
    '"post_id:bench_forum_posts.downvotes=CASE WHEN vote < 0 THEN 1 ELSE 0 END",'
    '"post_id:bench_forum_posts.score=vote"],"by":"1","period":"day","slots":32,"migration":1}'
    AS diesel_counters_trigger;
CREATE OR REPLACE VIEW `bench_count_comment_votes` AS SELECT
    '{"name":"bench_count_comment_votes","rows":"bench_forum_comment_votes",'
    '"count":["comment_id:bench_forum_comments.upvotes=CASE WHEN vote > 0 THEN 1 ELSE 0 END",'
    '"comment_id:bench_forum_comments.downvotes=CASE WHEN vote < 0 THEN 1 ELSE 0 END",'
    '"comment_id:bench_forum_comments.score=vote"],"by":"1","period":"day","slots":32,"migration":1}'
    AS diesel_counters_trigger;
CREATE OR REPLACE VIEW `bench_count_comments_by_post` AS SELECT
    '{"name":"bench_count_comments_by_post","rows":"bench_forum_comments",'
    '"count":["post_id:bench_forum_posts.comments","creator_id:bench_forum_people.comment_count"],'
    '"by":"1","when":"NOT deleted AND NOT removed","period":"day","slots":32,"migration":1}'
    AS diesel_counters_trigger;
CREATE OR REPLACE VIEW `bench_count_comments_by_score` AS SELECT
    '{"name":"bench_count_comments_by_score","rows":"bench_forum_comments",'
    '"count":["creator_id:bench_forum_people.comment_score=score"],"by":"1","period":"day",'
    '"slots":32,"migration":1}'
    AS diesel_counters_trigger;
CREATE OR REPLACE VIEW `bench_count_comments_by_site` AS SELECT
    '{"name":"bench_count_comments_by_site","rows":"bench_forum_comments",'
    '"count":[":bench_forum_site.comments"],"by":"1","when":"local AND NOT deleted AND NOT removed",'
    '"period":"day","slots":32,"migration":1}'
    AS diesel_counters_trigger;
CREATE OR REPLACE VIEW `bench_count_posts_by_community` AS SELECT
    '{"name":"bench_count_posts_by_community","rows":"bench_forum_posts",'
    '"count":["community_id:bench_forum_communities.posts"],"by":"1",'
    '"when":"NOT deleted AND NOT removed","only":"local","period":"day","slots":32,"migration":1}'
    AS diesel_counters_trigger;
CREATE OR REPLACE VIEW `bench_count_posts_by_comments` AS SELECT
    '{"name":"bench_count_posts_by_comments","rows":"bench_forum_posts",'
    '"count":["community_id:bench_forum_communities.comments=comments"],"by":"1","only":"local",'
    '"period":"day","slots":32,"migration":1}'
    AS diesel_counters_trigger;
CREATE OR REPLACE VIEW `bench_count_posts_by_person` AS SELECT
    '{"name":"bench_count_posts_by_person","rows":"bench_forum_posts",'
    '"count":["creator_id:bench_forum_people.post_count"],"by":"1",'
    '"when":"NOT deleted AND NOT removed","period":"day","slots":32,"migration":1}'
    AS diesel_counters_trigger;
CREATE OR REPLACE VIEW `bench_count_posts_by_score` AS SELECT
    '{"name":"bench_count_posts_by_score","rows":"bench_forum_posts",'
    '"count":["creator_id:bench_forum_people.post_score=score"],"by":"1","period":"day","slots":32,'
    '"migration":1}'
    AS diesel_counters_trigger;
CREATE OR REPLACE VIEW `bench_count_posts_by_site` AS SELECT
    '{"name":"bench_count_posts_by_site","rows":"bench_forum_posts",'
    '"count":[":bench_forum_site.posts"],"by":"1","when":"local AND NOT deleted AND NOT removed",'
    '"period":"day","slots":32,"migration":1}'
    AS diesel_counters_trigger;
DROP TRIGGER IF EXISTS `bench_count_comments_by_post_of_post_id`;
CREATE TRIGGER `bench_count_comments_by_post_of_post_id` BEFORE DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_people` JOIN (
    SELECT `id`, SUM(`comment_count`) AS `comment_count`
    FROM (
        SELECT counted.`creator_id` AS `id`, -1 AS `comment_count`
        FROM (SELECT * FROM `bench_forum_comments`
            WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
        WHERE (NOT counted.`deleted` AND NOT counted.`removed`)
    ) AS moved
    GROUP BY `id`
    HAVING SUM(`comment_count`) <> 0
    ORDER BY `id`
    ) AS moved ON `bench_forum_people`.`id` = moved.`id` SET
        `bench_forum_people`.`comment_count` = CASE
            WHEN `bench_forum_people`.`comment_count` + moved.`comment_count` BETWEEN -2147483648 AND 2147483647
            THEN `bench_forum_people`.`comment_count` + moved.`comment_count`
            ELSE 9223372036854775807 * (2 * CAST(`bench_forum_people`.`comment_count` + moved.`comment_count` AS
            SIGNED)) END;
END;
DROP TRIGGER IF EXISTS `bench_count_comments_by_post_after_post_id`;
CREATE TRIGGER `bench_count_comments_by_post_after_post_id` AFTER DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_people` JOIN (
    SELECT `id`, SUM(`comment_count`) AS `comment_count`
    FROM (
        SELECT counted.`creator_id` AS `id`, 1 AS `comment_count`
        FROM (SELECT * FROM `bench_forum_comments`
            WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
        WHERE (NOT counted.`deleted` AND NOT counted.`removed`)
    ) AS moved
    GROUP BY `id`
    HAVING SUM(`comment_count`) <> 0
    ORDER BY `id`
    ) AS moved ON `bench_forum_people`.`id` = moved.`id` SET
        `bench_forum_people`.`comment_count` = CASE
            WHEN `bench_forum_people`.`comment_count` + moved.`comment_count` BETWEEN -2147483648 AND 2147483647
            THEN `bench_forum_people`.`comment_count` + moved.`comment_count`
            ELSE 9223372036854775807 * (2 * CAST(`bench_forum_people`.`comment_count` + moved.`comment_count` AS
            SIGNED)) END;
END;
DROP TRIGGER IF EXISTS `bench_count_comments_by_score_of_post_id`;
CREATE TRIGGER `bench_count_comments_by_score_of_post_id` BEFORE DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_people` JOIN (
    SELECT `id`, SUM(`comment_score`) AS `comment_score`
    FROM (
        SELECT counted.`creator_id` AS `id`, -COALESCE(CAST(counted.`score` AS DECIMAL(65, 0)), 0) AS `comment_score`
        FROM (SELECT * FROM `bench_forum_comments`
            WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
    ) AS moved
    GROUP BY `id`
    HAVING SUM(`comment_score`) <> 0
    ORDER BY `id`
    ) AS moved ON `bench_forum_people`.`id` = moved.`id` SET
        `bench_forum_people`.`comment_score` = CASE
            WHEN `bench_forum_people`.`comment_score` + moved.`comment_score` BETWEEN -2147483648 AND 2147483647
            THEN `bench_forum_people`.`comment_score` + moved.`comment_score`
            ELSE 9223372036854775807 * (2 * CAST(`bench_forum_people`.`comment_score` + moved.`comment_score` AS
            SIGNED)) END;
END;
DROP TRIGGER IF EXISTS `bench_count_comments_by_score_after_post_id`;
CREATE TRIGGER `bench_count_comments_by_score_after_post_id` AFTER DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_people` JOIN (
    SELECT `id`, SUM(`comment_score`) AS `comment_score`
    FROM (
        SELECT counted.`creator_id` AS `id`, COALESCE(CAST(counted.`score` AS DECIMAL(65, 0)), 0) AS `comment_score`
        FROM (SELECT * FROM `bench_forum_comments`
            WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
    ) AS moved
    GROUP BY `id`
    HAVING SUM(`comment_score`) <> 0
    ORDER BY `id`
    ) AS moved ON `bench_forum_people`.`id` = moved.`id` SET
        `bench_forum_people`.`comment_score` = CASE
            WHEN `bench_forum_people`.`comment_score` + moved.`comment_score` BETWEEN -2147483648 AND 2147483647
            THEN `bench_forum_people`.`comment_score` + moved.`comment_score`
            ELSE 9223372036854775807 * (2 * CAST(`bench_forum_people`.`comment_score` + moved.`comment_score` AS
            SIGNED)) END;
END;
DROP TRIGGER IF EXISTS `bench_count_comments_by_site_of_post_id`;
CREATE TRIGGER `bench_count_comments_by_site_of_post_id` BEFORE DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_site` JOIN (
    SELECT SUM(`comments`) AS `comments`
    FROM (
        SELECT -1 AS `comments`
        FROM (SELECT * FROM `bench_forum_comments`
            WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
        WHERE (counted.`local` AND NOT counted.`deleted` AND NOT counted.`removed`)
    ) AS moved
    HAVING SUM(`comments`) <> 0
    ) AS moved ON 1 = 1 SET
        `bench_forum_site`.`comments` = CASE WHEN `bench_forum_site`.`comments` + moved.`comments` BETWEEN -2147483648
            AND 2147483647 THEN `bench_forum_site`.`comments` + moved.`comments`
            ELSE 9223372036854775807 * (2 * CAST(`bench_forum_site`.`comments` + moved.`comments` AS SIGNED)) END;
END;
DROP TRIGGER IF EXISTS `bench_count_comments_by_site_after_post_id`;
CREATE TRIGGER `bench_count_comments_by_site_after_post_id` AFTER DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_site` JOIN (
    SELECT SUM(`comments`) AS `comments`
    FROM (
        SELECT 1 AS `comments`
        FROM (SELECT * FROM `bench_forum_comments`
            WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
        WHERE (counted.`local` AND NOT counted.`deleted` AND NOT counted.`removed`)
    ) AS moved
    HAVING SUM(`comments`) <> 0
    ) AS moved ON 1 = 1 SET
        `bench_forum_site`.`comments` = CASE WHEN `bench_forum_site`.`comments` + moved.`comments` BETWEEN -2147483648
            AND 2147483647 THEN `bench_forum_site`.`comments` + moved.`comments`
            ELSE 9223372036854775807 * (2 * CAST(`bench_forum_site`.`comments` + moved.`comments` AS SIGNED)) END;
END;

-- If the server has a binary log, creating triggers requires SUPER, or
-- log_bin_trust_function_creators = ON.
-- Until UNLOCK TABLES, other sessions wait for these tables.
LOCK TABLES
    `bench_forum_comment_votes` AS `counted_bench_forum_comment_votes` READ,
    `bench_forum_comment_votes` WRITE,
    `bench_forum_comments` AS `counted_bench_forum_comments` READ,
    `bench_forum_comments` AS `kept_bench_forum_comments` READ,
    `bench_forum_comments` WRITE,
    `bench_forum_communities` AS `kept_bench_forum_communities` READ,
    `bench_forum_communities` WRITE,
    `bench_forum_people` AS `kept_bench_forum_people` READ,
    `bench_forum_people` WRITE,
    `bench_forum_post_votes` AS `counted_bench_forum_post_votes` READ,
    `bench_forum_post_votes` WRITE,
    `bench_forum_posts` AS `counted_bench_forum_posts` READ,
    `bench_forum_posts` AS `kept_bench_forum_posts` READ,
    `bench_forum_posts` WRITE,
    `bench_forum_site` AS `kept_bench_forum_site` READ,
    `bench_forum_site` WRITE;

-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE `bench_forum_posts` JOIN (
    SELECT `id`, SUM(`upvotes`) AS `upvotes`, SUM(`downvotes`) AS `downvotes`, SUM(`score`) AS `score`,
        SUM(`stored_upvotes`) AS `stored_upvotes`, SUM(`stored_downvotes`) AS `stored_downvotes`,
        SUM(`stored_score`) AS `stored_score`
    FROM (
        SELECT `counted_bench_forum_post_votes`.`post_id` AS `id`, COALESCE(CAST((CASE
            WHEN `counted_bench_forum_post_votes`.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) AS `upvotes`,
            COALESCE(CAST((CASE WHEN `counted_bench_forum_post_votes`.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)),
            0) AS `downvotes`, COALESCE(CAST(`counted_bench_forum_post_votes`.`vote` AS DECIMAL(65, 0)), 0) AS `score`,
            0 AS `stored_upvotes`, 0 AS `stored_downvotes`, 0 AS `stored_score`
        FROM `bench_forum_post_votes` AS `counted_bench_forum_post_votes`
        UNION ALL
        SELECT `kept_bench_forum_posts`.`id`, 0, 0, 0, `kept_bench_forum_posts`.`upvotes`,
            `kept_bench_forum_posts`.`downvotes`, `kept_bench_forum_posts`.`score`
        FROM `bench_forum_posts` AS `kept_bench_forum_posts`
    ) AS moved
    GROUP BY `id`
    HAVING SUM(`upvotes`) <> SUM(`stored_upvotes`) OR SUM(`downvotes`) <> SUM(`stored_downvotes`)
        OR SUM(`score`) <> SUM(`stored_score`)
) AS drift ON `bench_forum_posts`.`id` = drift.`id` SET
    `bench_forum_posts`.`upvotes` = CASE WHEN `bench_forum_posts`.`upvotes` + (drift.`upvotes` - drift.`stored_upvotes`)
        BETWEEN -2147483648 AND 2147483647 THEN `bench_forum_posts`.`upvotes` + (drift.`upvotes` -
        drift.`stored_upvotes`) ELSE 9223372036854775807 * (2 * CAST(`bench_forum_posts`.`upvotes` + (drift.`upvotes` -
        drift.`stored_upvotes`) AS SIGNED)) END,
    `bench_forum_posts`.`downvotes` = CASE WHEN `bench_forum_posts`.`downvotes` + (drift.`downvotes` -
        drift.`stored_downvotes`) BETWEEN -2147483648 AND 2147483647
        THEN `bench_forum_posts`.`downvotes` + (drift.`downvotes` - drift.`stored_downvotes`)
        ELSE 9223372036854775807 * (2 * CAST(`bench_forum_posts`.`downvotes` + (drift.`downvotes` -
        drift.`stored_downvotes`) AS SIGNED)) END,
    `bench_forum_posts`.`score` = CASE WHEN `bench_forum_posts`.`score` + (drift.`score` - drift.`stored_score`) BETWEEN
        -2147483648 AND 2147483647 THEN `bench_forum_posts`.`score` + (drift.`score` - drift.`stored_score`)
        ELSE 9223372036854775807 * (2 * CAST(`bench_forum_posts`.`score` + (drift.`score` - drift.`stored_score`) AS
        SIGNED)) END;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE `bench_forum_comments` JOIN (
    SELECT `id`, SUM(`upvotes`) AS `upvotes`, SUM(`downvotes`) AS `downvotes`, SUM(`score`) AS `score`,
        SUM(`stored_upvotes`) AS `stored_upvotes`, SUM(`stored_downvotes`) AS `stored_downvotes`,
        SUM(`stored_score`) AS `stored_score`
    FROM (
        SELECT `counted_bench_forum_comment_votes`.`comment_id` AS `id`, COALESCE(CAST((CASE
            WHEN `counted_bench_forum_comment_votes`.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) AS `upvotes`,
            COALESCE(CAST((CASE WHEN `counted_bench_forum_comment_votes`.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65,
            0)), 0) AS `downvotes`, COALESCE(CAST(`counted_bench_forum_comment_votes`.`vote` AS DECIMAL(65, 0)),
            0) AS `score`, 0 AS `stored_upvotes`, 0 AS `stored_downvotes`, 0 AS `stored_score`
        FROM `bench_forum_comment_votes` AS `counted_bench_forum_comment_votes`
        UNION ALL
        SELECT `kept_bench_forum_comments`.`id`, 0, 0, 0, `kept_bench_forum_comments`.`upvotes`,
            `kept_bench_forum_comments`.`downvotes`, `kept_bench_forum_comments`.`score`
        FROM `bench_forum_comments` AS `kept_bench_forum_comments`
    ) AS moved
    GROUP BY `id`
    HAVING SUM(`upvotes`) <> SUM(`stored_upvotes`) OR SUM(`downvotes`) <> SUM(`stored_downvotes`)
        OR SUM(`score`) <> SUM(`stored_score`)
) AS drift ON `bench_forum_comments`.`id` = drift.`id` SET
    `bench_forum_comments`.`upvotes` = CASE
        WHEN `bench_forum_comments`.`upvotes` + (drift.`upvotes` - drift.`stored_upvotes`) BETWEEN -2147483648
        AND 2147483647 THEN `bench_forum_comments`.`upvotes` + (drift.`upvotes` - drift.`stored_upvotes`)
        ELSE 9223372036854775807 * (2 * CAST(`bench_forum_comments`.`upvotes` + (drift.`upvotes` -
        drift.`stored_upvotes`) AS SIGNED)) END,
    `bench_forum_comments`.`downvotes` = CASE
        WHEN `bench_forum_comments`.`downvotes` + (drift.`downvotes` - drift.`stored_downvotes`) BETWEEN -2147483648
        AND 2147483647 THEN `bench_forum_comments`.`downvotes` + (drift.`downvotes` - drift.`stored_downvotes`)
        ELSE 9223372036854775807 * (2 * CAST(`bench_forum_comments`.`downvotes` + (drift.`downvotes` -
        drift.`stored_downvotes`) AS SIGNED)) END,
    `bench_forum_comments`.`score` = CASE WHEN `bench_forum_comments`.`score` + (drift.`score` - drift.`stored_score`)
        BETWEEN -2147483648 AND 2147483647 THEN `bench_forum_comments`.`score` + (drift.`score` - drift.`stored_score`)
        ELSE 9223372036854775807 * (2 * CAST(`bench_forum_comments`.`score` + (drift.`score` - drift.`stored_score`) AS
        SIGNED)) END;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE `bench_forum_posts` JOIN (
    SELECT `id`, SUM(`comments`) AS `comments`, SUM(`stored_comments`) AS `stored_comments`
    FROM (
        SELECT `counted_bench_forum_comments`.`post_id` AS `id`, 1 AS `comments`, 0 AS `stored_comments`,
            1 AS counted_rows
        FROM `bench_forum_comments` AS `counted_bench_forum_comments`
        WHERE (NOT `counted_bench_forum_comments`.`deleted` AND NOT `counted_bench_forum_comments`.`removed`)
        UNION ALL
        SELECT `kept_bench_forum_posts`.`id`, 0, `kept_bench_forum_posts`.`comments`, 0 AS counted_rows
        FROM `bench_forum_posts` AS `kept_bench_forum_posts`
    ) AS moved
    GROUP BY `id`
    HAVING (SUM(`comments`) <> SUM(`stored_comments`)) AND SUM(counted_rows) > 0
) AS drift ON `bench_forum_posts`.`id` = drift.`id` SET
    `bench_forum_posts`.`comments` = CASE WHEN `bench_forum_posts`.`comments` + (drift.`comments` -
        drift.`stored_comments`) BETWEEN -2147483648 AND 2147483647
        THEN `bench_forum_posts`.`comments` + (drift.`comments` - drift.`stored_comments`)
        ELSE 9223372036854775807 * (2 * CAST(`bench_forum_posts`.`comments` + (drift.`comments` -
        drift.`stored_comments`) AS SIGNED)) END;
UPDATE `bench_forum_people` JOIN (
    SELECT `id`, SUM(`comment_count`) AS `comment_count`, SUM(`stored_comment_count`) AS `stored_comment_count`
    FROM (
        SELECT `counted_bench_forum_comments`.`creator_id` AS `id`, 1 AS `comment_count`, 0 AS `stored_comment_count`,
            1 AS counted_rows, 0 AS kept_rows
        FROM `bench_forum_comments` AS `counted_bench_forum_comments`
        WHERE (NOT `counted_bench_forum_comments`.`deleted` AND NOT `counted_bench_forum_comments`.`removed`)
        UNION ALL
        SELECT `kept_bench_forum_people`.`id`, 0, `kept_bench_forum_people`.`comment_count`, 0 AS counted_rows,
            1 AS kept_rows
        FROM `bench_forum_people` AS `kept_bench_forum_people`
    ) AS moved
    GROUP BY `id`
    HAVING (SUM(`comment_count`) <> SUM(`stored_comment_count`)) AND SUM(counted_rows) > 0 AND SUM(kept_rows) > 0
) AS drift ON `bench_forum_people`.`id` = drift.`id` SET
    `bench_forum_people`.`comment_count` = CASE
        WHEN `bench_forum_people`.`comment_count` + (drift.`comment_count` - drift.`stored_comment_count`) BETWEEN
        -2147483648 AND 2147483647 THEN `bench_forum_people`.`comment_count` + (drift.`comment_count` -
        drift.`stored_comment_count`) ELSE 9223372036854775807 * (2 * CAST(`bench_forum_people`.`comment_count` +
        (drift.`comment_count` - drift.`stored_comment_count`) AS SIGNED)) END;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE `bench_forum_people` JOIN (
    SELECT `id`, SUM(`comment_score`) AS `comment_score`, SUM(`stored_comment_score`) AS `stored_comment_score`
    FROM (
        SELECT `counted_bench_forum_comments`.`creator_id` AS `id`,
            COALESCE(CAST(`counted_bench_forum_comments`.`score` AS DECIMAL(65, 0)), 0) AS `comment_score`,
            0 AS `stored_comment_score`, 0 AS kept_rows
        FROM `bench_forum_comments` AS `counted_bench_forum_comments`
        UNION ALL
        SELECT `kept_bench_forum_people`.`id`, 0, `kept_bench_forum_people`.`comment_score`, 1 AS kept_rows
        FROM `bench_forum_people` AS `kept_bench_forum_people`
    ) AS moved
    GROUP BY `id`
    HAVING (SUM(`comment_score`) <> SUM(`stored_comment_score`)) AND SUM(kept_rows) > 0
) AS drift ON `bench_forum_people`.`id` = drift.`id` SET
    `bench_forum_people`.`comment_score` = CASE
        WHEN `bench_forum_people`.`comment_score` + (drift.`comment_score` - drift.`stored_comment_score`) BETWEEN
        -2147483648 AND 2147483647 THEN `bench_forum_people`.`comment_score` + (drift.`comment_score` -
        drift.`stored_comment_score`) ELSE 9223372036854775807 * (2 * CAST(`bench_forum_people`.`comment_score` +
        (drift.`comment_score` - drift.`stored_comment_score`) AS SIGNED)) END;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE `bench_forum_site` JOIN (
    SELECT SUM(`comments`) AS `comments`, SUM(`stored_comments`) AS `stored_comments`
    FROM (
        SELECT 1 AS `comments`, 0 AS `stored_comments`, 0 AS kept_rows
        FROM `bench_forum_comments` AS `counted_bench_forum_comments`
        WHERE (`counted_bench_forum_comments`.`local` AND NOT `counted_bench_forum_comments`.`deleted`
            AND NOT `counted_bench_forum_comments`.`removed`)
        UNION ALL
        SELECT 0, `kept_bench_forum_site`.`comments`, 1 AS kept_rows
        FROM `bench_forum_site` AS `kept_bench_forum_site`
    ) AS moved
    HAVING (SUM(`comments`) <> SUM(`stored_comments`)) AND SUM(kept_rows) > 0
) AS drift ON 1 = 1 SET
    `bench_forum_site`.`comments` = CASE WHEN `bench_forum_site`.`comments` + (drift.`comments` -
        drift.`stored_comments`) BETWEEN -2147483648 AND 2147483647
        THEN `bench_forum_site`.`comments` + (drift.`comments` - drift.`stored_comments`)
        ELSE 9223372036854775807 * (2 * CAST(`bench_forum_site`.`comments` + (drift.`comments` -
        drift.`stored_comments`) AS SIGNED)) END;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE `bench_forum_communities` JOIN (
    SELECT `id`, SUM(`posts`) AS `posts`, SUM(`stored_posts`) AS `stored_posts`
    FROM (
        SELECT `counted_bench_forum_posts`.`community_id` AS `id`, 1 AS `posts`, 0 AS `stored_posts`, 0 AS kept_rows
        FROM `bench_forum_posts` AS `counted_bench_forum_posts`
        WHERE (NOT `counted_bench_forum_posts`.`deleted` AND NOT `counted_bench_forum_posts`.`removed`)
        UNION ALL
        SELECT `kept_bench_forum_communities`.`id`, 0, `kept_bench_forum_communities`.`posts`, 1 AS kept_rows
        FROM `bench_forum_communities` AS `kept_bench_forum_communities`
        WHERE `kept_bench_forum_communities`.`local`
    ) AS moved
    GROUP BY `id`
    HAVING (SUM(`posts`) <> SUM(`stored_posts`)) AND SUM(kept_rows) > 0
) AS drift ON `bench_forum_communities`.`id` = drift.`id` AND `bench_forum_communities`.`local` SET
    `bench_forum_communities`.`posts` = CASE
        WHEN `bench_forum_communities`.`posts` + (drift.`posts` - drift.`stored_posts`) BETWEEN -2147483648
        AND 2147483647 THEN `bench_forum_communities`.`posts` + (drift.`posts` - drift.`stored_posts`)
        ELSE 9223372036854775807 * (2 * CAST(`bench_forum_communities`.`posts` + (drift.`posts` - drift.`stored_posts`)
        AS SIGNED)) END;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE `bench_forum_communities` JOIN (
    SELECT `id`, SUM(`comments`) AS `comments`, SUM(`stored_comments`) AS `stored_comments`
    FROM (
        SELECT `counted_bench_forum_posts`.`community_id` AS `id`,
            COALESCE(CAST(`counted_bench_forum_posts`.`comments` AS DECIMAL(65, 0)), 0) AS `comments`,
            0 AS `stored_comments`, 0 AS kept_rows
        FROM `bench_forum_posts` AS `counted_bench_forum_posts`
        UNION ALL
        SELECT `kept_bench_forum_communities`.`id`, 0, `kept_bench_forum_communities`.`comments`, 1 AS kept_rows
        FROM `bench_forum_communities` AS `kept_bench_forum_communities`
        WHERE `kept_bench_forum_communities`.`local`
    ) AS moved
    GROUP BY `id`
    HAVING (SUM(`comments`) <> SUM(`stored_comments`)) AND SUM(kept_rows) > 0
) AS drift ON `bench_forum_communities`.`id` = drift.`id` AND `bench_forum_communities`.`local` SET
    `bench_forum_communities`.`comments` = CASE
        WHEN `bench_forum_communities`.`comments` + (drift.`comments` - drift.`stored_comments`) BETWEEN -2147483648
        AND 2147483647 THEN `bench_forum_communities`.`comments` + (drift.`comments` - drift.`stored_comments`)
        ELSE 9223372036854775807 * (2 * CAST(`bench_forum_communities`.`comments` + (drift.`comments` -
        drift.`stored_comments`) AS SIGNED)) END;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE `bench_forum_people` JOIN (
    SELECT `id`, SUM(`post_count`) AS `post_count`, SUM(`stored_post_count`) AS `stored_post_count`
    FROM (
        SELECT `counted_bench_forum_posts`.`creator_id` AS `id`, 1 AS `post_count`, 0 AS `stored_post_count`,
            1 AS counted_rows
        FROM `bench_forum_posts` AS `counted_bench_forum_posts`
        WHERE (NOT `counted_bench_forum_posts`.`deleted` AND NOT `counted_bench_forum_posts`.`removed`)
        UNION ALL
        SELECT `kept_bench_forum_people`.`id`, 0, `kept_bench_forum_people`.`post_count`, 0 AS counted_rows
        FROM `bench_forum_people` AS `kept_bench_forum_people`
    ) AS moved
    GROUP BY `id`
    HAVING (SUM(`post_count`) <> SUM(`stored_post_count`)) AND SUM(counted_rows) > 0
) AS drift ON `bench_forum_people`.`id` = drift.`id` SET
    `bench_forum_people`.`post_count` = CASE
        WHEN `bench_forum_people`.`post_count` + (drift.`post_count` - drift.`stored_post_count`) BETWEEN -2147483648
        AND 2147483647 THEN `bench_forum_people`.`post_count` + (drift.`post_count` - drift.`stored_post_count`)
        ELSE 9223372036854775807 * (2 * CAST(`bench_forum_people`.`post_count` + (drift.`post_count` -
        drift.`stored_post_count`) AS SIGNED)) END;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE `bench_forum_people` JOIN (
    SELECT `id`, SUM(`post_score`) AS `post_score`, SUM(`stored_post_score`) AS `stored_post_score`
    FROM (
        SELECT `counted_bench_forum_posts`.`creator_id` AS `id`,
            COALESCE(CAST(`counted_bench_forum_posts`.`score` AS DECIMAL(65, 0)), 0) AS `post_score`,
            0 AS `stored_post_score`
        FROM `bench_forum_posts` AS `counted_bench_forum_posts`
        UNION ALL
        SELECT `kept_bench_forum_people`.`id`, 0, `kept_bench_forum_people`.`post_score`
        FROM `bench_forum_people` AS `kept_bench_forum_people`
    ) AS moved
    GROUP BY `id`
    HAVING SUM(`post_score`) <> SUM(`stored_post_score`)
) AS drift ON `bench_forum_people`.`id` = drift.`id` SET
    `bench_forum_people`.`post_score` = CASE
        WHEN `bench_forum_people`.`post_score` + (drift.`post_score` - drift.`stored_post_score`) BETWEEN -2147483648
        AND 2147483647 THEN `bench_forum_people`.`post_score` + (drift.`post_score` - drift.`stored_post_score`)
        ELSE 9223372036854775807 * (2 * CAST(`bench_forum_people`.`post_score` + (drift.`post_score` -
        drift.`stored_post_score`) AS SIGNED)) END;
-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE `bench_forum_site` JOIN (
    SELECT SUM(`posts`) AS `posts`, SUM(`stored_posts`) AS `stored_posts`
    FROM (
        SELECT 1 AS `posts`, 0 AS `stored_posts`, 0 AS kept_rows
        FROM `bench_forum_posts` AS `counted_bench_forum_posts`
        WHERE (`counted_bench_forum_posts`.`local` AND NOT `counted_bench_forum_posts`.`deleted`
            AND NOT `counted_bench_forum_posts`.`removed`)
        UNION ALL
        SELECT 0, `kept_bench_forum_site`.`posts`, 1 AS kept_rows
        FROM `bench_forum_site` AS `kept_bench_forum_site`
    ) AS moved
    HAVING (SUM(`posts`) <> SUM(`stored_posts`)) AND SUM(kept_rows) > 0
) AS drift ON 1 = 1 SET
    `bench_forum_site`.`posts` = CASE WHEN `bench_forum_site`.`posts` + (drift.`posts` - drift.`stored_posts`) BETWEEN
        -2147483648 AND 2147483647 THEN `bench_forum_site`.`posts` + (drift.`posts` - drift.`stored_posts`)
        ELSE 9223372036854775807 * (2 * CAST(`bench_forum_site`.`posts` + (drift.`posts` - drift.`stored_posts`) AS
        SIGNED)) END;

DROP TRIGGER IF EXISTS `bench_count_post_votes_lock_insert`;
CREATE TRIGGER `bench_count_post_votes_lock_insert` BEFORE INSERT ON `bench_forum_post_votes` FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_posts` WHERE (`id`) IN ((NEW.`post_id`)) FOR UPDATE;
END;
DROP TRIGGER IF EXISTS `bench_count_post_votes_lock_update`;
CREATE TRIGGER `bench_count_post_votes_lock_update` BEFORE UPDATE ON `bench_forum_post_votes` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`post_id` AS BINARY) <=> CAST(OLD.`post_id` AS BINARY)) OR NOT (CAST((CASE WHEN NEW.`vote` > 0
        THEN 1 ELSE 0 END) AS BINARY) <=> CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS BINARY))
        OR NOT (CAST((CASE WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS BINARY) <=> CAST((CASE WHEN OLD.`vote` < 0 THEN 1
        ELSE 0 END) AS BINARY)) OR NOT (CAST(NEW.`vote` AS BINARY) <=> CAST(OLD.`vote` AS BINARY))) THEN
        SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_posts` WHERE (`id`) IN ((OLD.`post_id`),
            (NEW.`post_id`)) FOR UPDATE;
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_post_votes_lock_delete`;
CREATE TRIGGER `bench_count_post_votes_lock_delete` BEFORE DELETE ON `bench_forum_post_votes` FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_posts` WHERE (`id`) IN ((OLD.`post_id`)) FOR UPDATE;
END;
DROP TRIGGER IF EXISTS `bench_count_post_votes_insert`;
CREATE TRIGGER `bench_count_post_votes_insert` AFTER INSERT ON `bench_forum_post_votes` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_posts` SET
        `upvotes` = CASE WHEN `upvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)),
            0) BETWEEN -2147483648 AND 2147483647 THEN `upvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1
            ELSE 0 END) AS DECIMAL(65, 0)), 0) ELSE 9223372036854775807 * (2 * CAST(`upvotes` + COALESCE(CAST((CASE
            WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) AS SIGNED)) END,
        `downvotes` = CASE WHEN `downvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65,
            0)), 0) BETWEEN -2147483648 AND 2147483647 THEN `downvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` < 0 THEN 1
            ELSE 0 END) AS DECIMAL(65, 0)), 0) ELSE 9223372036854775807 * (2 * CAST(`downvotes` + COALESCE(CAST((CASE
            WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) AS SIGNED)) END,
        `score` = CASE WHEN `score` + COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0) BETWEEN -2147483648 AND 2147483647
            THEN `score` + COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0)
            ELSE 9223372036854775807 * (2 * CAST(`score` + COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)),
            0) AS SIGNED)) END
    WHERE `id` = NEW.`post_id`
        AND (COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST((CASE WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0) <> 0);
END;
DROP TRIGGER IF EXISTS `bench_count_post_votes_update`;
CREATE TRIGGER `bench_count_post_votes_update` AFTER UPDATE ON `bench_forum_post_votes` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`post_id` AS BINARY) <=> CAST(OLD.`post_id` AS BINARY)) OR NOT (CAST((CASE WHEN NEW.`vote` > 0
        THEN 1 ELSE 0 END) AS BINARY) <=> CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS BINARY))
        OR NOT (CAST((CASE WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS BINARY) <=> CAST((CASE WHEN OLD.`vote` < 0 THEN 1
        ELSE 0 END) AS BINARY)) OR NOT (CAST(NEW.`vote` AS BINARY) <=> CAST(OLD.`vote` AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_post_votes` AS same
            WHERE same.`post_id` = OLD.`post_id` AND same.`person_id` = OLD.`person_id`
                AND CAST(same.`post_id` AS BINARY) <=> CAST(OLD.`post_id` AS BINARY)
                AND CAST(same.`vote` AS BINARY) <=> CAST(OLD.`vote` AS BINARY) LOCK IN SHARE MODE) THEN
        UPDATE `bench_forum_posts` SET
            `upvotes` = CASE WHEN `upvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65,
                0)), 0) BETWEEN -2147483648 AND 2147483647 THEN `upvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` > 0
                THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)
                ELSE 9223372036854775807 * (2 * CAST(`upvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1
                ELSE 0 END) AS DECIMAL(65, 0)), 0) AS SIGNED)) END,
            `downvotes` = CASE WHEN `downvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` < 0 THEN 1
                ELSE 0 END) AS DECIMAL(65, 0)), 0) BETWEEN -2147483648 AND 2147483647
                THEN `downvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)
                ELSE 9223372036854775807 * (2 * CAST(`downvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` < 0 THEN 1
                ELSE 0 END) AS DECIMAL(65, 0)), 0) AS SIGNED)) END,
            `score` = CASE WHEN `score` + -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0) BETWEEN -2147483648
                AND 2147483647 THEN `score` + -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0)
                ELSE 9223372036854775807 * (2 * CAST(`score` + -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)),
                0) AS SIGNED)) END
        WHERE `id` = OLD.`post_id`
            AND (-COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
                OR -COALESCE(CAST((CASE WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
                OR -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0) <> 0);
        UPDATE `bench_forum_posts` SET
            `upvotes` = CASE WHEN `upvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65,
                0)), 0) BETWEEN -2147483648 AND 2147483647 THEN `upvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` > 0
                THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)
                ELSE 9223372036854775807 * (2 * CAST(`upvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1
                ELSE 0 END) AS DECIMAL(65, 0)), 0) AS SIGNED)) END,
            `downvotes` = CASE WHEN `downvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` < 0 THEN 1
                ELSE 0 END) AS DECIMAL(65, 0)), 0) BETWEEN -2147483648 AND 2147483647
                THEN `downvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)
                ELSE 9223372036854775807 * (2 * CAST(`downvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` < 0 THEN 1
                ELSE 0 END) AS DECIMAL(65, 0)), 0) AS SIGNED)) END,
            `score` = CASE WHEN `score` + COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0) BETWEEN -2147483648
                AND 2147483647 THEN `score` + COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0)
                ELSE 9223372036854775807 * (2 * CAST(`score` + COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)),
                0) AS SIGNED)) END
        WHERE `id` = NEW.`post_id`
            AND (COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
                OR COALESCE(CAST((CASE WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
                OR COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0) <> 0);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_post_votes_delete`;
CREATE TRIGGER `bench_count_post_votes_delete` AFTER DELETE ON `bench_forum_post_votes` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_posts` SET
        `upvotes` = CASE WHEN `upvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65,
            0)), 0) BETWEEN -2147483648 AND 2147483647 THEN `upvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1
            ELSE 0 END) AS DECIMAL(65, 0)), 0) ELSE 9223372036854775807 * (2 * CAST(`upvotes` + -COALESCE(CAST((CASE
            WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) AS SIGNED)) END,
        `downvotes` = CASE WHEN `downvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65,
            0)), 0) BETWEEN -2147483648 AND 2147483647 THEN `downvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` < 0
            THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)
            ELSE 9223372036854775807 * (2 * CAST(`downvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` < 0 THEN 1
            ELSE 0 END) AS DECIMAL(65, 0)), 0) AS SIGNED)) END,
        `score` = CASE WHEN `score` + -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0) BETWEEN -2147483648
            AND 2147483647 THEN `score` + -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0)
            ELSE 9223372036854775807 * (2 * CAST(`score` + -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)),
            0) AS SIGNED)) END
    WHERE `id` = OLD.`post_id`
        AND (-COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR -COALESCE(CAST((CASE WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0) <> 0);
END;
DROP TRIGGER IF EXISTS `bench_count_comment_votes_lock_insert`;
CREATE TRIGGER `bench_count_comment_votes_lock_insert` BEFORE INSERT ON `bench_forum_comment_votes` FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_comments`
        WHERE (`id`) IN ((NEW.`comment_id`)) FOR UPDATE;
END;
DROP TRIGGER IF EXISTS `bench_count_comment_votes_lock_update`;
CREATE TRIGGER `bench_count_comment_votes_lock_update` BEFORE UPDATE ON `bench_forum_comment_votes` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`comment_id` AS BINARY) <=> CAST(OLD.`comment_id` AS BINARY)) OR NOT (CAST((CASE
        WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS BINARY) <=> CAST((CASE WHEN OLD.`vote` > 0 THEN 1
        ELSE 0 END) AS BINARY)) OR NOT (CAST((CASE WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS BINARY) <=> CAST((CASE
        WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS BINARY))
        OR NOT (CAST(NEW.`vote` AS BINARY) <=> CAST(OLD.`vote` AS BINARY))) THEN
        SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_comments` WHERE (`id`) IN ((OLD.`comment_id`),
            (NEW.`comment_id`)) FOR UPDATE;
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_comment_votes_lock_delete`;
CREATE TRIGGER `bench_count_comment_votes_lock_delete` BEFORE DELETE ON `bench_forum_comment_votes` FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_comments`
        WHERE (`id`) IN ((OLD.`comment_id`)) FOR UPDATE;
END;
DROP TRIGGER IF EXISTS `bench_count_comment_votes_insert`;
CREATE TRIGGER `bench_count_comment_votes_insert` AFTER INSERT ON `bench_forum_comment_votes` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_comments` SET
        `upvotes` = CASE WHEN `upvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)),
            0) BETWEEN -2147483648 AND 2147483647 THEN `upvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1
            ELSE 0 END) AS DECIMAL(65, 0)), 0) ELSE 9223372036854775807 * (2 * CAST(`upvotes` + COALESCE(CAST((CASE
            WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) AS SIGNED)) END,
        `downvotes` = CASE WHEN `downvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65,
            0)), 0) BETWEEN -2147483648 AND 2147483647 THEN `downvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` < 0 THEN 1
            ELSE 0 END) AS DECIMAL(65, 0)), 0) ELSE 9223372036854775807 * (2 * CAST(`downvotes` + COALESCE(CAST((CASE
            WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) AS SIGNED)) END,
        `score` = CASE WHEN `score` + COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0) BETWEEN -2147483648 AND 2147483647
            THEN `score` + COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0)
            ELSE 9223372036854775807 * (2 * CAST(`score` + COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)),
            0) AS SIGNED)) END
    WHERE `id` = NEW.`comment_id`
        AND (COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST((CASE WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0) <> 0);
END;
DROP TRIGGER IF EXISTS `bench_count_comment_votes_update`;
CREATE TRIGGER `bench_count_comment_votes_update` AFTER UPDATE ON `bench_forum_comment_votes` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`comment_id` AS BINARY) <=> CAST(OLD.`comment_id` AS BINARY)) OR NOT (CAST((CASE
        WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS BINARY) <=> CAST((CASE WHEN OLD.`vote` > 0 THEN 1
        ELSE 0 END) AS BINARY)) OR NOT (CAST((CASE WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS BINARY) <=> CAST((CASE
        WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS BINARY))
        OR NOT (CAST(NEW.`vote` AS BINARY) <=> CAST(OLD.`vote` AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_comment_votes` AS same
            WHERE same.`comment_id` = OLD.`comment_id` AND same.`person_id` = OLD.`person_id`
                AND CAST(same.`comment_id` AS BINARY) <=> CAST(OLD.`comment_id` AS BINARY)
                AND CAST(same.`vote` AS BINARY) <=> CAST(OLD.`vote` AS BINARY) LOCK IN SHARE MODE) THEN
        UPDATE `bench_forum_comments` SET
            `upvotes` = CASE WHEN `upvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65,
                0)), 0) BETWEEN -2147483648 AND 2147483647 THEN `upvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` > 0
                THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)
                ELSE 9223372036854775807 * (2 * CAST(`upvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1
                ELSE 0 END) AS DECIMAL(65, 0)), 0) AS SIGNED)) END,
            `downvotes` = CASE WHEN `downvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` < 0 THEN 1
                ELSE 0 END) AS DECIMAL(65, 0)), 0) BETWEEN -2147483648 AND 2147483647
                THEN `downvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)
                ELSE 9223372036854775807 * (2 * CAST(`downvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` < 0 THEN 1
                ELSE 0 END) AS DECIMAL(65, 0)), 0) AS SIGNED)) END,
            `score` = CASE WHEN `score` + -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0) BETWEEN -2147483648
                AND 2147483647 THEN `score` + -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0)
                ELSE 9223372036854775807 * (2 * CAST(`score` + -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)),
                0) AS SIGNED)) END
        WHERE `id` = OLD.`comment_id`
            AND (-COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
                OR -COALESCE(CAST((CASE WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
                OR -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0) <> 0);
        UPDATE `bench_forum_comments` SET
            `upvotes` = CASE WHEN `upvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65,
                0)), 0) BETWEEN -2147483648 AND 2147483647 THEN `upvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` > 0
                THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)
                ELSE 9223372036854775807 * (2 * CAST(`upvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1
                ELSE 0 END) AS DECIMAL(65, 0)), 0) AS SIGNED)) END,
            `downvotes` = CASE WHEN `downvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` < 0 THEN 1
                ELSE 0 END) AS DECIMAL(65, 0)), 0) BETWEEN -2147483648 AND 2147483647
                THEN `downvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)
                ELSE 9223372036854775807 * (2 * CAST(`downvotes` + COALESCE(CAST((CASE WHEN NEW.`vote` < 0 THEN 1
                ELSE 0 END) AS DECIMAL(65, 0)), 0) AS SIGNED)) END,
            `score` = CASE WHEN `score` + COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0) BETWEEN -2147483648
                AND 2147483647 THEN `score` + COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0)
                ELSE 9223372036854775807 * (2 * CAST(`score` + COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)),
                0) AS SIGNED)) END
        WHERE `id` = NEW.`comment_id`
            AND (COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
                OR COALESCE(CAST((CASE WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
                OR COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0) <> 0);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_comment_votes_delete`;
CREATE TRIGGER `bench_count_comment_votes_delete` AFTER DELETE ON `bench_forum_comment_votes` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_comments` SET
        `upvotes` = CASE WHEN `upvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65,
            0)), 0) BETWEEN -2147483648 AND 2147483647 THEN `upvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1
            ELSE 0 END) AS DECIMAL(65, 0)), 0) ELSE 9223372036854775807 * (2 * CAST(`upvotes` + -COALESCE(CAST((CASE
            WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) AS SIGNED)) END,
        `downvotes` = CASE WHEN `downvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65,
            0)), 0) BETWEEN -2147483648 AND 2147483647 THEN `downvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` < 0
            THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)
            ELSE 9223372036854775807 * (2 * CAST(`downvotes` + -COALESCE(CAST((CASE WHEN OLD.`vote` < 0 THEN 1
            ELSE 0 END) AS DECIMAL(65, 0)), 0) AS SIGNED)) END,
        `score` = CASE WHEN `score` + -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0) BETWEEN -2147483648
            AND 2147483647 THEN `score` + -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0)
            ELSE 9223372036854775807 * (2 * CAST(`score` + -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)),
            0) AS SIGNED)) END
    WHERE `id` = OLD.`comment_id`
        AND (-COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR -COALESCE(CAST((CASE WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0) <> 0);
END;
DROP TRIGGER IF EXISTS `bench_count_comments_by_post_lock_insert`;
CREATE TRIGGER `bench_count_comments_by_post_lock_insert` BEFORE INSERT ON `bench_forum_comments` FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_posts` WHERE (`id`) IN ((NEW.`post_id`)) FOR UPDATE;
END;
DROP TRIGGER IF EXISTS `bench_count_comments_by_post_lock_update`;
CREATE TRIGGER `bench_count_comments_by_post_lock_update` BEFORE UPDATE ON `bench_forum_comments` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`post_id` AS BINARY) <=> CAST(OLD.`post_id` AS BINARY)) OR NOT (CAST((NOT NEW.`deleted`
        AND NOT NEW.`removed`) AS BINARY) <=> CAST((NOT OLD.`deleted` AND NOT OLD.`removed`) AS BINARY))) THEN
        SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_posts` WHERE (`id`) IN ((OLD.`post_id`),
            (NEW.`post_id`)) FOR UPDATE;
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_comments_by_post_lock_delete`;
CREATE TRIGGER `bench_count_comments_by_post_lock_delete` BEFORE DELETE ON `bench_forum_comments` FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_posts` WHERE (`id`) IN ((OLD.`post_id`)) FOR UPDATE;
END;
DROP TRIGGER IF EXISTS `bench_count_comments_by_post_insert`;
CREATE TRIGGER `bench_count_comments_by_post_insert` AFTER INSERT ON `bench_forum_comments` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_posts` SET
        `comments` = CASE WHEN `comments` + 1 BETWEEN -2147483648 AND 2147483647 THEN `comments` + 1
            ELSE 9223372036854775807 * (2 * CAST(`comments` + 1 AS SIGNED)) END
    WHERE `id` = NEW.`post_id`
        AND (NOT NEW.`deleted` AND NOT NEW.`removed`);
    UPDATE `bench_forum_people` SET
        `comment_count` = CASE WHEN `comment_count` + 1 BETWEEN -2147483648 AND 2147483647 THEN `comment_count` + 1
            ELSE 9223372036854775807 * (2 * CAST(`comment_count` + 1 AS SIGNED)) END
    WHERE `id` = NEW.`creator_id`
        AND (NOT NEW.`deleted` AND NOT NEW.`removed`);
END;
DROP TRIGGER IF EXISTS `bench_count_comments_by_post_update`;
CREATE TRIGGER `bench_count_comments_by_post_update` AFTER UPDATE ON `bench_forum_comments` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`post_id` AS BINARY) <=> CAST(OLD.`post_id` AS BINARY)) OR NOT (CAST((NOT NEW.`deleted`
        AND NOT NEW.`removed`) AS BINARY) <=> CAST((NOT OLD.`deleted` AND NOT OLD.`removed`) AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_comments` AS same
            WHERE same.`id` = OLD.`id` AND CAST(same.`deleted` AS BINARY) <=> CAST(OLD.`deleted` AS BINARY)
                AND CAST(same.`post_id` AS BINARY) <=> CAST(OLD.`post_id` AS BINARY)
                AND CAST(same.`removed` AS BINARY) <=> CAST(OLD.`removed` AS BINARY) LOCK IN SHARE MODE) THEN
        UPDATE `bench_forum_posts` SET
            `comments` = CASE WHEN `comments` + -1 BETWEEN -2147483648 AND 2147483647 THEN `comments` + -1
                ELSE 9223372036854775807 * (2 * CAST(`comments` + -1 AS SIGNED)) END
        WHERE `id` = OLD.`post_id`
            AND (NOT OLD.`deleted` AND NOT OLD.`removed`);
        UPDATE `bench_forum_posts` SET
            `comments` = CASE WHEN `comments` + 1 BETWEEN -2147483648 AND 2147483647 THEN `comments` + 1
                ELSE 9223372036854775807 * (2 * CAST(`comments` + 1 AS SIGNED)) END
        WHERE `id` = NEW.`post_id`
            AND (NOT NEW.`deleted` AND NOT NEW.`removed`);
    END IF;
    IF (NOT (CAST(NEW.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY)) OR NOT (CAST((NOT NEW.`deleted`
        AND NOT NEW.`removed`) AS BINARY) <=> CAST((NOT OLD.`deleted` AND NOT OLD.`removed`) AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_comments` AS same
            WHERE same.`id` = OLD.`id` AND CAST(same.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY)
                AND CAST(same.`deleted` AS BINARY) <=> CAST(OLD.`deleted` AS BINARY)
                AND CAST(same.`removed` AS BINARY) <=> CAST(OLD.`removed` AS BINARY) LOCK IN SHARE MODE) THEN
        UPDATE `bench_forum_people` SET
            `comment_count` = CASE WHEN `comment_count` + -1 BETWEEN -2147483648 AND 2147483647
                THEN `comment_count` + -1 ELSE 9223372036854775807 * (2 * CAST(`comment_count` + -1 AS SIGNED)) END
        WHERE `id` = OLD.`creator_id`
            AND (NOT OLD.`deleted` AND NOT OLD.`removed`);
        UPDATE `bench_forum_people` SET
            `comment_count` = CASE WHEN `comment_count` + 1 BETWEEN -2147483648 AND 2147483647 THEN `comment_count` + 1
                ELSE 9223372036854775807 * (2 * CAST(`comment_count` + 1 AS SIGNED)) END
        WHERE `id` = NEW.`creator_id`
            AND (NOT NEW.`deleted` AND NOT NEW.`removed`);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_comments_by_post_delete`;
CREATE TRIGGER `bench_count_comments_by_post_delete` AFTER DELETE ON `bench_forum_comments` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_posts` SET
        `comments` = CASE WHEN `comments` + -1 BETWEEN -2147483648 AND 2147483647 THEN `comments` + -1
            ELSE 9223372036854775807 * (2 * CAST(`comments` + -1 AS SIGNED)) END
    WHERE `id` = OLD.`post_id`
        AND (NOT OLD.`deleted` AND NOT OLD.`removed`);
    UPDATE `bench_forum_people` SET
        `comment_count` = CASE WHEN `comment_count` + -1 BETWEEN -2147483648 AND 2147483647 THEN `comment_count` + -1
            ELSE 9223372036854775807 * (2 * CAST(`comment_count` + -1 AS SIGNED)) END
    WHERE `id` = OLD.`creator_id`
        AND (NOT OLD.`deleted` AND NOT OLD.`removed`);
END;
DROP TRIGGER IF EXISTS `bench_count_comments_by_score_insert`;
CREATE TRIGGER `bench_count_comments_by_score_insert` AFTER INSERT ON `bench_forum_comments` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_people` SET
        `comment_score` = CASE WHEN `comment_score` + COALESCE(CAST(NEW.`score` AS DECIMAL(65, 0)),
            0) BETWEEN -2147483648 AND 2147483647 THEN `comment_score` + COALESCE(CAST(NEW.`score` AS DECIMAL(65, 0)),
            0) ELSE 9223372036854775807 * (2 * CAST(`comment_score` + COALESCE(CAST(NEW.`score` AS DECIMAL(65, 0)),
            0) AS SIGNED)) END
    WHERE `id` = NEW.`creator_id`
        AND (COALESCE(CAST(NEW.`score` AS DECIMAL(65, 0)), 0) <> 0);
END;
DROP TRIGGER IF EXISTS `bench_count_comments_by_score_update`;
CREATE TRIGGER `bench_count_comments_by_score_update` AFTER UPDATE ON `bench_forum_comments` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY))
        OR NOT (CAST(NEW.`score` AS BINARY) <=> CAST(OLD.`score` AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_comments` AS same
            WHERE same.`id` = OLD.`id` AND CAST(same.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY)
                AND CAST(same.`score` AS BINARY) <=> CAST(OLD.`score` AS BINARY) LOCK IN SHARE MODE) THEN
        UPDATE `bench_forum_people` SET
            `comment_score` = CASE WHEN `comment_score` + -COALESCE(CAST(OLD.`score` AS DECIMAL(65, 0)),
                0) BETWEEN -2147483648 AND 2147483647 THEN `comment_score` + -COALESCE(CAST(OLD.`score` AS DECIMAL(65,
                0)), 0) ELSE 9223372036854775807 * (2 * CAST(`comment_score` + -COALESCE(CAST(OLD.`score` AS DECIMAL(65,
                0)), 0) AS SIGNED)) END
        WHERE `id` = OLD.`creator_id`
            AND (-COALESCE(CAST(OLD.`score` AS DECIMAL(65, 0)), 0) <> 0);
        UPDATE `bench_forum_people` SET
            `comment_score` = CASE WHEN `comment_score` + COALESCE(CAST(NEW.`score` AS DECIMAL(65, 0)),
                0) BETWEEN -2147483648 AND 2147483647 THEN `comment_score` + COALESCE(CAST(NEW.`score` AS DECIMAL(65,
                0)), 0) ELSE 9223372036854775807 * (2 * CAST(`comment_score` + COALESCE(CAST(NEW.`score` AS DECIMAL(65,
                0)), 0) AS SIGNED)) END
        WHERE `id` = NEW.`creator_id`
            AND (COALESCE(CAST(NEW.`score` AS DECIMAL(65, 0)), 0) <> 0);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_comments_by_score_delete`;
CREATE TRIGGER `bench_count_comments_by_score_delete` AFTER DELETE ON `bench_forum_comments` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_people` SET
        `comment_score` = CASE WHEN `comment_score` + -COALESCE(CAST(OLD.`score` AS DECIMAL(65, 0)),
            0) BETWEEN -2147483648 AND 2147483647 THEN `comment_score` + -COALESCE(CAST(OLD.`score` AS DECIMAL(65, 0)),
            0) ELSE 9223372036854775807 * (2 * CAST(`comment_score` + -COALESCE(CAST(OLD.`score` AS DECIMAL(65, 0)),
            0) AS SIGNED)) END
    WHERE `id` = OLD.`creator_id`
        AND (-COALESCE(CAST(OLD.`score` AS DECIMAL(65, 0)), 0) <> 0);
END;
DROP TRIGGER IF EXISTS `bench_count_comments_by_site_insert`;
CREATE TRIGGER `bench_count_comments_by_site_insert` AFTER INSERT ON `bench_forum_comments` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_site` SET
        `comments` = CASE WHEN `comments` + 1 BETWEEN -2147483648 AND 2147483647 THEN `comments` + 1
            ELSE 9223372036854775807 * (2 * CAST(`comments` + 1 AS SIGNED)) END
    WHERE (NEW.`local` AND NOT NEW.`deleted` AND NOT NEW.`removed`);
END;
DROP TRIGGER IF EXISTS `bench_count_comments_by_site_update`;
CREATE TRIGGER `bench_count_comments_by_site_update` AFTER UPDATE ON `bench_forum_comments` FOR EACH ROW
BEGIN
    IF NOT (CAST((NEW.`local` AND NOT NEW.`deleted` AND NOT NEW.`removed`) AS BINARY) <=> CAST((OLD.`local`
        AND NOT OLD.`deleted` AND NOT OLD.`removed`) AS BINARY))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_comments` AS same
            WHERE same.`id` = OLD.`id` AND CAST(same.`deleted` AS BINARY) <=> CAST(OLD.`deleted` AS BINARY)
                AND CAST(same.`local` AS BINARY) <=> CAST(OLD.`local` AS BINARY)
                AND CAST(same.`removed` AS BINARY) <=> CAST(OLD.`removed` AS BINARY) LOCK IN SHARE MODE) THEN
        UPDATE `bench_forum_site` SET
            `comments` = CASE WHEN `comments` + -1 BETWEEN -2147483648 AND 2147483647 THEN `comments` + -1
                ELSE 9223372036854775807 * (2 * CAST(`comments` + -1 AS SIGNED)) END
        WHERE (OLD.`local` AND NOT OLD.`deleted` AND NOT OLD.`removed`);
        UPDATE `bench_forum_site` SET
            `comments` = CASE WHEN `comments` + 1 BETWEEN -2147483648 AND 2147483647 THEN `comments` + 1
                ELSE 9223372036854775807 * (2 * CAST(`comments` + 1 AS SIGNED)) END
        WHERE (NEW.`local` AND NOT NEW.`deleted` AND NOT NEW.`removed`);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_comments_by_site_delete`;
CREATE TRIGGER `bench_count_comments_by_site_delete` AFTER DELETE ON `bench_forum_comments` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_site` SET
        `comments` = CASE WHEN `comments` + -1 BETWEEN -2147483648 AND 2147483647 THEN `comments` + -1
            ELSE 9223372036854775807 * (2 * CAST(`comments` + -1 AS SIGNED)) END
    WHERE (OLD.`local` AND NOT OLD.`deleted` AND NOT OLD.`removed`);
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_community_lock_insert`;
CREATE TRIGGER `bench_count_posts_by_community_lock_insert` BEFORE INSERT ON `bench_forum_posts` FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_communities`
        WHERE (`id`) IN ((NEW.`community_id`)) FOR UPDATE;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_community_lock_update`;
CREATE TRIGGER `bench_count_posts_by_community_lock_update` BEFORE UPDATE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`community_id` AS BINARY) <=> CAST(OLD.`community_id` AS BINARY)) OR NOT (CAST((NOT NEW.`deleted`
        AND NOT NEW.`removed`) AS BINARY) <=> CAST((NOT OLD.`deleted` AND NOT OLD.`removed`) AS BINARY))) THEN
        SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_communities`
            WHERE (`id`) IN ((OLD.`community_id`), (NEW.`community_id`)) FOR UPDATE;
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_community_lock_delete`;
CREATE TRIGGER `bench_count_posts_by_community_lock_delete` BEFORE DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_communities`
        WHERE (`id`) IN ((OLD.`community_id`)) FOR UPDATE;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_community_insert`;
CREATE TRIGGER `bench_count_posts_by_community_insert` AFTER INSERT ON `bench_forum_posts` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_communities` SET
        `posts` = CASE WHEN `posts` + 1 BETWEEN -2147483648 AND 2147483647 THEN `posts` + 1
            ELSE 9223372036854775807 * (2 * CAST(`posts` + 1 AS SIGNED)) END
    WHERE `id` = NEW.`community_id`
        AND `local`
        AND (NOT NEW.`deleted` AND NOT NEW.`removed`);
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_community_update`;
CREATE TRIGGER `bench_count_posts_by_community_update` AFTER UPDATE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`community_id` AS BINARY) <=> CAST(OLD.`community_id` AS BINARY)) OR NOT (CAST((NOT NEW.`deleted`
        AND NOT NEW.`removed`) AS BINARY) <=> CAST((NOT OLD.`deleted` AND NOT OLD.`removed`) AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_posts` AS same
            WHERE same.`id` = OLD.`id` AND CAST(same.`community_id` AS BINARY) <=> CAST(OLD.`community_id` AS BINARY)
                AND CAST(same.`deleted` AS BINARY) <=> CAST(OLD.`deleted` AS BINARY)
                AND CAST(same.`removed` AS BINARY) <=> CAST(OLD.`removed` AS BINARY) LOCK IN SHARE MODE) THEN
        UPDATE `bench_forum_communities` SET
            `posts` = CASE WHEN `posts` + -1 BETWEEN -2147483648 AND 2147483647 THEN `posts` + -1
                ELSE 9223372036854775807 * (2 * CAST(`posts` + -1 AS SIGNED)) END
        WHERE `id` = OLD.`community_id`
            AND `local`
            AND (NOT OLD.`deleted` AND NOT OLD.`removed`);
        UPDATE `bench_forum_communities` SET
            `posts` = CASE WHEN `posts` + 1 BETWEEN -2147483648 AND 2147483647 THEN `posts` + 1
                ELSE 9223372036854775807 * (2 * CAST(`posts` + 1 AS SIGNED)) END
        WHERE `id` = NEW.`community_id`
            AND `local`
            AND (NOT NEW.`deleted` AND NOT NEW.`removed`);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_community_delete`;
CREATE TRIGGER `bench_count_posts_by_community_delete` AFTER DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_communities` SET
        `posts` = CASE WHEN `posts` + -1 BETWEEN -2147483648 AND 2147483647 THEN `posts` + -1
            ELSE 9223372036854775807 * (2 * CAST(`posts` + -1 AS SIGNED)) END
    WHERE `id` = OLD.`community_id`
        AND `local`
        AND (NOT OLD.`deleted` AND NOT OLD.`removed`);
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_comments_lock_insert`;
CREATE TRIGGER `bench_count_posts_by_comments_lock_insert` BEFORE INSERT ON `bench_forum_posts` FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_communities`
        WHERE (`id`) IN ((NEW.`community_id`)) FOR UPDATE;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_comments_lock_update`;
CREATE TRIGGER `bench_count_posts_by_comments_lock_update` BEFORE UPDATE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`community_id` AS BINARY) <=> CAST(OLD.`community_id` AS BINARY))
        OR NOT (CAST(NEW.`comments` AS BINARY) <=> CAST(OLD.`comments` AS BINARY))) THEN
        SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_communities`
            WHERE (`id`) IN ((OLD.`community_id`), (NEW.`community_id`)) FOR UPDATE;
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_comments_lock_delete`;
CREATE TRIGGER `bench_count_posts_by_comments_lock_delete` BEFORE DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_communities`
        WHERE (`id`) IN ((OLD.`community_id`)) FOR UPDATE;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_comments_insert`;
CREATE TRIGGER `bench_count_posts_by_comments_insert` AFTER INSERT ON `bench_forum_posts` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_communities` SET
        `comments` = CASE WHEN `comments` + COALESCE(CAST(NEW.`comments` AS DECIMAL(65, 0)), 0) BETWEEN -2147483648
            AND 2147483647 THEN `comments` + COALESCE(CAST(NEW.`comments` AS DECIMAL(65, 0)), 0)
            ELSE 9223372036854775807 * (2 * CAST(`comments` + COALESCE(CAST(NEW.`comments` AS DECIMAL(65, 0)),
            0) AS SIGNED)) END
    WHERE `id` = NEW.`community_id`
        AND `local`
        AND (COALESCE(CAST(NEW.`comments` AS DECIMAL(65, 0)), 0) <> 0);
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_comments_update`;
CREATE TRIGGER `bench_count_posts_by_comments_update` AFTER UPDATE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`community_id` AS BINARY) <=> CAST(OLD.`community_id` AS BINARY))
        OR NOT (CAST(NEW.`comments` AS BINARY) <=> CAST(OLD.`comments` AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_posts` AS same
            WHERE same.`id` = OLD.`id` AND CAST(same.`comments` AS BINARY) <=> CAST(OLD.`comments` AS BINARY)
                AND CAST(same.`community_id` AS BINARY) <=> CAST(OLD.`community_id` AS BINARY) LOCK IN SHARE MODE) THEN
        UPDATE `bench_forum_communities` SET
            `comments` = CASE WHEN `comments` + -COALESCE(CAST(OLD.`comments` AS DECIMAL(65, 0)), 0) BETWEEN -2147483648
                AND 2147483647 THEN `comments` + -COALESCE(CAST(OLD.`comments` AS DECIMAL(65, 0)), 0)
                ELSE 9223372036854775807 * (2 * CAST(`comments` + -COALESCE(CAST(OLD.`comments` AS DECIMAL(65, 0)),
                0) AS SIGNED)) END
        WHERE `id` = OLD.`community_id`
            AND `local`
            AND (-COALESCE(CAST(OLD.`comments` AS DECIMAL(65, 0)), 0) <> 0);
        UPDATE `bench_forum_communities` SET
            `comments` = CASE WHEN `comments` + COALESCE(CAST(NEW.`comments` AS DECIMAL(65, 0)), 0) BETWEEN -2147483648
                AND 2147483647 THEN `comments` + COALESCE(CAST(NEW.`comments` AS DECIMAL(65, 0)), 0)
                ELSE 9223372036854775807 * (2 * CAST(`comments` + COALESCE(CAST(NEW.`comments` AS DECIMAL(65, 0)),
                0) AS SIGNED)) END
        WHERE `id` = NEW.`community_id`
            AND `local`
            AND (COALESCE(CAST(NEW.`comments` AS DECIMAL(65, 0)), 0) <> 0);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_comments_delete`;
CREATE TRIGGER `bench_count_posts_by_comments_delete` AFTER DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_communities` SET
        `comments` = CASE WHEN `comments` + -COALESCE(CAST(OLD.`comments` AS DECIMAL(65, 0)), 0) BETWEEN -2147483648
            AND 2147483647 THEN `comments` + -COALESCE(CAST(OLD.`comments` AS DECIMAL(65, 0)), 0)
            ELSE 9223372036854775807 * (2 * CAST(`comments` + -COALESCE(CAST(OLD.`comments` AS DECIMAL(65, 0)),
            0) AS SIGNED)) END
    WHERE `id` = OLD.`community_id`
        AND `local`
        AND (-COALESCE(CAST(OLD.`comments` AS DECIMAL(65, 0)), 0) <> 0);
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_person_lock_insert`;
CREATE TRIGGER `bench_count_posts_by_person_lock_insert` BEFORE INSERT ON `bench_forum_posts` FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_people`
        WHERE (`id`) IN ((NEW.`creator_id`)) FOR UPDATE;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_person_lock_update`;
CREATE TRIGGER `bench_count_posts_by_person_lock_update` BEFORE UPDATE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY)) OR NOT (CAST((NOT NEW.`deleted`
        AND NOT NEW.`removed`) AS BINARY) <=> CAST((NOT OLD.`deleted` AND NOT OLD.`removed`) AS BINARY))) THEN
        SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_people` WHERE (`id`) IN ((OLD.`creator_id`),
            (NEW.`creator_id`)) FOR UPDATE;
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_person_lock_delete`;
CREATE TRIGGER `bench_count_posts_by_person_lock_delete` BEFORE DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_people`
        WHERE (`id`) IN ((OLD.`creator_id`)) FOR UPDATE;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_person_insert`;
CREATE TRIGGER `bench_count_posts_by_person_insert` AFTER INSERT ON `bench_forum_posts` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_people` SET
        `post_count` = CASE WHEN `post_count` + 1 BETWEEN -2147483648 AND 2147483647 THEN `post_count` + 1
            ELSE 9223372036854775807 * (2 * CAST(`post_count` + 1 AS SIGNED)) END
    WHERE `id` = NEW.`creator_id`
        AND (NOT NEW.`deleted` AND NOT NEW.`removed`);
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_person_update`;
CREATE TRIGGER `bench_count_posts_by_person_update` AFTER UPDATE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY)) OR NOT (CAST((NOT NEW.`deleted`
        AND NOT NEW.`removed`) AS BINARY) <=> CAST((NOT OLD.`deleted` AND NOT OLD.`removed`) AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_posts` AS same
            WHERE same.`id` = OLD.`id` AND CAST(same.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY)
                AND CAST(same.`deleted` AS BINARY) <=> CAST(OLD.`deleted` AS BINARY)
                AND CAST(same.`removed` AS BINARY) <=> CAST(OLD.`removed` AS BINARY) LOCK IN SHARE MODE) THEN
        UPDATE `bench_forum_people` SET
            `post_count` = CASE WHEN `post_count` + -1 BETWEEN -2147483648 AND 2147483647 THEN `post_count` + -1
                ELSE 9223372036854775807 * (2 * CAST(`post_count` + -1 AS SIGNED)) END
        WHERE `id` = OLD.`creator_id`
            AND (NOT OLD.`deleted` AND NOT OLD.`removed`);
        UPDATE `bench_forum_people` SET
            `post_count` = CASE WHEN `post_count` + 1 BETWEEN -2147483648 AND 2147483647 THEN `post_count` + 1
                ELSE 9223372036854775807 * (2 * CAST(`post_count` + 1 AS SIGNED)) END
        WHERE `id` = NEW.`creator_id`
            AND (NOT NEW.`deleted` AND NOT NEW.`removed`);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_person_delete`;
CREATE TRIGGER `bench_count_posts_by_person_delete` AFTER DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_people` SET
        `post_count` = CASE WHEN `post_count` + -1 BETWEEN -2147483648 AND 2147483647 THEN `post_count` + -1
            ELSE 9223372036854775807 * (2 * CAST(`post_count` + -1 AS SIGNED)) END
    WHERE `id` = OLD.`creator_id`
        AND (NOT OLD.`deleted` AND NOT OLD.`removed`);
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_score_lock_insert`;
CREATE TRIGGER `bench_count_posts_by_score_lock_insert` BEFORE INSERT ON `bench_forum_posts` FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_people`
        WHERE (`id`) IN ((NEW.`creator_id`)) FOR UPDATE;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_score_lock_update`;
CREATE TRIGGER `bench_count_posts_by_score_lock_update` BEFORE UPDATE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY))
        OR NOT (CAST(NEW.`score` AS BINARY) <=> CAST(OLD.`score` AS BINARY))) THEN
        SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_people` WHERE (`id`) IN ((OLD.`creator_id`),
            (NEW.`creator_id`)) FOR UPDATE;
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_score_lock_delete`;
CREATE TRIGGER `bench_count_posts_by_score_lock_delete` BEFORE DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM `bench_forum_people`
        WHERE (`id`) IN ((OLD.`creator_id`)) FOR UPDATE;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_score_insert`;
CREATE TRIGGER `bench_count_posts_by_score_insert` AFTER INSERT ON `bench_forum_posts` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_people` SET
        `post_score` = CASE WHEN `post_score` + COALESCE(CAST(NEW.`score` AS DECIMAL(65, 0)), 0) BETWEEN -2147483648
            AND 2147483647 THEN `post_score` + COALESCE(CAST(NEW.`score` AS DECIMAL(65, 0)), 0)
            ELSE 9223372036854775807 * (2 * CAST(`post_score` + COALESCE(CAST(NEW.`score` AS DECIMAL(65, 0)),
            0) AS SIGNED)) END
    WHERE `id` = NEW.`creator_id`
        AND (COALESCE(CAST(NEW.`score` AS DECIMAL(65, 0)), 0) <> 0);
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_score_update`;
CREATE TRIGGER `bench_count_posts_by_score_update` AFTER UPDATE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY))
        OR NOT (CAST(NEW.`score` AS BINARY) <=> CAST(OLD.`score` AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_posts` AS same
            WHERE same.`id` = OLD.`id` AND CAST(same.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY)
                AND CAST(same.`score` AS BINARY) <=> CAST(OLD.`score` AS BINARY) LOCK IN SHARE MODE) THEN
        UPDATE `bench_forum_people` SET
            `post_score` = CASE WHEN `post_score` + -COALESCE(CAST(OLD.`score` AS DECIMAL(65, 0)),
                0) BETWEEN -2147483648 AND 2147483647 THEN `post_score` + -COALESCE(CAST(OLD.`score` AS DECIMAL(65, 0)),
                0) ELSE 9223372036854775807 * (2 * CAST(`post_score` + -COALESCE(CAST(OLD.`score` AS DECIMAL(65, 0)),
                0) AS SIGNED)) END
        WHERE `id` = OLD.`creator_id`
            AND (-COALESCE(CAST(OLD.`score` AS DECIMAL(65, 0)), 0) <> 0);
        UPDATE `bench_forum_people` SET
            `post_score` = CASE WHEN `post_score` + COALESCE(CAST(NEW.`score` AS DECIMAL(65, 0)), 0) BETWEEN -2147483648
                AND 2147483647 THEN `post_score` + COALESCE(CAST(NEW.`score` AS DECIMAL(65, 0)), 0)
                ELSE 9223372036854775807 * (2 * CAST(`post_score` + COALESCE(CAST(NEW.`score` AS DECIMAL(65, 0)),
                0) AS SIGNED)) END
        WHERE `id` = NEW.`creator_id`
            AND (COALESCE(CAST(NEW.`score` AS DECIMAL(65, 0)), 0) <> 0);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_score_delete`;
CREATE TRIGGER `bench_count_posts_by_score_delete` AFTER DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_people` SET
        `post_score` = CASE WHEN `post_score` + -COALESCE(CAST(OLD.`score` AS DECIMAL(65, 0)), 0) BETWEEN -2147483648
            AND 2147483647 THEN `post_score` + -COALESCE(CAST(OLD.`score` AS DECIMAL(65, 0)), 0)
            ELSE 9223372036854775807 * (2 * CAST(`post_score` + -COALESCE(CAST(OLD.`score` AS DECIMAL(65, 0)),
            0) AS SIGNED)) END
    WHERE `id` = OLD.`creator_id`
        AND (-COALESCE(CAST(OLD.`score` AS DECIMAL(65, 0)), 0) <> 0);
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_site_insert`;
CREATE TRIGGER `bench_count_posts_by_site_insert` AFTER INSERT ON `bench_forum_posts` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_site` SET
        `posts` = CASE WHEN `posts` + 1 BETWEEN -2147483648 AND 2147483647 THEN `posts` + 1
            ELSE 9223372036854775807 * (2 * CAST(`posts` + 1 AS SIGNED)) END
    WHERE (NEW.`local` AND NOT NEW.`deleted` AND NOT NEW.`removed`);
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_site_update`;
CREATE TRIGGER `bench_count_posts_by_site_update` AFTER UPDATE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    IF NOT (CAST((NEW.`local` AND NOT NEW.`deleted` AND NOT NEW.`removed`) AS BINARY) <=> CAST((OLD.`local`
        AND NOT OLD.`deleted` AND NOT OLD.`removed`) AS BINARY))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_posts` AS same
            WHERE same.`id` = OLD.`id` AND CAST(same.`deleted` AS BINARY) <=> CAST(OLD.`deleted` AS BINARY)
                AND CAST(same.`local` AS BINARY) <=> CAST(OLD.`local` AS BINARY)
                AND CAST(same.`removed` AS BINARY) <=> CAST(OLD.`removed` AS BINARY) LOCK IN SHARE MODE) THEN
        UPDATE `bench_forum_site` SET
            `posts` = CASE WHEN `posts` + -1 BETWEEN -2147483648 AND 2147483647 THEN `posts` + -1
                ELSE 9223372036854775807 * (2 * CAST(`posts` + -1 AS SIGNED)) END
        WHERE (OLD.`local` AND NOT OLD.`deleted` AND NOT OLD.`removed`);
        UPDATE `bench_forum_site` SET
            `posts` = CASE WHEN `posts` + 1 BETWEEN -2147483648 AND 2147483647 THEN `posts` + 1
                ELSE 9223372036854775807 * (2 * CAST(`posts` + 1 AS SIGNED)) END
        WHERE (NEW.`local` AND NOT NEW.`deleted` AND NOT NEW.`removed`);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_by_site_delete`;
CREATE TRIGGER `bench_count_posts_by_site_delete` AFTER DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    UPDATE `bench_forum_site` SET
        `posts` = CASE WHEN `posts` + -1 BETWEEN -2147483648 AND 2147483647 THEN `posts` + -1
            ELSE 9223372036854775807 * (2 * CAST(`posts` + -1 AS SIGNED)) END
    WHERE (OLD.`local` AND NOT OLD.`deleted` AND NOT OLD.`removed`);
END;

UNLOCK TABLES;

