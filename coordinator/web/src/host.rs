//! The name under which a client asks: on a plain listener only one of this machine's own.
//!
//! A page from elsewhere can have its own host name lead to loopback (DNS rebinding), and then reads what it fetches as if
//! it were its own. The browser names the host of the page, and the page cannot change that. Under TLS the certificate
//! decides.
//!
//! A request that names two hosts is refused, since a proxy may believe the other one. So is one that acts and comes from a
//! page of another origin, whatever else it knows.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{HOST, HeaderValue, ORIGIN, STRICT_TRANSPORT_SECURITY};
use axum::http::uri::Authority;
use axum::http::{StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

/// Browsers that have seen the pages over HTTPS ask for nothing else within a year.
const HTTPS_ONLY: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// The names that are answered.
#[derive(Clone)]
pub(crate) struct Hosts {
    is_tls: bool,
    /// The host in the address of the pages.
    own: Arc<str>,
    is_https: bool,
}

impl Hosts {
    /// A listener with TLS or without, of pages at this address.
    pub(crate) fn new(is_tls: bool, address: &str) -> Hosts {
        let own = address.parse::<Uri>().ok().and_then(|uri| uri.host().map(Arc::from)).unwrap_or_default();
        Hosts { is_tls, own, is_https: address.starts_with("https:") }
    }

    /// True if requests for this host are answered. A browser always names one.
    fn answers(&self, host: Option<&str>) -> bool {
        let Some(host) = host.filter(|_| !self.is_tls) else { return true };
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let name = authority.host();
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        is_address || [&*self.own, "localhost"].iter().any(|own| name.eq_ignore_ascii_case(own))
    }

    /// True if a page of this origin may act on the pages of a host. A browser that keeps the origin to itself says `null`.
    fn trusts(&self, origin: &str, host: Option<&str>) -> bool {
        if origin == "null" {
            return true;
        }
        let Some(authority) = origin.parse::<Uri>().ok().and_then(|uri| uri.authority().cloned()) else { return false };
        host.is_some_and(|host| authority.as_str().eq_ignore_ascii_case(host))
            || authority.host().eq_ignore_ascii_case(&self.own)
    }

    /// The reason to refuse a request, if there is one.
    fn refusal(&self, request: &Request) -> Option<(StatusCode, String)> {
        let headers = request.headers();
        let mut named = headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
        let (first, authority) = (named.next(), request.uri().authority().map(Authority::as_str));
        let differs = |other: &str| first.is_some_and(|first| !first.eq_ignore_ascii_case(other));
        if named.next().is_some() || authority.is_some_and(differs) {
            return Some((StatusCode::BAD_REQUEST, "a request names one host\n".to_owned()));
        }
        let host = first.or(authority);
        if !self.answers(host) {
            let own = &self.own;
            let refusal = format!("these pages are not of this host: ask for `{own}`, or set `http_address`\n");
            return Some((StatusCode::MISDIRECTED_REQUEST, refusal));
        }
        let mut origins = headers.get_all(ORIGIN).iter().map(|origin| origin.to_str().unwrap_or_default());
        if !request.method().is_safe() && origins.any(|origin| !self.trusts(origin, host)) {
            let refusal = "a page of another origin cannot act here: open the pages themselves\n";
            return Some((StatusCode::FORBIDDEN, refusal.to_owned()));
        }
        None
    }
}

/// Refuses requests for other hosts, and keeps browsers on HTTPS.
pub(crate) async fn check(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    if let Some(refusal) = hosts.refusal(&request) {
        return refusal.into_response();
    }
    let mut response = next.run(request).await;
    if hosts.is_https {
        response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, HTTPS_ONLY);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_plain_listener_only_hosts_of_this_machine_and_the_public_one_are_answered() {
        let plain = Hosts::new(false, "https://cognate.example.com");
        let answered = ["127.0.0.1:7480", "127.0.0.1", "[::1]:7480", "localhost:9", "Cognate.example.com", "LOCALHOST"];
        assert!(answered.iter().all(|host| plain.answers(Some(host))));
        assert!(plain.answers(None), "no browser");
        for host in
            ["evil.example", "evil.example:7480", "127.0.0.1.evil.example", "localhost.evil.example", "", "a b", "@"]
        {
            assert!(!plain.answers(Some(host)), "{host}");
        }
        assert!(Hosts::new(true, "https://hub:7480").answers(Some("other")));
    }

    fn status(method: &str, uri: &str, headers: &[(&str, &str)]) -> Option<StatusCode> {
        let mut request = axum::http::Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let hosts = Hosts::new(false, "https://cognate.example.com");
        hosts.refusal(&request.body(axum::body::Body::empty()).unwrap()).map(|(status, _)| status)
    }

    #[test]
    fn a_request_names_one_host() {
        let own = ("host", "127.0.0.1:7480");
        assert_eq!(status("GET", "/", &[own]), None);
        assert_eq!(status("GET", "http://127.0.0.1:7480/", &[own]), None);
        assert_eq!(status("GET", "/", &[own, own]), Some(StatusCode::BAD_REQUEST));
        assert_eq!(status("GET", "/", &[own, ("host", "evil.example")]), Some(StatusCode::BAD_REQUEST));
        assert_eq!(status("GET", "http://evil.example/", &[own]), Some(StatusCode::BAD_REQUEST));
        assert_eq!(status("GET", "http://evil.example/", &[]), Some(StatusCode::MISDIRECTED_REQUEST));
    }

    #[test]
    fn a_page_of_another_origin_acts_on_nothing() {
        let own = ("host", "127.0.0.1:7480");
        for origin in ["http://127.0.0.1:7480", "https://cognate.example.com", "null"] {
            assert_eq!(status("POST", "/", &[own, ("origin", origin)]), None, "{origin}");
        }
        for origin in ["http://evil.example", "http://127.0.0.1:9", "http://127.0.0.1:7480.evil.example", "", "x y"] {
            assert_eq!(status("POST", "/", &[own, ("origin", origin)]), Some(StatusCode::FORBIDDEN), "{origin}");
            assert_eq!(status("GET", "/", &[own, ("origin", origin)]), None, "{origin}");
        }
        let both = [own, ("origin", "null"), ("origin", "http://evil.example")];
        assert_eq!(status("POST", "/", &both), Some(StatusCode::FORBIDDEN));
        assert_eq!(status("POST", "/", &[own]), None, "no browser");
    }
}
