DROP TRIGGER IF EXISTS "bench_count_posts_insert" ON "bench_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_update" ON "bench_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_delete" ON "bench_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_truncate" ON "bench_posts";
DROP FUNCTION IF EXISTS "bench_count_posts"();
DROP VIEW IF EXISTS "bench_count_posts";
