//! The pages, and the handler of each address.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Method, header};
use axum::response::{Html, IntoResponse, Redirect};
use axum::routing::{get, post};

use crate::Thousands;
use crate::chart::Chart;
use crate::db::{AnyConnection, Pool};
use crate::errors::Error;
use crate::forms::{ArticleForm, CommentForm, Form, ListQuery, Path, Query};
use crate::list;
use crate::models::{Article, Comment, Counts};
use crate::sort::Sort;
use crate::visitor::Visitor;

pub fn routes() -> Router<Pool> {
    Router::new()
        .route("/", get(list))
        .route("/articles", post(publish))
        .route("/articles/new", get(new))
        .route("/articles/{id}", get(show))
        .route("/articles/{id}/comments", post(comment))
        .route("/articles/{id}/likes", post(like))
        .route("/articles/{id}/likes/delete", post(unlike))
        .route("/style.css", get(style))
        .fallback(async || Error::NotFound)
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
}

#[derive(Template)]
#[template(path = "list.html")]
struct ListPage {
    articles: Vec<(Article, Counts)>,
    sort: Sort,
    page: i64,
    pages: i64,
}

async fn list(
    State(pool): State<Pool>,
    Query(query): Query<ListQuery>,
) -> Result<Html<String>, Error> {
    let (page, sort) = query.checked()?;
    let list = on_connection(pool, move |conn| {
        let pages = list::pages(conn)?;
        if !(1..=pages).contains(&page) {
            return Err(Error::NotFound);
        }
        Ok(ListPage {
            articles: list::page(page, sort, conn)?,
            sort,
            page,
            pages,
        })
    });
    Ok(Html(list.await?.render()?))
}

#[derive(Template)]
#[template(path = "article.html")]
struct ArticlePage {
    article: Article,
    counts: Counts,
    /// Whether the visitor likes it.
    liked: bool,
    chart: Chart,
    comments: Vec<Comment>,
    most_read: Vec<Article>,
}

async fn show(
    State(pool): State<Pool>,
    Path(id): Path<i64>,
    method: Method,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Error> {
    let (visitor, new_cookie) = match Visitor::of(&headers) {
        Some(visitor) => (visitor, None),
        None => {
            let visitor = Visitor::new();
            let cookie = visitor.cookie();
            (visitor, Some([(header::SET_COOKIE, cookie)]))
        }
    };
    let page = on_connection(pool, move |conn| {
        let article = Article::find(id, conn)?;
        // This also handles HEAD, which is not a view.
        if method == Method::GET {
            article.count_view(conn)?;
        }
        Ok(ArticlePage {
            counts: article.counts(conn)?,
            liked: article.is_liked_by(&visitor.id, conn)?,
            chart: Chart::of(&article, conn)?,
            comments: article.latest_comments(conn)?,
            most_read: Article::most_read(conn)?,
            article,
        })
    });
    Ok((new_cookie, Html(page.await?.render()?)))
}

async fn comment(
    State(pool): State<Pool>,
    Path(id): Path<i64>,
    Form(form): Form<CommentForm>,
) -> Result<Redirect, Error> {
    let (author, body) = form.checked()?;
    on_connection(pool, move |conn| {
        let article = Article::find(id, conn)?;
        Ok(article.comment(&author, &body, conn)?)
    })
    .await?;
    Ok(Redirect::to(&format!("/articles/{id}#comments")))
}

async fn like(
    State(pool): State<Pool>,
    Path(id): Path<i64>,
    visitor: Visitor,
) -> Result<Redirect, Error> {
    on_connection(pool, move |conn| Ok(Article::like(id, &visitor.id, conn)?)).await?;
    Ok(Redirect::to(&format!("/articles/{id}")))
}

async fn unlike(
    State(pool): State<Pool>,
    Path(id): Path<i64>,
    visitor: Visitor,
) -> Result<Redirect, Error> {
    on_connection(pool, move |conn| {
        Ok(Article::unlike(id, &visitor.id, conn)?)
    })
    .await?;
    Ok(Redirect::to(&format!("/articles/{id}")))
}

#[derive(Template)]
#[template(path = "new.html")]
struct NewPage;

async fn new() -> Result<Html<String>, Error> {
    Ok(Html(NewPage.render()?))
}

async fn publish(
    State(pool): State<Pool>,
    Form(form): Form<ArticleForm>,
) -> Result<Redirect, Error> {
    let (title, body) = form.checked()?;
    let publish = move |conn: &mut _| Ok(Article::publish(&title, &body, conn)?);
    let id = on_connection(pool, publish).await?;
    Ok(Redirect::to(&format!("/articles/{id}")))
}

async fn style() -> impl IntoResponse {
    (
        [
            (header::CONTENT_TYPE, "text/css; charset=utf-8"),
            (header::CACHE_CONTROL, "max-age=3600"),
        ],
        include_str!("../static/style.css"),
    )
}

/// Runs `work` with a connection of the pool, on a thread that may block.
async fn on_connection<T: Send + 'static>(
    pool: Pool,
    work: impl FnOnce(&mut AnyConnection) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(move || work(&mut *pool.get()?)).await?
}
