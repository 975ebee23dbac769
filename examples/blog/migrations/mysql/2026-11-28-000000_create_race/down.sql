DROP TABLE IF EXISTS race_counters;
DROP TABLE IF EXISTS race_comments;
DROP TABLE IF EXISTS race_articles;
