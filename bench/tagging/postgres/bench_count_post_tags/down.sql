DROP TRIGGER IF EXISTS "bench_count_post_tags_truncate" ON "public"."bench_post_tags";
DROP TRIGGER IF EXISTS "bench_count_post_tags_delete" ON "public"."bench_post_tags";
DROP TRIGGER IF EXISTS "bench_count_post_tags_update" ON "public"."bench_post_tags";
DROP TRIGGER IF EXISTS "bench_count_post_tags_insert" ON "public"."bench_post_tags";
DROP FUNCTION IF EXISTS "public"."bench_count_post_tags"();
