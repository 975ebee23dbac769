//! The pages of an article and of a new one, and what their forms send.

use std::mem;

use askama::Template;
use askama_web::WebTemplate;
use axum::extract::{Form, Path};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use chrono::Utc;
use diesel::prelude::*;
use diesel_counters::prelude::*;
use serde::Deserialize;

use crate::article::{Article, COUNTS, Comment, Counts, last_days, slug, today};
use crate::chart::{Series, filters};
use crate::db::retry;
use crate::errors::{Error, Result};
use crate::forms::{ArticleForm, CommentForm};
use crate::rows::{self, Rows};
use crate::schema::article_counters;
use crate::server::App;
use crate::visitor::Visitor;

#[derive(Template, WebTemplate)]
#[template(path = "article.html")]
struct ArticlePage {
    article: Article,
    counts: Counts,
    liked: bool,
    /// The views of the last 30 days.
    days: Series,
    comments: Vec<Comment>,
    form: CommentForm,
    rows: Rows,
    /// What the last merge has done.
    done: String,
    has_button: bool,
}

pub async fn article(
    app: App,
    Path(slug): Path<String>,
    visitor: Visitor,
) -> Result<impl IntoResponse> {
    show(app, slug, visitor, CommentForm::default()).await
}

/// Reads an article's page. `form` is a comment that was refused, or empty.
async fn show(
    app: App,
    slug: String,
    visitor: Visitor,
    form: CommentForm,
) -> Result<impl IntoResponse> {
    let (views, done) = (app.views.clone(), app.done.borrow().clone());
    let page = app.run(move |conn| {
        let article = Article::find(&slug, conn)?;
        let mut counts: Counts = counter_value(COUNTS).of(article.id).get_result(conn)?;
        let mut days = article.daily_counts(article_counters::views, last_days(30), conn)?;
        // The page shows its own view. What is written after `counts` was read is missing for a second,
        // but no number goes down.
        let pending = views.count(&article, visitor.reader);
        counts.views += pending;
        if let Some((_, views)) = days.last_mut() {
            *views += pending;
        }
        let liked = visitor.id.map(|id| article.is_liked_by(&id, conn));
        Ok(ArticlePage {
            counts,
            liked: liked.unwrap_or(Ok(false))?,
            days,
            comments: article.latest_comments(conn)?,
            rows: Rows::of(&article, conn)?,
            article,
            form,
            done,
            // A click asks for the password.
            has_button: visitor.admin != Err(Error(StatusCode::FORBIDDEN)),
        })
    });
    Ok((visitor.cookies, page.await?))
}

/// What the forms of an article's page send.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum Action {
    Comment(CommentForm),
    Like,
    Unlike,
    Merge,
}

pub async fn act(
    app: App,
    Path(slug): Path<String>,
    visitor: Visitor,
    Form(mut action): Form<Action>,
) -> Result<Response> {
    if let Action::Comment(form) = &mut action
        && !form.check()
    {
        let page = show(app, slug, visitor, mem::take(form)).await?;
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response());
    }
    // The browser shows this part of the page again, and focuses the button.
    let anchor = match action {
        Action::Comment(_) => "#comments",
        Action::Like | Action::Unlike => "#like",
        Action::Merge => {
            visitor.admin?;
            "#rows"
        }
    };
    let blog = app.clone();
    app.write(move |conn| {
        let article = Article::find(&slug, conn)?;
        match action {
            Action::Comment(form) => {
                let comment = Comment {
                    author: form.author.text,
                    body: form.body.text,
                    created_at: Utc::now().naive_utc(),
                };
                // Its first statement writes, so that SQLite needs no `immediate_transaction`.
                retry().transaction(conn, |conn| article.comment(&comment, conn))?;
            }
            Action::Like => drop(article.like(&visitor.id?, today(), conn)?),
            Action::Unlike => drop(article.unlike(&visitor.id?, conn)?),
            Action::Merge => blog.set_done(rows::merge(conn)?),
        }
        Ok(())
    })
    .await?;
    Ok(Redirect::to(anchor).into_response())
}

#[derive(Default, Template, WebTemplate)]
#[template(path = "new.html")]
pub struct NewPage {
    form: ArticleForm,
}

pub async fn publish(app: App, Form(mut form): Form<ArticleForm>) -> Result<Response> {
    if form.check() {
        let (title, body) = (form.title.text.clone(), form.body.text.clone());
        let to = format!("/articles/{}", slug(&title));
        let now = Utc::now().naive_utc();
        let published = app.write(move |conn| Ok(Article::post(&title, &body, now, conn)?));
        if published.await? > 0 {
            return Ok(Redirect::to(&to).into_response());
        }
        form.title.wrong = "Another article has this title.".to_owned();
    }
    Ok((StatusCode::UNPROCESSABLE_ENTITY, NewPage { form }).into_response())
}
