DROP TRIGGER IF EXISTS "bench_count_posts_truncate" ON "public"."bench_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_delete" ON "public"."bench_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_insert" ON "public"."bench_posts";
DROP FUNCTION IF EXISTS "public"."bench_count_posts"();
