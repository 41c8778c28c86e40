//! Connection of a command to the running coordinator, as the operator whose file is given.

use std::path::PathBuf;
use std::pin::Pin;
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

/// Time for which a command retries while the coordinator does not answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// First wait between two attempts, growth factor of the waits, and the longest.
const WAIT: Duration = Duration::from_millis(250);
const WAIT_GROWS: f64 = 1.6;
const WAIT_MAX: Duration = Duration::from_secs(10);

/// The operator of a command.
#[derive(Args, Clone, Debug)]
pub(crate) struct OperatorArg {
    /// Your operator file, from `coordinator init` or `operator enroll`
    #[arg(long, value_name = "FILE", env = "COGNATE_OPERATOR", global = true)]
    pub(crate) operator: Option<PathBuf>,
}

/// Client of the coordinator's operator service.
pub(crate) type Client = OperatorClient;

/// An operator's connection to the coordinator. All clients share one connection, which is opened on demand
/// and reopened when it breaks.
#[derive(Clone, Debug)]
pub(crate) struct Operator {
    channel: Channel,
}

impl Operator {
    /// Reads the operator's file and prepares the connection; first renews a certificate that has passed two thirds of
    /// its life.
    ///
    /// # Errors
    /// If the file is missing, or it or its certificate is invalid.
    pub(crate) async fn open(arg: &OperatorArg) -> anyhow::Result<Operator> {
        let path = arg.operator.as_ref().ok_or_else(|| {
            usage("name your operator file: --operator FILE, or COGNATE_OPERATOR; `coordinator init` and `operator enroll` write it")
        })?;
        let mut file = OperatorFile::read(path)?;
        let info = file.credential.info()?;
        if info.not_after < now() {
            return Err(coded(
                Exit::Authentication,
                format!(
                    "the certificate in `{}` has expired: ask for a new invitation; if no administrator is left, \
                     `cognate coordinator init --new-administrator` at the stopped coordinator makes one",
                    path.display()
                ),
            ));
        }
        let mut channel = dial(&file)?.channel();
        if info.renew_at(0.0) <= now() {
            // The certificate is valid for days: the next command can renew it.
            match renew(&mut file, channel.clone()).await {
                Ok(()) => channel = dial(&file)?.channel(),
                Err(error) => tracing::warn!(error = %crate::exit::line(&error), "the certificate was not renewed"),
            }
        }
        Ok(Operator { channel })
    }

    /// A client for one call or stream.
    pub(crate) fn client(&self) -> OperatorClient {
        // A piece of a report or a list of scans may be larger than a worker's message.
        OperatorClient::new(self.channel.clone()).max_decoding_message_size(16 << 20)
    }

    /// Makes a call, and repeats it for [`PATIENCE`] while the coordinator does not answer. Only for calls that can be
    /// repeated safely, which all are.
    ///
    /// # Errors
    /// The coordinator's error or the failure to reach it, with its exit code.
    pub(crate) async fn call<T, F>(&self, call: impl Fn(OperatorClient) -> F) -> anyhow::Result<T>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        self.call_for(PATIENCE, call).await
    }

    /// Like [`Operator::call`], with this `patience`.
    ///
    /// # Errors
    /// As [`Operator::call`].
    pub(crate) async fn call_for<T, F>(
        &self,
        patience: Duration,
        call: impl Fn(OperatorClient) -> F,
    ) -> anyhow::Result<T>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        patiently(patience, || call(self.client())).await.map_err(|status| refusal(&status))
    }
}

/// Makes a call, and repeats it while the coordinator does not answer, until `patience` has passed.
///
/// # Errors
/// The last error.
pub(crate) async fn patiently<T, F>(patience: Duration, call: impl Fn() -> F) -> Result<T, Status>
where
    F: Future<Output = Result<Response<T>, Status>>,
{
    let until = Instant::now() + patience;
    let mut wait = WAIT;
    loop {
        let status = match call().await {
            Ok(response) => return Ok(response.into_inner()),
            Err(status) => status,
        };
        if !is_passing(&status) || Instant::now() + wait > until {
            return Err(status);
        }
        tracing::debug!(%status, ?wait, "trying again");
        tokio::time::sleep(wait).await;
        wait = wait.mul_f64(WAIT_GROWS).min(WAIT_MAX);
    }
}

/// True if a retry may succeed: the coordinator is unreachable, or its connection broke.
pub(crate) fn is_passing(status: &Status) -> bool {
    match DialError::of(status) {
        Some(error) => !error.is_lasting(),
        None => match status.code() {
            Code::Unavailable | Code::Aborted | Code::Cancelled => true,
            // A broken connection has no status code of its own, but a source.
            Code::Unknown | Code::Internal => std::error::Error::source(status).is_some(),
            _ => false,
        },
    }
}

/// Explains a status to the caller, with its exit code.
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

/// Runs a command that calls the coordinator.
pub(crate) fn block_on<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    // Boxed, so that the runtime's loop is compiled once and not once per command.
    let command: Pin<Box<dyn Future<Output = anyhow::Result<T>> + '_>> = Box::pin(command);
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

