DROP TABLE article_counters;
DROP TABLE article_likes;
DROP TABLE comments;
DROP TABLE articles;
