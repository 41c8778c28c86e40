//! The certificate of a listener, which can be replaced while it serves.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock, RwLockReadGuard};
use std::time::SystemTime;

use crate::error::Error;
use crate::identity::{Authority, https_files};

/// The certificate of a listener. Connections from now on take what is current; open ones continue.
pub struct Tls {
    source: Source,
    current: RwLock<Current>,
}

/// Where it comes from.
enum Source {
    /// The federation's own authority, for members.
    Members(Arc<Authority>),
    /// The same for browsers.
    Browsers(Arc<Authority>),
    /// Files that an administrator keeps up to date: the chain and the key, PEM.
    Files { chain: PathBuf, key: PathBuf },
}

/// A certificate, the names that it is for, and the time in which it holds and need not be renewed.
struct Current {
    config: Arc<rustls::ServerConfig>,
    names: Vec<String>,
    holds: Range<SystemTime>,
}

impl Tls {
    /// A certificate of the federation's own authority for these names, which members accept.
    ///
    /// # Errors
    /// Fails if a name is invalid.
    pub fn new(authority: Arc<Authority>, names: &[String]) -> Result<Tls, Error> {
        Tls::load(Source::Members(authority), names)
    }

    /// The same for browsers, which show no certificate of their own.
    ///
    /// # Errors
    /// Fails if a name is invalid.
    pub fn for_browsers(authority: Arc<Authority>, names: &[String]) -> Result<Tls, Error> {
        Tls::load(Source::Browsers(authority), names)
    }

    /// The certificate in these files, for browsers.
    ///
    /// # Errors
    /// Fails if they cannot be read, or do not belong together.
    pub fn files(chain: &Path, key: &Path) -> Result<Tls, Error> {
        Tls::load(Source::Files { chain: chain.to_owned(), key: key.to_owned() }, &[])
    }

    fn load(source: Source, names: &[String]) -> Result<Tls, Error> {
        let current = RwLock::new(source.load(names)?);
        Ok(Tls { source, current })
    }

    /// Renews the certificate: a new one of the authority for these names, or the files read again.
    ///
    /// # Errors
    /// Fails if that is impossible: then everything stays as it was.
    pub fn renew(&self, names: &[String]) -> Result<(), Error> {
        let renewed = self.source.load(names)?;
        *self.current.write().expect("nothing panics while it is held") = renewed;
        Ok(())
    }

    /// True if two thirds of the certificate's life are over, or it was made by a clock that was ahead and does not hold yet. Files
    /// are always due.
    pub fn is_due(&self, now: SystemTime) -> bool {
        !self.read().holds.contains(&now)
    }

    fn read(&self) -> RwLockReadGuard<'_, Current> {
        self.current.read().expect("nothing panics while it is held")
    }

    /// The certificate for the next connection. One of the authority that is due is renewed at once: the clock may have been set
    /// right just now, and nobody would accept one that does not hold.
    pub fn current(&self) -> Arc<rustls::ServerConfig> {
        let (authority, whose) = match &self.source {
            Source::Members(authority) => (authority, "the certificate"),
            Source::Browsers(authority) => (authority, "the certificate of the pages"),
            Source::Files { .. } => return Arc::clone(&self.read().config),
        };
        if self.is_due(authority.now()) {
            let names = self.read().names.clone();
            match self.renew(&names) {
                Ok(()) => tracing::info!("{whose} was renewed"),
                Err(error) => tracing::error!(%error, "{whose} cannot be renewed"),
            }
        }
        Arc::clone(&self.read().config)
    }
}

impl Source {
    fn load(&self, names: &[String]) -> Result<Current, Error> {
        let (config, holds) = match self {
            Source::Members(authority) => authority.server_config(names)?,
            Source::Browsers(authority) => authority.https_config(names)?,
            // Administrators replace the files at any time, so they are read regularly.
            Source::Files { chain, key } => (https_files(chain, key)?, SystemTime::UNIX_EPOCH..SystemTime::UNIX_EPOCH),
        };
        Ok(Current { config, names: names.to_owned(), holds })
    }
}
