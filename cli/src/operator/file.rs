//! `operator.toml`: addresses of the coordinator, and an operator's credential. Only its owner may read it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cognate_durable::private::{read_private, write_private};
use cognate_proto::identity::{Credential, pem};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::exit::{Exit, coded, usage};

/// The file that a running coordinator writes into its state: the address that it has bound.
const SERVING_FILE: &str = "serving.toml";

/// An operator's file.
#[derive(Debug)]
pub(crate) struct OperatorFile {
    /// Its path.
    pub(crate) path: PathBuf,
    /// `host:port` of the coordinator, in order of preference.
    pub(crate) addresses: Vec<String>,
    /// Certificate and key.
    pub(crate) credential: Credential,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    addresses: Vec<String>,
    /// The federation's CA, PEM.
    ca: String,
    /// The operator's certificate, PEM.
    certificate: String,
    /// Its key, PEM.
    key: Zeroized,
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Zeroized(String);

impl Drop for Zeroized {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

#[derive(Deserialize)]
struct Serving {
    listen: String,
}

impl OperatorFile {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, other users can read it, or it is invalid.
    pub(crate) fn read(path: &Path) -> anyhow::Result<OperatorFile> {
        let text = read_private(path).map_err(|error| usage(error.to_string()))?;
        let refused = |why: String| usage(format!("`{}` is not an operator file: {why}", path.display()));
        // The parser's own message would show the line, which may hold the key.
        let content: Content = toml::from_str(&text).map_err(|error| refused(error.message().to_owned()))?;
        let mut all = Zeroizing::new(content.key.0.clone());
        all.push_str(&content.certificate);
        all.push_str(&content.ca);
        let credential = Credential::from_pem(&all).map_err(refused)?;
        let serving = path.with_file_name(SERVING_FILE);
        let addresses = content.addresses.iter().map(|address| really(address, &serving));
        Ok(OperatorFile { path: path.to_owned(), addresses: addresses.collect::<anyhow::Result<_>>()?, credential })
    }

    /// Writes a file atomically.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write(path: &Path, addresses: &[String], credential: &Credential) -> anyhow::Result<()> {
        let content = Content {
            addresses: addresses.to_vec(),
            ca: pem("CERTIFICATE", &credential.ca_certificate).to_string(),
            certificate: pem("CERTIFICATE", &credential.certificate).to_string(),
            key: Zeroized(pem("PRIVATE KEY", credential.key.pkcs8()).to_string()),
        };
        let text = Zeroizing::new(toml::to_string_pretty(&content)?);
        write_private(path, text.as_bytes()).map_err(|error| coded(Exit::InputOutput, error.to_string()))
    }

    /// Replaces the credential of the same operator, in the same file.
    pub(super) fn replace(&mut self, credential: Credential) -> anyhow::Result<()> {
        // The addresses as written in the file: a port of 0 stays 0.
        let text = read_private(&self.path).map_err(|error| usage(error.to_string()))?;
        let content: Content = toml::from_str(&text).map_err(|error| usage(error.message().to_owned()))?;
        OperatorFile::write(&self.path, &content.addresses, &credential)?;
        self.credential = credential;
        Ok(())
    }
}

/// An address whose port 0 is replaced by the port that the coordinator next to the file has bound.
fn really(address: &str, serving: &Path) -> anyhow::Result<String> {
    let Some(host) = address.strip_suffix(":0") else { return Ok(address.to_owned()) };
    let text = std::fs::read_to_string(serving).map_err(|error| {
        coded(
            Exit::Failed,
            format!("the coordinator is not running: its port would be in `{}`: {error}", serving.display()),
        )
    })?;
    let listen: Serving = toml::from_str(&text).with_context(|| format!("`{}` is damaged", serving.display()))?;
    let port = listen.listen.rsplit_once(':').map(|(_, port)| port);
    let port = port.with_context(|| format!("`{}` names no port", serving.display()))?;
    Ok(format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use cognate_proto::identity::PrivateKey;

    use super::*;

    fn credential() -> Credential {
        let key = PrivateKey::generate().unwrap();
        let certificate = rcgen_certificate(&key);
        Credential::new(certificate.clone(), certificate, key).unwrap()
    }

    fn rcgen_certificate(key: &PrivateKey) -> Vec<u8> {
        rcgen::CertificateParams::default().self_signed(key.pair()).unwrap().der().to_vec()
    }

    #[test]
    fn a_file_reads_as_written_and_port_0_becomes_the_bound_port() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("operator.toml");
        let credential = credential();
        let addresses = ["hub.example.com:7443".to_owned(), "127.0.0.1:0".to_owned()];
        OperatorFile::write(&path, &addresses, &credential).unwrap();
        assert!(OperatorFile::read(&path).unwrap_err().to_string().contains("not running"));
        std::fs::write(folder.path().join("serving.toml"), "listen = \"0.0.0.0:4711\"\nhttp_listen = \"x\"\n").unwrap();
        let mut file = OperatorFile::read(&path).unwrap();
        assert_eq!(file.addresses, ["hub.example.com:7443", "127.0.0.1:4711"]);
        assert_eq!(file.credential.certificate, credential.certificate);
        file.replace(self::credential()).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().contains("127.0.0.1:0"));
        assert_ne!(OperatorFile::read(&path).unwrap().credential.certificate, credential.certificate);
    }

    #[test]
    fn a_key_is_not_shown_when_its_file_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("operator.toml");
        OperatorFile::write(&path, &["a:1".to_owned()], &credential()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let hidden = text.lines().skip_while(|line| !line.contains("PRIVATE")).nth(1).unwrap().to_owned();
        for damaged in [text.replace("key = ", "kee = "), text.replace(&hidden, "\u{1}"), text.replace("BEGIN", "BE")] {
            write_private(&path, damaged.as_bytes()).unwrap();
            let error = crate::exit::line(&OperatorFile::read(&path).unwrap_err());
            assert!(!error.contains(&hidden[..20]) && error.contains("operator"), "{error}");
        }
    }
}
