//! The batches of every index by the ledger, compared with the coordinator's counts.
//!
//! A batch that was not durable when a push was resumed is sent again under the same number. The latest batch of a number
//! counts, and the batches that followed an earlier one do not.

use std::collections::{BTreeMap, BTreeSet};

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
    /// The counts up to every batch; none after a gap.
    batches: BTreeMap<u64, Option<Counts>>,
    seal: Seal,
    /// The counts of every seal, of earlier syncs as well.
    sealed: BTreeSet<Counts>,
}

/// The batches of an index up to one of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Counts {
    /// Number of batches.
    pub batches: u64,
    /// Sum of the lengths of their bodies.
    pub body_bytes: u64,
    /// The chain over their digests; of no batch, zeros.
    pub head: [u8; 32],
}

impl Counts {
    fn and(self, digest: [u8; 16], body_bytes: u64) -> Counts {
        Counts {
            batches: self.batches + 1,
            body_bytes: self.body_bytes + body_bytes,
            head: *blake3::Hasher::new().update(&self.head).update(&digest).finalize().as_bytes(),
        }
    }
}

impl Sent {
    /// The counts up to a batch, if all of them were sent.
    fn up_to(&self, sequence: u64) -> Option<Counts> {
        if sequence == 0 { Some(Counts::default()) } else { self.batches.get(&sequence).copied().flatten() }
    }

    fn add(&mut self, sequence: u64, digest: [u8; 16], body_bytes: u64) {
        self.batches.split_off(&sequence);
        let before = sequence.checked_sub(1).and_then(|before| self.up_to(before));
        self.batches.insert(sequence, before.map(|before| before.and(digest, body_bytes)));
        self.seal = Seal::Open;
    }

    fn seal(&mut self, sequence: u64) {
        self.batches.split_off(&(sequence + 1));
        self.seal = Seal::Sent;
        self.sealed.extend(self.up_to(sequence));
    }
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

impl Compared {
    /// Batches that the coordinator had acknowledged and does not have.
    pub fn missing_batches(&self) -> u64 {
        match self.agreement {
            Agreement::Behind => self.ledger_batches.saturating_sub(self.coordinator_batches),
            _ => 0,
        }
    }
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
    /// The coordinator has the first batches, or none, and has acknowledged the others once: it has an earlier state, as after a backup
    /// was restored. The next sync sends the others again.
    Behind,
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
                let digest = index.body_digest.as_slice().try_into().unwrap_or_default();
                self.sent.entry(key).or_default().add(index.sequence, digest, index.body_bytes);
            }
            Kind::Seal => {
                self.sent.entry(key.clone()).or_default().seal(index.sequence);
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

    /// True if an index had these counts at one of its seals: then an analysis that says so had what the site sent.
    pub fn was_sealed(&self, repository: &str, epoch: u64, counts: &Counts) -> bool {
        let of_it = self.sent.iter().filter(|((named, _, number), _)| named == repository && *number == epoch);
        of_it.into_iter().any(|(_, sent)| sent.sealed.contains(counts))
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
        let here = sent.up_to(received.batches);
        let agree = here.is_some_and(|here| here.body_bytes == received.body_bytes && here.head[..] == received.head);
        let all = sent.batches.len() as u64;
        let last = sent.batches.values().next_back().copied().flatten();
        Compared {
            repository: key.0,
            method_id: key.1.iter().map(|byte| format!("{byte:02x}")).collect(),
            epoch: key.2,
            ledger_batches: all,
            coordinator_batches: received.batches,
            ledger_bytes: here.or(last).unwrap_or_default().body_bytes,
            coordinator_bytes: received.body_bytes,
            agreement: match (agree, all == received.batches, sent.seal) {
                (true, true, _) => Agreement::Same,
                (true, false, Seal::Open) => Agreement::UnderWay,
                (true, false, Seal::Sent) => Agreement::NotAcknowledged,
                (true, false, Seal::Answered) => Agreement::Behind,
                (false, ..) => Agreement::Differs,
            },
        }
    }
}
