DROP TRIGGER IF EXISTS "bench_count_post_tags_insert" ON "bench_post_tags";
DROP TRIGGER IF EXISTS "bench_count_post_tags_update" ON "bench_post_tags";
DROP TRIGGER IF EXISTS "bench_count_post_tags_delete" ON "bench_post_tags";
DROP TRIGGER IF EXISTS "bench_count_post_tags_truncate" ON "bench_post_tags";
DROP FUNCTION IF EXISTS "bench_count_post_tags"();
DROP VIEW IF EXISTS "bench_count_post_tags";
