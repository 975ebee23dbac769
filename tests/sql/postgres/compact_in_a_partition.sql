-- with_default_slot(NODE, || compact(article_counters::table).before(day(2026, 4, 1)).execute(conn))

SELECT CASE WHEN pg_try_advisory_lock(hashtext('diesel_counters/merge'), CAST(CAST($diesel_counters$"article_counters"$diesel_counters$ AS regclass) AS oid)::int4) THEN CAST(1 AS BIGINT) ELSE 0 END;

SELECT COUNT(*)
FROM "article_counters"
WHERE "day" >= $1 AND "day" < $2 AND ("slot" > 0) AND ("slot" = $3 OR "slot" > 0 AND ("slot" - 1) % $4 = $5);
-- [1000-01-01, 2026-04-01, -1, 3, 1]

SELECT CASE WHEN pg_advisory_unlock(hashtext('diesel_counters/merge'), CAST(CAST($diesel_counters$"article_counters"$diesel_counters$ AS regclass) AS oid)::int4) THEN CAST(1 AS BIGINT) ELSE 0 END;

