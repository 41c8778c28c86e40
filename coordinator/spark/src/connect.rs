//! A Spark Connect server: statements go there, and totals come back.

use std::net::ToSocketAddrs as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use arrow_array::{Array, ArrayRef, Decimal128Array, Int64Array};
use spark_connect_core::{
    ChannelBuilder, ExecutePlanResponseReattachableIterator, RetryPolicy, SparkConnectClient, SparkError, block_on,
};
use spark_connect_proto as proto;

use crate::answers::Answers;
use crate::work::MARKER;

/// Time for a connection to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest time in which a server that has gone away may come back.
const AWAY_MAX: Duration = Duration::from_secs(120);
/// The pause before a server is asked again, and the number of failures in a row after which it is not.
const RESUME_PAUSE: Duration = Duration::from_secs(1);
const RESUMES_MAX: u64 = AWAY_MAX.as_secs();
/// The first version whose Spark Connect is meant for use.
const OLDEST: (u32, u32) = (3, 5);

/// A session of a server.
#[derive(Clone)]
pub(crate) struct Server {
    client: Arc<SparkConnectClient>,
    address: Arc<str>,
}

impl Server {
    /// Connects, and checks that the server is one and new enough.
    pub(crate) fn connect(address: &str) -> Result<Server> {
        let channel =
            ChannelBuilder::parse(address).map_err(|error| anyhow::anyhow!("`{address}`: {}", first_line(&error)))?;
        let reached = channel.endpoint().to_socket_addrs().and_then(|mut addresses| {
            let first = addresses.next().ok_or_else(|| std::io::Error::other("the name has no address"))?;
            std::net::TcpStream::connect_timeout(&first, CONNECT_TIMEOUT)
        });
        reached.with_context(|| {
            format!("the server `{address}` is not reached: check the address, and that Spark Connect runs there")
        })?;
        let mut client = block_on(SparkConnectClient::connect(&channel))
            .map_err(|error| anyhow::anyhow!("the server `{address}`: {}", first_line(&error)))?;
        client.set_retry_policy(RetryPolicy {
            max_backoff_ms: Some(10_000),
            max_retry_exception_elapsed_time_ms: u64::try_from(AWAY_MAX.as_millis()).ok(),
            ..RetryPolicy::default()
        });
        let server = Server { client: Arc::new(client), address: address.into() };
        server.check_version()?;
        Ok(server)
    }

    fn check_version(&self) -> Result<()> {
        let request = proto::AnalyzePlanRequest {
            session_id: self.client.session_id().to_owned(),
            user_context: Some(user()),
            analyze: Some(proto::analyze_plan_request::Analyze::SparkVersion(
                proto::analyze_plan_request::SparkVersion {},
            )),
            ..Default::default()
        };
        let answered = block_on(async { tokio::time::timeout(AWAY_MAX, self.client.analyze_plan(request)).await });
        let response = match answered {
            Ok(response) => self.explained(response)?,
            Err(_) => bail!("the server `{}` does not answer: is it Spark Connect?", self.address),
        };
        let Some(proto::analyze_plan_response::Result::SparkVersion(found)) = response.result else {
            bail!("the server `{}` does not say its version: is it Spark Connect?", self.address);
        };
        let mut numbers = found.version.split('.').map_while(|number| number.parse::<u32>().ok());
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if version < OLDEST {
            let (major, minor) = OLDEST;
            bail!("the server `{}` is Spark {}: {major}.{minor} or newer is needed", self.address, found.version);
        }
        Ok(())
    }

    /// Sets an option of the session; servers that do not know it go without.
    pub(crate) fn set(&self, key: &str, value: &str) {
        let _ = block_on(self.client.set_config(key, value));
    }

    /// Gives the rows of Parquet files a name in statements.
    pub(crate) fn view(&self, name: &str, url: &str) -> Result<()> {
        let source = proto::read::DataSource {
            format: Some("parquet".to_owned()),
            paths: vec![url.to_owned()],
            ..Default::default()
        };
        let read = proto::Read { read_type: Some(proto::read::ReadType::DataSource(source)), ..Default::default() };
        let view = proto::CreateDataFrameViewCommand {
            input: Some(relation(proto::relation::RelType::Read(read))),
            name: name.to_owned(),
            is_global: false,
            replace: true,
        };
        self.execute(command(proto::command::CommandType::CreateDataframeView(view)), &mut |_, _| ()).map(drop)
    }

