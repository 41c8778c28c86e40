//! The first message of a session.

use std::time::UNIX_EPOCH;

use cognate_proto::PROTOCOL;
use cognate_proto::v1::Hello;

use super::site::Site;

/// The first message of a session.
pub(crate) fn hello(site: &Site) -> Hello {
    let config = &site.config;
    let (earlier_instances, instance) =
        config.presence.as_ref().map_or_else(Default::default, |own| (own.earlier_instances.clone(), own.instance));
    let now = (config.clock)().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let state = site.state();
    Hello {
        protocol_min: *PROTOCOL.start(),
        protocol_max: *PROTOCOL.end(),
        key_fingerprint: config.key.fingerprint().0.to_vec(),
        repositories: config.repositories.iter().map(|(name, _)| name.to_string()).collect(),
        software: env!("CARGO_PKG_VERSION").to_owned(),
        earlier_instances,
        instance,
        paused: state.paused,
        outside_hours: state.outside_hours,
        unkeyed_across_parties: config.policy.unkeyed_across_parties,
        now: i64::try_from(now).unwrap_or(i64::MAX),
        file_hashes: config.policy.file_hashes.to_wire(),
    }
}
