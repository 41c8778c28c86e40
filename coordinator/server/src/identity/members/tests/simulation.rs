//! Random lives of a registry: people invite, sites enrol, renew and are revoked, messages come late and twice, the process ends,
//! the power is lost with what was not synced, and backups are put back. A seed gives the same life each time.

use std::collections::{HashMap, HashSet};

use cognate_fuzzing::Dice;
use cognate_storage::maintenance::{BackupOptions, RestoreOptions, backup, restore};

use super::*;

/// The number of lives, or `COGNATE_SEEDS`; `COGNATE_SEED` is the first seed.
const LIVES: u64 = 40;
const STEPS: usize = 24;
const SITES: [&str; 4] = ["a", "b", "c", "d"];

/// A certificate that a site has received.
struct Given {
    site: &'static str,
    peer: PeerInfo,
    key: Arc<PrivateKey>,
}

/// What is known of the registry by its answers alone.
#[derive(Clone, Default)]
struct Model {
    invitations: Vec<(&'static str, Arc<Invitation>)>,
    given: Vec<Arc<Given>>,
    /// Of the certificates: those of a revocation that was answered. They never count again.
    revoked: HashSet<usize>,
    /// The certificate that a site has now, and that nothing has happened to.
    current: HashMap<&'static str, usize>,
    /// The key that got a certificate for an invitation, and those that followed it by renewals: they are of the same site.
    keys: HashMap<[u8; 16], HashSet<Vec<u8>>>,
}

struct Life {
    federation: Federation,
    recording: Option<cognate_disk_faults::Recording>,
    model: Model,
    /// The model after each answer since the last start.
    answers: Vec<Model>,
    saved: Option<(tempfile::TempDir, Model)>,
    log: Vec<String>,
}

fn folder() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

impl Life {
    fn begin() -> Life {
        let folder = folder();
        Authority::create(folder.path(), clock).unwrap();
        let federation = Federation { members: open(folder.path()), folder };
        let (model, answers) = (Model::default(), vec![]);
        let mut life = Life { federation, recording: None, model, answers, saved: None, log: vec![] };
        life.started();
        life
    }

    fn started(&mut self) {
        self.recording = Some(cognate_disk_faults::record(self.federation.folder.path()).unwrap());
        self.answers = vec![self.model.clone()];
    }

    /// An answer came: what it says holds from now on.
    fn answered(&mut self) {
        self.answers.push(self.model.clone());
        self.recording.as_ref().unwrap().mark(self.answers.len() as u64 - 1);
    }

    fn step(&mut self, dice: &mut Dice) {
        match dice.below(16) {
            0..=2 => self.invite(SITES[dice.below(SITES.len())]),
            3..=7 => self.enroll(dice),
            8 => self.renew(dice),
            9 | 10 => self.revoke(SITES[dice.below(SITES.len())]),
            11 => self.start_again(),
            12 | 13 => self.lose_power(dice),
            14 => self.save(),
            _ => self.put_back(),
        }
        self.check();
    }

    fn invite(&mut self, name: &'static str) {
        let made = self.federation.members.invite(&site(name), None, vec!["hub:7443".into()], "admin");
        self.log.push(format!("invite {name}: {:?}", made.as_ref().err()));
        if let Ok((line, _)) = made {
            self.model.invitations.push((name, Arc::new(line.parse().unwrap())));
        }
        self.answered();
    }

    /// Any invitation of the past, with a new key or one that was there before.
    fn enroll(&mut self, dice: &mut Dice) {
        let Some((name, invitation)) = self.model.invitations.get(dice.below(self.model.invitations.len())).cloned()
        else {
            return;
        };
        let is_known = dice.below(2) == 0;
        let known = self
            .model
            .given
            .get(dice.below(self.model.given.len()))
            .filter(|_| is_known)
            .map(|given| Arc::clone(&given.key));
        let key = known.unwrap_or_else(|| Arc::new(key()));
        let answer = self.federation.enroll(&invitation, &key);
        self.log.push(format!("enroll {name} by {:02x}: {:?}", invitation.token_id[0], answer.as_ref().err()));
        let Ok(answer) = answer else { return self.answered() };
        let keys = self.model.keys.entry(invitation.token_id).or_default();
        assert!(
            keys.is_empty() || keys.contains(key.pkcs8()),
            "another key has a certificate of an invitation that was used"
        );
        keys.insert(key.pkcs8().to_vec());
        self.received(name, &answer.certificate, key);
    }

    fn received(&mut self, site: &'static str, certificate: &[u8], key: Arc<PrivateKey>) {
        let given = &self.model.given;
        let is_revoked = |number: &usize| given[*number].site == site && given[*number].key.pkcs8() == key.pkcs8();
        assert!(!self.model.revoked.iter().any(is_revoked), "a key that was revoked is certified again");
        self.model.given.push(Arc::new(Given { site, peer: peer(certificate), key }));
        self.model.current.insert(site, self.model.given.len() - 1);
        self.answered();
    }

