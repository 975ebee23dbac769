DROP TABLE race_counters;
DROP TABLE race_comments;
DROP TABLE race_articles;
