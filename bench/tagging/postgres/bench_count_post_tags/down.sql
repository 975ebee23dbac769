DROP TRIGGER IF EXISTS "bench_count_post_tags_truncate" ON "bench_post_tags";
DROP TRIGGER IF EXISTS "bench_count_post_tags_delete" ON "bench_post_tags";
DROP TRIGGER IF EXISTS "bench_count_post_tags_update" ON "bench_post_tags";
DROP TRIGGER IF EXISTS "bench_count_post_tags_insert" ON "bench_post_tags";
DROP FUNCTION IF EXISTS "bench_count_post_tags"();
DROP VIEW IF EXISTS "bench_count_post_tags_drift_2";
DROP VIEW IF EXISTS "bench_count_post_tags_drift";
DROP VIEW IF EXISTS "bench_count_post_tags_new";
DROP VIEW IF EXISTS "bench_count_post_tags";
DO $$ BEGIN
    -- The triggers of other tables call it, too.
    IF NOT EXISTS (SELECT FROM pg_proc WHERE prosrc LIKE '%diesel_counters_slot(%') THEN
        DROP FUNCTION IF EXISTS diesel_counters_slot(INTEGER);
    END IF;
END $$;
