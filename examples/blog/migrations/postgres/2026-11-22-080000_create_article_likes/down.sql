DROP TABLE article_likes;
