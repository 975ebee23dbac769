DROP TRIGGER IF EXISTS `bench_count_posts_insert`;
DROP TRIGGER IF EXISTS `bench_count_posts_update`;
DROP TRIGGER IF EXISTS `bench_count_posts_delete`;
DROP VIEW IF EXISTS `bench_count_posts`;
