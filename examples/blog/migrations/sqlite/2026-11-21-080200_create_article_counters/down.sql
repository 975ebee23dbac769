DROP TABLE article_counters;
