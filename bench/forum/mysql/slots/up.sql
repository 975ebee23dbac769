-- Counts the rows of bench_forum_comment_votes in bench_forum_comment_counters.upvotes,
-- bench_forum_comment_counters.downvotes, bench_forum_comment_counters.score,
-- bench_forum_person_counters.comment_score.
-- Counts the rows of bench_forum_post_votes in bench_forum_post_counters.upvotes, bench_forum_post_counters.downvotes,
-- bench_forum_post_counters.score, bench_forum_person_counters.post_score.
-- Counts the rows of bench_forum_comments in bench_forum_post_counters.comments,
-- bench_forum_community_counters.comments, bench_forum_person_counters.comment_count.
-- Counts the rows of bench_forum_comments in bench_forum_site_counters.comments.
-- Counts the rows of bench_forum_posts in bench_forum_community_counters.posts, bench_forum_person_counters.post_count.
-- Counts the rows of bench_forum_posts in bench_forum_site_counters.posts.

CREATE OR REPLACE VIEW `bench_count_comment_votes` AS SELECT
    '{"name":"bench_count_comment_votes","rows":"bench_forum_comment_votes",'
    '"count":["comment_id:bench_forum_comment_counters.upvotes=CASE WHEN vote > 0 THEN 1 ELSE 0 END",'
    '"comment_id:bench_forum_comment_counters.downvotes=CASE WHEN vote < 0 THEN 1 ELSE 0 END",'
    '"comment_id:bench_forum_comment_counters.score=vote",'
    '"creator_id:bench_forum_person_counters.comment_score=vote"],"by":"1","period":"total",'
    '"slots":32,"migration":1}'
    AS diesel_counters_trigger;
CREATE OR REPLACE VIEW `bench_count_post_votes` AS SELECT
    '{"name":"bench_count_post_votes","rows":"bench_forum_post_votes",'
    '"count":["post_id:bench_forum_post_counters.upvotes=CASE WHEN vote > 0 THEN 1 ELSE 0 END",'
    '"post_id:bench_forum_post_counters.downvotes=CASE WHEN vote < 0 THEN 1 ELSE 0 END",'
    '"post_id:bench_forum_post_counters.score=vote",'
    '"creator_id:bench_forum_person_counters.post_score=vote"],"by":"1","period":"total","slots":32,'
    '"migration":1}'
    AS diesel_counters_trigger;
CREATE OR REPLACE VIEW `bench_count_comments` AS SELECT
    '{"name":"bench_count_comments","rows":"bench_forum_comments",'
    '"count":["post_id:bench_forum_post_counters.comments",'
    '"community_id:bench_forum_community_counters.comments",'
    '"creator_id:bench_forum_person_counters.comment_count"],"by":"1",'
    '"when":"NOT deleted AND NOT removed","period":"total","slots":32,"migration":1}'
    AS diesel_counters_trigger;
CREATE OR REPLACE VIEW `bench_count_site_comments` AS SELECT
    '{"name":"bench_count_site_comments","rows":"bench_forum_comments",'
    '"count":["bench_forum_site_counters.comments"],"by":"1",'
    '"when":"local AND NOT deleted AND NOT removed","period":"total","slots":32,"migration":1}'
    AS diesel_counters_trigger;
CREATE OR REPLACE VIEW `bench_count_posts` AS SELECT
    '{"name":"bench_count_posts","rows":"bench_forum_posts",'
    '"count":["community_id:bench_forum_community_counters.posts",'
    '"creator_id:bench_forum_person_counters.post_count"],"by":"1",'
    '"when":"NOT deleted AND NOT removed","period":"total","slots":32,"migration":1}'
    AS diesel_counters_trigger;
CREATE OR REPLACE VIEW `bench_count_site_posts` AS SELECT
    '{"name":"bench_count_site_posts","rows":"bench_forum_posts",'
    '"count":["bench_forum_site_counters.posts"],"by":"1",'
    '"when":"local AND NOT deleted AND NOT removed","period":"total","slots":32,"migration":1}'
    AS diesel_counters_trigger;
DROP TRIGGER IF EXISTS `bench_count_comment_votes_of_comment_id`;
CREATE TRIGGER `bench_count_comment_votes_of_comment_id` BEFORE DELETE ON `bench_forum_comments` FOR EACH ROW
BEGIN
    INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `comment_score`)
    SELECT `person_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
        SUM(`comment_score`)
    FROM (
        SELECT counted.`creator_id` AS `person_id`, -COALESCE(CAST(counted.`vote` AS DECIMAL(65, 0)),
            0) AS `comment_score`
        FROM (SELECT * FROM `bench_forum_comment_votes`
            WHERE (`comment_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
        WHERE EXISTS (SELECT 1 FROM `bench_forum_people` AS `parent_bench_forum_people`
            WHERE `parent_bench_forum_people`.`id` = counted.`creator_id`)
    ) AS moved
    GROUP BY `person_id`
    HAVING SUM(`comment_score`) <> 0
    ORDER BY `person_id`
    ON DUPLICATE KEY UPDATE
        `comment_score` = `bench_forum_person_counters`.`comment_score` + VALUES(`comment_score`);
END;
DROP TRIGGER IF EXISTS `bench_count_comment_votes_after_comment_id`;
CREATE TRIGGER `bench_count_comment_votes_after_comment_id` AFTER DELETE ON `bench_forum_comments` FOR EACH ROW
BEGIN
    INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `comment_score`)
    SELECT `person_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
        SUM(`comment_score`)
    FROM (
        SELECT counted.`creator_id` AS `person_id`, COALESCE(CAST(counted.`vote` AS DECIMAL(65, 0)),
            0) AS `comment_score`
        FROM (SELECT * FROM `bench_forum_comment_votes`
            WHERE (`comment_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
        WHERE EXISTS (SELECT 1 FROM `bench_forum_people` AS `parent_bench_forum_people`
            WHERE `parent_bench_forum_people`.`id` = counted.`creator_id`)
    ) AS moved
    GROUP BY `person_id`
    HAVING SUM(`comment_score`) <> 0
    ORDER BY `person_id`
    ON DUPLICATE KEY UPDATE
        `comment_score` = `bench_forum_person_counters`.`comment_score` + VALUES(`comment_score`);
