//! Invitations, certificates and their ends, by a clock that the test sets.

use std::sync::atomic::{AtomicU64, Ordering};

use cognate_proto::identity::{KeyHash, PrivateKey};
use cognate_proto::v1::{EnrollRequest, RenewRequest};

use super::super::First;
use super::*;

mod simulation;

const START: u64 = 1_800_000_000;

/// A registry with a CA, in a folder of its own and with a clock of its own.
struct Federation {
    folder: tempfile::TempDir,
    members: Members,
}

thread_local! {
    static NOW: AtomicU64 = const { AtomicU64::new(START) };
}

fn clock() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(NOW.with(|now| now.load(Ordering::Relaxed)))
}

fn pass(seconds: u64) {
    NOW.with(|now| now.fetch_add(seconds, Ordering::Relaxed));
}

fn open(folder: &std::path::Path) -> Members {
    let authority = Authority::open(folder, clock).unwrap();
    // The threads of a store that was just closed may hold the folder a moment longer.
    let store = loop {
        match Store::open(&folder.join("store"), &folder.join("journal"), true) {
            Err(cognate_storage::Error::Locked { .. }) => std::thread::yield_now(),
            opened => break opened.unwrap(),
        }
    };
    Members::new(Arc::new(store), Some(Arc::new(authority)), clock, Arc::default())
}

impl Federation {
    fn new() -> Federation {
        let folder = tempfile::tempdir().unwrap();
        Authority::create(folder.path(), clock).unwrap();
        Federation { members: open(folder.path()), folder }
    }

    /// The same after a restart of the coordinator.
    fn restarted(self) -> Federation {
        let Federation { folder, members } = self;
        drop(members);
        Federation { members: open(folder.path()), folder }
    }

    fn invite(&self, membership: &v1::Membership) -> Invitation {
        let (line, expires) = self.members.invite(membership, None, vec!["hub:7443".into()], "admin").unwrap();
        let invitation: Invitation = line.parse().unwrap();
        assert_eq!(invitation.expires, expires);
        invitation
    }

    fn enroll(&self, invitation: &Invitation, key: &PrivateKey) -> Result<v1::EnrollResponse, Error> {
        self.members.enroll(&request(invitation, key))
    }

    fn enrolled(&self, membership: &v1::Membership) -> PeerInfo {
        peer(&self.enroll(&self.invite(membership), &key()).unwrap().certificate)
    }
}

fn request(invitation: &Invitation, key: &PrivateKey) -> EnrollRequest {
    EnrollRequest {
        token_id: invitation.token_id.to_vec(),
        secret: invitation.secret.to_vec(),
        signing_request: key.signing_request().unwrap(),
        software: "test".to_owned(),
    }
}

fn key() -> PrivateKey {
    PrivateKey::generate().unwrap()
}

fn peer(certificate: &[u8]) -> PeerInfo {
    PeerInfo::Certificate(Arc::new(CertificateInfo::read(certificate).unwrap()))
}

fn site(name: &str) -> v1::Membership {
    v1::Membership { kind: MemberKind::Site.into(), name: name.into(), ..Default::default() }
}

fn person(name: &str, role: Role) -> v1::Membership {
    v1::Membership { kind: MemberKind::Operator.into(), name: name.into(), role: role.into(), ..Default::default() }
}

fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> Refusal {
    match result {
        Err(Error::Refusal(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn an_invitation_is_for_one_key_and_an_answer_that_was_lost_is_given_again() {
    let federation = Federation::new();
    let (invitation, ours) = (federation.invite(&site("paris")), key());
    let first = federation.enroll(&invitation, &ours).unwrap();
    assert_eq!(first.membership.as_ref().unwrap().party, "home");
    let identity = federation.members.identify(&peer(&first.certificate)).unwrap();
    assert_eq!(identity, Identity::Site { name: "paris".parse().unwrap(), party: PartyName::home() });

    // The answer was lost, and the coordinator was restarted in between.
    let federation = federation.restarted();
    assert_eq!(federation.enroll(&invitation, &ours).unwrap(), first);
    assert_eq!(refusal(federation.enroll(&invitation, &key())), Refusal::TokenUsed);
    // After its end as well: the same certificate is given again, and no other.
    pass(25 * 3600);
    assert_eq!(federation.enroll(&invitation, &ours).unwrap(), first);
    assert_eq!(refusal(federation.enroll(&invitation, &key())), Refusal::TokenUsed);
    let active = federation.members.list(MemberKind::Site).unwrap();
    assert_eq!(active.len(), 1);
    assert_eq!(active[0].status(), MemberStatus::Active);
    assert_eq!(active[0].key_words, ours.key_hash().words());
}

#[test]
fn an_invitation_ends_with_its_time_or_with_the_next_one() {
    let federation = Federation::new();
    let last_second = federation.invite(&site("rome"));
    pass(24 * 3600);
    federation.enroll(&last_second, &key()).unwrap();
    let old = federation.invite(&site("paris"));
    pass(24 * 3600 + 1);
    assert_eq!(refusal(federation.enroll(&old, &key())), Refusal::TokenExpired);
    let new = federation.invite(&site("paris"));
    assert_eq!(refusal(federation.enroll(&old, &key())), Refusal::Token);
    federation.enroll(&new, &key()).unwrap();

    let valid = |valid| federation.members.invite(&site("x"), Some(Duration::from_secs(valid)), vec!["h:1".into()], "");
    assert!(valid(1).is_ok() && valid(30 * 24 * 3600).is_ok());
    assert!(valid(0).is_err() && valid(30 * 24 * 3600 + 1).is_err());
}

#[test]
fn who_guesses_is_locked_out_for_a_quarter_of_an_hour() {
    let federation = Federation::new();
    let invitation = federation.invite(&site("paris"));
    for attempt in 0..5_u8 {
        let guess = Invitation { secret: Zeroizing::new([attempt; 32]), ..invitation.clone() };
        assert_eq!(refusal(federation.enroll(&guess, &key())), Refusal::Token, "{attempt}");
    }
    assert_eq!(refusal(federation.enroll(&invitation, &key())), Refusal::TokenLocked);
    // The invitation of another member is not affected.
    federation.enroll(&federation.invite(&site("tokyo")), &key()).unwrap();
    pass(15 * 60 - 1);
    assert_eq!(refusal(federation.enroll(&invitation, &key())), Refusal::TokenLocked);
    pass(1);
    federation.enroll(&invitation, &key()).unwrap();

    let unknown = Invitation { token_id: [0; 16], ..invitation.clone() };
    assert_eq!(refusal(federation.enroll(&unknown, &key())), Refusal::Token);
    let mangled = EnrollRequest { secret: vec![0; 31], ..request(&invitation, &key()) };
    assert_eq!(refusal(federation.members.enroll(&mangled)), Refusal::Token);
    let mangled = EnrollRequest { token_id: vec![], ..request(&invitation, &key()) };
    assert_eq!(refusal(federation.members.enroll(&mangled)), Refusal::Token);
}

#[test]
fn what_a_member_is_comes_from_the_registry_alone() {
    let federation = Federation::new();
    // The secret of one invitation with the number of another.
    let (paris, tokyo) = (federation.invite(&site("paris")), federation.invite(&site("tokyo")));
    let crossed = Invitation { secret: tokyo.secret.clone(), ..paris.clone() };
    assert_eq!(refusal(federation.enroll(&crossed, &key())), Refusal::Token);
    // A line that differs from the registry.
    let changed = Invitation { membership: tokyo.membership.clone(), ..paris };
    let answer = federation.enroll(&changed, &key()).unwrap();
    assert_eq!(answer.membership.unwrap().name, "paris");
    let info = CertificateInfo::read(&answer.certificate).unwrap();
    assert_eq!(info.member.unwrap().name, "paris");
    // The journal does not contain the secret.
    let journal = std::fs::read(federation.folder.path().join("journal")).unwrap();
    assert!(!journal.windows(32).any(|window| window == tokyo.secret.as_slice()));
}

#[test]
fn a_renewal_survives_the_loss_of_any_number_of_answers() {
    let federation = Federation::new();
    let first = federation.enrolled(&site("paris"));
    let renew = |peer: &PeerInfo, key: &PrivateKey| {
        federation.members.renew(peer, &RenewRequest { signing_request: key.signing_request().unwrap() })
    };
    pass(20 * 24 * 3600);
    // The worker never receives these.
    for _ in 0..3 {
        renew(&first, &key()).unwrap();
        federation.members.identify(&first).unwrap();
    }
    let ours = key();
    let answer = renew(&first, &ours).unwrap();
    assert_eq!(renew(&first, &ours).unwrap(), answer);
    let second = peer(&answer.certificate);
    federation.members.identify(&second).unwrap();
    // After the next renewal, the first key is invalid.
    let third = peer(&renew(&second, &key()).unwrap().certificate);
    federation.members.identify(&second).unwrap();
    federation.members.identify(&third).unwrap();
    assert_eq!(refusal(federation.members.identify(&first)), Refusal::NotMember);
    assert_eq!(refusal(renew(&first, &key())), Refusal::NotMember);
    // The key in use is not certified again, and a renewal needs a certificate.
    let (line, last) = (federation.invite(&site("oslo")), key());
    let oslo = peer(&federation.enroll(&line, &last).unwrap().certificate);
    assert!(matches!(renew(&oslo, &last), Err(Error::Invalid(_))));
    assert_eq!(refusal(renew(&PeerInfo::Anonymous, &key())), Refusal::NoCertificate);
    // A renewal does not make the invitation valid again.
    renew(&oslo, &key()).unwrap();
    assert_eq!(refusal(federation.enroll(&line, &key())), Refusal::TokenUsed);
}

#[test]
fn a_certificate_counts_only_while_the_registry_says_so() {
    let federation = Federation::new();
    let identify = |peer: &PeerInfo| federation.members.identify(peer);
    let paris = federation.enrolled(&site("paris"));
    identify(&paris).unwrap();

    // Enrolled again: the previous key is invalid at once.
    let (again, last) = (federation.invite(&site("paris")), key());
    identify(&paris).unwrap();
    let renewed = peer(&federation.enroll(&again, &last).unwrap().certificate);
    identify(&renewed).unwrap();
    assert_eq!(refusal(identify(&paris)), Refusal::NotMember);

    // Revoked, with an invitation that is still open.
    let open = federation.invite(&site("paris"));
    federation.members.revoke(MemberKind::Site, "paris", "admin").unwrap();
    assert_eq!(refusal(identify(&renewed)), Refusal::Revoked);
    assert_eq!(refusal(federation.enroll(&open, &key())), Refusal::Revoked);
    // Invited again, and not yet enrolled: the old certificate stays invalid.
    let open = federation.invite(&site("paris"));
    assert_eq!(refusal(identify(&renewed)), Refusal::NotMember);
    // The key that was revoked is not certified again: the old certificate would count with it.
    assert_eq!(refusal(federation.enroll(&open, &last)), Refusal::RevokedKey);
    assert_eq!(refusal(identify(&renewed)), Refusal::NotMember);
    let back = peer(&federation.enroll(&open, &key()).unwrap().certificate);
    identify(&back).unwrap();
    // Nor is it after another revocation, of another key.
    federation.members.revoke(MemberKind::Site, "paris", "admin").unwrap();
    let open = federation.invite(&site("paris"));
    assert_eq!(refusal(federation.enroll(&open, &last)), Refusal::RevokedKey);
    let back = peer(&federation.enroll(&open, &key()).unwrap().certificate);
    identify(&back).unwrap();

    let paris = MemberName { kind: MemberKind::Site.into(), name: "paris".to_owned() };
    let forgotten = Event { what: Some(What::Forgotten(paris)), ..Event::default() };
    federation.members.store.record(&forgotten).unwrap();
    assert_eq!(refusal(identify(&back)), Refusal::NotMember);
    assert!(matches!(federation.members.revoke(MemberKind::Site, "paris", ""), Err(Error::UnknownMember(_))));

    // A person with the same name is another member.
    let person = federation.enrolled(&person("paris", Role::Viewer));
    assert!(matches!(identify(&person).unwrap(), Identity::Operator(_)));

    let oslo = federation.enrolled(&site("oslo"));
    pass(30 * 24 * 3600);
    identify(&oslo).unwrap();
    pass(1);
    assert_eq!(refusal(identify(&oslo)), Refusal::CertificateExpired);
    // Before its validity: the clock was set back.
    NOW.with(|now| now.store(START - 3 * 24 * 3600, Ordering::Relaxed));
    assert_eq!(refusal(identify(&oslo)), Refusal::CertificateExpired);
}

#[test]
fn a_member_of_another_federation_is_refused() {
    let (ours, other) = (Federation::new(), Federation::new());
    let paris = other.enrolled(&site("paris"));
    ours.enrolled(&site("paris"));
    assert_eq!(refusal(ours.members.identify(&paris)), Refusal::CertificateForeign);
    let no_member = CertificateInfo { member: None, key: KeyHash([0; 32]), not_before: 0, not_after: i64::MAX };
    let no_member = PeerInfo::Certificate(Arc::new(no_member));
    assert_eq!(refusal(ours.members.identify(&no_member)), Refusal::CertificateUnfit);
    assert_eq!(refusal(ours.members.identify(&PeerInfo::Vouched("tokyo".parse().unwrap()))), Refusal::NotMember);
}

#[test]
fn somebody_is_always_left_to_administer() {
    let federation = Federation::new();
    federation.enrolled(&person("anna", Role::Administrator));
    federation.enrolled(&person("ben", Role::Analyst));
    let revoke = |name| federation.members.revoke(MemberKind::Operator, name, "anna");
    assert!(revoke("anna").unwrap_err().to_string().contains("last administrator"));
    federation.enrolled(&person("carla", Role::Administrator));
    revoke("anna").unwrap();
    assert!(revoke("carla").is_err());
    revoke("ben").unwrap();
    let bound = v1::Membership { site: "paris".into(), ..person("dora", Role::Administrator) };
    assert!(federation.members.invite(&bound, None, vec!["h:1".into()], "").is_err());
    let bound = v1::Membership { site: "paris".into(), ..person("dora", Role::Analyst) };
    let Identity::Operator(dora) = federation.members.identify(&federation.enrolled(&bound)).unwrap() else { panic!() };
    assert_eq!((dora.role, dora.site), (Role::Analyst, Some("paris".parse().unwrap())));
}

#[test]
fn a_federation_is_founded_once_and_an_interrupted_attempt_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let failed = super::super::init(&state, clock, First::default(), |_, _| Err(io::Error::other("the disk is full")));
    assert!(failed.unwrap_err().to_string().contains("the disk is full"));
    let mut stored = None;
    let nobody = First { name: Some("not a name"), replace: false };
    assert!(super::super::init(&state, clock, nobody, |_, _| panic!("nothing is made")).is_err());
    let anna = First { name: Some("anna.berger"), replace: false };
    let words = super::super::init(&state, clock, anna, |name, credential| {
        stored = Some((name.to_owned(), credential.certificate.clone()));
        Ok(())
    });
    let (name, certificate) = stored.unwrap();
    assert_eq!(name, "anna.berger");
    let members = open(&state);
    assert_eq!(words.unwrap(), members.authority().unwrap().key_hash().words());
    let Identity::Operator(first) = members.identify(&peer(&certificate)).unwrap() else { panic!() };
    assert_eq!((first.name.to_string(), first.role), (name, Role::Administrator));
    drop(members);
    let found = |replace, keep: &dyn Fn(&Credential)| loop {
        let result =
            super::super::init(&state, clock, First { name: Some("anna.berger"), replace }, |_, credential| {
                keep(credential);
                Ok(())
            });
        if !matches!(result, Err(Error::Storage(cognate_storage::Error::Locked { .. }))) {
            break result;
        }
    };
    let error = found(false, &|_| panic!("nothing is made")).unwrap_err();
    assert!(error.to_string().contains("holds a federation already"), "{error}");
    let stored = std::cell::RefCell::new(Vec::new());
    found(true, &|credential| stored.borrow_mut().clone_from(&credential.certificate)).unwrap();
    let members = open(&state);
    members.identify(&peer(&stored.borrow())).unwrap();
    assert_eq!(refusal(members.identify(&peer(&certificate))), Refusal::NotMember);
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(std::fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn the_list_has_each_member_with_its_state_and_the_end_of_its_invitation_or_certificate() {
    let federation = Federation::new();
    let invitation = federation.invite(&site("paris"));
    let row = |name: &str, kind| {
        let rows = federation.members.list(kind).unwrap();
        rows.into_iter().find(|row| row.membership.as_ref().is_some_and(|one| one.name == name)).unwrap()
    };
    let invited = row("paris", MemberKind::Site);
    assert_eq!((invited.status(), invited.expires), (MemberStatus::Invited, invitation.expires));
    assert_eq!(invited.key_words, "");
    let certificate = federation.enroll(&invitation, &key()).unwrap().certificate;
    let info = CertificateInfo::read(&certificate).unwrap();
    let active = row("paris", MemberKind::Site);
    assert_eq!((active.status(), active.expires), (MemberStatus::Active, info.not_after));
    assert_ne!(active.expires, invited.expires);
    let told = federation.members.revoke(MemberKind::Site, "rome", "admin").unwrap_err().to_string();
    assert_eq!(told, "no site `rome`");
    let told = federation.members.revoke(MemberKind::Operator, "paris", "admin").unwrap_err().to_string();
    assert_eq!(told, "no operator `paris`");
    assert!(federation.members.has_site(&"paris".parse().unwrap()).unwrap());
    assert!(!federation.members.has_site(&"rome".parse().unwrap()).unwrap());
}

#[test]
fn a_peer_holds_until_the_last_second_of_its_certificate_and_one_without_for_ever() {
    let federation = Federation::new();
    let peer = federation.enrolled(&site("paris"));
    let PeerInfo::Certificate(info) = &peer else { unreachable!("it has one") };
    let left = u64::try_from(info.not_after).unwrap() - NOW.with(|now| now.load(Ordering::Relaxed));
    assert_eq!(federation.members.holds_for(&peer), Some(Duration::from_secs(left + 1)));
    pass(left);
    assert_eq!(federation.members.holds_for(&peer), Some(Duration::from_secs(1)));
    federation.members.identify(&peer).unwrap();
    pass(1);
    assert_eq!(federation.members.holds_for(&peer), Some(Duration::ZERO));
    assert_eq!(refusal(federation.members.identify(&peer)), Refusal::CertificateExpired);
    assert_eq!(federation.members.holds_for(&PeerInfo::Anonymous), None);
}

#[test]
fn a_federation_within_one_process_has_no_authority_and_no_id() {
    let federation = Federation::new();
    let members = &federation.members;
    let authority = CertificateInfo::read(members.authority().unwrap().certificate()).unwrap();
    assert_eq!(members.authority_expires(), Some(authority.not_after));
    assert!(members.has_authority());
    assert_eq!(members.deployment(), members.authority().unwrap().deployment());
    assert_eq!(members.deployment().len(), 8);
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store"), &folder.path().join("journal"), false).unwrap();
    let alone = Members::new(Arc::new(store), None, clock, Arc::default());
    assert!(!alone.has_authority() && alone.authority().is_err());
    assert_eq!((alone.authority_expires(), alone.deployment()), (None, ""));
}

#[test]
fn a_person_is_known_by_name_while_its_certificate_counts() {
    let federation = Federation::new();
    let operator = |name: &str| federation.members.operator(name);
    assert_eq!(refusal(operator("anna")), Refusal::NotMember);
    let invitation = federation.invite(&person("anna", Role::Analyst));
    assert_eq!(refusal(operator("anna")), Refusal::NotMember, "an invitation is no membership");
    let certificate = federation.enroll(&invitation, &key()).unwrap().certificate;
    let (anna, token_id) = operator("anna").unwrap();
    assert_eq!((anna.name.as_str(), anna.role, token_id), ("anna", Role::Analyst, invitation.token_id.to_vec()));
    let info = CertificateInfo::read(&certificate).unwrap();
    pass(u64::try_from(info.not_after).unwrap() - NOW.with(|now| now.load(Ordering::Relaxed)));
    operator("anna").unwrap();
    pass(1);
    assert_eq!(refusal(operator("anna")), Refusal::NotMember, "its certificate has ended");
    federation.members.revoke(MemberKind::Operator, "anna", "admin").unwrap();
    assert_eq!(refusal(operator("anna")), Refusal::Revoked);
}

#[test]
fn a_party_that_has_a_site_gets_a_full_name_of_limited_length() {
    let federation = Federation::new();
    federation.invite(&v1::Membership { party: "acme".to_owned(), ..site("paris") });
    let name = |party: &str, full_name: &str| federation.members.name_party(party, full_name, "admin");
    name("acme", &"x".repeat(FULL_NAME_CHARS_MAX)).unwrap();
    assert!(matches!(name("acme", &"x".repeat(FULL_NAME_CHARS_MAX + 1)), Err(Error::Invalid(_))));
    name("acme", "Acme").unwrap();
    assert!(matches!(name("other", "Other"), Err(Error::UnknownMember(_))));
}
