//! The batches of every index by the ledger, compared with the coordinator's counts.
//!
//! A batch that was not durable when a push was resumed is sent again under the same number. The latest batch of a number
//! counts, and the batches that followed an earlier one do not.

use std::collections::BTreeMap;

use cognate_proto::v1::ReceivedIndex;

use super::entry::{Entry, Kind};

/// Repository, method id and epoch of an index.
pub type IndexKey = (String, Vec<u8>, u64);

/// The sent batches of each index.
#[derive(Default, Debug)]
pub struct Indexes {
    sent: BTreeMap<IndexKey, Sent>,
    /// The epoch that each (repository, method id) was last opened under.
    latest: BTreeMap<(String, Vec<u8>), u64>,
    /// The index of the last seal, until a message shows whether it was answered.
    unanswered: Option<IndexKey>,
}

/// The sent batches of one index.
#[derive(Default, Debug)]
struct Sent {
    /// Digest and length of every batch.
    batches: BTreeMap<u64, ([u8; 16], u64)>,
    seal: Seal,
}

/// What the ledger says of the seal of an index.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Seal {
    /// It was not sent, or batches were sent after it.
    #[default]
    Open,
    /// It was sent, and nothing shows that an answer came.
    Sent,
    /// It was sent, and its sync has succeeded.
    Answered,
}

/// One index, counted by the ledger and by the coordinator.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Compared {
    /// The repository.
    pub repository: String,
    /// The method id, in hexadecimal digits.
    pub method_id: String,
    /// The epoch.
    pub epoch: u64,
    /// Batches in the ledger.
    pub ledger_batches: u64,
    /// Batches at the coordinator.
    pub coordinator_batches: u64,
    /// Bytes of bodies in the ledger, up to the coordinator's last batch.
    pub ledger_bytes: u64,
    /// Bytes of bodies at the coordinator.
    pub coordinator_bytes: u64,
    /// The outcome of the comparison.
    #[serde(rename = "verdict")]
    pub agreement: Agreement,
}

/// The outcome of the comparison of two counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// The counts are equal, to the last byte.
    Same,
    /// The coordinator has the first batches; the others were under way when the push ended.
    UnderWay,
    /// The coordinator has the first batches, and no answer came to the seal: the next sync sends the others again.
    NotAcknowledged,
    /// The counts differ.
    Differs,
}

impl Indexes {
    /// Counts an entry.
    pub fn take(&mut self, entry: &Entry) {
        // A sync succeeds when it has the answer to its seal. One that failed has none, or a refusal: the seal stays as one without an
        // answer.
        if matches!(entry.kind(), Kind::Ended | Kind::Failed)
            && let Some(sent) = self.unanswered.take().and_then(|key| self.sent.get_mut(&key))
            && entry.kind() == Kind::Ended
        {
            sent.seal = Seal::Answered;
        }
        let Some(index) = &entry.index else { return };
        let key = (index.repository.clone(), index.method_id.clone(), index.epoch);
        match entry.kind() {
            // The coordinator removes the index of a refinement with its scan, so a missing one is no error.
            Kind::Open if !index.scope.is_empty() => {}
            Kind::Open => {
                self.latest.insert((key.0, key.1), key.2);
            }
            Kind::Batch => {
                let sent = self.sent.entry(key).or_default();
                sent.batches.split_off(&index.sequence);
                let digest = index.body_digest.as_slice().try_into().unwrap_or_default();
                sent.batches.insert(index.sequence, (digest, index.body_bytes));
                sent.seal = Seal::Open;
            }
            Kind::Seal => {
                let sent = self.sent.entry(key.clone()).or_default();
                sent.batches.split_off(&(index.sequence + 1));
                sent.seal = Seal::Sent;
                self.unanswered = Some(key);
            }
            _ => {}
        }
    }

    /// Number of indexes that were ever sent.
    pub fn len(&self) -> usize {
        self.sent.len()
    }

    /// True if no index was ever sent.
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Compares the coordinator's counts with this one. An index that the coordinator does not have any more is listed only
    /// if it is the latest of its repository and method.
    pub fn compare(&self, received: &[ReceivedIndex]) -> Vec<Compared> {
        let mut rows: Vec<Compared> = received.iter().map(|received| self.compare_one(received)).collect();
        let is_received =
            |key: &IndexKey| received.iter().any(|r| (&r.repository, &r.method_id, r.epoch) == (&key.0, &key.1, key.2));
        for (key, sent) in &self.sent {
            let is_latest = self.latest.get(&(key.0.clone(), key.1.clone())) == Some(&key.2);
            if is_latest && !sent.batches.is_empty() && !is_received(key) {
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
            agreement: match (agree, all == received.batches, sent.seal) {
                (true, true, _) => Agreement::Same,
                (true, false, Seal::Open) => Agreement::UnderWay,
                (true, false, Seal::Sent) => Agreement::NotAcknowledged,
                _ => Agreement::Differs,
            },
        }
    }
}
