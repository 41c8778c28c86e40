//! The way of every command to the running coordinator: as the person whose file it is given.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context as _;
use clap::Args;
use cognate_proto::dial::{Dial, DialError, Trust};
use cognate_proto::identity::{Credential, PrivateKey};
use cognate_proto::name::one_line;
use cognate_proto::v1::RenewRequest;
use cognate_proto::v1::enrolment_client::EnrolmentClient;
use cognate_proto::v1::operator_client::OperatorClient;
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

use super::file::OperatorFile;
use crate::exit::{Exit, coded, usage};

/// How long a command tries to reach a coordinator that does not answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// The first wait between two attempts, by how much each is longer than the one before, and the longest.
const WAIT: Duration = Duration::from_millis(250);
const WAIT_GROWS: f64 = 1.6;
const WAIT_MAX: Duration = Duration::from_secs(10);

/// As whom.
#[derive(Args, Clone, Debug)]
pub(crate) struct OperatorArg {
    /// Who you are to the coordinator: the file from `coordinator init` or `operator enroll`
    #[arg(long, value_name = "FILE", env = "COGNATE_OPERATOR", global = true)]
    pub(crate) operator: Option<PathBuf>,
}

/// A person at the coordinator. Every client that it hands out uses the same connection, which is made when it is needed
/// and again when it breaks.
#[derive(Clone, Debug)]
pub(crate) struct Operator {
    channel: Channel,
}

impl Operator {
    /// Reads the person's file and prepares to dial; gets a new certificate first where the old one has seen two thirds of
    /// its life.
    ///
    /// # Errors
    /// When there is no file, or it or its certificate is of no use.
    pub(crate) async fn open(arg: &OperatorArg) -> anyhow::Result<Operator> {
        let path = arg.operator.as_ref().ok_or_else(|| {
            usage("say who you are: --operator FILE, or COGNATE_OPERATOR; `coordinator init` and `operator enroll` write it")
        })?;
        let mut file = OperatorFile::read(path)?;
        let info = file.credential.info()?;
        if info.not_after < now() {
            return Err(coded(
                Exit::Authentication,
                format!(
                    "the certificate in `{}` has expired: ask for a new invitation; where nobody is left to ask, \
                     `cognate coordinator init --new-administrator` at the stopped coordinator makes one",
                    path.display()
                ),
            ));
        }
        let mut channel = dial(&file)?.channel();
        if info.renew_at(0.0) <= now() {
            // It goes on to hold for days: what cannot be renewed now is renewed next time.
            match renew(&mut file, channel.clone()).await {
                Ok(()) => channel = dial(&file)?.channel(),
                Err(error) => tracing::warn!(error = %crate::exit::line(&error), "the certificate was not renewed"),
            }
        }
        Ok(Operator { channel })
    }

    /// A client for one call or stream.
    pub(crate) fn client(&self) -> OperatorClient<Channel> {
        // A report's piece or a list of scans may be larger than a worker's message.
        OperatorClient::new(self.channel.clone()).max_decoding_message_size(16 << 20)
    }

    /// Makes a call, and makes it again for [`PATIENCE`] while the coordinator does not answer. Only for calls that can be
    /// made twice: all can.
    ///
    /// # Errors
    /// What the coordinator answered, or why it was not reached, with the exit code for it.
    pub(crate) async fn call<T, F>(&self, call: impl Fn(OperatorClient<Channel>) -> F) -> anyhow::Result<T>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        self.call_for(PATIENCE, call).await
    }

    /// As [`Operator::call`], for as long as `patience`.
    ///
    /// # Errors
    /// As [`Operator::call`].
    pub(crate) async fn call_for<T, F>(
        &self,
        patience: Duration,
        call: impl Fn(OperatorClient<Channel>) -> F,
    ) -> anyhow::Result<T>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let until = Instant::now() + patience;
        let mut wait = WAIT;
        loop {
            let status = match call(self.client()).await {
                Ok(response) => return Ok(response.into_inner()),
                Err(status) => status,
            };
            if !is_passing(&status) || Instant::now() + wait > until {
                return Err(refusal(&status));
            }
            tracing::debug!(%status, ?wait, "trying again");
            tokio::time::sleep(wait).await;
            wait = wait.mul_f64(WAIT_GROWS).min(WAIT_MAX);
        }
    }
}

/// Whether the same call may come through later: the coordinator is not there, or its connection broke.
pub(crate) fn is_passing(status: &Status) -> bool {
    match DialError::of(status) {
        Some(error) => !error.is_lasting(),
        None => match status.code() {
            Code::Unavailable | Code::Aborted | Code::Cancelled => true,
            // A broken connection has no code of its own, but a cause.
            Code::Unknown | Code::Internal => std::error::Error::source(status).is_some(),
            _ => false,
        },
    }
}

/// What a status means to the one who called, with the exit code for it.
pub(crate) fn refusal(status: &Status) -> anyhow::Error {
    if let Some(error) = DialError::of(status) {
        let exit = if error.is_lasting() { Exit::Authentication } else { Exit::Failed };
        return coded(exit, error.to_string());
    }
    let mismatch = status.metadata().get("cognate-kind").is_some_and(|kind| kind == "mismatch");
    let exit = match status.code() {
        _ if mismatch => Exit::KeyMismatch,
        Code::Unauthenticated | Code::PermissionDenied => Exit::Authentication,
        Code::InvalidArgument => Exit::Usage,
        Code::Unimplemented => Exit::Protocol,
        _ => Exit::Failed,
    };
    let message = match (status.code(), one_line(status.message())) {
        (Code::Unimplemented, _) => "the coordinator does not know this command: it runs another version".to_owned(),
        (code, message) if message.is_empty() => format!("the coordinator refuses: {code}"),
        (_, message) => message,
    };
    coded(exit, message)
}

/// Runs a command that talks to the coordinator.
pub(crate) fn block_on<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("the runtime cannot be started")?.block_on(command)
}

/// Seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "commands read the clock here and hand it down")]
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

fn dial(file: &OperatorFile) -> anyhow::Result<Dial> {
    let trust = Trust::Ca(file.credential.ca_certificate.clone());
    let dial = Dial::new(&file.addresses, &trust, Some(&file.credential));
    dial.map_err(|error| usage(format!("`{}`: {error}", file.path.display())))
}

/// Gets a certificate for a new key. Of two commands at the same time, one does it.
async fn renew(file: &mut OperatorFile, channel: Channel) -> anyhow::Result<()> {
    let held = std::fs::File::open(&file.path)?;
    if held.try_lock().is_err() {
        return Ok(());
    }
    // Another may have been here in between.
    *file = OperatorFile::read(&file.path)?;
    if file.credential.info()?.renew_at(0.0) > now() {
        return Ok(());
    }
    let key = PrivateKey::generate()?;
    let request = RenewRequest { signing_request: key.signing_request()? };
    let answer = tokio::time::timeout(PATIENCE, EnrolmentClient::new(channel).renew(request)).await;
    let answer = answer.context("no answer")?.map_err(|status| refusal(&status))?.into_inner();
    file.replace(Credential::new(answer.ca_certificate, answer.certificate, key)?)
}
