//! The connections of members: so many of each, and so many in all.
//!
//! One more of a member ends its oldest: a member whose lost connection still counts is let in again. One more in all ends
//! the oldest of the member that has the most.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use cognate_proto::identity::MemberUri;
use cognate_proto::v1::MemberKind;
use tokio::sync::oneshot;

/// The connections of one site, of one person, and of all.
pub(super) const SITE_MAX: usize = 4;
const OPERATOR_MAX: usize = 16;
const ALL_MAX: usize = 1024;

type Key = (MemberKind, String);

/// The members that have connections.
#[derive(Default)]
pub(super) struct Members {
    connections: Mutex<Connections>,
}

#[derive(Default)]
struct Connections {
    of: HashMap<Key, VecDeque<Held>>,
    all: usize,
    next: u64,
}

/// A connection as the table has it: dropping the sender ends it.
struct Held {
    number: u64,
    _end: oneshot::Sender<()>,
}

/// The count of a connection, until it is dropped.
pub(super) struct Holding {
    members: Arc<Members>,
    key: Key,
    number: u64,
    ended: oneshot::Receiver<()>,
}

impl Members {
    /// Counts one more connection of a member. Answers as well the member of which one made way.
    pub(super) fn hold(self: &Arc<Self>, member: &MemberUri) -> (Holding, Option<String>) {
        let key = (member.kind, member.name.clone());
        let (end, ended) = oneshot::channel();
        let mut connections = self.connections.lock().expect("nothing panics while it is held");
        let number = connections.next;
        connections.next += 1;
        connections.all += 1;
        let own = connections.of.entry(key.clone()).or_default();
        own.push_back(Held { number, _end: end });
        let own_max = if member.kind == MemberKind::Site { SITE_MAX } else { OPERATOR_MAX };
        let makes_way = if own.len() > own_max {
            Some(key.clone())
        } else if connections.all > ALL_MAX {
            connections.of.iter().max_by_key(|(key, held)| (held.len(), *key)).map(|(key, _)| key.clone())
        } else {
            None
        };
        if let Some(held) = makes_way.as_ref().and_then(|key| connections.of.get_mut(key)) {
            held.pop_front();
            connections.all -= 1;
        }
        drop(connections);
        let made_way = makes_way.map(|(_, name)| format!("`{name}`"));
        (Holding { members: Arc::clone(self), key, number, ended }, made_way)
    }
}

impl Holding {
    /// Resolves when another connection has taken the place.
    pub(super) async fn ended(mut self) {
        let _ = (&mut self.ended).await;
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        let mut connections = self.members.connections.lock().expect("nothing panics while it is held");
        let Some(own) = connections.of.get_mut(&self.key) else { return };
        let before = own.len();
        own.retain(|held| held.number != self.number);
        let gone = before - own.len();
        if own.is_empty() {
            connections.of.remove(&self.key);
        }
        connections.all -= gone;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(kind: MemberKind, name: &str) -> MemberUri {
        MemberUri { deployment: "00000007".to_owned(), kind, name: name.to_owned() }
    }

    #[test]
    fn one_too_many_in_all_ends_the_oldest_of_the_member_that_has_the_most() {
        let members = Arc::<Members>::default();
        let mut sites: Vec<Holding> =
            (0..ALL_MAX - 2).map(|site| members.hold(&member(MemberKind::Site, &format!("s{site}"))).0).collect();
        let mut person: Vec<Holding> = (0..2).map(|_| members.hold(&member(MemberKind::Operator, "anna")).0).collect();
        let (_late, made_way) = members.hold(&member(MemberKind::Site, "late"));
        assert_eq!(made_way.as_deref(), Some("`anna`"));
        let is_ended =
            |holding: &mut Holding| !matches!(holding.ended.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        assert!(is_ended(&mut person[0]) && !is_ended(&mut person[1]) && !sites.iter_mut().any(is_ended));
        drop((sites, person, _late));
        let connections = members.connections.lock().unwrap();
        assert!(connections.of.is_empty() && connections.all == 0);
    }
}
