//! Random lives of the indexes: sites push over a network that delays, repeats and reorders, sessions end, sites lose their state,
//! clocks jump, the process ends, and the power is lost with what was not synced. A naive model knows by the answers alone what must
//! be there. A seed gives the same life each time.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use cognate_disk_faults::Recording;
use cognate_fuzzing::Dice;

use super::*;
use crate::indexes::{IndexWriter, IndexesConfig};
use crate::store::Store;

/// The number of lives, or `COGNATE_SEEDS`; `COGNATE_SEED` is the first seed.
const LIVES: u64 = 8;
const STEPS: usize = 120;
const SITES: [&str; 5] = ["a", "b", "c", "d", "e"];
/// Documents of a site have these many names.
const NAMES: usize = 12;
/// Contents come again, also such as were there before.
const CONTENTS: usize = 40;

/// Seconds that the clock is off.
static CLOCK: AtomicI64 = AtomicI64::new(0);

fn clock() -> SystemTime {
    let seconds = 1_800_000_000_i64.saturating_add(CLOCK.load(Ordering::Relaxed));
    SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

/// A batch as it was sent, and the index after it.
#[derive(Debug)]
struct Sent {
    digest: [u8; 16],
    body: Vec<u8>,
    root: IndexDigest,
    documents: BTreeMap<String, u64>,
    /// Contents that were sent so far.
    contents: HashSet<u64>,
}

/// An index that was sealed.
#[derive(Clone, Debug)]
struct Seal {
    epoch: u64,
    sequence: u64,
    last: Rc<Sent>,
}

/// A site and what it was answered.
#[derive(Clone, Debug)]
struct Sender {
    epoch: u64,
    batches: Vec<Rc<Sent>>,
    /// The last batch that was acknowledged.
    committed: u64,
    /// The last batch that reached the coordinator under this epoch, acknowledged or not.
    reach: u64,
    sealed: Option<Seal>,
    /// An index of it may have been compacted: that has forgotten contents that no document has.
    is_compacted: bool,
}

impl Sender {
    fn new() -> Sender {
        Sender { epoch: 1, batches: vec![], committed: 0, reach: 0, sealed: None, is_compacted: false }
    }

    fn root_at(&self, sequence: u64) -> IndexDigest {
        let last = usize::try_from(sequence).unwrap().checked_sub(1);
        last.map_or(IndexDigest::default(), |place| self.batches[place].root)
    }

    fn last_sequence(&self) -> u64 {
        self.batches.len() as u64
    }

    /// A worker that finds something else than it sent begins another epoch, with all that it has.
    fn begin_again(&mut self) {
        let documents = self.batches.last().map(|last| last.documents.clone()).unwrap_or_default();
        self.batches.clear();
        (self.epoch, self.committed, self.reach) = (self.epoch + 1, 0, 0);
        self.send(&documents);
    }

    /// A batch that makes these the documents.
    fn send(&mut self, documents: &BTreeMap<String, u64>) {
        let (before, mut contents, mut root) = match self.batches.last() {
            Some(last) => (last.documents.clone(), last.contents.clone(), last.root),
            None => (BTreeMap::new(), HashSet::new(), IndexDigest::default()),
        };
        let gone = before.keys().filter(|path| !documents.contains_key(*path)).map(|path| (path, None));
        let new = documents.iter().filter(|(path, content)| before.get(*path) != Some(content));
        let mut batch = BatchBuilder::default();
        for (path, content) in new.map(|(path, content)| (path, Some(*content))).chain(gone) {
            if let Some(number) = content.filter(|content| contents.insert(*content)) {
                let (content, table) = content_of(number);
                batch.content(&content, &table);
                let Content { digest, size_bytes, chunk_count, sample } = content;
                root.add(RowHash::of_content(digest, size_bytes, chunk_count, sample.digest()));
            }
            if let Some(before) = before.get(path) {
                root.remove(RowHash::of_document(&row_of(path, Some(*before))));
            }
            if content.is_some() {
                root.add(RowHash::of_document(&row_of(path, content)));
            }
            batch.document(row_of(path, content));
        }
        let body = batch.finish().0.to_vec();
        self.batches.push(Rc::new(Sent {
            digest: body_digest(&body),
            body,
            root,
            documents: documents.clone(),
            contents,
        }));
    }
}

/// A batch under way.
#[derive(Clone, Debug)]
struct Message {
    site: usize,
    epoch: u64,
    sequence: u64,
    sent: Rc<Sent>,
}

/// The moments at which the power may be lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loss {
    /// After an answer: all or nothing of what was not synced is there. The same in every life of a seed.
    AfterAnAnswer,
    /// In any call to the disk, with any part of what was not synced. sled syncs from a thread of its own, so that not every
    /// life of a seed has the same calls.
    Anywhere,
}

