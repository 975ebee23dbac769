DROP TABLE article_counters;
DROP TABLE comments;
DROP TABLE articles;
