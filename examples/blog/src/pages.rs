//! The pages, and the handler of each address.

use std::io;
use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Method, header};
use axum::response::{Html, IntoResponse, Redirect};
use axum::routing::{get, post};

use crate::Thousands;
use crate::chart::Chart;
use crate::db::{AnyConnection, Database, Pool};
use crate::errors::Error;
use crate::forms::{ArticleForm, CommentForm, Form, ListQuery, Path, Query};
use crate::list;
use crate::models::{Article, Comment, Counts};
use crate::schema::article_counters;
use crate::sort::Sort;
use crate::views::{self, Views};
use crate::visitor::Visitor;

/// What the requests share.
#[derive(Clone)]
pub struct App {
    /// The connections that pages are read on.
    pub readers: Pool,
    /// The connections that forms are stored on.
    pub writers: Pool,
    /// The views of the pages.
    pub views: Arc<Views>,
}

impl App {
    /// Returns the app on this database. It does not connect yet.
    pub fn new(database: Database) -> io::Result<Self> {
        let writers = database.clone().writers();
        Ok(App {
            readers: database.readers(),
            views: Arc::new(views::buffer(writers.clone()).start()?),
            writers,
        })
    }
}

pub fn routes() -> Router<App> {
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
    State(app): State<App>,
    Query(query): Query<ListQuery>,
) -> Result<Html<String>, Error> {
    let (page, sort) = query.checked()?;
    let list = on_connection(app.readers, move |conn| {
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
    State(app): State<App>,
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
    let find = move |conn: &mut _| Ok(Article::find(id, conn)?);
    let article = on_connection(app.readers.clone(), find).await?;
    // This also handles HEAD, which is not a view.
    if method == Method::GET {
        views::count(&app.views, id);
    }
    let page = on_connection(app.readers, move |conn| {
        // Before the total, so that the page shows its own view.
        let pending = app.views.pending_of(article_counters::views, &id);
        let counts = article.counts(conn)?;
        Ok(ArticlePage {
            counts: Counts {
                views: counts.views + pending,
                ..counts
            },
            liked: article.is_liked_by(&visitor.id, conn)?,
            chart: Chart::of(&article, pending, conn)?,
            comments: article.latest_comments(conn)?,
            most_read: Article::most_read(conn)?,
            article,
        })
    });
    Ok((new_cookie, Html(page.await?.render()?)))
}

async fn comment(
    State(app): State<App>,
    Path(id): Path<i64>,
    Form(form): Form<CommentForm>,
) -> Result<Redirect, Error> {
    let (author, body) = form.checked()?;
    on_connection(app.writers, move |conn| {
        let article = Article::find(id, conn)?;
        Ok(article.comment(&author, &body, conn)?)
    })
    .await?;
    Ok(Redirect::to(&format!("/articles/{id}#comments")))
}

async fn like(
    State(app): State<App>,
    Path(id): Path<i64>,
    visitor: Visitor,
) -> Result<Redirect, Error> {
    on_connection(app.writers, move |conn| {
        Ok(Article::like(id, &visitor.id, conn)?)
    })
    .await?;
    Ok(Redirect::to(&format!("/articles/{id}")))
}

async fn unlike(
    State(app): State<App>,
    Path(id): Path<i64>,
    visitor: Visitor,
) -> Result<Redirect, Error> {
    on_connection(app.writers, move |conn| {
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

async fn publish(State(app): State<App>, Form(form): Form<ArticleForm>) -> Result<Redirect, Error> {
    let (title, body) = form.checked()?;
    let publish = move |conn: &mut _| Ok(Article::publish(&title, &body, conn)?);
    let id = on_connection(app.writers, publish).await?;
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
