DROP TRIGGER IF EXISTS "count_article_likes_truncate" ON "public"."article_likes";
DROP TRIGGER IF EXISTS "count_article_likes_delete" ON "public"."article_likes";
DROP TRIGGER IF EXISTS "count_article_likes_update" ON "public"."article_likes";
DROP TRIGGER IF EXISTS "count_article_likes_insert" ON "public"."article_likes";
DROP FUNCTION IF EXISTS "public"."count_article_likes_insert"(), "public"."count_article_likes_update"(),
    "public"."count_article_likes_delete"(), "public"."count_article_likes_truncate"();
