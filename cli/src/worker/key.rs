//! `cognate worker key`: the federation's key, made at one site and handed to the others as age files. It is never shown,
//! and never passed in arguments or the environment.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};

use age::secrecy::{ExposeSecret as _, SecretString};
use age::{scrypt, x25519};
use clap::{Args, Subcommand};
use cognate_durable::private::{read_private, write_private};
use cognate_fingerprint::Key;
use cognate_proto::identity::federation_key_words;
use cognate_worker::state;
use zeroize::Zeroizing;

use super::ConfigArgs;
use super::setup::{self, Setup, read_key, site_error};
use crate::exit::{Exit, coded, usage};
use crate::tell;

/// The federation key. Only its holders can test if a site has a certain content.
///
/// The key is made once, at one site, and handed to the others encrypted: each other site shows its recipient
/// (`key recipient`), the maker exports for it (`key export --recipient age1…`), and the other site imports the file.
#[derive(Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  cognate worker key make -o /etc/cognate/federation.key --config worker.toml
  cognate worker key recipient --config worker.toml
  cognate worker key export --recipient age1… -o for-tokyo.age --config worker.toml
  cognate worker key import for-tokyo.age --config worker.toml
  cognate worker key check --config worker.toml"
)]
pub(super) struct KeyCommandArgs {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Subcommand, Debug)]
enum KeyCommand {
    /// Make a new key, unencrypted or encrypted for one holder
    Make(MakeArgs),
    /// Encrypt this site's key for another holder
    Export(ExportArgs),
    /// Take a key from an age file
    Import(ImportArgs),
    /// Show the fingerprint of this site's key, which may be shared with anyone
    Check(CheckArgs),
    /// Show the recipient for which others encrypt the key for this site
    Recipient(ConfigArgs),
}

