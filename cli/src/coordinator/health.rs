//! `cognate coordinator health`: readiness of a running coordinator, for containers and people.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::Args;
use serde::Deserialize;

use super::ConfigArgs;
use crate::config::{CoordinatorFile, load};
use crate::exit::Exit;

/// Time limit of the answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Most bytes of an answer.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// Asks a running coordinator if it is ready: exit code 0 if it is, 1 with the reasons if not.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  cognate coordinator health --config /etc/cognate/coordinator.toml")]
pub(super) struct HealthArgs {
    #[command(flatten)]
    config: ConfigArgs,
}

/// The addresses that a running coordinator writes to its state.
#[derive(Deserialize)]
struct Serving {
    /// Address of the probes, which have a listener of their own.
    probes: String,
}

#[derive(Deserialize)]
struct Readiness {
    ready: bool,
    reasons: Vec<String>,
}

/// Runs the command.
pub(super) fn run(args: &HealthArgs) -> anyhow::Result<Exit> {
    let file = load::<CoordinatorFile>(&args.config.config)?.values;
    let Serving { probes: address } = serving(&file.state_dir)?;
    let Readiness { ready, reasons } = ask(&address).with_context(|| format!("no answer from `{address}`"))?;
    if ready {
        return Ok(Exit::Complete);
    }
    Err(anyhow!("the coordinator is not ready: {}", reasons.join("; ")))
}

fn serving(state_dir: &Path) -> anyhow::Result<Serving> {
    let path = state_dir.join("serving.toml");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("`{}` cannot be read: is the coordinator running?", path.display()))?;
    Ok(toml::from_str(&text)?)
}

/// Sends one HTTP request without a library: both ends are ours.
fn ask(address: &str) -> anyhow::Result<Readiness> {
    let resolved = address.to_socket_addrs()?.next().context("the address does not resolve")?;
    let mut stream = TcpStream::connect_timeout(&resolved, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    write!(stream, "GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer)?;
    let body = answer.split_once("\r\n\r\n").context("the answer is not HTTP")?.1;
    Ok(serde_json::from_str(body.trim())?)
}