    fn renew(&mut self, dice: &mut Dice) {
        let Some(given) = self.model.given.get(dice.below(self.model.given.len())).cloned() else { return };
        let key = Arc::new(key());
        let request = RenewRequest { signing_request: key.signing_request().unwrap() };
        let answer = self.federation.members.renew(&given.peer, &request);
        self.log.push(format!("renew {}: {:?}", given.site, answer.as_ref().err()));
        match answer {
            Ok(answer) => {
                let before = given.key.pkcs8();
                let of_it = self.model.keys.values_mut().filter(|keys| keys.contains(before));
                of_it.for_each(|keys| keys.extend([key.pkcs8().to_vec()]));
                self.received(given.site, &answer.certificate, key);
            }
            Err(_) => self.answered(),
        }
    }

    fn revoke(&mut self, name: &'static str) {
        let revoked = self.federation.members.revoke(MemberKind::Site, name, "admin");
        self.log.push(format!("revoke {name}: {:?}", revoked.as_ref().err()));
        if revoked.is_ok() {
            let all = self.model.given.iter().enumerate().filter(|(_, given)| given.site == name);
            self.model.revoked.extend(all.map(|(number, _)| number));
            self.model.current.remove(name);
        }
        self.answered();
    }

    fn serve(&mut self, folder: tempfile::TempDir) {
        self.recording = None;
        self.federation = Federation { members: open(folder.path()), folder };
        self.started();
    }

    fn start_again(&mut self) {
        self.log.push("start again".to_owned());
        // The folder is copied: the one before is held for a moment by the threads of its store.
        let states = self.recording.take().unwrap().finish();
        let folder = folder();
        states.at(states.calls().len(), 2, 0).pop().unwrap().write_to(folder.path()).unwrap();
        self.serve(folder);
    }

    /// The power goes at a moment since the last start. What was answered by then holds, and what came later
    /// never reached anybody; the call that was under way may have been carried out.
    fn lose_power(&mut self, dice: &mut Dice) {
        let states = self.recording.take().unwrap().finish();
        let state = states.sample(1, dice.roll()).pop().unwrap();
        let answered = usize::try_from(state.acknowledged.unwrap_or_default()).unwrap();
        self.log.push(format!("after answer {answered} of {}: {}", self.answers.len() - 1, state.description));
        self.model = self.answers[answered].clone();
        if let Some(next) = self.answers.get(answered + 1) {
            // Whoever that call was about may be as before or as after it.
            self.model.current.retain(|site, number| next.current.get(site) == Some(number));
            self.model.revoked.retain(|number| next.revoked.contains(number));
        }
        let folder = folder();
        state.write_to(folder.path()).unwrap();
        self.serve(folder);
    }

    fn save(&mut self) {
        let to = folder();
        let options = BackupOptions { include_ca: true, made: clock() };
        backup(self.federation.folder.path(), &to.path().join("backup"), &options).unwrap();
        self.log.push("save".to_owned());
        self.saved = Some((to, self.model.clone()));
    }

    /// The backup is put back, and the administrator names who was revoked since.
    fn put_back(&mut self) {
        let Some((from, then)) = &self.saved else { return };
        let since: HashSet<String> = self
            .model
            .revoked
            .difference(&then.revoked)
            .filter_map(|number| self.model.given.get(*number).map(|given| given.site.to_owned()))
            .collect();
        let since: Vec<String> = since.into_iter().collect();
        self.log.push(format!("put back, without {since:?}"));
        let folder = folder();
        let backup = from.path().join("backup");
        let options = RestoreOptions { revoked: &since, key: Some(&backup.join("ca.key")), clock };
        restore(&backup, folder.path(), &options).unwrap();
        // Who enrolled or renewed since is not known to the backup. Who has the same certificate, and was not named, goes on.
        self.model
            .current
            .retain(|site, number| then.current.get(site) == Some(number) && !since.iter().any(|name| name == site));
        self.serve(folder);
    }

    fn check(&self) {
        for number in &self.model.revoked {
            let given = &self.model.given[*number];
            let identified = self.federation.members.identify(&given.peer);
            assert!(identified.is_err(), "a revoked certificate of {} counts again", given.site);
        }
        for (site, number) in &self.model.current {
            let identified = self.federation.members.identify(&self.model.given[*number].peer);
            assert!(identified.is_ok(), "{site} is locked out: {:?}", identified.err());
        }
    }
}

#[test]
fn in_random_lives_no_revocation_comes_back_and_an_invitation_is_good_for_one_key() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let (first, lives) = (setting("COGNATE_SEED").unwrap_or(1), setting("COGNATE_SEEDS").unwrap_or(LIVES));
    for seed in first..first + lives {
        let mut life = Life::begin();
        let mut dice = Dice::new(seed);
        let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            (0..STEPS).for_each(|_| life.step(&mut dice));
        }));
        assert!(lived.is_ok(), "seed {seed}:\n{}", life.log.join("\n"));
    }
}
