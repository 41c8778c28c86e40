//! The pages over a coordinator of their own, as a browser would ask for them.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use cognate_proto::v1::{MemberKind, Membership, Role};
use tower::Service as _;

use super::*;
use cognate_server::harness::{Harness, person, site};
use cognate_server::identity::Operator;
use cognate_server::logins::Redeemed;
use cognate_server::{AnalysisLimits, KeepFor, OperatorSettings};

mod decisions;
mod explain;
mod finds;
mod forms;
mod names;
mod results;
mod sites;
mod stored_queries;

/// A coordinator and its pages.
struct Browser {
    harness: Harness,
    router: Router,
    /// Headers of every request.
    cookie: String,
}

/// An answer.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    fn header(&self, name: header::HeaderName) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn location(&self) -> &str {
        self.header(header::LOCATION)
    }

    fn csrf(&self) -> String {
        let (_, rest) = self.body.split_once("name=\"csrf\" value=\"").unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    }
}

impl Browser {
    async fn start() -> Browser {
        let harness = Harness::start().await;
        let operator = OperatorSettings {
            limits: AnalysisLimits { memory_budget_bytes: 32 << 20, pairs_max: u64::MAX, threads: NonZeroUsize::MIN },
            addresses: vec![harness.address.to_string()],
            pages: "http://127.0.0.1:1".to_owned(),
            keep: KeepFor::default(),
        };
        let address = operator.pages.clone();
        let router = router(harness.coordinator.operator_service(operator), &address);
        Browser { harness, router, cookie: String::new() }
    }

    async fn ask(&mut self, request: Request<Body>) -> Answer {
        let response = self.router.call(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    async fn get(&mut self, path: &str) -> Answer {
        let request = Request::get(path).header(header::COOKIE, &self.cookie).body(Body::empty()).unwrap();
        self.ask(request).await
    }

    async fn post_from(&mut self, path: &str, fields: &[(&str, &str)], from: &str) -> Answer {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = Request::post(path)
            .header(header::COOKIE, &self.cookie)
            .header("sec-fetch-site", from)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(body))
            .unwrap();
        self.ask(request).await
    }

    async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.post_from(path, fields, "same-origin").await
    }

    /// A code for somebody who is a member from now on.
    fn code(&self, membership: &Membership) -> String {
        self.harness.credential(membership);
        self.code_again(&membership.name)
    }

    fn code_again(&self, name: &str) -> String {
        let (operator, origin) = self.harness.members().operator(name).unwrap();
        self.harness.coordinator.services().logins.offer(&operator.name, origin).unwrap().0
    }

    async fn sign_in(&mut self, membership: &Membership) {
        let code = self.code(membership);
        let answer = self.post("/sign-in", &[("code", &code)]).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
        let cookie = answer.header(header::SET_COOKIE);
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
        self.cookie = cookie.split(';').next().unwrap().to_owned();
    }

    /// The events of the journal, newest first.
    async fn audit(&self) -> Vec<String> {
        let service = self.harness.coordinator.operator_service(OperatorSettings {
            limits: AnalysisLimits { memory_budget_bytes: 32 << 20, pairs_max: u64::MAX, threads: NonZeroUsize::MIN },
            addresses: vec![],
            pages: String::new(),
            keep: KeepFor::default(),
        });
        let root = Operator { name: "root".parse().unwrap(), role: Role::Administrator, site: None, party: None };
        let events = service.events(&root, &Default::default()).unwrap().events;
        events.into_iter().map(|event| format!("{} {} {}", event.by, event.action, event.subject)).collect()
    }
}

