-- A copy of each article's total views, for an index. The blog's maintenance updates it.
ALTER TABLE articles ADD COLUMN total_views BIGINT NOT NULL DEFAULT 0;
CREATE INDEX articles_by_total_views ON articles (total_views);