#[derive(Args, Debug)]
struct MakeArgs {
    /// File to write; it must not exist yet
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    sealed: Sealed,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Args, Debug)]
struct ExportArgs {
    /// File to write; it must not exist yet
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    sealed: Sealed,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Args, Debug)]
struct ImportArgs {
    /// The age file
    #[arg(value_name = "FILE.age")]
    file: PathBuf,
    /// Decrypt with the identities in this file instead of with this site's own
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
    /// File to write the key to [default: `key` of the configuration]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Args, Debug)]
struct CheckArgs {
    /// The key file [default: `key` of the configuration]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Recipient of an encrypted key.
#[derive(Args, Debug)]
#[group(multiple = false)]
struct Sealed {
    /// Encrypt it for this recipient
    #[arg(long, value_name = "age1…")]
    recipient: Option<String>,
    /// Encrypt it with a passphrase, asked for on the terminal or read from standard input
    #[arg(long)]
    passphrase: bool,
}

impl KeyCommandArgs {
    pub(super) fn config(&self) -> &ConfigArgs {
        match &self.command {
            KeyCommand::Make(args) => &args.config,
            KeyCommand::Export(args) => &args.config,
            KeyCommand::Import(args) => &args.config,
            KeyCommand::Check(args) => &args.config,
            KeyCommand::Recipient(args) => args,
        }
    }
}

pub(super) fn run(args: &KeyCommandArgs) -> anyhow::Result<Exit> {
    match &args.command {
        KeyCommand::Make(args) => make(args),
        KeyCommand::Export(args) => export(args),
        KeyCommand::Import(args) => import(args),
        KeyCommand::Check(args) => check(args),
        KeyCommand::Recipient(args) => {
            let setup = setup::load(args)?;
            writeln!(io::stdout(), "{}", own_identity(&setup)?.to_public())?;
            Ok(Exit::Complete)
        }
    }
}

fn make(args: &MakeArgs) -> anyhow::Result<Exit> {
    let mut material = Zeroizing::new([0; 32]);
    getrandom::fill(material.as_mut_slice())
        .map_err(|error| coded(Exit::Internal, format!("no random numbers: {error}")))?;
    let digits = Zeroizing::new(hex(material.as_slice()) + "\n");
    write_key(&args.output, &args.sealed, &digits)
}

fn export(args: &ExportArgs) -> anyhow::Result<Exit> {
    if args.sealed.recipient.is_none() && !args.sealed.passphrase {
        return Err(usage(
            "name the recipient: --recipient age1… (`cognate worker key recipient` at the other site shows it) or --passphrase",
        ));
    }
    let setup = setup::load(&args.config)?;
    let path = configured(&setup)?;
    read_key(path)?;
    let failed = |error: io::Error| coded(Exit::InputOutput, format!("`{}`: {error}", path.display()));
    let bytes = Zeroizing::new(std::fs::read(path).map_err(failed)?);
    // A file of 32 raw bytes is as good as one of digits; the length distinguishes them.
    let digits = match <[u8; 32]>::try_from(bytes.as_slice()) {
        Ok(material) => Zeroizing::new(hex(&material) + "\n"),
        Err(_) => Zeroizing::new(String::from_utf8_lossy(bytes.trim_ascii()).into_owned() + "\n"),
    };
    write_key(&args.output, &args.sealed, &digits)
}

/// Writes a key, encrypted if requested, and prints its fingerprint.
fn write_key(path: &Path, sealed: &Sealed, digits: &Zeroizing<String>) -> anyhow::Result<Exit> {
    refuse_existing(path)?;
    let key = Key::parse(digits.as_bytes()).map_err(|error| usage(error.to_string()))?;
    let failed = |error: age::EncryptError| coded(Exit::Internal, format!("the key cannot be encrypted: {error}"));
    let bytes = match (&sealed.recipient, sealed.passphrase) {
        (Some(recipient), _) => {
            let parsed = recipient.parse::<x25519::Recipient>();
            let recipient = parsed.map_err(|error| usage(format!("--recipient: `{recipient}`: {error}")))?;
            age::encrypt(&recipient, digits.as_bytes()).map_err(failed)?
        }
        (None, true) => {
            let passphrase = passphrase("passphrase for the key: ")?;
            age::encrypt(&scrypt::Recipient::new(passphrase), digits.as_bytes()).map_err(failed)?
        }
        (None, false) => digits.as_bytes().to_vec(),
    };
    store(path, &Zeroizing::new(bytes))?;
    let how = if sealed.recipient.is_some() || sealed.passphrase { "encrypted key" } else { "key" };
    writeln!(io::stdout(), "{how} written to {}; its fingerprint is {}", path.display(), key.fingerprint())?;
    Ok(Exit::Complete)
}

fn import(args: &ImportArgs) -> anyhow::Result<Exit> {
    let setup = setup::load(&args.config)?;
    let output = match &args.output {
        Some(path) => path,
        None => configured(&setup)?,
    };
    let shown = args.file.display();
    let failed = |error: io::Error| coded(Exit::InputOutput, format!("`{shown}`: {error}"));
    let mut sealed = Vec::new();
    std::fs::File::open(&args.file).map_err(failed)?.take(64 << 10).read_to_end(&mut sealed).map_err(failed)?;
    let decryptor = age::Decryptor::new(sealed.as_slice())
        .map_err(|error| usage(format!("`{shown}` is not an age file: {error}")))?;
    let opened = if decryptor.is_scrypt() {
        age::decrypt(&scrypt::Identity::new(passphrase("passphrase of the key: ")?), &sealed)
    } else {
        match &args.identity {
            Some(path) => decrypt_with_any(&identities(path)?, &sealed),
            None => age::decrypt(&own_identity(&setup)?, &sealed),
        }
    };
    let opened = Zeroizing::new(opened.map_err(|error| {
        let message =
            format!("`{shown}` cannot be decrypted here: {error}; was it made for `cognate worker key recipient`?");
        coded(Exit::Failed, message)
    })?);
    let key = Key::parse(&opened).map_err(|error| usage(format!("`{shown}` holds no key: {error}")))?;
    if output.try_exists().unwrap_or(false) && read_key(output)? == key {
        writeln!(
            io::stdout(),
            "{} holds this key already; its fingerprint is {}",
            output.display(),
            key.fingerprint()
        )?;
        return Ok(Exit::Complete);
    }
    refuse_existing(output)?;
    store(output, &opened)?;
    writeln!(io::stdout(), "key written to {}; its fingerprint is {}", output.display(), key.fingerprint())?;
    Ok(Exit::Complete)
}

fn check(args: &CheckArgs) -> anyhow::Result<Exit> {
    let key = match &args.file {
        Some(path) => read_key(path)?,
        None => setup::load(&args.config)?.key()?,
    };
    let what = if key.is_keyed() { "the key's" } else { "there is no key; its substitute's" };
    let fingerprint = key.fingerprint();
    writeln!(io::stdout(), "{what} fingerprint is {fingerprint}, in words {}", federation_key_words(&fingerprint))?;
    Ok(Exit::Complete)
}

fn configured(setup: &Setup) -> anyhow::Result<&Path> {
    let missing =
        || usage("the configuration names no key: write `key = \"/etc/cognate/federation.key\"` into it, or use -o");
    setup.key_file.as_deref().ok_or_else(missing)
}

fn refuse_existing(path: &Path) -> anyhow::Result<()> {
    match path.try_exists() {
        Ok(false) => Ok(()),
        Ok(true) => {
            let message =
                format!("`{}` is there already: a key is never overwritten; move it away first", path.display());
            Err(usage(message))
        }
        Err(error) => Err(coded(Exit::InputOutput, format!("`{}`: {error}", path.display()))),
    }
}

fn store(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write_private(path, bytes).map_err(|error| coded(Exit::InputOutput, error.to_string()))
}

/// The identity by which this site decrypts keys; made on first use.
fn own_identity(setup: &Setup) -> anyhow::Result<x25519::Identity> {
    state::prepare(&setup.state_dir).map_err(site_error)?;
    let path = setup.state_dir.join("age.key");
    let failed = |error: &dyn std::fmt::Display| coded(Exit::InputOutput, format!("{error}"));
    if path.try_exists().map_err(|error| failed(&error))? {
        let text = read_private(&path).map_err(|error| failed(&error))?;
        return text.trim().parse().map_err(|error| failed(&format!("`{}`: {error}", path.display())));
    }
    let identity = x25519::Identity::generate();
    store(&path, format!("{}\n", identity.to_string().expose_secret()).as_bytes())?;
    Ok(identity)
}

/// The identities in a file that `age-keygen` wrote.
fn identities(path: &Path) -> anyhow::Result<Vec<x25519::Identity>> {
    let text = read_private(path).map_err(|error| coded(Exit::InputOutput, error.to_string()))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parsed: Result<Vec<_>, _> = lines.map(str::parse).collect();
    match parsed {
        Ok(identities) if !identities.is_empty() => Ok(identities),
        _ => Err(usage(format!("`{}` holds no age identities (AGE-SECRET-KEY-1…)", path.display()))),
    }
}

fn decrypt_with_any(identities: &[x25519::Identity], sealed: &[u8]) -> Result<Vec<u8>, age::DecryptError> {
    let mut opened = Err(age::DecryptError::NoMatchingKeys);
    for identity in identities {
        opened = age::decrypt(identity, sealed);
        if opened.is_ok() {
            break;
        }
    }
    opened
}

/// Reads a passphrase from the terminal, without echo, or from standard input.
fn passphrase(prompt: &str) -> anyhow::Result<SecretString> {
    let stdin = io::stdin();
    let mut line = Zeroizing::new(String::new());
    let failed = |error: io::Error| coded(Exit::InputOutput, format!("the passphrase cannot be read: {error}"));
    if stdin.is_terminal() {
        tell::ask(format_args!("{prompt}")).map_err(failed)?;
        let _hidden = Hidden::begin();
        stdin.lock().read_line(&mut line).map_err(failed)?;
        tell!("");
    } else {
        stdin.lock().read_line(&mut line).map_err(failed)?;
    }
    let passphrase = line.trim_end_matches(['\r', '\n']);
    if passphrase.is_empty() {
        return Err(usage("an empty passphrase protects nothing"));
    }
    Ok(SecretString::from(passphrase.to_owned()))
}

/// Turns the terminal's echo off until it is dropped.
struct Hidden(Option<rustix::termios::Termios>);

impl Hidden {
    fn begin() -> Hidden {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let Ok(before) = tcgetattr(io::stdin()) else { return Hidden(None) };
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &silent);
        Hidden(Some(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = rustix::termios::tcsetattr(io::stdin(), rustix::termios::OptionalActions::Flush, before);
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
