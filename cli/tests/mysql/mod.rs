//! What only MySQL and MariaDB have or do.

mod accounts;
mod dumps;
mod errors;
mod faults;
mod modes;
mod order;
mod parents;

/// Another like of an article.
const INSERT: &str = "INSERT INTO article_likes (id, article_id) SELECT COALESCE(MAX(id), 0) + 1, 1 FROM article_likes";
