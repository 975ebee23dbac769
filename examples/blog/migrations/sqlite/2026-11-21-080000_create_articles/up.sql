CREATE TABLE articles (
    -- AUTOINCREMENT, so that a new article never gets the address of a deleted one.
    id         INTEGER   NOT NULL PRIMARY KEY AUTOINCREMENT,
    path       TEXT      NOT NULL UNIQUE,
    title      TEXT      NOT NULL,
    body       TEXT      NOT NULL,
    created_at TIMESTAMP NOT NULL
);
