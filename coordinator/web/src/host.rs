//! The name under which a client asks: on a plain listener only one of this machine's own.
//!
//! A page from elsewhere can have its own host name lead to loopback (DNS rebinding), and then reads what it fetches as if
//! it were its own. The browser names the host of the page, and the page cannot change that. Under TLS the certificate
//! decides.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{HOST, HeaderValue, STRICT_TRANSPORT_SECURITY};
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
}

/// Refuses requests for other hosts, and keeps browsers on HTTPS.
pub(crate) async fn check(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    let named = request.headers().get(HOST).map(|host| host.to_str().unwrap_or_default());
    if !hosts.answers(named) {
        let own = &hosts.own;
        let refusal = format!("these pages are not of this host: ask for `{own}`, or set `http_address`\n");
        return (StatusCode::MISDIRECTED_REQUEST, refusal).into_response();
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
}
