-- A copy of each article's total views, for an index. The blog's maintenance updates it.
-- One statement adds both, and only if they are missing: this migration can run again. MySQL has no
-- ADD COLUMN IF NOT EXISTS.
SELECT IF(
    COUNT(*) = 0,
    'ALTER TABLE articles
        ADD COLUMN total_views BIGINT NOT NULL DEFAULT 0,
        ADD INDEX articles_by_total_views (total_views)',
    'DO 0'
) INTO @add_total_views
FROM information_schema.columns
WHERE table_schema = DATABASE() AND table_name = 'articles' AND column_name = 'total_views';
PREPARE add_total_views FROM @add_total_views;
EXECUTE add_total_views;
DEALLOCATE PREPARE add_total_views;
