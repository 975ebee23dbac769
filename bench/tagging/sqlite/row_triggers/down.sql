DROP TRIGGER IF EXISTS bench_count_post;
DROP TRIGGER IF EXISTS bench_count_tag;
DROP TRIGGER IF EXISTS bench_uncount_tag;
