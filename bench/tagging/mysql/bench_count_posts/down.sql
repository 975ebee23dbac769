DROP TRIGGER IF EXISTS `bench_count_posts_delete`;
DROP TRIGGER IF EXISTS `bench_count_posts_insert`;
DROP VIEW IF EXISTS `bench_count_posts`;
