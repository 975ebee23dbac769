DROP TRIGGER IF EXISTS "count_article_likes_truncate" ON "article_likes";
DROP TRIGGER IF EXISTS "count_article_likes_delete" ON "article_likes";
DROP TRIGGER IF EXISTS "count_article_likes_update" ON "article_likes";
DROP TRIGGER IF EXISTS "count_article_likes_insert" ON "article_likes";
DROP FUNCTION IF EXISTS "count_article_likes"();
DROP VIEW IF EXISTS "count_article_likes_drift";
DROP VIEW IF EXISTS "count_article_likes_new";
DROP VIEW IF EXISTS "count_article_likes";
DO $$ BEGIN
    -- The triggers of other tables call it, too.
    IF NOT EXISTS (SELECT FROM pg_proc WHERE prosrc LIKE '%diesel_counters_slot(%') THEN
        DROP FUNCTION IF EXISTS diesel_counters_slot(INTEGER);
    END IF;
END $$;
