DROP TRIGGER IF EXISTS bench_count_hot_truncate ON bench_hot_comments;
DROP TRIGGER IF EXISTS bench_count_hot_delete ON bench_hot_comments;
DROP TRIGGER IF EXISTS bench_count_hot_update ON bench_hot_comments;
DROP TRIGGER IF EXISTS bench_count_hot_insert ON bench_hot_comments;
DROP FUNCTION IF EXISTS bench_count_hot_truncate(), bench_count_hot_delete(), bench_count_hot_update(),
    bench_count_hot_insert();
