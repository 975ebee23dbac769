DROP TRIGGER IF EXISTS count_article_likes_delete;
DROP TRIGGER IF EXISTS count_article_likes_update;
DROP TRIGGER IF EXISTS count_article_likes_insert;