#[tokio::test]
async fn who_is_not_signed_in_is_asked_to_and_comes_back_to_where_it_was() {
    let mut browser = Browser::start().await;
    let answer = browser.get("/").await;
    assert_eq!((answer.status, answer.location()), (StatusCode::SEE_OTHER, "/sign-in"));
    let answer = browser.get("/scans?page=2").await;
    assert_eq!(answer.location(), "/sign-in?to=%2Fscans%3Fpage%3D2");
    // The address of the command line is opened in the same browser, which knows the session.
    browser.cookie = answer.header(header::SET_COOKIE).split(';').next().unwrap().to_owned();
    let code = browser.code(&person("anna", Role::Viewer));
    let answer = browser.get(&format!("/sign-in?code={code}")).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(answer.body.contains("anna") && answer.body.contains("value=\"/scans?page=2\""), "{}", answer.body);
    // Opening the address does not use it up; signing in does.
    let answer = browser.post("/sign-in", &[("code", &code), ("to", "/scans?page=2")]).await;
    assert_eq!((answer.status, answer.location()), (StatusCode::SEE_OTHER, "/scans?page=2"));
    let answer = browser.post("/sign-in", &[("code", &code)]).await;
    assert!(answer.status == StatusCode::OK && answer.body.contains("cannot be used to sign in"), "{}", answer.body);
    assert!(answer.headers.get(header::SET_COOKIE).is_none());
    assert_eq!(browser.audit().await[..2], ["anna was not signed in ", "anna signed in "]);
    // Failed guesses fill no journal.
    browser.post("/sign-in", &[("code", "guess")]).await;
    assert_eq!(browser.audit().await[0], "anna was not signed in ");
}

#[tokio::test]
async fn every_place_of_the_menu_is_shown_with_what_keeps_it_safe() {
    let mut browser = Browser::start().await;
    browser.sign_in(&person("root", Role::Administrator)).await;
    for (_, path, label, _) in MENU {
        let answer = browser.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
        assert!(answer.body.contains(&format!("aria-current=\"page\">{label}</a>")), "{path}");
        assert!(!answer.body.contains(" style=") && !answer.body.contains("<style"), "{path}");
        let policy = answer.header(header::CONTENT_SECURITY_POLICY);
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(answer.header(header::CACHE_CONTROL), "no-store");
        assert_eq!(answer.header(header::X_CONTENT_TYPE_OPTIONS), "nosniff");
        assert_eq!(answer.header(header::REFERRER_POLICY), "no-referrer");
    }
    for path in ["/nothing", "/scans/0123456789abcdef", "/scans/../etc", "/scans/%00", "/sites/invite"] {
        let answer = browser.get(path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert!(answer.body.contains("Not found") && answer.body.contains("Sign out"), "{path}");
    }
}

#[tokio::test]
async fn a_form_counts_only_from_a_page_of_the_same_session() {
    let mut browser = Browser::start().await;
    browser.sign_in(&person("root", Role::Administrator)).await;
    let csrf = browser.get("/sites").await.csrf();
    for (fields, from) in [
        (&[("name", "paris")][..], "same-origin"),
        (&[("name", "paris"), ("csrf", "0123456789abcdef0123456789abcdef")], "same-origin"),
        (&[("name", "paris"), ("csrf", &csrf)], "cross-site"),
        (&[("name", "paris"), ("csrf", &csrf)], "same-site"),
    ] {
        let answer = browser.post_from("/sites/invite", fields, from).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{fields:?} {from}");
    }
    let answer = browser.post("/sites/invite", &[("name", "paris"), ("csrf", &csrf)]).await;
    assert_eq!((answer.status, answer.location()), (StatusCode::SEE_OTHER, "/sites"));
    // The invitation is shown once.
    let answer = browser.get("/sites").await;
    assert!(answer.body.contains("echo cog1_") && answer.body.contains("id=\"paris\""), "{}", answer.body);
    assert!(!browser.get("/sites").await.body.contains("cog1_"));
    assert_eq!(browser.audit().await[0], "root invited site paris");
    let answer = browser.post("/sites/invite", &[("name", "a/b"), ("csrf", &csrf)]).await;
    // What is wrong stands at the field, which keeps what was typed.
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert!(answer.body.contains("id=\"name-problem\"") && answer.body.contains("value=\"a/b\""), "{}", answer.body);
}

#[tokio::test]
async fn roles_and_bindings_count_on_pages_as_they_do_in_calls() {
    let mut browser = Browser::start().await;
    for name in ["paris", "tokyo"] {
        browser.harness.credential(&site(name));
    }
    browser.sign_in(&Membership { site: "paris".into(), ..person("ben", Role::Viewer) }).await;
    let answer = browser.get("/sites").await;
    assert!(answer.body.contains("paris") && !answer.body.contains("tokyo"), "{}", answer.body);
    assert!(!answer.body.contains("Invite a site") && !answer.body.contains("Shut"), "{}", answer.body);
    let csrf = answer.csrf();
    for path in ["/sites/invite", "/sites/revoke"] {
        let answer = browser.post(path, &[("name", "paris"), ("csrf", &csrf)]).await;
        assert!(answer.status == StatusCode::FORBIDDEN && answer.body.contains("role"), "{path}: {}", answer.body);
    }
}

#[tokio::test]
async fn a_session_ends_with_its_person_and_is_not_that_of_who_comes_after() {
    let mut browser = Browser::start().await;
    browser.harness.credential(&person("root", Role::Administrator));
    browser.sign_in(&person("anna", Role::Analyst)).await;
    assert_eq!(browser.get("/").await.status, StatusCode::OK);
    browser.harness.members().revoke(MemberKind::Operator, "anna", "root").unwrap();
    assert_eq!(browser.get("/").await.location(), "/sign-in");
    browser.harness.credential(&person("anna", Role::Administrator));
    assert_eq!(browser.get("/").await.location(), "/sign-in");
    // Signing out needs a form of the session's own, and ends the session.
    browser.sign_in(&person("carl", Role::Viewer)).await;
    let csrf = browser.get("/").await.csrf();
    browser.post("/sign-out", &[("csrf", "wrong")]).await;
    assert_eq!(browser.get("/").await.status, StatusCode::OK);
    browser.post("/sign-out", &[("csrf", &csrf)]).await;
    assert_eq!(browser.get("/").await.location(), "/sign-in");
    assert_eq!(browser.audit().await[0], "carl signed out ");
}

static CLOCK: AtomicI64 = AtomicI64::new(0);

fn clock() -> SystemTime {
    let ahead = u64::try_from(CLOCK.load(Ordering::SeqCst)).unwrap();
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + ahead)
}

