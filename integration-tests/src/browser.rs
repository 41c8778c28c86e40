//! A real browser, driven as a person would use it: Debian's `chromium` through `chromedriver`. Where these are not
//! installed, tests of pages say so where everybody sees it, and check nothing.
//!
//! Every request of a page is looked at: one to another host, and any error on the console, fails the test.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thirtyfour::LoggingPrefsLogLevel;
use thirtyfour::error::WebDriverErrorInner;
use thirtyfour::prelude::*;
use tokio::runtime::Runtime;

use crate::binary::workspace;
use crate::sandbox::{DEADLINE, wait_until};
use crate::{Federation, not_checked};

/// The widths at which pages are looked at: a laptop, and a telephone.
const WIDTHS: [u32; 2] = [1280, 400];
const SCHEMES: [&str; 2] = ["light", "dark"];
const HEIGHT: u32 = 900;
/// How long the browser may take for one command. It hangs after that, or the machine does: a picture of a long page takes a
/// minute where other tests keep all cores busy.
const ANSWER_MAX: Duration = Duration::from_secs(240);
/// Higher pages are cut off in pictures.
const HEIGHT_MAX: u64 = 6000;

/// Where what is downloaded goes, in the browser's own folder.
const DOWNLOADS: &str = "downloads";
/// The keys that have no letter, as the driver knows them.
pub const ENTER: &str = "\u{e007}";
/// See [`ENTER`].
pub const TAB: &str = "\u{e004}";
/// See [`ENTER`].
pub const END: &str = "\u{e010}";

/// A browser, and the driver that it hangs on.
pub struct Browser {
    runtime: Runtime,
    driver: Option<WebDriver>,
    process: Child,
    /// Where the pages are: scheme, host and port.
    base: String,
    /// Profile, caches and what was downloaded, thrown away with it.
    folder: tempfile::TempDir,
}

impl Browser {
    /// A browser, if there is one on this machine.
    pub fn start() -> Option<Browser> {
        let (Some(driver), Some(browser)) = (found("chromedriver"), found("chromium")) else {
            not_checked(
                "the pages, since `chromium` or `chromedriver` is not installed (apt-get install chromium chromium-driver)",
            );
            return None;
        };
        let folder = tempfile::Builder::new().prefix("cognate-browser-").tempdir().unwrap();
        std::fs::create_dir(folder.path().join(DOWNLOADS)).unwrap();
        let (process, port) = drive(&driver, folder.path());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let capabilities = capabilities(&browser, folder.path());
        let address = format!("http://127.0.0.1:{port}");
        let driver = runtime.block_on(async { WebDriver::builder(address, capabilities).connect().await });
        let driver = driver.expect("the browser starts");
        Some(Browser { runtime, driver: Some(driver), process, base: String::new(), folder })
    }

    /// A browser in which the first administrator of a federation is signed in.
    pub fn signed_in(federation: &Federation) -> Option<Browser> {
        let mut browser = Browser::start()?;
        browser.sign_in(&federation.login(&federation.operator()));
        Some(browser)
    }

    /// Opens an address from `cognate operator login`, and goes through the door.
    #[track_caller]
    pub fn sign_in(&mut self, address: &str) {
        let base = address.split_once("/sign-in").expect("it is an address to sign in at").0;
        base.clone_into(&mut self.base);
        self.look(WIDTHS[0], SCHEMES[0]);
        self.go(address);
        self.click("main button[type=submit]");
        self.wait("signed in", |browser| browser.has("form.who"));
    }

    // --- Going

    /// Opens a page by its path.
    #[track_caller]
    pub fn open(&self, path: &str) {
        let address = format!("{}{path}", self.base);
        self.go(&address);
    }

    #[track_caller]
    fn go(&self, address: &str) {
        self.run(async |driver| driver.goto(address).await);
    }

    /// Where the browser is: path and query.
    pub fn path(&self) -> String {
        let url = self.run(async |driver| driver.current_url().await).to_string();
        url.strip_prefix(&self.base).unwrap_or(&url).to_owned()
    }

    /// Clicks what a CSS selector names.
    #[track_caller]
    pub fn click(&self, css: &str) {
        self.act(async |driver| driver.find(By::Css(css)).await?.click().await);
    }

