//! A blog that is served, and a browser that shows it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use blog::{sample, server};
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::support::Blog;

/// Much longer than anything takes, on a busy machine too. It only ends what hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// A blog with sample data, on a port of its own.
pub struct Site {
    pub blog: Blog,
    pub url: String,
    driver: Driver,
}

impl Site {
    pub async fn new() -> Self {
        let blog = Blog::new();
        sample::fill(&mut blog.pool.get().unwrap()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = server::router(blog.app.clone());
        let router = router.into_make_service_with_connect_info::<std::net::SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Site {
            blog,
            url,
            driver: Driver::new(),
        }
    }

    /// Opens a browser of this width. Each one is another visitor.
    pub async fn browser(&self, width: u32) -> Browser {
        let options = json!({
            "args": [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--disable-dev-shm-usage", format!("--window-size={width},900"),
                format!("--user-agent=Mozilla/5.0 Chrome/156.0 Test/{}", rand::random::<u64>()),
            ],
        });
        let capabilities = json!({
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let Value::Object(capabilities) = capabilities else {
            unreachable!()
        };
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&self.driver.url)
            .await
            .unwrap();
        Browser {
            client,
            site: self.url.clone(),
        }
    }
}

impl Drop for Site {
    /// The server would drop its buffer when the database is gone, and wait for a connection.
    fn drop(&mut self) {
        std::mem::forget(self.blog.app.clone());
    }
}

/// A running `chromedriver`.
struct Driver {
    process: Child,
    url: String,
}

impl Driver {
    fn new() -> Self {
        // It exits if another program has taken the port that it chose.
        (0..20)
            .find_map(|_| Driver::start())
            .expect("chromedriver does not start")
    }

    fn start() -> Option<Self> {
        let mut process = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .spawn()
            .expect("chromedriver is not on the PATH: scripts/test sqlite installs it");
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.ok()?;
            let (_, port) = line.split_once("successfully on port ")?;
            Some(port.trim_end_matches('.').to_owned())
        });
        let driver = Driver {
            process,
            url: format!("http://127.0.0.1:{}", port.as_deref().unwrap_or_default()),
        };
        port.is_some().then_some(driver)
    }
}

impl Drop for Driver {
    /// Asks the driver to quit its browsers: they would go on without it.
    fn drop(&mut self) {
        let address = self.url.trim_start_matches("http://");
        match TcpStream::connect(address) {
            Ok(mut driver) => {
                let _ = write!(driver, "GET /shutdown HTTP/1.1\r\nHost: {address}\r\n\r\n");
                let _ = driver.read_to_end(&mut Vec::new());
            }
            Err(_) => drop(self.process.kill()),
        }
        let _ = self.process.wait();
    }
}

pub struct Browser {
    client: Client,
    site: String,
}

impl Browser {
    pub async fn open(&mut self, path: &str) {
        self.go(&format!("{}{path}", self.site)).await;
    }

    pub async fn go(&mut self, url: &str) {
        self.client.goto(url).await.unwrap();
    }

    pub async fn reload(&mut self) {
        self.client.refresh().await.unwrap();
    }

    pub async fn run(&self, script: &str, arguments: Vec<Value>) -> Value {
        self.client.execute(script, arguments).await.unwrap()
    }

    pub async fn click(&mut self, css: &str) {
        let element = self
            .client
            .wait()
            .at_most(PATIENCE)
            .for_element(Locator::Css(css))
            .await
            .unwrap();
        element.click().await.unwrap();
    }

    pub async fn type_into(&mut self, css: &str, text: &str) {
        let element = self.client.find(Locator::Css(css)).await.unwrap();
        element.send_keys(text).await.unwrap();
    }

    /// Waits until the first of these elements has this text.
    pub async fn see(&self, css: &str, text: &str) {
        self.wait_for(css, text, |seen| seen == text).await;
    }

    /// Waits until the first of these elements has this number.
    pub async fn see_number(&self, css: &str, number: i64) {
        let number = number.to_string();
        self.wait_for(css, &number, |seen| seen.replace(',', "") == number)
            .await;
    }