struct Life {
    loss: Loss,
    folder: tempfile::TempDir,
    store: Arc<Store>,
    indexes: Arc<Indexes>,
    writers: BTreeMap<usize, IndexWriter>,
    recording: Option<Recording>,
    senders: Vec<Sender>,
    /// The senders after each answer since the start.
    answers: Vec<Vec<Sender>>,
    network: Vec<Message>,
    log: Vec<String>,
}

fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

fn open(folder: &Path) -> (Arc<Store>, Arc<Indexes>) {
    let config = IndexesConfig { clock, ..config() };
    crate::maintenance::open(folder, config).unwrap()
}

fn key(site: usize) -> SlotKey {
    Site::new(SITES[site], 0).key()
}

impl Life {
    fn begin(loss: Loss) -> Life {
        CLOCK.store(0, Ordering::Relaxed);
        let folder = folder();
        let (store, indexes) = open(folder.path());
        let senders = vec![Sender::new(); SITES.len()];
        let mut life = Life {
            loss,
            folder,
            store,
            indexes,
            writers: BTreeMap::new(),
            recording: None,
            senders,
            answers: vec![],
            network: vec![],
            log: vec![],
        };
        life.started();
        life
    }

    fn started(&mut self) {
        self.recording = Some(cognate_disk_faults::record(self.folder.path()).unwrap());
        self.answers = vec![self.senders.clone()];
    }

    fn note(&mut self, what: String) {
        self.log.push(what);
    }

    fn answered(&mut self) {
        self.answers.push(self.senders.clone());
        self.recording.as_ref().unwrap().mark(self.answers.len() as u64 - 1);
    }

    fn step(&mut self, dice: &mut Dice) {
        let site = dice.below(SITES.len());
        match dice.below(40) {
            0..=4 => self.change(site, dice),
            5..=9 => self.open_session(site),
            10..=24 => self.deliver(dice),
            25..=28 => self.commit(site),
            29..=31 => self.seal(site),
            32 => self.end_session(site),
            33 => self.contradict(site),
            34 => self.lose_state(site),
            35 => self.jump(dice),
            36 => self.collect(site),
            37 => self.lose_message(dice),
            _ => self.lose_power(dice),
        }
    }

    /// Documents of a site change, and a batch of it is under way if there is a session.
    fn change(&mut self, site: usize, dice: &mut Dice) {
        let sender = &mut self.senders[site];
        let mut documents = sender.batches.last().map(|last| last.documents.clone()).unwrap_or_default();
        for _ in 0..=dice.below(3) {
            let path = format!("d{}/{}", dice.below(3), dice.below(NAMES));
            match dice.below(4) {
                0 => drop(documents.remove(&path)),
                _ => drop(documents.insert(path, dice.below(CONTENTS) as u64)),
            }
        }
        sender.send(&documents);
        self.log.push(format!("{} has {} documents", SITES[site], documents.len()));
        self.post(site, self.senders[site].last_sequence());
    }

    fn post(&mut self, site: usize, sequence: u64) {
        let sender = &self.senders[site];
        let sent = Rc::clone(&sender.batches[usize::try_from(sequence).unwrap() - 1]);
        self.network.push(Message { site, epoch: sender.epoch, sequence, sent });
    }

