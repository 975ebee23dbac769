DROP TABLE IF EXISTS bench_post_tags;
DROP TABLE IF EXISTS bench_post_statistics;
DROP TABLE IF EXISTS bench_tag_statistics;
DROP TABLE IF EXISTS bench_site_statistics;
DROP TABLE IF EXISTS bench_tag_counters;
DROP TABLE IF EXISTS bench_site_counters;
DROP TABLE IF EXISTS bench_posts;
DROP TABLE IF EXISTS bench_tags;