#[tokio::test]
async fn addresses_sessions_and_credentials_end_by_themselves() {
    let harness = Harness::start().await;
    harness.credential(&person("anna", Role::Viewer));
    let (anna, origin) = harness.members().operator("anna").unwrap();
    let (members, logins) = (harness.members(), Logins::new(clock));
    let pass = |seconds: i64| CLOCK.fetch_add(seconds, Ordering::SeqCst);
    let session = |code: &str| match logins.redeem(members, code) {
        Redeemed::Session { secret, .. } => secret,
        other => panic!("{other:?}"),
    };
    // The validity of an address: five minutes.
    let [late, early] = [(); 2].map(|()| logins.offer(&anna.name, origin.clone()).unwrap().0);
    pass(300);
    let secret = session(&early);
    pass(1);
    assert!(matches!(logins.redeem(members, &late), Redeemed::Late(name) if name == anna.name));
    assert!(matches!(logins.redeem(members, "guess"), Redeemed::Unknown));
    // The validity of a session: an hour without use, which watching does not extend, and half a day with use.
    pass(3500);
    assert!(logins.session(members, &secret).is_some());
    pass(3500);
    assert!(logins.holds(members, &secret));
    pass(200);
    assert!(!logins.holds(members, &secret) && logins.session(members, &secret).is_none());
    let secret = session(&logins.offer(&anna.name, origin.clone()).unwrap().0);
    (0..13).for_each(|_| {
        pass(3300);
        logins.session(members, &secret);
    });
    assert!(logins.session(members, &secret).is_some());
    pass(400);
    assert!(logins.session(members, &secret).is_none());
    // The validity of a credential, as requested. It is no session, and a session is no credential.
    let (token, _) = logins.token(&anna.name, origin.clone(), Duration::from_secs(60)).unwrap();
    assert!(token.starts_with("cogt_") && logins.session(members, &token).is_none());
    assert!(logins.program(members, &token).is_some());
    pass(61);
    assert!(logins.program(members, &token).is_none());
    // Of very many, the oldest are dropped.
    let codes: Vec<String> = (0..17).map(|_| logins.offer(&anna.name, origin.clone()).unwrap().0).collect();
    assert!(logins.expected(members, &codes[0]).is_none() && logins.expected(members, &codes[1]).is_some());
}

#[tokio::test]
async fn the_api_takes_credentials_and_no_sessions() {
    let mut browser = Browser::start().await;
    browser.sign_in(&person("anna", Role::Viewer)).await;
    for path in ["/api/v1/scans", "/api/v1/nothing", "/api/v1/openapi.json"] {
        let answer = browser.get(path).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
        assert!(answer.body.starts_with("{\"error\":"), "{}", answer.body);
    }
    let answer = browser.get("/api/openapi.json").await;
    assert_eq!(answer.status, StatusCode::OK);
    let document: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3."));
}