    /// Clicks the link or button with this text.
    #[track_caller]
    pub fn click_text(&self, text: &str) {
        let path = format!("//*[self::a or self::button or self::summary][normalize-space(.)=\"{text}\"]");
        self.act(async |driver| driver.find(By::XPath(&*path)).await?.click().await);
    }

    /// Empties a field and types into it.
    #[track_caller]
    pub fn fill(&self, css: &str, text: &str) {
        self.act(async |driver| {
            let field = driver.find(By::Css(css)).await?;
            field.clear().await?;
            field.send_keys(text).await
        });
    }

    /// Chooses an option of a list by its value.
    #[track_caller]
    pub fn choose(&self, css: &str, value: &str) {
        self.click(&format!("{css} option[value=\"{value}\"]"));
    }

    /// Presses keys on what a CSS selector names, whatever stands in it.
    #[track_caller]
    pub fn press_on(&self, css: &str, keys: &str) {
        self.act(async |driver| driver.find(By::Css(css)).await?.send_keys(keys).await);
    }

    /// Clicks a link to a file, and answers what the file is called and what is in it.
    #[track_caller]
    pub fn download(&self, css: &str) -> (String, Vec<u8>) {
        let folder = self.folder.path().join(DOWNLOADS);
        self.devtools("Browser.setDownloadBehavior", json!({"behavior": "allow", "downloadPath": folder}));
        // While it is on its way it has a name of the browser's own, and there is an empty file in its place.
        let whole = || {
            let files = crate::sandbox::names(&folder);
            let is_whole = |path: &PathBuf| {
                path.extension().is_none_or(|extension| extension != "crdownload")
                    && path.metadata().is_ok_and(|metadata| metadata.len() > 0)
            };
            files.first().filter(|path| files.len() == 1 && is_whole(path)).cloned()
        };
        self.click(css);
        wait_until(&format!("`{css}` is downloaded"), || whole().is_some());
        let path = whole().expect("it was there");
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        (path.file_name().unwrap().to_string_lossy().into_owned(), bytes)
    }

    /// Presses keys wherever the focus is. Behind an open dialog it may be on the page, which takes keys from a keyboard alone.
    #[track_caller]
    pub fn press(&self, keys: &str) {
        self.act(async |driver| match driver.active_element().await?.send_keys(keys).await {
            Err(error) if matches!(error.as_inner(), WebDriverErrorInner::ElementNotInteractable(_)) => {
                driver.action_chain().send_keys(keys).perform().await
            }
            pressed => pressed,
        });
    }

    // --- Looking

    /// What is to be read of the first element that a CSS selector names.
    #[track_caller]
    pub fn text(&self, css: &str) -> String {
        self.run(async |driver| driver.find(By::Css(css)).await?.text().await)
    }

    /// The same of all that it names.
    #[track_caller]
    pub fn texts(&self, css: &str) -> Vec<String> {
        self.run(async |driver| {
            let mut texts = Vec::new();
            for element in driver.find_all(By::Css(css)).await? {
                texts.push(element.text().await?);
            }
            Ok(texts)
        })
    }

    /// Whether there is such an element.
    pub fn has(&self, css: &str) -> bool {
        !self.run(async |driver| driver.find_all(By::Css(css)).await).is_empty()
    }

    /// True if all of the first element that a CSS selector names is within the window.
    #[track_caller]
    pub fn in_view(&self, css: &str) -> bool {
        let script = format!(
            "const box = document.querySelector({css:?}).getBoundingClientRect();
             return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight + 1"
        );
        self.script(&script) == true
    }

    /// What a script comes to, as `return …` says.
    #[track_caller]
    pub fn script(&self, script: &str) -> Value {
        self.run(async |driver| Ok(driver.execute(script, Vec::<Value>::new()).await?.json().clone()))
    }

    /// Waits for something to be so.
    #[track_caller]
    pub fn wait(&self, what: &str, condition: impl Fn(&Browser) -> bool) {
        wait_until(what, || condition(self));
    }

