DROP INDEX articles_by_total_views ON articles;
ALTER TABLE articles DROP COLUMN total_views;
