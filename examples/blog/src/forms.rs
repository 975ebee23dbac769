//! The forms and queries that visitors send, and their validation.

use axum::extract::{FromRequest, FromRequestParts};
use serde::Deserialize;

use crate::errors::Error;
use crate::sort::Sort;

/// axum's extractor. On an error, it returns a page of the site.
#[derive(FromRequest)]
#[from_request(via(axum::Form), rejection(Error))]
pub struct Form<T>(pub T);

#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(Error))]
pub struct Path<T>(pub T);

#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(Error))]
pub struct Query<T>(pub T);

/// The page of the list, and its order. Both are optional.
#[derive(Deserialize)]
pub struct ListQuery {
    #[serde(default = "first")]
    page: u32,
    sort: Option<String>,
}

fn first() -> u32 {
    1
}

impl ListQuery {
    /// Returns the number of the page, and the order.
    pub fn checked(&self) -> Result<(i64, Sort), Error> {
        let sort = match &self.sort {
            None => Sort::default(),
            Some(name) => Sort::named(name).ok_or_else(|| {
                let names = Sort::ALL.map(Sort::name).join(", ");
                Error::BadRequest(format!("Unknown order of the list. Use one of: {names}."))
            })?,
        };
        Ok((self.page.into(), sort))
    }
}

#[derive(Deserialize)]
pub struct ArticleForm {
    title: String,
    body: String,
}

impl ArticleForm {
    /// Returns the title and the text.
    pub fn checked(&self) -> Result<(String, String), Error> {
        let title = text("The title", &self.title, 200)?;
        let body = text("The text", &self.body, 20_000)?;
        Ok((one_line("The title", title)?, body))
    }
}

#[derive(Deserialize)]
pub struct CommentForm {
    /// Empty for an anonymous comment.
    #[serde(default)]
    author: String,
    body: String,
}

impl CommentForm {
    /// Returns the author and the text.
    pub fn checked(&self) -> Result<(String, String), Error> {
        let author = match self.author.trim() {
            "" => "Anonymous".to_owned(),
            author => one_line("The name", text("The name", author, 80)?)?,
        };
        Ok((author, text("The comment", &self.body, 4_000)?))
    }
}

fn text(what: &str, value: &str, longest: usize) -> Result<String, Error> {
    // A browser sends a line end as two characters, but `maxlength` counts it as one.
    let value = value.replace("\r\n", "\n").trim().to_owned();
    if value.is_empty() {
        return Err(Error::BadRequest(format!("{what} is empty.")));
    }
    if value.chars().count() > longest {
        return Err(Error::BadRequest(format!(
            "{what} is longer than {longest} characters."
        )));
    }
    // PostgreSQL cannot store NUL. Nobody types the other control characters.
    if value.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(Error::BadRequest(format!(
            "{what} has characters that cannot be shown."
        )));
    }
    Ok(value)
}

fn one_line(what: &str, value: String) -> Result<String, Error> {
    if value.contains('\n') {
        return Err(Error::BadRequest(format!("{what} has more than one line.")));
    }
    Ok(value)
}
