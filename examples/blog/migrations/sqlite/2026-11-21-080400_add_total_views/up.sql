-- A copy of each article's views, for an index to sort by; `blog maintain` brings it up to date.
ALTER TABLE articles ADD COLUMN total_views BIGINT NOT NULL DEFAULT 0;
CREATE INDEX articles_by_total_views ON articles (total_views);
