CREATE TABLE articles (
    -- AUTOINCREMENT, so that no article is ever found under another's old address.
    id         INTEGER   NOT NULL PRIMARY KEY AUTOINCREMENT,
    path       TEXT      NOT NULL UNIQUE,
    title      TEXT      NOT NULL,
    body       TEXT      NOT NULL,
    created_at TIMESTAMP NOT NULL
);