#[tokio::test]
async fn off_loopback_there_is_tls_and_nothing_plain() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use cognate_server::Tls;

    use crate::HttpListener;

    let browser = Browser::start().await;
    let plain = HttpListener::bind("0.0.0.0:0", None).await;
    assert!(plain.err().unwrap().to_string().contains("not on loopback"));
    let authority = Arc::clone(&browser.harness.authority);
    let tls = Arc::new(Tls::for_browsers(authority, &["127.0.0.1".to_owned()]).unwrap());
    let listener = HttpListener::bind("0.0.0.0:0", Some(tls)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let pages = format!("https://127.0.0.1:{port}");
    let service = browser.harness.coordinator.operator_service(OperatorSettings {
        limits: AnalysisLimits { memory_budget_bytes: 32 << 20, pairs_max: u64::MAX, threads: NonZeroUsize::MIN },
        addresses: vec![],
        pages: pages.clone(),
        keep: KeepFor::default(),
    });
    let serving = tokio::spawn(async move { listener.serve(service, &pages, std::future::pending()).await });
    let mut roots = rustls::RootCertStore::empty();
    roots.add(browser.harness.authority.certificate().to_vec().into()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let ask = async |path: &str| {
        let stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let name = "127.0.0.1".try_into().unwrap();
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config.clone()));
        let mut stream = connector.connect(name, stream).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // The peer may end without a goodbye.
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8(answer).unwrap()
    };
    assert!(ask("/livez").await.starts_with("HTTP/1.1 200"));
    // Cookies are sent over TLS only.
    let answer = ask("/scans").await;
    assert!(answer.contains("set-cookie: __Host-cognate-to-") && answer.contains("; Secure"), "{answer}");
    // Clients over plain HTTP get none.
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    serving.abort();
}

#[tokio::test]
async fn a_program_sees_and_launches_what_its_owner_may() {
    let mut browser = Browser::start().await;
    for name in ["paris", "tokyo"] {
        browser.harness.credential(&site(name));
    }
    let mut tokens = Vec::new();
    for (name, role) in [("anna", Role::Analyst), ("ben", Role::Viewer)] {
        browser.harness.credential(&person(name, role));
        let (operator, origin) = browser.harness.members().operator(name).unwrap();
        let hour = Duration::from_secs(3600);
        tokens.push(browser.harness.coordinator.services().logins.token(&operator.name, origin, hour).unwrap().0);
    }
    let wanted = "{\"id\":\"00000000000000aa\",\"repositories\":[\"paris/kb\"],\"sync_deadline\":\"1s\"}";
    let cases = [
        ("GET", "/api/v1/sites", "", [200, 200]),
        ("GET", "/api/v1/scans", "", [200, 200]),
        ("POST", "/api/v1/scans", "{\"repositories\":[]}", [400, 403]),
        ("POST", "/api/v1/scans", "{\"repositories\":[\"paris/kb\"],\"more\":1}", [400, 400]),
        ("POST", "/api/v1/scans", wanted, [202, 403]),
        ("POST", "/api/v1/scans", wanted, [202, 403]),
        ("GET", "/api/v1/scans/00000000000000aa", "", [200, 200]),
        ("GET", "/api/v1/scans/00000000000000aa/report", "", [409, 409]),
        ("GET", "/api/v1/scans/00000000000000ab", "", [404, 404]),
        ("GET", "/api/v1/watches", "", [200, 403]),
        ("GET", "/api/v1/cases", "", [200, 403]),
        ("GET", "/api/v1/cases/none", "", [404, 403]),
        ("GET", "/api/v1/nothing", "", [404, 404]),
    ];
    for (method, path, body, expected) in cases {
        for (token, status) in tokens.iter().zip(expected) {
            let request = Request::builder().method(method).uri(path);
            let request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
            let answer = browser.ask(request.body(Body::from(body)).unwrap()).await;
            assert_eq!(answer.status.as_u16(), status, "{method} {path} {body}: {}", answer.body);
            assert!(serde_json::from_str::<serde_json::Value>(&answer.body).is_ok(), "{}", answer.body);
        }
    }
}