    /// Writes the rows of a query to a folder that must not be there yet. `progress` receives tasks that are done, and all that are known.
    ///
    /// The folder has a folder for each value of the columns that are named.
    pub(crate) fn write(
        &self,
        query: &str,
        (url, folders): (&str, &[&str]),
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<()> {
        let write = proto::WriteOperation {
            input: Some(sql(query)),
            source: Some("parquet".to_owned()),
            mode: proto::write_operation::SaveMode::ErrorIfExists.into(),
            save_type: Some(proto::write_operation::SaveType::Path(url.to_owned())),
            partitioning_columns: folders.iter().map(|column| (*column).to_owned()).collect(),
            ..Default::default()
        };
        self.execute(command(proto::command::CommandType::WriteOperation(write)), progress).map(drop)
    }

    /// True if the server's tasks can be programs of their own: it understands a statement that asks for one. Nothing is run.
    pub(crate) fn runs_programs(&self) -> bool {
        let query = "SELECT TRANSFORM(id) USING 'cat' AS (line STRING) FROM range(1)";
        let plan = proto::Plan { op_type: Some(proto::plan::OpType::Root(sql(query))) };
        let request = proto::AnalyzePlanRequest {
            session_id: self.client.session_id().to_owned(),
            user_context: Some(user()),
            analyze: Some(proto::analyze_plan_request::Analyze::Schema(proto::analyze_plan_request::Schema {
                plan: Some(plan),
            })),
            ..Default::default()
        };
        let answered = block_on(async { tokio::time::timeout(AWAY_MAX, self.client.analyze_plan(request)).await });
        matches!(answered, Ok(Ok(_)))
    }

    /// Brings a file to all workers.
    pub(crate) fn add_file(&self, url: &str) -> Result<()> {
        let plan = proto::Plan { op_type: Some(proto::plan::OpType::Root(sql(&format!("ADD FILE '{url}'")))) };
        self.execute(plan, &mut |_, _| ()).map(drop)
    }

    /// The numbers of the one row of a query; a sum over nothing is 0.
    pub(crate) fn totals(&self, query: &str) -> Result<Vec<i128>> {
        let plan = proto::Plan { op_type: Some(proto::plan::OpType::Root(sql(query))) };
        let columns = self.execute(plan, &mut |_, _| ())?;
        columns.iter().map(number).collect()
    }

    fn execute(&self, plan: proto::Plan, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<ArrayRef>> {
        let request = proto::ExecutePlanRequest {
            session_id: self.client.session_id().to_owned(),
            user_context: Some(user()),
            plan: Some(plan),
            ..Default::default()
        };
        // Gives the statement a name.
        let named = ExecutePlanResponseReattachableIterator::new(request);
        let mut answers = Answers::to(named.operation_id());
        let mut stream = self.explained(block_on(self.client.execute_plan_reattachable(named.request().clone())))?;
        while let Some(response) = self.explained(block_on(stream.message()))? {
            answers.take(response, progress)?;
        }
        self.go_on(&mut answers, progress)?;
        Ok(answers.into_columns())
    }

    /// Asks for the rest of an answer until it is complete. The client ends with the first stream.
    fn go_on(&self, answers: &mut Answers, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let mut failures = 0;
        while !answers.is_complete() {
            let rest = answers.rest(self.client.session_id(), user());
            let (mut is_empty, mut failed) = (true, None);
            match block_on(self.client.reattach_execute(rest)) {
                Err(error) => failed = Some(error),
                Ok(mut stream) => loop {
                    match block_on(stream.message()) {
                        Ok(Some(response)) => {
                            answers.take(response, progress)?;
                            (is_empty, failures) = (false, 0);
                        }
                        Ok(None) => break,
                        Err(status) => {
                            failed = Some(SparkError::from_grpc_status(status));
                            break;
                        }
                    }
                },
            }
            if let Some(error) = failed {
                failures += 1;
                if failures > RESUMES_MAX || !passes(&error) {
                    return self.explained(Err(error));
                }
            }
            if is_empty {
                std::thread::sleep(RESUME_PAUSE);
            }
        }
        Ok(())
    }

    /// Stops everything that this session does.
    pub(crate) fn interrupt(&self) {
        let _ = block_on(async { tokio::time::timeout(CONNECT_TIMEOUT, self.client.interrupt_all()).await });
    }

    /// Ends the session.
    pub(crate) fn release(&self) {
        let _ = block_on(async { tokio::time::timeout(CONNECT_TIMEOUT, self.client.release_session()).await });
    }

    fn explained<T>(&self, result: spark_connect_core::Result<T>) -> Result<T> {
        result.map_err(|error| {
            let line = first_line(&error);
            let is_lost =
                ["h2 protocol error", "transport error", "tcp connect error"].iter().any(|lost| line.contains(lost));
            let cure = if is_lost {
                "the connection was lost: see that it runs, and launch the scan again, which continues: "
            } else {
                ""
            };
            anyhow::anyhow!("the server `{}`: {cure}{line}", self.address)
        })
    }
}

/// True for an error after which the server may be there again: those after which the clients of Spark ask again.
fn passes(error: &SparkError) -> bool {
    const UNAVAILABLE: i32 = 14;
    error.grpc_code() == Some(UNAVAILABLE) || error.message().contains("INVALID_CURSOR.DISCONNECTED")
}

/// The first line of what a server says, which may be a stack of Java.
fn first_line(error: &SparkError) -> String {
    let text = error.message();
    // The reason of a program on a worker is somewhere within the stack.
    if let Some(at) = text.find(MARKER) {
        return text[at + MARKER.len()..].lines().next().unwrap_or("").trim().chars().take(1000).collect();
    }
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("it failed and does not say why");
    line.trim().chars().take(400).collect()
}

fn number(column: &ArrayRef) -> Result<i128> {
    if column.is_empty() || column.is_null(0) {
        return Ok(0);
    }
    let integer = column.as_any().downcast_ref::<Int64Array>().map(|column| i128::from(column.value(0)));
    let decimal = column.as_any().downcast_ref::<Decimal128Array>().map(|column| column.value(0));
    integer.or(decimal).with_context(|| format!("the server returned a {}, not a number", column.data_type()))
}

fn user() -> proto::UserContext {
    proto::UserContext { user_id: "cognate".to_owned(), ..Default::default() }
}

fn sql(query: &str) -> proto::Relation {
    relation(proto::relation::RelType::Sql(proto::Sql { query: query.to_owned(), ..Default::default() }))
}

fn relation(kind: proto::relation::RelType) -> proto::Relation {
    // Sail asks for a number of every relation.
    let common = Some(proto::RelationCommon { plan_id: Some(0), ..Default::default() });
    proto::Relation { common, rel_type: Some(kind) }
}

fn command(kind: proto::command::CommandType) -> proto::Plan {
    let command = proto::Command { command_type: Some(kind) };
    proto::Plan { op_type: Some(proto::plan::OpType::Command(command)) }
}