/// Requests a certificate for a new key. Of two commands at the same time, only one does it.
async fn renew(file: &mut OperatorFile, channel: Channel) -> anyhow::Result<()> {
    let held = std::fs::File::open(&file.path)?;
    if held.try_lock().is_err() {
        return Ok(());
    }
    // Another command may have renewed it meanwhile.
    *file = OperatorFile::read(&file.path)?;
    if file.credential.info()?.renew_at(0.0) > now() {
        return Ok(());
    }
    let key = PrivateKey::generate()?;
    let request = RenewRequest { signing_request: key.signing_request()? };
    let renewing = patiently(PATIENCE, || {
        let (mut client, request) = (EnrolmentClient::new(channel.clone()), request.clone());
        async move { client.renew(request).await }
    });
    let answer =
        tokio::time::timeout(PATIENCE, renewing).await.context("no answer")?.map_err(|status| refusal(&status))?;
    file.replace(Credential::new(answer.ca_certificate, answer.certificate, key)?)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::path::Path;
    use std::sync::Arc;

    use cognate_analysis::AnalysisLimits;
    use cognate_analysis::spark::SparkSettings;
    use cognate_proto::v1::{ListMembersRequest, MemberKind};
    use cognate_server::{Authority, Coordinator, CoordinatorConfig, KeepFor, Listener, OperatorSettings, Tls};
    use cognate_storage::indexes::SiteQuotas;

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "TLS at the other end reads this clock as well")]
    fn today() -> SystemTime {
        SystemTime::now()
    }

    fn weeks_ago() -> SystemTime {
        today() - Duration::from_secs(25 * 24 * 3600)
    }

    fn months_ago() -> SystemTime {
        today() - Duration::from_secs(40 * 24 * 3600)
    }

    /// A federation that was created at this time, and its first administrator's file.
    fn begun(state: &Path, clock: fn() -> SystemTime) -> PathBuf {
        let path = state.join("operator.toml");
        let write = |_: &str, credential: &Credential| {
            OperatorFile::write(&path, &["127.0.0.1:0".to_owned()], credential)
                .map_err(|error| std::io::Error::other(error.to_string()))
        };
        cognate_server::init(state, clock, cognate_server::First::default(), write).unwrap();
        path
    }

    /// Serves the federation; its port is in its state.
    async fn serve(state: &Path) {
        let config = CoordinatorConfig {
            state_dir: state.to_owned(),
            software: crate::VERSION,
            durable: true,
            clock: today,
            disk_reserve_bytes: 0,
            quotas: SiteQuotas::default(),
            webhook_hosts: Vec::new(),
            spark: SparkSettings::default(),
        };
        // The threads of a closed store may hold its lock a moment longer.
        let coordinator = loop {
            match Coordinator::open(&config) {
                Err(cognate_server::Error::Storage(cognate_storage::Error::Locked { .. })) => {
                    tokio::task::yield_now().await
                }
                opened => break Arc::new(opened.unwrap()),
            }
        };
        let authority = Arc::new(Authority::open(state, today).unwrap());
        let tls = Arc::new(Tls::new(authority, &["127.0.0.1".to_owned()]).unwrap());
        let listener = Listener::bind("127.0.0.1:0", tls, coordinator.refusals()).await.unwrap();
        std::fs::write(state.join("serving.toml"), format!("listen = \"{}\"\n", listener.local_addr().unwrap()))
            .unwrap();
        let settings = OperatorSettings {
            limits: AnalysisLimits { memory_budget_bytes: 32 << 20, pairs_max: u64::MAX, threads: NonZeroUsize::MIN },
            addresses: vec!["127.0.0.1:1".to_owned()],
            pages: String::new(),
            keep: KeepFor::default(),
        };
        tokio::spawn(async move {
            coordinator.serve_federation(settings, listener.incoming(), std::future::pending(), PATIENCE).await
        });
    }

    async fn members(operator: &Operator) -> anyhow::Result<usize> {
        let request = ListMembersRequest { kind: MemberKind::Operator.into() };
        Ok(operator.call(|mut client| async move { client.list_members(request).await }).await?.members.len())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_certificate_is_renewed_by_the_first_command_after_two_thirds_of_its_life() {
        let folder = tempfile::tempdir().unwrap();
        let path = begun(folder.path(), weeks_ago);
        serve(folder.path()).await;
        let arg = OperatorArg { operator: Some(path.clone()) };
        let before = OperatorFile::read(&path).unwrap().credential;
        // Of two commands at the same time, one renews and both succeed.
        let (a, b) = tokio::join!(Operator::open(&arg), Operator::open(&arg));
        assert_eq!((members(&a.unwrap()).await.unwrap(), members(&b.unwrap()).await.unwrap()), (1, 1));
        let after = OperatorFile::read(&path).unwrap();
        assert_ne!(after.credential.key.key_hash(), before.key.key_hash());
        assert!(after.credential.info().unwrap().not_after > before.info().unwrap().not_after);
        // The next command has nothing to renew.
        assert_eq!(members(&Operator::open(&arg).await.unwrap()).await.unwrap(), 1);
        assert_eq!(OperatorFile::read(&path).unwrap().credential.certificate, after.credential.certificate);
    }

    #[tokio::test]
    async fn an_expired_certificate_or_a_missing_file_is_an_error_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = begun(folder.path(), months_ago);
        std::fs::write(folder.path().join("serving.toml"), "listen = \"127.0.0.1:1\"\n").unwrap();
        let error = Operator::open(&OperatorArg { operator: Some(path) }).await.unwrap_err();
        assert!(error.to_string().contains("--new-administrator"), "{error}");
        assert_eq!(crate::exit::of(&error), Exit::Authentication);
        let error = Operator::open(&OperatorArg { operator: None }).await.unwrap_err();
        assert!(error.to_string().contains("COGNATE_OPERATOR"), "{error}");
        assert_eq!(crate::exit::of(&error), Exit::Usage);
    }
}
