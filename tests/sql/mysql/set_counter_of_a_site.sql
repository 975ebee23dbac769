-- set_counter(site_counters::hits).on(monday()).to(7).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `site_counters` (`day`, `slot`, `hits`)
VALUES (?, 0, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [1970-01-01, 0]

SELECT COALESCE(SUM(`hits`), 0) DIV 1
FROM `site_counters`
WHERE `day` BETWEEN ? AND ?;
-- [2026-03-02, 2026-03-02]

INSERT INTO `site_counters` (`day`, `slot`, `hits`)
VALUES (?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [2026-03-02, 5]

COMMIT;

