DROP TRIGGER IF EXISTS "bench_count_posts_replace_by_update";
DROP TRIGGER IF EXISTS "bench_count_posts_replace_by_insert";
DROP TRIGGER IF EXISTS "bench_count_posts_delete";
DROP TRIGGER IF EXISTS "bench_count_posts_insert";
DROP VIEW IF EXISTS "bench_count_posts";
