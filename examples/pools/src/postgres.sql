CREATE TABLE IF NOT EXISTS articles (
    id          BIGSERIAL PRIMARY KEY,
    title       TEXT      NOT NULL,
    total_views BIGINT    NOT NULL DEFAULT 0
);
INSERT INTO articles (title)
SELECT 'Bread on Sundays' WHERE NOT EXISTS (SELECT 1 FROM articles);

CREATE TABLE IF NOT EXISTS comments (
    id         BIGSERIAL PRIMARY KEY,
    article_id BIGINT    NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    body       TEXT      NOT NULL
);

CREATE TABLE IF NOT EXISTS article_counters (
    article_id BIGINT   NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    day        DATE     NOT NULL,
    slot       SMALLINT NOT NULL,
    views      BIGINT   NOT NULL DEFAULT 0,
    comments   BIGINT   NOT NULL DEFAULT 0,
    PRIMARY KEY (article_id, day, slot)
);
COMMENT ON COLUMN article_counters.day IS 'diesel_counters: period = day';
