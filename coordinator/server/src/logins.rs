//! People and programs that are signed in. Addresses, sessions and credentials are random numbers of which only hashes
//! are stored, in memory alone: after a restart everybody signs in again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use cognate_proto::name::OperatorName;
use data_encoding::BASE64URL_NOPAD;

use crate::error::Error;
use crate::identity::{Members, Operator, Refusal, random};
use cognate_storage::clock::seconds;

/// The validity of an address.
const CODE_SECONDS: i64 = 5 * 60;
/// The validity of an idle session, and of any session.
const IDLE_SECONDS: i64 = 60 * 60;
const SESSION_SECONDS: i64 = 12 * 60 * 60;
/// The number of addresses, sessions or credentials of one person; one more ends the oldest.
const EACH_MAX: usize = 16;
/// A credential for programs begins with this, so that it is known for one wherever it turns up.
const TOKEN_PREFIX: &str = "cogt_";

type Hash = [u8; 32];

/// Everybody who is signed in.
pub struct Logins {
    held: Mutex<HashMap<Hash, Login>>,
    clock: fn() -> SystemTime,
}

/// The meaning of one random number.
#[derive(Clone, Debug)]
struct Login {
    kind: Kind,
    name: OperatorName,
    /// The invitation that the membership goes back to: a member who was shut out and invited again is another one.
    origin: Vec<u8>,
    begun: i64,
    /// The time of its last use.
    used: i64,
    expires: i64,
    /// Orders what began in the same second.
    number: u64,
    notice: Option<Notice>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Signs a browser in, once.
    Code,
    /// A used code: stored until its end, so that a second use can be attributed.
    Used,
    /// A browser.
    Session,
    /// A program.
    Token,
}

/// A notice that is shown once, on the next page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// The sentence for the person.
    pub text: String,
    /// Something to copy, such as an invitation.
    pub copy: Option<String>,
}

/// The outcome of an address.
#[derive(Debug)]
pub enum Redeemed {
    /// The session that it began.
    Session {
        /// The secret of the session, for the cookie.
        secret: String,
        /// The person who is signed in.
        operator: Operator,
    },
    /// The code was used before, or has expired: the person that it was for.
    Late(OperatorName),
    /// The code is unknown.
    Unknown,
}

impl Logins {
    /// An empty list of sessions, with the clock for their ends.
    pub fn new(clock: fn() -> SystemTime) -> Logins {
        Logins { held: Mutex::default(), clock }
    }

    /// A code that signs a browser in once, and the end of its validity.
    pub fn offer(&self, name: &OperatorName, origin: Vec<u8>) -> Result<(String, i64), Error> {
        let secret = BASE64URL_NOPAD.encode(&random::<32>());
        let expires = self.now() + CODE_SECONDS;
        self.keep(Kind::Code, &secret, name, origin, expires);
        Ok((secret, expires))
    }

    /// A credential for programs, and the end of its validity.
    pub fn token(&self, name: &OperatorName, origin: Vec<u8>, valid: Duration) -> Result<(String, i64), Error> {
        let secret = format!("{TOKEN_PREFIX}{}", BASE64URL_NOPAD.encode(&random::<32>()));
        let expires = self.now().saturating_add(i64::try_from(valid.as_secs()).unwrap_or(i64::MAX));
        self.keep(Kind::Token, &secret, name, origin, expires);
        Ok((secret, expires))
    }

    /// The person that a code would sign in.
    pub fn expected(&self, members: &Members, code: &str) -> Option<Operator> {
        let held = self.lock();
        let login = held.get(&hash(code)).filter(|login| login.kind == Kind::Code && self.now() <= login.expires)?;
        still(members, login)
    }