    async fn wait_for(&self, css: &str, text: &str, is_there: impl Fn(&str) -> bool) {
        let begun = Instant::now();
        loop {
            let seen = self.text(css).await;
            if is_there(&seen) {
                return;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "{css} is {seen:?}, and not {text:?}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until the page is as it should be.
    pub async fn sees(&self, what: &str, is_so: impl AsyncFn(&Self) -> bool) {
        let begun = Instant::now();
        while !is_so(self).await {
            assert!(begun.elapsed() < PATIENCE, "not seen: {what}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The text of the first of these elements, or nothing.
    pub async fn text(&self, css: &str) -> String {
        let script = "return document.querySelector(arguments[0])?.textContent.trim() ?? ''";
        let text = self.run(script, vec![json!(css)]).await;
        text.as_str().unwrap_or_default().to_owned()
    }

    pub async fn number(&self, css: &str) -> i64 {
        self.text(css).await.replace(',', "").parse().unwrap()
    }

    pub async fn count(&self, css: &str) -> usize {
        self.client.find_all(Locator::Css(css)).await.unwrap().len()
    }

    pub async fn value(&self, css: &str) -> String {
        let element = self.client.find(Locator::Css(css)).await.unwrap();
        element.prop("value").await.unwrap().unwrap_or_default()
    }

    /// The id or name of the element with the focus.
    pub async fn focused(&self) -> String {
        let script = "const it = document.activeElement; return it.id || it.name";
        self.run(script, vec![]).await.as_str().unwrap().to_owned()
    }

    pub async fn cookie(&self, name: &str) -> String {
        self.client
            .get_named_cookie(name)
            .await
            .unwrap()
            .value()
            .to_owned()
    }

    /// Sets the colours that the visitor prefers.
    pub async fn prefers(&self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": value }]);
        let parameters =
            json!({ "cmd": "Emulation.setEmulatedMedia", "params": { "features": features } });
        let command = DriverCommand {
            path: "goog/cdp/execute",
            parameters,
        };
        self.client.issue_cmd(command).await.unwrap();
    }

    /// Tells the page whether it is hidden, and counts how often it asks.
    pub async fn hide(&self, hidden: bool) {
        let script = "const hidden = arguments[0];
            const get = () => { window.asked++; return hidden };
            Object.defineProperty(document, 'hidden', { get, configurable: true });
            document.dispatchEvent(new Event('visibilitychange'))";
        self.run(script, vec![json!(hidden)]).await;
    }

    /// Waits until the page, which was told whether it is hidden, has asked for it and done what follows.
    pub async fn asks_whether_it_is_hidden(&self) {
        self.run("window.asked = 0", vec![]).await;
        self.sees("the page ask whether it is hidden", async |page| {
            page.run("return window.asked", vec![]).await.as_i64() > Some(1)
        })
        .await;
    }

    /// Checks the page with axe-core.
    pub async fn is_accessible(&self, page: &str) {
        let axe = std::env::var("AXE").expect("AXE names axe.min.js: scripts/test sqlite sets it");
        let axe = std::fs::read_to_string(axe).unwrap();
        self.run(&axe, vec![]).await;
        let script = "const done = arguments[0]; axe.run().then(({ violations }) => done(violations.map(
            ({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => [html, failureSummary])])))";
        let violations = self.client.execute_async(script, vec![]).await.unwrap();
        assert_eq!(violations, json!([]), "{page}: {violations:#}");
    }

    /// Checks that the console has no errors, apart from answers such as 422 to wrong forms.
    pub async fn has_no_errors(&self) {
        let command = DriverCommand {
            path: "se/log",
            parameters: json!({ "type": "browser" }),
        };
        let log = self.client.issue_cmd(command).await.unwrap();
        let lines = log
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line["message"].as_str().unwrap());
        let errors: Vec<_> = lines
            .filter(|line| !line.contains("the server responded with a status of 422"))
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
}

/// A command of Chromium's driver that WebDriver does not have.
#[derive(Debug)]
struct DriverCommand {
    path: &'static str,
    parameters: Value,
}

impl WebDriverCompatibleCommand for DriverCommand {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!(
            "session/{}/{}",
            session.unwrap_or_default(),
            self.path
        ))
    }

    fn method_and_body(&self, _: &url::Url) -> (axum::http::Method, Option<String>) {
        (axum::http::Method::POST, Some(self.parameters.to_string()))
    }
}