    fn open_session(&mut self, site: usize) {
        if self.writers.contains_key(&site) {
            return;
        }
        let sender = &mut self.senders[site];
        let writer = self.indexes.writer(key(site), sender.epoch, &method()).unwrap();
        let committed = writer.committed_sequence();
        self.log.push(format!("{} pushes epoch {} from {committed}", SITES[site], sender.epoch));
        assert_eq!(committed, sender.committed, "what was acknowledged is there, and nothing else");
        assert_eq!(writer.root(), sender.root_at(committed), "the index is that of the batches");
        sender.reach = committed;
        self.writers.insert(site, writer);
        (committed + 1..=self.senders[site].last_sequence()).for_each(|sequence| self.post(site, sequence));
    }

    /// Any message arrives, and perhaps again later.
    fn deliver(&mut self, dice: &mut Dice) {
        if self.network.is_empty() {
            return;
        }
        let place = dice.below(self.network.len());
        let message = match dice.below(3) {
            0 => self.network[place].clone(),
            _ => self.network.remove(place),
        };
        self.arrive(message);
    }

    fn arrive(&mut self, Message { site, epoch, sequence, sent }: Message) {
        let sender = &mut self.senders[site];
        let Some(writer) = self.writers.get_mut(&site).filter(|_| epoch == sender.epoch) else { return };
        let received = sender.reach;
        let answer = writer.batch(sequence, &sent.digest, &sent.body);
        self.log.push(format!("{} {sequence} after {received}: {answer:?}", SITES[site]));
        match answer {
            Ok(Ok(())) if sequence == received + 1 => sender.reach = sequence,
            Ok(Ok(())) => assert!(sequence <= received, "a gap is taken in"),
            Ok(Err(_)) => {
                assert!(sender.is_compacted && sequence == received + 1, "contents that were sent are not there");
                self.writers.remove(&site);
                self.senders[site].begin_again();
                return self.answered();
            }
            Err(Error::OutOfOrder { expected, got }) => {
                assert_eq!((expected, got), (received + 1, sequence));
                assert!(sequence > received + 1 || sender.is_compacted, "a batch that is known is refused");
            }
            Err(error) => panic!("{error}"),
        }
        let sender = &self.senders[site];
        assert_eq!(self.writers[&site].root(), sender.root_at(sender.reach), "a batch counts once");
    }

    fn commit(&mut self, site: usize) {
        let Some(writer) = self.writers.get_mut(&site) else { return };
        let committed = writer.commit().unwrap();
        self.log.push(format!("{} has {committed} acknowledged", SITES[site]));
        assert_eq!(committed, self.senders[site].reach);
        self.senders[site].committed = committed;
        self.answered();
    }

    fn seal(&mut self, site: usize) {
        let Some(writer) = self.writers.remove(&site) else { return };
        let sender = &mut self.senders[site];
        if sender.batches.is_empty() {
            return;
        }
        let (last, received) = (sender.last_sequence(), sender.reach);
        let answer = writer.seal(last, &sender.root_at(last).to_bytes());
        self.log.push(format!("{} seals {last} after {received}: {:?}", SITES[site], answer.as_ref().err()));
        assert_eq!(answer.is_ok(), last == received, "a seal is over all batches or refused");
        if answer.is_ok() {
            sender.committed = last;
            sender.sealed =
                sender.batches.last().map(|sent| Seal { epoch: sender.epoch, sequence: last, last: Rc::clone(sent) });
            self.answered();
            self.check_sealed(site);
        }
    }

    /// The session ends: what was not committed was never acknowledged.
    fn end_session(&mut self, site: usize) {
        if self.writers.remove(&site).is_some() {
            self.note(format!("the session of {} ends", SITES[site]));
        }
    }