    /// Signs a browser in.
    pub fn redeem(&self, members: &Members, code: &str) -> Redeemed {
        let now = self.now();
        let (operator, login) = {
            let mut held = self.lock();
            let Some(login) = held.get_mut(&hash(code)) else { return Redeemed::Unknown };
            match login.kind {
                Kind::Code if now <= login.expires => {}
                Kind::Code | Kind::Used => return Redeemed::Late(login.name.clone()),
                Kind::Session | Kind::Token => return Redeemed::Unknown,
            }
            login.kind = Kind::Used;
            match still(members, login) {
                Some(operator) => (operator, login.clone()),
                None => return Redeemed::Late(login.name.clone()),
            }
        };
        let secret = BASE64URL_NOPAD.encode(&random::<32>());
        self.keep(Kind::Session, &secret, &login.name, login.origin, now + SESSION_SECONDS);
        Redeemed::Session { secret, operator }
    }

    /// The person of a session. To ask counts as use of the session.
    pub fn session(&self, members: &Members, secret: &str) -> Option<Operator> {
        self.known(members, secret, Kind::Session, true)
    }

    /// True if a session is still valid; a page that only refreshes itself does not prolong it.
    pub fn holds(&self, members: &Members, secret: &str) -> bool {
        self.known(members, secret, Kind::Session, false).is_some()
    }

    /// The person of a program's credential.
    pub fn program(&self, members: &Members, secret: &str) -> Option<Operator> {
        self.known(members, secret, Kind::Token, true)
    }

    fn known(&self, members: &Members, secret: &str, kind: Kind, uses: bool) -> Option<Operator> {
        let now = self.now();
        let key = hash(secret);
        let mut held = self.lock();
        let login = held.get_mut(&key).filter(|login| login.kind == kind)?;
        let is_idle = kind == Kind::Session && now - login.used > IDLE_SECONDS;
        match (!is_idle && now <= login.expires).then(|| still(members, login)).flatten() {
            Some(operator) => {
                if uses {
                    login.used = now;
                }
                Some(operator)
            }
            None => {
                held.remove(&key);
                None
            }
        }
    }

    /// Ends a session.
    pub fn end(&self, secret: &str) {
        self.lock().remove(&hash(secret));
    }

    /// Stores a notice for the next page.
    pub fn say(&self, secret: &str, notice: Notice) {
        if let Some(login) = self.lock().get_mut(&hash(secret)) {
            login.notice = Some(notice);
        }
    }

    /// The notice to show now.
    pub fn said(&self, secret: &str) -> Option<Notice> {
        self.lock().get_mut(&hash(secret))?.notice.take()
    }

    fn keep(&self, kind: Kind, secret: &str, name: &OperatorName, origin: Vec<u8>, expires: i64) {
        let now = self.now();
        let mut held = self.lock();
        held.retain(|_, login| now <= login.expires);
        let mut own: Vec<(u64, Hash)> = held
            .iter()
            .filter(|(_, login)| login.kind == kind && login.name == *name)
            .map(|(key, login)| (login.number, *key))
            .collect();
        own.sort_unstable();
        for (_, key) in own.iter().take((own.len() + 1).saturating_sub(EACH_MAX)) {
            held.remove(key);
        }
        let number = held.values().map(|login| login.number).max().unwrap_or_default() + 1;
        let name = name.clone();
        let login = Login { kind, name, origin, begun: now, used: now, expires, number, notice: None };
        tracing::debug!(?login.kind, login.begun, by = %login.name, "a login began");
        held.insert(hash(secret), login);
    }

    fn now(&self) -> i64 {
        seconds((self.clock)())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Hash, Login>> {
        self.held.lock().expect("nothing panics while it is held")
    }
}

/// The person as the registry knows it now, if it is the one that signed in.
fn still(members: &Members, login: &Login) -> Option<Operator> {
    match members.operator(login.name.as_str()) {
        Ok((operator, origin)) if origin == login.origin => Some(operator),
        Ok(_) => {
            members.refusals().count(Refusal::NotMember);
            None
        }
        Err(Error::Refusal(refusal)) => {
            members.refusals().count(refusal);
            None
        }
        Err(error) => {
            tracing::warn!(%error, "people cannot be looked up");
            None
        }
    }
}

/// The hash under which a random number is stored. A reader of this memory cannot sign in with it.
fn hash(secret: &str) -> Hash {
    blake3::derive_key("cognate login v1", secret.as_bytes())
}
