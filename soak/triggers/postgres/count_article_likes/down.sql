DROP TRIGGER IF EXISTS count_article_likes_truncate ON article_likes;
DROP TRIGGER IF EXISTS count_article_likes_delete ON article_likes;
DROP TRIGGER IF EXISTS count_article_likes_update ON article_likes;
DROP TRIGGER IF EXISTS count_article_likes_insert ON article_likes;
DROP FUNCTION IF EXISTS count_article_likes_truncate(), count_article_likes_delete(), count_article_likes_update(),
    count_article_likes_insert();
