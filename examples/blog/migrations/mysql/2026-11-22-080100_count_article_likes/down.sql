DROP TRIGGER IF EXISTS `count_article_likes_insert`;
DROP TRIGGER IF EXISTS `count_article_likes_update`;
DROP TRIGGER IF EXISTS `count_article_likes_delete`;
DROP VIEW IF EXISTS `count_article_likes`;
