-- increment(site_counters::hits).on(monday()).execute(conn)

INSERT INTO `site_counters` AS diesel_counters_stored (`day`, `slot`, `hits`)
VALUES (?, 0, ?)
ON CONFLICT (`day`, `slot`) DO UPDATE
SET `hits` = CASE typeof(diesel_counters_stored.`hits` + excluded.`hits`) WHEN 'integer' THEN diesel_counters_stored.`hits` + excluded.`hits` ELSE abs(-9223372036854775807 - 1) END;
-- [2026-03-02, 1]

