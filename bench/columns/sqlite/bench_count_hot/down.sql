DROP TRIGGER IF EXISTS bench_count_hot_replace_by_update;
DROP TRIGGER IF EXISTS bench_count_hot_replace_by_insert;
DROP TRIGGER IF EXISTS bench_count_hot_delete;
DROP TRIGGER IF EXISTS bench_count_hot_update;
DROP TRIGGER IF EXISTS bench_count_hot_insert;