    /// Under the number of a batch that is there comes something else.
    fn contradict(&mut self, site: usize) {
        let Some(writer) = self.writers.get_mut(&site) else { return };
        let sender = &self.senders[site];
        if sender.reach == 0 {
            return;
        }
        let (body, digest, _) = crate::harness::batch(3);
        let answer = writer.batch(sender.reach, &digest, &body);
        let is_known = matches!(answer, Err(Error::Contradiction(_))) || (sender.is_compacted && answer.is_err());
        assert!(is_known, "another batch of the same number is {answer:?}");
        assert_eq!(writer.root(), sender.root_at(sender.reach));
        let damaged = writer.batch(sender.reach + 1, &digest, &body[1..]);
        assert!(damaged.is_err(), "a body that does not match its digest is taken in");
        self.note(format!("{} contradicts itself", SITES[site]));
    }

    fn lose_state(&mut self, site: usize) {
        self.writers.remove(&site);
        self.senders[site].begin_again();
        self.note(format!("{} begins again, epoch {}", SITES[site], self.senders[site].epoch));
    }

    fn jump(&mut self, dice: &mut Dice) {
        let seconds = [0, -3600, 3600, -86_400 * 400, 86_400 * 4000][dice.below(5)];
        CLOCK.store(seconds, Ordering::Relaxed);
        self.note(format!("the clock is off by {seconds} s"));
    }

    /// The coordinator tidies up. An index that was compacted has forgotten what no document has.
    fn collect(&mut self, site: usize) {
        self.indexes.collect().unwrap();
        self.indexes.tidy(&key(site));
        self.senders[site].is_compacted = true;
        self.note(format!("{} is tidied", SITES[site]));
    }

    fn lose_message(&mut self, dice: &mut Dice) {
        if !self.network.is_empty() {
            let place = dice.below(self.network.len());
            self.network.remove(place);
        }
    }

    /// The power goes. What was answered by then holds, what was answered later never reached anybody.
    fn lose_power(&mut self, dice: &mut Dice) {
        self.network.clear();
        let states = self.recording.take().unwrap().finish();
        self.writers.clear();
        let state = match (self.loss, dice.below(2)) {
            (Loss::Anywhere, _) => states.sample(1, dice.roll()).pop().unwrap(),
            (Loss::AfterAnAnswer, 0) => states.at(states.calls().len(), 2, 0).remove(0),
            (Loss::AfterAnAnswer, _) => states.at(states.calls().len(), 2, 0).pop().unwrap(),
        };
        let answered = usize::try_from(state.acknowledged.unwrap_or_default()).unwrap();
        if self.loss == Loss::Anywhere {
            self.log.push(format!("after answer {answered} of {}: {}", self.answers.len() - 1, state.description));
        }
        // The call that was under way may have been carried out.
        let next = self.answers.get(answered + 1).cloned();
        // A site keeps what it has; of its answers, only those hold that came before.
        for (sender, then) in self.senders.iter_mut().zip(&self.answers[answered]) {
            sender.committed = if sender.epoch == then.epoch { then.committed } else { 0 };
            sender.sealed.clone_from(&then.sealed);
        }
        let folder = folder();
        state.write_to(folder.path()).unwrap();
        (self.store, self.indexes) = open(folder.path());
        self.folder = folder;
        for site in 0..SITES.len() {
            self.find(site, next.as_ref().map(|next| &next[site]));
        }
        self.started();
    }

    /// Compares what is there after a start with what was acknowledged, and takes what is there for what holds.
    fn find(&mut self, site: usize, next: Option<&Sender>) {
        let sealed = self.sealed(site);
        let sender = &mut self.senders[site];
        let is = |seal: Option<&Seal>| seal.map(|seal| (seal.epoch, seal.sequence)) == sealed;
        if !is(sender.sealed.as_ref()) {
            let next = next.and_then(|next| next.sealed.as_ref());
            assert!(
                is(next),
                "sealed is {sealed:?} after {:?}",
                sender.sealed.as_ref().map(|seal| (seal.epoch, seal.sequence))
            );
            sender.sealed = next.cloned();
        }
        let writer = self.indexes.writer(key(site), sender.epoch, &method()).unwrap();
        let committed = writer.committed_sequence();
        assert!(committed >= sender.committed, "{committed} batches of {} that were acknowledged", sender.committed);
        assert!(committed <= sender.last_sequence(), "{committed} batches, which nobody sent");
        assert_eq!(writer.root(), sender.root_at(committed), "a batch is there in part");
        (sender.committed, sender.reach) = (committed, committed);
        drop(writer);
        self.log.push(format!("{} has {committed}, sealed {sealed:?}", SITES[site]));
        self.check_sealed(site);
    }

