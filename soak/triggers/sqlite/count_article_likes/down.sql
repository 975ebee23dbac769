DROP TRIGGER IF EXISTS count_article_likes_replace_by_update;
DROP TRIGGER IF EXISTS count_article_likes_replace_by_insert;
DROP TRIGGER IF EXISTS count_article_likes_delete;
DROP TRIGGER IF EXISTS count_article_likes_update;
DROP TRIGGER IF EXISTS count_article_likes_insert;