    /// Waits for the first element that a CSS selector names to read like this.
    #[track_caller]
    pub fn see(&self, css: &str, text: &str) {
        self.wait(&format!("`{css}` reads \"{text}\""), |browser| browser.text(css) == text);
    }

    /// Waits for the first element that a CSS selector names to read something that begins like this.
    #[track_caller]
    pub fn see_begin(&self, css: &str, text: &str) {
        self.wait(&format!("`{css}` begins with \"{text}\""), |browser| browser.text(css).starts_with(text));
    }

    /// Waits for the first element that a CSS selector names to hold this text.
    #[track_caller]
    pub fn see_in(&self, css: &str, text: &str) {
        self.wait(&format!("`{css}` holds \"{text}\""), |browser| browser.text(css).contains(text));
    }

    /// Waits for the browser to be at an address that holds this.
    #[track_caller]
    pub fn see_at(&self, part: &str) {
        self.wait(&format!("the browser is at `…{part}…`"), |browser| browser.path().contains(part));
    }

    // --- Checking

    /// Checks that nothing was asked of another host, and that nothing was complained about on the console, since it was
    /// checked last.
    #[track_caller]
    pub fn check(&self) {
        self.check_but(&[]);
    }

    /// The same, but for complaints that hold one of these.
    #[track_caller]
    pub fn check_but(&self, expected: &[&str]) {
        let requests = self.run(async |driver| driver.get_log("performance").await);
        for entry in requests {
            let event: Value = serde_json::from_str(&entry.message).unwrap_or_default();
            if event["message"]["method"] != "Network.requestWillBeSent" {
                continue;
            }
            let url = event["message"]["params"]["request"]["url"].as_str().unwrap_or_default();
            let is_own =
                url.starts_with(&format!("{}/", self.base)) || url.starts_with("data:") || url == "about:blank";
            assert!(is_own || url.starts_with("chrome"), "a page asked for `{url}`, which is not on {}", self.base);
        }
        let complaints = self.run(async |driver| driver.browser_log().await);
        let complaints: Vec<String> = complaints.into_iter().map(|entry| entry.message).collect();
        let unexpected: Vec<&String> =
            complaints.iter().filter(|complaint| !expected.iter().any(|each| complaint.contains(each))).collect();
        assert!(unexpected.is_empty(), "the console of {}: {unexpected:?}", self.path());
    }

    /// Takes pictures of the page as it is, for people: laptop and telephone, light and dark. The page must be no wider than
    /// the window.
    #[track_caller]
    pub fn shoot(&self, name: &str) {
        self.shoot_each(name, |width, scheme| (width == WIDTHS[0]) == (scheme == SCHEMES[0]));
    }

    /// The same, with every picture checked for accessibility instead of every second one.
    #[track_caller]
    pub fn shoot_checked(&self, name: &str) {
        self.shoot_each(name, |_, _| true);
    }

    #[track_caller]
    fn shoot_each(&self, name: &str, is_checked: impl Fn(u32, &str) -> bool) {
        let folder = screenshots();
        self.wait_for_page();
        for width in WIDTHS {
            for scheme in SCHEMES {
                self.look(width, scheme);
                self.check_width(width);
                let high = self.script("return document.documentElement.scrollHeight").as_u64().unwrap_or_default();
                let clip = json!({"x": 0, "y": 0, "width": width, "height": high.clamp(300, HEIGHT_MAX), "scale": 1});
                let taken = self.devtools(
                    "Page.captureScreenshot",
                    json!({
                        "format": "png", "captureBeyondViewport": true, "clip": clip
                    }),
                );
                let bytes = data_encoding::BASE64.decode(taken["data"].as_str().unwrap().as_bytes()).unwrap();
                std::fs::write(folder.join(format!("{name}-{width}-{scheme}.png")), bytes).unwrap();
                if is_checked(width, scheme) {
                    self.check_accessible();
                }
            }
        }
        self.look(WIDTHS[0], SCHEMES[0]);
    }