    fn sealed(&self, site: usize) -> Option<(u64, u64)> {
        let sealed = self.indexes.sealed(&key(site)).unwrap()?;
        let row = self.store.index(sealed.id).unwrap().unwrap();
        Some((row.epoch, sealed.sequence))
    }

    /// A scan that began now would have just the documents that were sealed, with all of their postings.
    fn check_sealed(&self, site: usize) {
        let Some(expected) = &self.senders[site].sealed else { return };
        let sealed = self.indexes.sealed(&key(site)).unwrap().expect("what was sealed is there");
        let index = self.indexes.load(sealed.id, sealed.sequence).unwrap();
        assert_eq!(index.root(), expected.last.root);
        let names: Vec<String> =
            index.documents.iter().map(|(path, _)| String::from_utf8(path.as_bytes().to_vec()).unwrap()).collect();
        assert!(names.iter().eq(expected.last.documents.keys()), "{names:?}");
        let live: HashSet<_> = index.contents.values().map(|content| content.ordinal).collect();
        let mut postings = 0;
        for run in self.indexes.runs(sealed.id, sealed.sequence).unwrap().0 {
            crate::indexes::read_run(&run, |record| postings += u64::from(live.contains(&record.ordinal))).unwrap();
        }
        assert_eq!(postings, index.contents.values().map(|content| content.chunk_count).sum::<u64>());
    }

    /// Everything is in order again: each site gets across what it has, and seals it.
    fn come_to_rest(&mut self) {
        self.writers.clear();
        for (site, name) in SITES.iter().enumerate() {
            // A site that has to begin again does so once: it sends everything then.
            for _ in 0..2 {
                self.network.clear();
                self.open_session(site);
                std::mem::take(&mut self.network).into_iter().for_each(|message| self.arrive(message));
            }
            self.seal(site);
            let sender = &self.senders[site];
            let sealed = sender.sealed.as_ref().map(|seal| (seal.epoch, seal.sequence));
            let all = sender.batches.last().map(|_| (sender.epoch, sender.last_sequence()));
            assert!(sealed == all || all.is_none(), "{name} comes to rest at {sealed:?}, not at {all:?}");
        }
    }
}

fn live(seed: u64, loss: Loss) -> Vec<String> {
    let mut life = Life::begin(loss);
    let mut dice = Dice::new(seed);
    let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        (0..STEPS).for_each(|_| life.step(&mut dice));
        life.come_to_rest();
    }));
    assert!(lived.is_ok(), "seed {seed}, {loss:?}:\n{}", life.log.join("\n"));
    std::mem::take(&mut life.log)
}

/// The clock is one for all lives: they are lived one after the other.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn seeds() -> std::ops::Range<u64> {
    let setting = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let (first, lives) = (setting("COGNATE_SEED").unwrap_or(1), setting("COGNATE_SEEDS").unwrap_or(LIVES));
    first..first + lives
}

#[test]
fn in_random_lives_of_the_indexes_no_acknowledged_batch_is_lost_and_none_counts_twice() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for seed in seeds() {
        live(seed, Loss::Anywhere);
    }
}

#[test]
fn a_seed_gives_the_same_life_of_the_indexes_each_time() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for seed in seeds() {
        let (once, again) = (live(seed, Loss::AfterAnAnswer), live(seed, Loss::AfterAnAnswer));
        assert!(once.len() > STEPS / 4, "hardly anything happens: {once:#?}");
        assert_eq!(once, again, "seed {seed}");
    }
}
