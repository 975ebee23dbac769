DROP TRIGGER IF EXISTS `bench_count_post_tags_insert`;
DROP TRIGGER IF EXISTS `bench_count_post_tags_update`;
DROP TRIGGER IF EXISTS `bench_count_post_tags_delete`;
DROP TRIGGER IF EXISTS `bench_count_post_tags_of_post_id`;
DROP TRIGGER IF EXISTS `bench_count_post_tags_after_post_id`;
DROP TRIGGER IF EXISTS `bench_count_post_tags_of_tag_id`;
DROP TRIGGER IF EXISTS `bench_count_post_tags_after_tag_id`;
DROP VIEW IF EXISTS `bench_count_post_tags`;