    /// Checks the page against the success criteria of WCAG 2.2, levels A and AA, as far as axe-core can. It is not part of this
    /// repository: `npm install --prefix target/axe axe-core` puts it where this looks for it.
    #[track_caller]
    pub fn check_accessible(&self) {
        let path = workspace().join("target/axe/node_modules/axe-core/axe.min.js");
        let Ok(axe) = std::fs::read_to_string(path) else {
            not_checked("the pages against WCAG, since axe-core is missing (npm install --prefix target/axe axe-core)");
            return;
        };
        let script = format!(
            "{axe};
             const done = arguments[arguments.length - 1];
             const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
             axe.run(document, {{runOnly: tags, resultTypes: ['violations']}}).then(
               (found) => done(found.violations.map((each) => each.id + ': ' + each.nodes.slice(0, 4).map(
                 (node) => node.target.join(' ') + ' ' + (node.any[0] || node.all[0] || node.none[0] || {{}}).message).join(' | '))),
               (error) => done(['axe: ' + error]));"
        );
        let found = self
            .run(async |driver| Ok(driver.execute_async(script.clone(), Vec::<Value>::new()).await?.json().clone()));
        let violations = found.as_array().cloned().unwrap_or_default();
        assert!(violations.is_empty(), "{} is not accessible: {violations:#?}", self.path());
    }

    /// What is to be read of the page on paper; and a picture of it.
    #[track_caller]
    pub fn printed(&self, name: &str) -> String {
        self.devtools("Emulation.setEmulatedMedia", json!({"media": "print"}));
        let taken = self.devtools("Page.captureScreenshot", json!({"format": "png"}));
        let bytes = data_encoding::BASE64.decode(taken["data"].as_str().unwrap().as_bytes()).unwrap();
        std::fs::write(screenshots().join(format!("{name}-print.png")), bytes).unwrap();
        let text = self.text("body");
        self.look(WIDTHS[0], SCHEMES[0]);
        text
    }

    /// Checks that the page is no wider than the window, on a laptop and on a telephone.
    #[track_caller]
    pub fn check_widths(&self) {
        for width in WIDTHS.into_iter().rev() {
            self.look(width, SCHEMES[0]);
            self.check_width(width);
        }
    }

    #[track_caller]
    fn check_width(&self, width: u32) {
        let wide = self.script("return document.documentElement.scrollWidth").as_u64().unwrap_or_default();
        assert!(wide <= u64::from(width), "{} is {wide} pixels wide in a window of {width}", self.path());
    }

