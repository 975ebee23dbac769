DROP TABLE IF EXISTS article_counters;
DROP TABLE IF EXISTS article_likes;
DROP TABLE IF EXISTS comments;
DROP TABLE IF EXISTS articles;
