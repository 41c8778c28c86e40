//! The ledger's own count of every index, to be held against the coordinator's.
//!
//! A batch that was not durable when a push was resumed is sent again under the same number: the last one counts, and
//! those that followed the earlier one do not.

use std::collections::BTreeMap;

use cognate_proto::v1::ReceivedIndex;

use super::{Entry, Kind};

/// Which index: repository, method id, epoch.
pub type IndexKey = (String, Vec<u8>, u64);

/// What was sent of each index.
#[derive(Default, Debug)]
pub struct Indexes {
    sent: BTreeMap<IndexKey, Sent>,
    /// The epoch that each (repository, method id) was last opened under.
    latest: BTreeMap<(String, Vec<u8>), u64>,
}

/// What was sent of one index.
#[derive(Default, Debug)]
struct Sent {
    /// Digest and length of every batch.
    batches: BTreeMap<u64, ([u8; 16], u64)>,
    /// Nothing was sent since it was said to be complete.
    sealed: bool,
}

/// One index as both sides count it.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Compared {
    /// The repository.
    pub repository: String,
    /// The method id, in hexadecimal digits.
    pub method_id: String,
    /// The epoch.
    pub epoch: u64,
    /// Batches by the ledger.
    pub ledger_batches: u64,
    /// Batches by the coordinator.
    pub coordinator_batches: u64,
    /// Bytes of bodies by the ledger, as far as the coordinator's batches go.
    pub ledger_bytes: u64,
    /// Bytes of bodies by the coordinator.
    pub coordinator_bytes: u64,
    /// What this means.
    pub verdict: Verdict,
}

/// Whether two counts agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// They do, to the last byte.
    Same,
    /// The coordinator has the first of the batches, and the rest was still under way when the push ended.
    UnderWay,
    /// They do not.
    Differs,
}

impl Indexes {
    /// Takes an entry in.
    pub fn take(&mut self, entry: &Entry) {
        let Some(index) = &entry.index else { return };
        let key = (index.repository.clone(), index.method_id.clone(), index.epoch);
        match entry.kind() {
            // One that a refinement made goes with its scan: that the coordinator lacks it says nothing.
            Kind::Open if !index.scope.is_empty() => {}
            Kind::Open => {
                self.latest.insert((key.0, key.1), key.2);
            }
            Kind::Batch => {
                let sent = self.sent.entry(key).or_default();
                sent.batches.split_off(&index.sequence);
                let digest = index.body_digest.as_slice().try_into().unwrap_or_default();
                sent.batches.insert(index.sequence, (digest, index.body_bytes));
                sent.sealed = false;
            }
            Kind::Seal => {
                let sent = self.sent.entry(key).or_default();
                sent.batches.split_off(&(index.sequence + 1));
                sent.sealed = true;
            }
            _ => {}
        }
    }

    /// How many indexes were ever sent.
    pub fn len(&self) -> usize {
        self.sent.len()
    }

    /// Whether none was ever sent.
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Holds the coordinator's count against this one. An index that the coordinator does not have any more is listed
    /// only where it is the latest of its repository and method.
    pub fn compare(&self, received: &[ReceivedIndex]) -> Vec<Compared> {
        let mut rows: Vec<Compared> = received.iter().map(|received| self.compare_one(received)).collect();
        let is_there =
            |key: &IndexKey| received.iter().any(|r| (&r.repository, &r.method_id, r.epoch) == (&key.0, &key.1, key.2));
        for (key, sent) in &self.sent {
            let is_latest = self.latest.get(&(key.0.clone(), key.1.clone())) == Some(&key.2);
            if is_latest && !sent.batches.is_empty() && !is_there(key) {
                let none = ReceivedIndex {
                    repository: key.0.clone(),
                    method_id: key.1.clone(),
                    epoch: key.2,
                    head: vec![0; 32],
                    ..ReceivedIndex::default()
                };
                rows.push(self.compare_one(&none));
            }
        }
        rows.sort_by(|a, b| (&a.repository, &a.method_id, a.epoch).cmp(&(&b.repository, &b.method_id, b.epoch)));
        rows
    }

    fn compare_one(&self, received: &ReceivedIndex) -> Compared {
        let key = (received.repository.clone(), received.method_id.clone(), received.epoch);
        let nothing = Sent::default();
        let sent = self.sent.get(&key).unwrap_or(&nothing);
        let mut head = [0; 32];
        let (mut bytes, mut number, mut gapless) = (0, 0, true);
        for (sequence, (digest, body_bytes)) in sent.batches.range(..=received.batches) {
            number += 1;
            gapless &= *sequence == number;
            bytes += body_bytes;
            head = *blake3::Hasher::new().update(&head).update(digest).finalize().as_bytes();
        }
        let agree = gapless && number == received.batches && bytes == received.body_bytes && head[..] == received.head;
        let all = sent.batches.len() as u64;
        Compared {
            repository: key.0,
            method_id: key.1.iter().map(|byte| format!("{byte:02x}")).collect(),
            epoch: key.2,
            ledger_batches: all,
            coordinator_batches: received.batches,
            ledger_bytes: bytes,
            coordinator_bytes: received.body_bytes,
            verdict: match (agree, all == received.batches, sent.sealed) {
                (true, true, _) => Verdict::Same,
                (true, false, false) => Verdict::UnderWay,
                _ => Verdict::Differs,
            },
        }
    }
}
