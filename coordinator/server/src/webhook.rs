//! Notices over HTTP that a scan of a schedule has ended, or that a watch has new matches.

use std::sync::Arc;
use std::time::Duration;

use cognate_proto::v1::Role;
use serde::Serialize;
use tonic::codegen::http::Uri;

use crate::error::Error;
use crate::identity::Operator;

/// The longest time of one attempt, and the waits ahead of each of the next.
const TIMEOUT: Duration = Duration::from_secs(10);
const WAITS: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30), Duration::from_secs(120)];

/// A notice.
#[derive(Clone, Serialize, Debug)]
pub(crate) struct Notice {
    pub(crate) schedule: String,
    pub(crate) scan: String,
    /// `complete`, `partial`, `failed` or `cancelled`.
    pub(crate) status: String,
    pub(crate) digest: String,
    /// The reason of a failure.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) failure: String,
    /// True if the sites have something in common that they had not at the schedule's last scan.
    pub(crate) new_overlap: bool,
    /// The number of new matches: clusters and identical sets.
    pub(crate) new: u64,
    pub(crate) changed: u64,
    pub(crate) gone: u64,
}

/// The receivers of notices that the configuration of the coordinator allows. A notice leaves from the coordinator's own
/// network, so that not everybody who may launch scans decides where to.
#[derive(Clone, Default, Debug)]
pub(crate) struct Webhooks {
    /// Hosts, or hosts with a port.
    hosts: Arc<[String]>,
}

impl Webhooks {
    pub(crate) fn new(hosts: &[String]) -> Webhooks {
        Webhooks { hosts: hosts.into() }
    }

    /// Checks that a person may set a webhook where there was another one, or none. An empty address is none.
    ///
    /// # Errors
    /// Fails if it is no address, its host is not allowed, or the person is no administrator of everything.
    pub(crate) fn check(&self, operator: &Operator, address: &str, before: &str) -> Result<(), Error> {
        if address.is_empty() || address == before {
            return Ok(());
        }
        self.check_address(address)?;
        if operator.role == Role::Administrator && !operator.viewer().is_bound() {
            return Ok(());
        }
        let name = &operator.name;
        Err(Error::Denied(format!("`webhook`: only administrators without bounds set one, and `{name}` is none")))
    }

    fn check_address(&self, address: &str) -> Result<(), Error> {
        let refused = |why: &str| Err(Error::Invalid(format!("`webhook`: {why}")));
        if address.len() > cognate_proto::limits::TEXT_BYTES_MAX {
            return refused("it is too long");
        }
        let nonsense = "it is an address such as https://example.com/hook";
        let Ok(uri) = address.parse::<Uri>() else { return refused(nonsense) };
        let is_http = matches!(uri.scheme_str(), Some("https" | "http"));
        let Some(authority) = uri.authority().filter(|authority| is_http && !authority.as_str().contains('@')) else {
            return refused(nonsense);
        };
        let is_allowed =
            |host: &String| [authority.host(), authority.as_str()].iter().any(|own| own.eq_ignore_ascii_case(host));
        if !self.hosts.iter().any(is_allowed) {
            let host = authority.host();
            return refused(&format!("`{host}` is not in `webhook_hosts` of the coordinator's configuration"));
        }
        Ok(())
    }

    /// Sends a notice on a thread of its own, so that a slow receiver delays nothing else.
    pub(crate) fn notify(&self, address: String, notice: impl Serialize + Send + 'static, of: String) {
        // The configuration may have changed since the address was set.
        match self.check_address(&address) {
            Ok(()) => drop(std::thread::spawn(move || send(&address, &notice, &of))),
            Err(error) => tracing::warn!(of, %error, "a notice was not sent"),
        }
    }
}

/// Sends a notice, and tries again a few times. Blocks.
fn send(address: &str, notice: &impl Serialize, of: &str) {
    let config = ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).max_redirects(0).build();
    let agent = ureq::Agent::new_with_config(config);
    let body = serde_json::to_string(notice).expect("words and numbers can be written");
    for wait in std::iter::once(Duration::ZERO).chain(WAITS) {
        std::thread::sleep(wait);
        match agent.post(address).content_type("application/json").send(body.as_str()) {
            Ok(_) => return,
            // A receiver that refuses the notice would refuse it again.
            Err(ureq::Error::StatusCode(code)) if (400..500).contains(&code) && code != 408 && code != 429 => {
                tracing::warn!(of, code, "a webhook refused a notice");
                return;
            }
            Err(error) => tracing::warn!(of, %error, "a notice could not be sent"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(role: Role, site: Option<&str>) -> Operator {
        let site = site.map(|site| site.parse().unwrap());
        Operator { name: "anna".parse().unwrap(), role, site, party: None }
    }

    #[test]
    fn a_webhook_is_set_by_administrators_for_hosts_of_the_configuration() {
        let webhooks = Webhooks::new(&["example.com".to_owned(), "127.0.0.1:9".to_owned()]);
        let admin = person(Role::Administrator, None);
        for address in ["", "https://example.com/hook", "https://EXAMPLE.com:444/", "http://127.0.0.1:9/x"] {
            assert!(webhooks.check(&admin, address, "").is_ok(), "{address}");
        }
        let nonsense =
            ["x", "ftp://example.com", "https://", "http://a b", "file:///etc/passwd", "https://example.com@evil/"];
        let elsewhere =
            ["http://127.0.0.1:10/", "http://169.254.169.254/latest", "https://example.com.evil/", "http://[::1]/"];
        for address in nonsense.iter().chain(&elsewhere) {
            let refused = webhooks.check(&admin, address, "").unwrap_err();
            assert!(matches!(refused, Error::Invalid(_)), "{address}: {refused}");
        }
        for other in [person(Role::Analyst, None), person(Role::Administrator, Some("paris"))] {
            assert!(matches!(webhooks.check(&other, "https://example.com/hook", ""), Err(Error::Denied(_))));
            assert!(
                webhooks.check(&other, "https://example.com/hook", "https://example.com/hook").is_ok(),
                "as it was"
            );
        }
    }
}
