DROP INDEX articles_by_total_views;
ALTER TABLE articles DROP COLUMN total_views;
