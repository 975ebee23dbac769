DROP TRIGGER IF EXISTS "bench_count_post_tags_replace_by_update";
DROP TRIGGER IF EXISTS "bench_count_post_tags_replace_by_insert";
DROP TRIGGER IF EXISTS "bench_count_post_tags_delete";
DROP TRIGGER IF EXISTS "bench_count_post_tags_update";
DROP TRIGGER IF EXISTS "bench_count_post_tags_insert";
DROP VIEW IF EXISTS "bench_count_post_tags";