END;
DROP TRIGGER IF EXISTS `bench_count_post_votes_of_post_id`;
CREATE TRIGGER `bench_count_post_votes_of_post_id` BEFORE DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `post_score`)
    SELECT `person_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
        SUM(`post_score`)
    FROM (
        SELECT counted.`creator_id` AS `person_id`, -COALESCE(CAST(counted.`vote` AS DECIMAL(65, 0)), 0) AS `post_score`
        FROM (SELECT * FROM `bench_forum_post_votes`
            WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
        WHERE EXISTS (SELECT 1 FROM `bench_forum_people` AS `parent_bench_forum_people`
            WHERE `parent_bench_forum_people`.`id` = counted.`creator_id`)
    ) AS moved
    GROUP BY `person_id`
    HAVING SUM(`post_score`) <> 0
    ORDER BY `person_id`
    ON DUPLICATE KEY UPDATE
        `post_score` = `bench_forum_person_counters`.`post_score` + VALUES(`post_score`);
END;
DROP TRIGGER IF EXISTS `bench_count_post_votes_after_post_id`;
CREATE TRIGGER `bench_count_post_votes_after_post_id` AFTER DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `post_score`)
    SELECT `person_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
        SUM(`post_score`)
    FROM (
        SELECT counted.`creator_id` AS `person_id`, COALESCE(CAST(counted.`vote` AS DECIMAL(65, 0)), 0) AS `post_score`
        FROM (SELECT * FROM `bench_forum_post_votes`
            WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
        WHERE EXISTS (SELECT 1 FROM `bench_forum_people` AS `parent_bench_forum_people`
            WHERE `parent_bench_forum_people`.`id` = counted.`creator_id`)
    ) AS moved
    GROUP BY `person_id`
    HAVING SUM(`post_score`) <> 0
    ORDER BY `person_id`
    ON DUPLICATE KEY UPDATE
        `post_score` = `bench_forum_person_counters`.`post_score` + VALUES(`post_score`);
END;
DROP TRIGGER IF EXISTS `bench_count_comments_of_post_id`;
CREATE TRIGGER `bench_count_comments_of_post_id` BEFORE DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    INSERT INTO `bench_forum_community_counters` (`community_id`, `day`, `slot`, `comments`)
    SELECT `community_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
        SUM(`comments`)
    FROM (
        SELECT counted.`community_id`, -1 AS `comments`
        FROM (SELECT * FROM `bench_forum_comments`
            WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
        WHERE EXISTS (SELECT 1 FROM `bench_forum_communities` AS `parent_bench_forum_communities`
            WHERE `parent_bench_forum_communities`.`id` = counted.`community_id`)
            AND (NOT counted.`deleted` AND NOT counted.`removed`)
    ) AS moved
    GROUP BY `community_id`
    HAVING SUM(`comments`) <> 0
    ORDER BY `community_id`
    ON DUPLICATE KEY UPDATE
        `comments` = `bench_forum_community_counters`.`comments` + VALUES(`comments`);
    INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `comment_count`)
    SELECT `person_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
        SUM(`comment_count`)
    FROM (
        SELECT counted.`creator_id` AS `person_id`, -1 AS `comment_count`
        FROM (SELECT * FROM `bench_forum_comments`
            WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
        WHERE (NOT counted.`deleted` AND NOT counted.`removed`)
    ) AS moved
    GROUP BY `person_id`
    HAVING SUM(`comment_count`) <> 0
    ORDER BY `person_id`
    ON DUPLICATE KEY UPDATE
        `comment_count` = `bench_forum_person_counters`.`comment_count` + VALUES(`comment_count`);
END;
DROP TRIGGER IF EXISTS `bench_count_comments_after_post_id`;
CREATE TRIGGER `bench_count_comments_after_post_id` AFTER DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    INSERT INTO `bench_forum_community_counters` (`community_id`, `day`, `slot`, `comments`)
    SELECT `community_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
        SUM(`comments`)
    FROM (
        SELECT counted.`community_id`, 1 AS `comments`
        FROM (SELECT * FROM `bench_forum_comments`
            WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
        WHERE EXISTS (SELECT 1 FROM `bench_forum_communities` AS `parent_bench_forum_communities`
            WHERE `parent_bench_forum_communities`.`id` = counted.`community_id`)
            AND (NOT counted.`deleted` AND NOT counted.`removed`)
    ) AS moved
    GROUP BY `community_id`
    HAVING SUM(`comments`) <> 0
    ORDER BY `community_id`
    ON DUPLICATE KEY UPDATE
        `comments` = `bench_forum_community_counters`.`comments` + VALUES(`comments`);
    INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `comment_count`)
    SELECT `person_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
        SUM(`comment_count`)
    FROM (
        SELECT counted.`creator_id` AS `person_id`, 1 AS `comment_count`
        FROM (SELECT * FROM `bench_forum_comments`
            WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
        WHERE (NOT counted.`deleted` AND NOT counted.`removed`)
    ) AS moved
    GROUP BY `person_id`
    HAVING SUM(`comment_count`) <> 0
    ORDER BY `person_id`
    ON DUPLICATE KEY UPDATE
        `comment_count` = `bench_forum_person_counters`.`comment_count` + VALUES(`comment_count`);
END;
DROP TRIGGER IF EXISTS `bench_count_site_comments_of_post_id`;
CREATE TRIGGER `bench_count_site_comments_of_post_id` BEFORE DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    INSERT INTO `bench_forum_site_counters` (`day`, `slot`, `comments`)
    SELECT DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, SUM(`comments`)
    FROM (
        SELECT -1 AS `comments`
        FROM (SELECT * FROM `bench_forum_comments`
            WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
        WHERE (counted.`local` AND NOT counted.`deleted` AND NOT counted.`removed`)
    ) AS moved
    HAVING SUM(`comments`) <> 0
    ON DUPLICATE KEY UPDATE
        `comments` = `bench_forum_site_counters`.`comments` + VALUES(`comments`);
END;
DROP TRIGGER IF EXISTS `bench_count_site_comments_after_post_id`;
CREATE TRIGGER `bench_count_site_comments_after_post_id` AFTER DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    INSERT INTO `bench_forum_site_counters` (`day`, `slot`, `comments`)
    SELECT DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, SUM(`comments`)
    FROM (
        SELECT 1 AS `comments`
        FROM (SELECT * FROM `bench_forum_comments`
            WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
        WHERE (counted.`local` AND NOT counted.`deleted` AND NOT counted.`removed`)
    ) AS moved
    HAVING SUM(`comments`) <> 0
    ON DUPLICATE KEY UPDATE
        `comments` = `bench_forum_site_counters`.`comments` + VALUES(`comments`);
END;

-- If the server has a binary log, creating triggers requires SUPER, or
-- log_bin_trust_function_creators = ON.
-- Until UNLOCK TABLES, other sessions wait for these tables.
LOCK TABLES
    `bench_forum_comment_counters` AS `kept_bench_forum_comment_counters` READ,
    `bench_forum_comment_counters` WRITE,
    `bench_forum_comment_votes` AS `counted_bench_forum_comment_votes` READ,
    `bench_forum_comment_votes` WRITE,
    `bench_forum_comments` AS `counted_bench_forum_comments` READ,
    `bench_forum_comments` AS `parent_bench_forum_comments` READ,
    `bench_forum_comments` WRITE,
    `bench_forum_communities` AS `parent_bench_forum_communities` READ,
    `bench_forum_community_counters` AS `kept_bench_forum_community_counters` READ,
    `bench_forum_community_counters` WRITE,
    `bench_forum_people` AS `parent_bench_forum_people` READ,
    `bench_forum_person_counters` AS `kept_bench_forum_person_counters` READ,
    `bench_forum_person_counters` WRITE,
    `bench_forum_post_counters` AS `kept_bench_forum_post_counters` READ,
    `bench_forum_post_counters` WRITE,
    `bench_forum_post_votes` AS `counted_bench_forum_post_votes` READ,
    `bench_forum_post_votes` WRITE,
    `bench_forum_posts` AS `counted_bench_forum_posts` READ,
    `bench_forum_posts` AS `parent_bench_forum_posts` READ,
    `bench_forum_posts` WRITE,
    `bench_forum_site_counters` AS `kept_bench_forum_site_counters` READ,
    `bench_forum_site_counters` WRITE;

-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO `bench_forum_comment_counters` (`comment_id`, `day`, `slot`, `upvotes`, `downvotes`, `score`)
SELECT `comment_id`, DATE '1970-01-01', 0, drift.`upvotes` - drift.`stored_upvotes`,
    drift.`downvotes` - drift.`stored_downvotes`, drift.`score` - drift.`stored_score`
FROM (
    SELECT `comment_id`, SUM(`upvotes`) AS `upvotes`, SUM(`downvotes`) AS `downvotes`, SUM(`score`) AS `score`,
        SUM(`stored_upvotes`) AS `stored_upvotes`, SUM(`stored_downvotes`) AS `stored_downvotes`,
        SUM(`stored_score`) AS `stored_score`
    FROM (
        SELECT `counted_bench_forum_comment_votes`.`comment_id`, COALESCE(CAST((CASE
            WHEN `counted_bench_forum_comment_votes`.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) AS `upvotes`,
            COALESCE(CAST((CASE WHEN `counted_bench_forum_comment_votes`.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65,
            0)), 0) AS `downvotes`, COALESCE(CAST(`counted_bench_forum_comment_votes`.`vote` AS DECIMAL(65, 0)),
            0) AS `score`, 0 AS `stored_upvotes`, 0 AS `stored_downvotes`, 0 AS `stored_score`
        FROM `bench_forum_comment_votes` AS `counted_bench_forum_comment_votes`
        UNION ALL
        SELECT `kept_bench_forum_comment_counters`.`comment_id`, 0, 0, 0, `kept_bench_forum_comment_counters`.`upvotes`,
            `kept_bench_forum_comment_counters`.`downvotes`, `kept_bench_forum_comment_counters`.`score`
        FROM `bench_forum_comment_counters` AS `kept_bench_forum_comment_counters`
    ) AS moved
    GROUP BY `comment_id`
    HAVING SUM(`upvotes`) <> SUM(`stored_upvotes`) OR SUM(`downvotes`) <> SUM(`stored_downvotes`)
        OR SUM(`score`) <> SUM(`stored_score`)
) AS drift
ORDER BY 1
ON DUPLICATE KEY UPDATE
    `upvotes` = `bench_forum_comment_counters`.`upvotes` + VALUES(`upvotes`),
    `downvotes` = `bench_forum_comment_counters`.`downvotes` + VALUES(`downvotes`),
    `score` = `bench_forum_comment_counters`.`score` + VALUES(`score`);
INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `comment_score`)
SELECT `person_id`, DATE '1970-01-01', 0, drift.`comment_score` - drift.`stored_comment_score`
FROM (
    SELECT `person_id`, SUM(`comment_score`) AS `comment_score`, SUM(`stored_comment_score`) AS `stored_comment_score`
    FROM (
        SELECT `counted_bench_forum_comment_votes`.`creator_id` AS `person_id`,
            COALESCE(CAST(`counted_bench_forum_comment_votes`.`vote` AS DECIMAL(65, 0)), 0) AS `comment_score`,
            0 AS `stored_comment_score`
        FROM `bench_forum_comment_votes` AS `counted_bench_forum_comment_votes`
        WHERE EXISTS (SELECT 1 FROM `bench_forum_people` AS `parent_bench_forum_people`
            WHERE `parent_bench_forum_people`.`id` = `counted_bench_forum_comment_votes`.`creator_id`)
        UNION ALL
        SELECT `kept_bench_forum_person_counters`.`person_id`, 0, `kept_bench_forum_person_counters`.`comment_score`
        FROM `bench_forum_person_counters` AS `kept_bench_forum_person_counters`
    ) AS moved
    GROUP BY `person_id`
    HAVING SUM(`comment_score`) <> SUM(`stored_comment_score`)
) AS drift
ORDER BY 1
ON DUPLICATE KEY UPDATE
    `comment_score` = `bench_forum_person_counters`.`comment_score` + VALUES(`comment_score`);
-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO `bench_forum_post_counters` (`post_id`, `day`, `slot`, `upvotes`, `downvotes`, `score`)
SELECT `post_id`, DATE '1970-01-01', 0, drift.`upvotes` - drift.`stored_upvotes`,
    drift.`downvotes` - drift.`stored_downvotes`, drift.`score` - drift.`stored_score`
FROM (
    SELECT `post_id`, SUM(`upvotes`) AS `upvotes`, SUM(`downvotes`) AS `downvotes`, SUM(`score`) AS `score`,
        SUM(`stored_upvotes`) AS `stored_upvotes`, SUM(`stored_downvotes`) AS `stored_downvotes`,
        SUM(`stored_score`) AS `stored_score`
    FROM (
        SELECT `counted_bench_forum_post_votes`.`post_id`, COALESCE(CAST((CASE
            WHEN `counted_bench_forum_post_votes`.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) AS `upvotes`,
            COALESCE(CAST((CASE WHEN `counted_bench_forum_post_votes`.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)),
            0) AS `downvotes`, COALESCE(CAST(`counted_bench_forum_post_votes`.`vote` AS DECIMAL(65, 0)), 0) AS `score`,
            0 AS `stored_upvotes`, 0 AS `stored_downvotes`, 0 AS `stored_score`
        FROM `bench_forum_post_votes` AS `counted_bench_forum_post_votes`
        UNION ALL
        SELECT `kept_bench_forum_post_counters`.`post_id`, 0, 0, 0, `kept_bench_forum_post_counters`.`upvotes`,
            `kept_bench_forum_post_counters`.`downvotes`, `kept_bench_forum_post_counters`.`score`
        FROM `bench_forum_post_counters` AS `kept_bench_forum_post_counters`
    ) AS moved
    GROUP BY `post_id`
    HAVING SUM(`upvotes`) <> SUM(`stored_upvotes`) OR SUM(`downvotes`) <> SUM(`stored_downvotes`)
        OR SUM(`score`) <> SUM(`stored_score`)
) AS drift
ORDER BY 1
ON DUPLICATE KEY UPDATE
    `upvotes` = `bench_forum_post_counters`.`upvotes` + VALUES(`upvotes`),
    `downvotes` = `bench_forum_post_counters`.`downvotes` + VALUES(`downvotes`),
    `score` = `bench_forum_post_counters`.`score` + VALUES(`score`);
INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `post_score`)
SELECT `person_id`, DATE '1970-01-01', 0, drift.`post_score` - drift.`stored_post_score`
FROM (
    SELECT `person_id`, SUM(`post_score`) AS `post_score`, SUM(`stored_post_score`) AS `stored_post_score`
    FROM (
        SELECT `counted_bench_forum_post_votes`.`creator_id` AS `person_id`,
            COALESCE(CAST(`counted_bench_forum_post_votes`.`vote` AS DECIMAL(65, 0)), 0) AS `post_score`,
            0 AS `stored_post_score`
        FROM `bench_forum_post_votes` AS `counted_bench_forum_post_votes`
        WHERE EXISTS (SELECT 1 FROM `bench_forum_people` AS `parent_bench_forum_people`
            WHERE `parent_bench_forum_people`.`id` = `counted_bench_forum_post_votes`.`creator_id`)
        UNION ALL
        SELECT `kept_bench_forum_person_counters`.`person_id`, 0, `kept_bench_forum_person_counters`.`post_score`
        FROM `bench_forum_person_counters` AS `kept_bench_forum_person_counters`
    ) AS moved
    GROUP BY `person_id`
    HAVING SUM(`post_score`) <> SUM(`stored_post_score`)
) AS drift
ORDER BY 1
ON DUPLICATE KEY UPDATE
    `post_score` = `bench_forum_person_counters`.`post_score` + VALUES(`post_score`);
-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO `bench_forum_post_counters` (`post_id`, `day`, `slot`, `comments`)
SELECT `post_id`, DATE '1970-01-01', 0, drift.`comments` - drift.`stored_comments`
FROM (
    SELECT `post_id`, SUM(`comments`) AS `comments`, SUM(`stored_comments`) AS `stored_comments`
    FROM (
        SELECT `counted_bench_forum_comments`.`post_id`, 1 AS `comments`, 0 AS `stored_comments`
        FROM `bench_forum_comments` AS `counted_bench_forum_comments`
        WHERE (NOT `counted_bench_forum_comments`.`deleted` AND NOT `counted_bench_forum_comments`.`removed`)
        UNION ALL
        SELECT `kept_bench_forum_post_counters`.`post_id`, 0, `kept_bench_forum_post_counters`.`comments`
        FROM `bench_forum_post_counters` AS `kept_bench_forum_post_counters`
    ) AS moved
    GROUP BY `post_id`
    HAVING SUM(`comments`) <> SUM(`stored_comments`)
) AS drift
ORDER BY 1
ON DUPLICATE KEY UPDATE
    `comments` = `bench_forum_post_counters`.`comments` + VALUES(`comments`);
INSERT INTO `bench_forum_community_counters` (`community_id`, `day`, `slot`, `comments`)
SELECT `community_id`, DATE '1970-01-01', 0, drift.`comments` - drift.`stored_comments`
FROM (
    SELECT `community_id`, SUM(`comments`) AS `comments`, SUM(`stored_comments`) AS `stored_comments`
    FROM (
        SELECT `counted_bench_forum_comments`.`community_id`, 1 AS `comments`, 0 AS `stored_comments`
        FROM `bench_forum_comments` AS `counted_bench_forum_comments`
        WHERE EXISTS (SELECT 1 FROM `bench_forum_communities` AS `parent_bench_forum_communities`
            WHERE `parent_bench_forum_communities`.`id` = `counted_bench_forum_comments`.`community_id`)
            AND (NOT `counted_bench_forum_comments`.`deleted` AND NOT `counted_bench_forum_comments`.`removed`)
        UNION ALL
        SELECT `kept_bench_forum_community_counters`.`community_id`, 0, `kept_bench_forum_community_counters`.`comments`
        FROM `bench_forum_community_counters` AS `kept_bench_forum_community_counters`
    ) AS moved
    GROUP BY `community_id`
    HAVING SUM(`comments`) <> SUM(`stored_comments`)
) AS drift
ORDER BY 1
ON DUPLICATE KEY UPDATE
    `comments` = `bench_forum_community_counters`.`comments` + VALUES(`comments`);
INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `comment_count`)
SELECT `person_id`, DATE '1970-01-01', 0, drift.`comment_count` - drift.`stored_comment_count`
FROM (
    SELECT `person_id`, SUM(`comment_count`) AS `comment_count`, SUM(`stored_comment_count`) AS `stored_comment_count`
    FROM (
        SELECT `counted_bench_forum_comments`.`creator_id` AS `person_id`, 1 AS `comment_count`,
            0 AS `stored_comment_count`
        FROM `bench_forum_comments` AS `counted_bench_forum_comments`
        WHERE (NOT `counted_bench_forum_comments`.`deleted` AND NOT `counted_bench_forum_comments`.`removed`)
        UNION ALL
        SELECT `kept_bench_forum_person_counters`.`person_id`, 0, `kept_bench_forum_person_counters`.`comment_count`
        FROM `bench_forum_person_counters` AS `kept_bench_forum_person_counters`
    ) AS moved
    GROUP BY `person_id`
    HAVING SUM(`comment_count`) <> SUM(`stored_comment_count`)
) AS drift
ORDER BY 1
ON DUPLICATE KEY UPDATE
    `comment_count` = `bench_forum_person_counters`.`comment_count` + VALUES(`comment_count`);
-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO `bench_forum_site_counters` (`day`, `slot`, `comments`)
SELECT DATE '1970-01-01', 0, drift.`comments` - drift.`stored_comments`
FROM (
    SELECT SUM(`comments`) AS `comments`, SUM(`stored_comments`) AS `stored_comments`
    FROM (
        SELECT 1 AS `comments`, 0 AS `stored_comments`
        FROM `bench_forum_comments` AS `counted_bench_forum_comments`
        WHERE (`counted_bench_forum_comments`.`local` AND NOT `counted_bench_forum_comments`.`deleted`
            AND NOT `counted_bench_forum_comments`.`removed`)
        UNION ALL
        SELECT 0, `kept_bench_forum_site_counters`.`comments`
        FROM `bench_forum_site_counters` AS `kept_bench_forum_site_counters`
    ) AS moved
    HAVING SUM(`comments`) <> SUM(`stored_comments`)
) AS drift
WHERE true
ON DUPLICATE KEY UPDATE
    `comments` = `bench_forum_site_counters`.`comments` + VALUES(`comments`);
-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO `bench_forum_community_counters` (`community_id`, `day`, `slot`, `posts`)
SELECT `community_id`, DATE '1970-01-01', 0, drift.`posts` - drift.`stored_posts`
FROM (
    SELECT `community_id`, SUM(`posts`) AS `posts`, SUM(`stored_posts`) AS `stored_posts`
    FROM (
        SELECT `counted_bench_forum_posts`.`community_id`, 1 AS `posts`, 0 AS `stored_posts`
        FROM `bench_forum_posts` AS `counted_bench_forum_posts`
        WHERE (NOT `counted_bench_forum_posts`.`deleted` AND NOT `counted_bench_forum_posts`.`removed`)
        UNION ALL
        SELECT `kept_bench_forum_community_counters`.`community_id`, 0, `kept_bench_forum_community_counters`.`posts`
        FROM `bench_forum_community_counters` AS `kept_bench_forum_community_counters`
    ) AS moved
    GROUP BY `community_id`
    HAVING SUM(`posts`) <> SUM(`stored_posts`)
) AS drift
ORDER BY 1
ON DUPLICATE KEY UPDATE
    `posts` = `bench_forum_community_counters`.`posts` + VALUES(`posts`);
INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `post_count`)
SELECT `person_id`, DATE '1970-01-01', 0, drift.`post_count` - drift.`stored_post_count`
FROM (
    SELECT `person_id`, SUM(`post_count`) AS `post_count`, SUM(`stored_post_count`) AS `stored_post_count`
    FROM (
        SELECT `counted_bench_forum_posts`.`creator_id` AS `person_id`, 1 AS `post_count`, 0 AS `stored_post_count`
        FROM `bench_forum_posts` AS `counted_bench_forum_posts`
        WHERE (NOT `counted_bench_forum_posts`.`deleted` AND NOT `counted_bench_forum_posts`.`removed`)
        UNION ALL
        SELECT `kept_bench_forum_person_counters`.`person_id`, 0, `kept_bench_forum_person_counters`.`post_count`
        FROM `bench_forum_person_counters` AS `kept_bench_forum_person_counters`
    ) AS moved
    GROUP BY `person_id`
    HAVING SUM(`post_count`) <> SUM(`stored_post_count`)
) AS drift
ORDER BY 1
ON DUPLICATE KEY UPDATE
    `post_count` = `bench_forum_person_counters`.`post_count` + VALUES(`post_count`);
-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO `bench_forum_site_counters` (`day`, `slot`, `posts`)
SELECT DATE '1970-01-01', 0, drift.`posts` - drift.`stored_posts`
FROM (
    SELECT SUM(`posts`) AS `posts`, SUM(`stored_posts`) AS `stored_posts`
    FROM (
        SELECT 1 AS `posts`, 0 AS `stored_posts`
        FROM `bench_forum_posts` AS `counted_bench_forum_posts`
        WHERE (`counted_bench_forum_posts`.`local` AND NOT `counted_bench_forum_posts`.`deleted`
            AND NOT `counted_bench_forum_posts`.`removed`)
        UNION ALL
        SELECT 0, `kept_bench_forum_site_counters`.`posts`
        FROM `bench_forum_site_counters` AS `kept_bench_forum_site_counters`
    ) AS moved
    HAVING SUM(`posts`) <> SUM(`stored_posts`)
) AS drift
WHERE true
ON DUPLICATE KEY UPDATE
    `posts` = `bench_forum_site_counters`.`posts` + VALUES(`posts`);

DROP TRIGGER IF EXISTS `bench_count_comment_votes_insert`;
CREATE TRIGGER `bench_count_comment_votes_insert` AFTER INSERT ON `bench_forum_comment_votes` FOR EACH ROW
BEGIN
    IF (COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0 OR COALESCE(CAST((CASE
        WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0 OR COALESCE(CAST(NEW.`vote` AS DECIMAL(65,
        0)), 0) <> 0) THEN
        INSERT INTO `bench_forum_comment_counters` (`comment_id`, `day`, `slot`, `upvotes`, `downvotes`, `score`)
        VALUES (NEW.`comment_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
            COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0), COALESCE(CAST((CASE
            WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0), COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)),
            0))
        ON DUPLICATE KEY UPDATE
            `upvotes` = `bench_forum_comment_counters`.`upvotes` + VALUES(`upvotes`),
            `downvotes` = `bench_forum_comment_counters`.`downvotes` + VALUES(`downvotes`),
            `score` = `bench_forum_comment_counters`.`score` + VALUES(`score`);
    END IF;
    IF EXISTS (SELECT 1 FROM `bench_forum_people` AS `parent_bench_forum_people`
        WHERE `parent_bench_forum_people`.`id` = NEW.`creator_id`)
        AND (COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0) <> 0) THEN
        INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `comment_score`)
        VALUES (NEW.`creator_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
            COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0))
        ON DUPLICATE KEY UPDATE
            `comment_score` = `bench_forum_person_counters`.`comment_score` + VALUES(`comment_score`);
    END IF;
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
        IF (-COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR -COALESCE(CAST((CASE WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0) <> 0) THEN
            INSERT INTO `bench_forum_comment_counters` (`comment_id`, `day`, `slot`, `upvotes`, `downvotes`, `score`)
            VALUES (OLD.`comment_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                -COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0), -COALESCE(CAST((CASE
                WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0), -COALESCE(CAST(OLD.`vote` AS DECIMAL(65,
                0)), 0))
            ON DUPLICATE KEY UPDATE
                `upvotes` = `bench_forum_comment_counters`.`upvotes` + VALUES(`upvotes`),
                `downvotes` = `bench_forum_comment_counters`.`downvotes` + VALUES(`downvotes`),
                `score` = `bench_forum_comment_counters`.`score` + VALUES(`score`);
        END IF;
        IF (COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST((CASE WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0) <> 0) THEN
            INSERT INTO `bench_forum_comment_counters` (`comment_id`, `day`, `slot`, `upvotes`, `downvotes`, `score`)
            VALUES (NEW.`comment_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0), COALESCE(CAST((CASE
                WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0), COALESCE(CAST(NEW.`vote` AS DECIMAL(65,
                0)), 0))
            ON DUPLICATE KEY UPDATE
                `upvotes` = `bench_forum_comment_counters`.`upvotes` + VALUES(`upvotes`),
                `downvotes` = `bench_forum_comment_counters`.`downvotes` + VALUES(`downvotes`),
                `score` = `bench_forum_comment_counters`.`score` + VALUES(`score`);
        END IF;
    END IF;
    IF (NOT (CAST(NEW.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY))
        OR NOT (CAST(NEW.`vote` AS BINARY) <=> CAST(OLD.`vote` AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_comment_votes` AS same
            WHERE same.`comment_id` = OLD.`comment_id` AND same.`person_id` = OLD.`person_id`
                AND CAST(same.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY)
                AND CAST(same.`vote` AS BINARY) <=> CAST(OLD.`vote` AS BINARY) LOCK IN SHARE MODE) THEN
        IF EXISTS (SELECT 1 FROM `bench_forum_people` AS `parent_bench_forum_people`
            WHERE `parent_bench_forum_people`.`id` = OLD.`creator_id`)
            AND (-COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0) <> 0) THEN
            INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `comment_score`)
            VALUES (OLD.`creator_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0))
            ON DUPLICATE KEY UPDATE
                `comment_score` = `bench_forum_person_counters`.`comment_score` + VALUES(`comment_score`);
        END IF;
        IF EXISTS (SELECT 1 FROM `bench_forum_people` AS `parent_bench_forum_people`
            WHERE `parent_bench_forum_people`.`id` = NEW.`creator_id`)
            AND (COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0) <> 0) THEN
            INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `comment_score`)
            VALUES (NEW.`creator_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0))
            ON DUPLICATE KEY UPDATE
                `comment_score` = `bench_forum_person_counters`.`comment_score` + VALUES(`comment_score`);
        END IF;
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_comment_votes_delete`;
CREATE TRIGGER `bench_count_comment_votes_delete` AFTER DELETE ON `bench_forum_comment_votes` FOR EACH ROW
BEGIN
    IF (-COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0 OR -COALESCE(CAST((CASE
        WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0 OR -COALESCE(CAST(OLD.`vote` AS DECIMAL(65,
        0)), 0) <> 0) THEN
        INSERT INTO `bench_forum_comment_counters` (`comment_id`, `day`, `slot`, `upvotes`, `downvotes`, `score`)
        VALUES (OLD.`comment_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
            -COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0), -COALESCE(CAST((CASE
            WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0), -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)),
            0))
        ON DUPLICATE KEY UPDATE
            `upvotes` = `bench_forum_comment_counters`.`upvotes` + VALUES(`upvotes`),
            `downvotes` = `bench_forum_comment_counters`.`downvotes` + VALUES(`downvotes`),
            `score` = `bench_forum_comment_counters`.`score` + VALUES(`score`);
    END IF;
    IF EXISTS (SELECT 1 FROM `bench_forum_people` AS `parent_bench_forum_people`
        WHERE `parent_bench_forum_people`.`id` = OLD.`creator_id`)
        AND (-COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0) <> 0) THEN
        INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `comment_score`)
        VALUES (OLD.`creator_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
            -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0))
        ON DUPLICATE KEY UPDATE
            `comment_score` = `bench_forum_person_counters`.`comment_score` + VALUES(`comment_score`);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_post_votes_insert`;
CREATE TRIGGER `bench_count_post_votes_insert` AFTER INSERT ON `bench_forum_post_votes` FOR EACH ROW
BEGIN
    IF (COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0 OR COALESCE(CAST((CASE
        WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0 OR COALESCE(CAST(NEW.`vote` AS DECIMAL(65,
        0)), 0) <> 0) THEN
        INSERT INTO `bench_forum_post_counters` (`post_id`, `day`, `slot`, `upvotes`, `downvotes`, `score`)
        VALUES (NEW.`post_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
            COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0), COALESCE(CAST((CASE
            WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0), COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)),
            0))
        ON DUPLICATE KEY UPDATE
            `upvotes` = `bench_forum_post_counters`.`upvotes` + VALUES(`upvotes`),
            `downvotes` = `bench_forum_post_counters`.`downvotes` + VALUES(`downvotes`),
            `score` = `bench_forum_post_counters`.`score` + VALUES(`score`);
    END IF;
    IF EXISTS (SELECT 1 FROM `bench_forum_people` AS `parent_bench_forum_people`
        WHERE `parent_bench_forum_people`.`id` = NEW.`creator_id`)
        AND (COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0) <> 0) THEN
        INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `post_score`)
        VALUES (NEW.`creator_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
            COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0))
        ON DUPLICATE KEY UPDATE
            `post_score` = `bench_forum_person_counters`.`post_score` + VALUES(`post_score`);
    END IF;
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
        IF (-COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR -COALESCE(CAST((CASE WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0) <> 0) THEN
            INSERT INTO `bench_forum_post_counters` (`post_id`, `day`, `slot`, `upvotes`, `downvotes`, `score`)
            VALUES (OLD.`post_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                -COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0), -COALESCE(CAST((CASE
                WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0), -COALESCE(CAST(OLD.`vote` AS DECIMAL(65,
                0)), 0))
            ON DUPLICATE KEY UPDATE
                `upvotes` = `bench_forum_post_counters`.`upvotes` + VALUES(`upvotes`),
                `downvotes` = `bench_forum_post_counters`.`downvotes` + VALUES(`downvotes`),
                `score` = `bench_forum_post_counters`.`score` + VALUES(`score`);
        END IF;
        IF (COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST((CASE WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0) <> 0) THEN
            INSERT INTO `bench_forum_post_counters` (`post_id`, `day`, `slot`, `upvotes`, `downvotes`, `score`)
            VALUES (NEW.`post_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                COALESCE(CAST((CASE WHEN NEW.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0), COALESCE(CAST((CASE
                WHEN NEW.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0), COALESCE(CAST(NEW.`vote` AS DECIMAL(65,
                0)), 0))
            ON DUPLICATE KEY UPDATE
                `upvotes` = `bench_forum_post_counters`.`upvotes` + VALUES(`upvotes`),
                `downvotes` = `bench_forum_post_counters`.`downvotes` + VALUES(`downvotes`),
                `score` = `bench_forum_post_counters`.`score` + VALUES(`score`);
        END IF;
    END IF;
    IF (NOT (CAST(NEW.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY))
        OR NOT (CAST(NEW.`vote` AS BINARY) <=> CAST(OLD.`vote` AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_post_votes` AS same
            WHERE same.`post_id` = OLD.`post_id` AND same.`person_id` = OLD.`person_id`
                AND CAST(same.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY)
                AND CAST(same.`vote` AS BINARY) <=> CAST(OLD.`vote` AS BINARY) LOCK IN SHARE MODE) THEN
        IF EXISTS (SELECT 1 FROM `bench_forum_people` AS `parent_bench_forum_people`
            WHERE `parent_bench_forum_people`.`id` = OLD.`creator_id`)
            AND (-COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0) <> 0) THEN
            INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `post_score`)
            VALUES (OLD.`creator_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0))
            ON DUPLICATE KEY UPDATE
                `post_score` = `bench_forum_person_counters`.`post_score` + VALUES(`post_score`);
        END IF;
        IF EXISTS (SELECT 1 FROM `bench_forum_people` AS `parent_bench_forum_people`
            WHERE `parent_bench_forum_people`.`id` = NEW.`creator_id`)
            AND (COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0) <> 0) THEN
            INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `post_score`)
            VALUES (NEW.`creator_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                COALESCE(CAST(NEW.`vote` AS DECIMAL(65, 0)), 0))
            ON DUPLICATE KEY UPDATE
                `post_score` = `bench_forum_person_counters`.`post_score` + VALUES(`post_score`);
        END IF;
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_post_votes_delete`;
CREATE TRIGGER `bench_count_post_votes_delete` AFTER DELETE ON `bench_forum_post_votes` FOR EACH ROW
BEGIN
    IF (-COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0 OR -COALESCE(CAST((CASE
        WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0 OR -COALESCE(CAST(OLD.`vote` AS DECIMAL(65,
        0)), 0) <> 0) THEN
        INSERT INTO `bench_forum_post_counters` (`post_id`, `day`, `slot`, `upvotes`, `downvotes`, `score`)
        VALUES (OLD.`post_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
            -COALESCE(CAST((CASE WHEN OLD.`vote` > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0), -COALESCE(CAST((CASE
            WHEN OLD.`vote` < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0), -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)),
            0))
        ON DUPLICATE KEY UPDATE
            `upvotes` = `bench_forum_post_counters`.`upvotes` + VALUES(`upvotes`),
            `downvotes` = `bench_forum_post_counters`.`downvotes` + VALUES(`downvotes`),
            `score` = `bench_forum_post_counters`.`score` + VALUES(`score`);
    END IF;
    IF EXISTS (SELECT 1 FROM `bench_forum_people` AS `parent_bench_forum_people`
        WHERE `parent_bench_forum_people`.`id` = OLD.`creator_id`)
        AND (-COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0) <> 0) THEN
        INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `post_score`)
        VALUES (OLD.`creator_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
            -COALESCE(CAST(OLD.`vote` AS DECIMAL(65, 0)), 0))
        ON DUPLICATE KEY UPDATE
            `post_score` = `bench_forum_person_counters`.`post_score` + VALUES(`post_score`);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_comments_insert`;
CREATE TRIGGER `bench_count_comments_insert` AFTER INSERT ON `bench_forum_comments` FOR EACH ROW
BEGIN
    IF (NOT NEW.`deleted` AND NOT NEW.`removed`) THEN
        INSERT INTO `bench_forum_post_counters` (`post_id`, `day`, `slot`, `comments`)
        VALUES (NEW.`post_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
        ON DUPLICATE KEY UPDATE
            `comments` = `bench_forum_post_counters`.`comments` + VALUES(`comments`);
    END IF;
    IF EXISTS (SELECT 1 FROM `bench_forum_communities` AS `parent_bench_forum_communities`
        WHERE `parent_bench_forum_communities`.`id` = NEW.`community_id`)
        AND (NOT NEW.`deleted` AND NOT NEW.`removed`) THEN
        INSERT INTO `bench_forum_community_counters` (`community_id`, `day`, `slot`, `comments`)
        VALUES (NEW.`community_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
        ON DUPLICATE KEY UPDATE
            `comments` = `bench_forum_community_counters`.`comments` + VALUES(`comments`);
    END IF;
    IF (NOT NEW.`deleted` AND NOT NEW.`removed`) THEN
        INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `comment_count`)
        VALUES (NEW.`creator_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
        ON DUPLICATE KEY UPDATE
            `comment_count` = `bench_forum_person_counters`.`comment_count` + VALUES(`comment_count`);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_comments_update`;
CREATE TRIGGER `bench_count_comments_update` AFTER UPDATE ON `bench_forum_comments` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`post_id` AS BINARY) <=> CAST(OLD.`post_id` AS BINARY)) OR NOT (CAST((NOT NEW.`deleted`
        AND NOT NEW.`removed`) AS BINARY) <=> CAST((NOT OLD.`deleted` AND NOT OLD.`removed`) AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_comments` AS same
            WHERE same.`id` = OLD.`id` AND CAST(same.`deleted` AS BINARY) <=> CAST(OLD.`deleted` AS BINARY)
                AND CAST(same.`post_id` AS BINARY) <=> CAST(OLD.`post_id` AS BINARY)
                AND CAST(same.`removed` AS BINARY) <=> CAST(OLD.`removed` AS BINARY) LOCK IN SHARE MODE) THEN
        IF (NOT OLD.`deleted` AND NOT OLD.`removed`) THEN
            INSERT INTO `bench_forum_post_counters` (`post_id`, `day`, `slot`, `comments`)
            VALUES (OLD.`post_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
            ON DUPLICATE KEY UPDATE
                `comments` = `bench_forum_post_counters`.`comments` + VALUES(`comments`);
        END IF;
        IF (NOT NEW.`deleted` AND NOT NEW.`removed`) THEN
            INSERT INTO `bench_forum_post_counters` (`post_id`, `day`, `slot`, `comments`)
            VALUES (NEW.`post_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
            ON DUPLICATE KEY UPDATE
                `comments` = `bench_forum_post_counters`.`comments` + VALUES(`comments`);
        END IF;
    END IF;
    IF (NOT (CAST(NEW.`community_id` AS BINARY) <=> CAST(OLD.`community_id` AS BINARY)) OR NOT (CAST((NOT NEW.`deleted`
        AND NOT NEW.`removed`) AS BINARY) <=> CAST((NOT OLD.`deleted` AND NOT OLD.`removed`) AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_comments` AS same
            WHERE same.`id` = OLD.`id` AND CAST(same.`community_id` AS BINARY) <=> CAST(OLD.`community_id` AS BINARY)
                AND CAST(same.`deleted` AS BINARY) <=> CAST(OLD.`deleted` AS BINARY)
                AND CAST(same.`removed` AS BINARY) <=> CAST(OLD.`removed` AS BINARY) LOCK IN SHARE MODE) THEN
        IF EXISTS (SELECT 1 FROM `bench_forum_communities` AS `parent_bench_forum_communities`
            WHERE `parent_bench_forum_communities`.`id` = OLD.`community_id`)
            AND (NOT OLD.`deleted` AND NOT OLD.`removed`) THEN
            INSERT INTO `bench_forum_community_counters` (`community_id`, `day`, `slot`, `comments`)
            VALUES (OLD.`community_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                -1)
            ON DUPLICATE KEY UPDATE
                `comments` = `bench_forum_community_counters`.`comments` + VALUES(`comments`);
        END IF;
        IF EXISTS (SELECT 1 FROM `bench_forum_communities` AS `parent_bench_forum_communities`
            WHERE `parent_bench_forum_communities`.`id` = NEW.`community_id`)
            AND (NOT NEW.`deleted` AND NOT NEW.`removed`) THEN
            INSERT INTO `bench_forum_community_counters` (`community_id`, `day`, `slot`, `comments`)
            VALUES (NEW.`community_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                1)
            ON DUPLICATE KEY UPDATE
                `comments` = `bench_forum_community_counters`.`comments` + VALUES(`comments`);
        END IF;
    END IF;
    IF (NOT (CAST(NEW.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY)) OR NOT (CAST((NOT NEW.`deleted`
        AND NOT NEW.`removed`) AS BINARY) <=> CAST((NOT OLD.`deleted` AND NOT OLD.`removed`) AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_comments` AS same
            WHERE same.`id` = OLD.`id` AND CAST(same.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY)
                AND CAST(same.`deleted` AS BINARY) <=> CAST(OLD.`deleted` AS BINARY)
                AND CAST(same.`removed` AS BINARY) <=> CAST(OLD.`removed` AS BINARY) LOCK IN SHARE MODE) THEN
        IF (NOT OLD.`deleted` AND NOT OLD.`removed`) THEN
            INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `comment_count`)
            VALUES (OLD.`creator_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                -1)
            ON DUPLICATE KEY UPDATE
                `comment_count` = `bench_forum_person_counters`.`comment_count` + VALUES(`comment_count`);
        END IF;
        IF (NOT NEW.`deleted` AND NOT NEW.`removed`) THEN
            INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `comment_count`)
            VALUES (NEW.`creator_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
            ON DUPLICATE KEY UPDATE
                `comment_count` = `bench_forum_person_counters`.`comment_count` + VALUES(`comment_count`);
        END IF;
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_comments_delete`;
CREATE TRIGGER `bench_count_comments_delete` AFTER DELETE ON `bench_forum_comments` FOR EACH ROW
BEGIN
    IF (NOT OLD.`deleted` AND NOT OLD.`removed`) THEN
        INSERT INTO `bench_forum_post_counters` (`post_id`, `day`, `slot`, `comments`)
        VALUES (OLD.`post_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
        ON DUPLICATE KEY UPDATE
            `comments` = `bench_forum_post_counters`.`comments` + VALUES(`comments`);
    END IF;
    IF EXISTS (SELECT 1 FROM `bench_forum_communities` AS `parent_bench_forum_communities`
        WHERE `parent_bench_forum_communities`.`id` = OLD.`community_id`)
        AND (NOT OLD.`deleted` AND NOT OLD.`removed`) THEN
        INSERT INTO `bench_forum_community_counters` (`community_id`, `day`, `slot`, `comments`)
        VALUES (OLD.`community_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
        ON DUPLICATE KEY UPDATE
            `comments` = `bench_forum_community_counters`.`comments` + VALUES(`comments`);
    END IF;
    IF (NOT OLD.`deleted` AND NOT OLD.`removed`) THEN
        INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `comment_count`)
        VALUES (OLD.`creator_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
        ON DUPLICATE KEY UPDATE
            `comment_count` = `bench_forum_person_counters`.`comment_count` + VALUES(`comment_count`);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_site_comments_insert`;
CREATE TRIGGER `bench_count_site_comments_insert` AFTER INSERT ON `bench_forum_comments` FOR EACH ROW
BEGIN
    IF (NEW.`local` AND NOT NEW.`deleted` AND NOT NEW.`removed`) THEN
        INSERT INTO `bench_forum_site_counters` (`day`, `slot`, `comments`)
        VALUES (DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
        ON DUPLICATE KEY UPDATE
            `comments` = `bench_forum_site_counters`.`comments` + VALUES(`comments`);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_site_comments_update`;
CREATE TRIGGER `bench_count_site_comments_update` AFTER UPDATE ON `bench_forum_comments` FOR EACH ROW
BEGIN
    IF NOT (CAST((NEW.`local` AND NOT NEW.`deleted` AND NOT NEW.`removed`) AS BINARY) <=> CAST((OLD.`local`
        AND NOT OLD.`deleted` AND NOT OLD.`removed`) AS BINARY))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_comments` AS same
            WHERE same.`id` = OLD.`id` AND CAST(same.`deleted` AS BINARY) <=> CAST(OLD.`deleted` AS BINARY)
                AND CAST(same.`local` AS BINARY) <=> CAST(OLD.`local` AS BINARY)
                AND CAST(same.`removed` AS BINARY) <=> CAST(OLD.`removed` AS BINARY) LOCK IN SHARE MODE) THEN
        IF (OLD.`local` AND NOT OLD.`deleted` AND NOT OLD.`removed`) THEN
            INSERT INTO `bench_forum_site_counters` (`day`, `slot`, `comments`)
            VALUES (DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
            ON DUPLICATE KEY UPDATE
                `comments` = `bench_forum_site_counters`.`comments` + VALUES(`comments`);
        END IF;
        IF (NEW.`local` AND NOT NEW.`deleted` AND NOT NEW.`removed`) THEN
            INSERT INTO `bench_forum_site_counters` (`day`, `slot`, `comments`)
            VALUES (DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
            ON DUPLICATE KEY UPDATE
                `comments` = `bench_forum_site_counters`.`comments` + VALUES(`comments`);
        END IF;
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_site_comments_delete`;
CREATE TRIGGER `bench_count_site_comments_delete` AFTER DELETE ON `bench_forum_comments` FOR EACH ROW
BEGIN
    IF (OLD.`local` AND NOT OLD.`deleted` AND NOT OLD.`removed`) THEN
        INSERT INTO `bench_forum_site_counters` (`day`, `slot`, `comments`)
        VALUES (DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
        ON DUPLICATE KEY UPDATE
            `comments` = `bench_forum_site_counters`.`comments` + VALUES(`comments`);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_insert`;
CREATE TRIGGER `bench_count_posts_insert` AFTER INSERT ON `bench_forum_posts` FOR EACH ROW
BEGIN
    IF (NOT NEW.`deleted` AND NOT NEW.`removed`) THEN
        INSERT INTO `bench_forum_community_counters` (`community_id`, `day`, `slot`, `posts`)
        VALUES (NEW.`community_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
        ON DUPLICATE KEY UPDATE
            `posts` = `bench_forum_community_counters`.`posts` + VALUES(`posts`);
    END IF;
    IF (NOT NEW.`deleted` AND NOT NEW.`removed`) THEN
        INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `post_count`)
        VALUES (NEW.`creator_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
        ON DUPLICATE KEY UPDATE
            `post_count` = `bench_forum_person_counters`.`post_count` + VALUES(`post_count`);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_update`;
CREATE TRIGGER `bench_count_posts_update` AFTER UPDATE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`community_id` AS BINARY) <=> CAST(OLD.`community_id` AS BINARY)) OR NOT (CAST((NOT NEW.`deleted`
        AND NOT NEW.`removed`) AS BINARY) <=> CAST((NOT OLD.`deleted` AND NOT OLD.`removed`) AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_posts` AS same
            WHERE same.`id` = OLD.`id` AND CAST(same.`community_id` AS BINARY) <=> CAST(OLD.`community_id` AS BINARY)
                AND CAST(same.`deleted` AS BINARY) <=> CAST(OLD.`deleted` AS BINARY)
                AND CAST(same.`removed` AS BINARY) <=> CAST(OLD.`removed` AS BINARY) LOCK IN SHARE MODE) THEN
        IF (NOT OLD.`deleted` AND NOT OLD.`removed`) THEN
            INSERT INTO `bench_forum_community_counters` (`community_id`, `day`, `slot`, `posts`)
            VALUES (OLD.`community_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                -1)
            ON DUPLICATE KEY UPDATE
                `posts` = `bench_forum_community_counters`.`posts` + VALUES(`posts`);
        END IF;
        IF (NOT NEW.`deleted` AND NOT NEW.`removed`) THEN
            INSERT INTO `bench_forum_community_counters` (`community_id`, `day`, `slot`, `posts`)
            VALUES (NEW.`community_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                1)
            ON DUPLICATE KEY UPDATE
                `posts` = `bench_forum_community_counters`.`posts` + VALUES(`posts`);
        END IF;
    END IF;
    IF (NOT (CAST(NEW.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY)) OR NOT (CAST((NOT NEW.`deleted`
        AND NOT NEW.`removed`) AS BINARY) <=> CAST((NOT OLD.`deleted` AND NOT OLD.`removed`) AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_posts` AS same
            WHERE same.`id` = OLD.`id` AND CAST(same.`creator_id` AS BINARY) <=> CAST(OLD.`creator_id` AS BINARY)
                AND CAST(same.`deleted` AS BINARY) <=> CAST(OLD.`deleted` AS BINARY)
                AND CAST(same.`removed` AS BINARY) <=> CAST(OLD.`removed` AS BINARY) LOCK IN SHARE MODE) THEN
        IF (NOT OLD.`deleted` AND NOT OLD.`removed`) THEN
            INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `post_count`)
            VALUES (OLD.`creator_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                -1)
            ON DUPLICATE KEY UPDATE
                `post_count` = `bench_forum_person_counters`.`post_count` + VALUES(`post_count`);
        END IF;
        IF (NOT NEW.`deleted` AND NOT NEW.`removed`) THEN
            INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `post_count`)
            VALUES (NEW.`creator_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
            ON DUPLICATE KEY UPDATE
                `post_count` = `bench_forum_person_counters`.`post_count` + VALUES(`post_count`);
        END IF;
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_posts_delete`;
CREATE TRIGGER `bench_count_posts_delete` AFTER DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    IF (NOT OLD.`deleted` AND NOT OLD.`removed`) THEN
        INSERT INTO `bench_forum_community_counters` (`community_id`, `day`, `slot`, `posts`)
        VALUES (OLD.`community_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
        ON DUPLICATE KEY UPDATE
            `posts` = `bench_forum_community_counters`.`posts` + VALUES(`posts`);
    END IF;
    IF (NOT OLD.`deleted` AND NOT OLD.`removed`) THEN
        INSERT INTO `bench_forum_person_counters` (`person_id`, `day`, `slot`, `post_count`)
        VALUES (OLD.`creator_id`, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
        ON DUPLICATE KEY UPDATE
            `post_count` = `bench_forum_person_counters`.`post_count` + VALUES(`post_count`);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_site_posts_insert`;
CREATE TRIGGER `bench_count_site_posts_insert` AFTER INSERT ON `bench_forum_posts` FOR EACH ROW
BEGIN
    IF (NEW.`local` AND NOT NEW.`deleted` AND NOT NEW.`removed`) THEN
        INSERT INTO `bench_forum_site_counters` (`day`, `slot`, `posts`)
        VALUES (DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
        ON DUPLICATE KEY UPDATE
            `posts` = `bench_forum_site_counters`.`posts` + VALUES(`posts`);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_site_posts_update`;
CREATE TRIGGER `bench_count_site_posts_update` AFTER UPDATE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    IF NOT (CAST((NEW.`local` AND NOT NEW.`deleted` AND NOT NEW.`removed`) AS BINARY) <=> CAST((OLD.`local`
        AND NOT OLD.`deleted` AND NOT OLD.`removed`) AS BINARY))
        AND NOT EXISTS (SELECT 1 FROM `bench_forum_posts` AS same
            WHERE same.`id` = OLD.`id` AND CAST(same.`deleted` AS BINARY) <=> CAST(OLD.`deleted` AS BINARY)
                AND CAST(same.`local` AS BINARY) <=> CAST(OLD.`local` AS BINARY)
                AND CAST(same.`removed` AS BINARY) <=> CAST(OLD.`removed` AS BINARY) LOCK IN SHARE MODE) THEN
        IF (OLD.`local` AND NOT OLD.`deleted` AND NOT OLD.`removed`) THEN
            INSERT INTO `bench_forum_site_counters` (`day`, `slot`, `posts`)
            VALUES (DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
            ON DUPLICATE KEY UPDATE
                `posts` = `bench_forum_site_counters`.`posts` + VALUES(`posts`);
        END IF;
        IF (NEW.`local` AND NOT NEW.`deleted` AND NOT NEW.`removed`) THEN
            INSERT INTO `bench_forum_site_counters` (`day`, `slot`, `posts`)
            VALUES (DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
            ON DUPLICATE KEY UPDATE
                `posts` = `bench_forum_site_counters`.`posts` + VALUES(`posts`);
        END IF;
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_site_posts_delete`;
CREATE TRIGGER `bench_count_site_posts_delete` AFTER DELETE ON `bench_forum_posts` FOR EACH ROW
BEGIN
    IF (OLD.`local` AND NOT OLD.`deleted` AND NOT OLD.`removed`) THEN
        INSERT INTO `bench_forum_site_counters` (`day`, `slot`, `posts`)
        VALUES (DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
        ON DUPLICATE KEY UPDATE
            `posts` = `bench_forum_site_counters`.`posts` + VALUES(`posts`);
    END IF;
END;

UNLOCK TABLES;

