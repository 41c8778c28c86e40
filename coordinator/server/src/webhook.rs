//! Notices over HTTP that a scan of a schedule has ended, or that a watch has new matches.

use std::time::Duration;

use serde::Serialize;

use crate::error::Error;

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

/// Checks that a text is an address for notices.
///
/// # Errors
/// Fails if it is something else. An empty address is valid: no notice is sent.
pub(crate) fn check(address: &str) -> Result<(), Error> {
    let refused = |why: &str| Err(Error::Invalid(format!("`webhook`: {why}")));
    if address.is_empty() {
        return Ok(());
    }
    if address.len() > cognate_proto::limits::TEXT_BYTES_MAX {
        return refused("it is too long");
    }
    let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
    match rest {
        Some(rest) if !rest.is_empty() && !address.contains(|c: char| c.is_whitespace() || c.is_control()) => Ok(()),
        _ => refused("it is an address such as https://example.com/hook"),
    }
}

/// Sends a notice, and tries again a few times. Blocks.
pub(crate) fn notify(address: &str, notice: &impl Serialize, of: &str) {
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

    #[test]
    fn only_addresses_are_valid() {
        for address in ["", "http://127.0.0.1:9/x", "https://example.com/hook"] {
            assert!(check(address).is_ok(), "{address}");
        }
        for nonsense in ["x", "ftp://example.com", "https://", "http://a b", "file:///etc/passwd"] {
            assert!(check(nonsense).is_err(), "{nonsense}");
        }
    }
}
