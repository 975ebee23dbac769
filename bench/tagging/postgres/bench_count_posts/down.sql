DROP TRIGGER IF EXISTS "bench_count_posts_truncate" ON "bench_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_delete" ON "bench_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_insert" ON "bench_posts";
DROP FUNCTION IF EXISTS "bench_count_posts"();
DROP VIEW IF EXISTS "bench_count_posts_drift";
DROP VIEW IF EXISTS "bench_count_posts_new";
DROP VIEW IF EXISTS "bench_count_posts";
DO $$ BEGIN
    -- The triggers of other tables call it, too.
    IF NOT EXISTS (SELECT FROM pg_proc WHERE prosrc LIKE '%diesel_counters_slot(%') THEN
        DROP FUNCTION IF EXISTS diesel_counters_slot(INTEGER);
    END IF;
END $$;