    /// Makes the window this wide, and says which colours are liked.
    fn look(&self, width: u32, scheme: &str) {
        let metrics = json!({"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", metrics);
        let features = json!([
            {"name": "prefers-color-scheme", "value": scheme},
            // Nothing is caught half way.
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        let media = json!({"media": "", "features": features});
        self.devtools("Emulation.setEmulatedMedia", media);
    }

    fn devtools(&self, method: &str, parameters: Value) -> Value {
        self.run(async |driver| driver.cdp().send_raw(method, parameters.clone()).await)
    }

    /// Does something to a page that is wholly there: its script listens to keys, and nothing moves any more.
    #[track_caller]
    fn act<T>(&self, action: impl AsyncFn(&WebDriver) -> WebDriverResult<T>) -> T {
        self.wait_for_page();
        self.run(action)
    }

    #[track_caller]
    fn wait_for_page(&self) {
        self.wait("the page is loaded", |browser| browser.script("return document.readyState") == "complete");
    }

    /// Does something in the browser. A page may be about to give way to the next one: what is not there yet, or is no
    /// longer, is looked for again.
    #[track_caller]
    fn run<T>(&self, action: impl AsyncFn(&WebDriver) -> WebDriverResult<T>) -> T {
        let driver = self.driver.as_ref().expect("it is there until it is dropped");
        let began = Instant::now();
        loop {
            let done = self.runtime.block_on(async { tokio::time::timeout(ANSWER_MAX, action(driver)).await });
            match done.expect("the browser answers") {
                Ok(done) => return done,
                Err(error) if is_between_pages(&error) && began.elapsed() < DEADLINE => {}
                Err(error) => panic!("the browser: {error}"),
            }
        }
    }
}

/// Prints a page to a PDF as the documentation says; false, and announced, where there is no browser.
pub fn print(page: &Path, pdf: &Path) -> bool {
    let Some(browser) = found("chromium") else {
        not_checked("printed pages, since `chromium` is not installed (apt-get install chromium)");
        return false;
    };
    let profile = tempfile::Builder::new().prefix("cognate-browser-").tempdir().unwrap();
    let run = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--print-to-pdf={}", pdf.display()))
        .arg(format!("file://{}", page.display()))
        .stdout(Stdio::null())
        .output()
        .unwrap();
    assert!(run.status.success() && pdf.is_file(), "{}", String::from_utf8_lossy(&run.stderr));
    true
}

/// Where pictures are kept.
fn screenshots() -> PathBuf {
    let folder = workspace().join("target/screenshots");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// What the driver says when a page gives way to the next one: while it looks at an element, takes a picture, runs a script.
const BETWEEN_PAGES: [&str; 4] = [
    "does not belong to the document",
    "Unable to capture screenshot",
    "Not attached to an active page",
    "document unloaded while waiting for result",
];

/// True for an error that may only mean that one page is going and the next one coming.
fn is_between_pages(error: &WebDriverError) -> bool {
    use WebDriverErrorInner::{NoSuchElement, StaleElementReference};
    // The driver has no errors of its own for what it cannot do while a page goes or comes.
    let is_gone = || {
        let text = error.to_string();
        BETWEEN_PAGES.iter().any(|each| text.contains(each))
    };
    matches!(error.as_inner(), StaleElementReference(_) | NoSuchElement(_)) || is_gone()
}

/// What a browser shows, for who reads of a failure: where it is, what is to be read there, and what was complained about.
async fn shown(driver: &WebDriver) -> WebDriverResult<String> {
    let url = driver.current_url().await?;
    let text = driver.find(By::Tag("body")).await?.text().await?;
    let complaints: Vec<String> = driver.browser_log().await?.into_iter().map(|entry| entry.message).collect();
    Ok(format!("{url}\n{text}\n{complaints:?}"))
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(driver) = self.driver.take() {
            if std::thread::panicking() {
                let showing = async { tokio::time::timeout(Duration::from_secs(5), shown(&driver)).await };
                if let Ok(Ok(shown)) = self.runtime.block_on(showing) {
                    let _ = writeln!(std::io::stderr(), "--- the browser is at {shown}");
                }
            }
            let quitting = async { tokio::time::timeout(Duration::from_secs(5), driver.quit()).await };
            let _ = self.runtime.block_on(quitting);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where a program is, in the places where programs are.
fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// Starts the driver, which finds a free port and says which.
fn drive(driver: &Path, folder: &Path) -> (Child, u16) {
    let mut process = Command::new(driver)
        .arg("--port=0")
        .env("TMPDIR", folder)
        .env("HOME", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("chromedriver starts");
    let output = process.stdout.take().expect("it is a pipe");
    let mut lines = BufReader::new(output).lines();
    let port = lines.by_ref().find_map(|line| {
        let line = line.ok()?;
        line.rsplit_once(" on port ")?.1.trim_end_matches('.').parse::<u16>().ok().filter(|port| *port != 0)
    });
    // What it says later is read, so that it never waits for a reader.
    std::thread::spawn(move || lines.for_each(drop));
    (process, port.expect("chromedriver says its port"))
}

fn capabilities(browser: &Path, folder: &Path) -> thirtyfour::ChromeCapabilities {
    let mut capabilities = DesiredCapabilities::chrome();
    capabilities.set_binary(browser.to_str().expect("the path of the browser is UTF-8")).unwrap();
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let flags = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        // A window that no one looks at draws its pictures at once all the same.
        "--disable-renderer-backgrounding",
        "--disable-backgrounding-occluded-windows",
        "--no-first-run",
        "--force-color-profile=srgb",
        "--hide-scrollbars",
        &profile,
    ];
    flags.iter().for_each(|flag| capabilities.add_arg(flag).unwrap());
    capabilities.set_logging_prefs("browser".to_owned(), LoggingPrefsLogLevel::Warning).unwrap();
    capabilities.set_logging_prefs("performance".to_owned(), LoggingPrefsLogLevel::All).unwrap();
    capabilities
}
