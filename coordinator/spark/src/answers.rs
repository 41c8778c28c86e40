//! The answers of a server to a statement: they come in one stream, or in several that continue each other.
//!
//! A server ends every stream after some time, Spark after two minutes unless it is set otherwise, while the statement goes on: the end of a
//! stream says nothing. A statement is done when the server says so.

use std::collections::HashMap;

use anyhow::Result;
use arrow_array::ArrayRef;
use arrow_ipc::reader::StreamReader;
use spark_connect_proto as proto;
use spark_connect_proto::execute_plan_response::ResponseType;

/// The answers to one statement until now.
pub(crate) struct Answers {
    /// The name of the statement, which the client chooses: there may be no answer before the first stream ends.
    operation: String,
    /// The columns of the last rows.
    columns: Vec<ArrayRef>,
    /// Tasks that are done, and all of them. A stage that is done may be left out of later messages.
    stages: HashMap<i64, (u64, u64)>,
    last: Option<String>,
    is_complete: bool,
}

impl Answers {
    /// Nothing yet.
    pub(crate) fn to(operation: &str) -> Answers {
        let operation = operation.to_owned();
        Answers { operation, columns: Vec::new(), stages: HashMap::new(), last: None, is_complete: false }
    }

    /// Takes the next answer. `progress` receives tasks that are done, and all that are known.
    pub(crate) fn take(
        &mut self,
        response: proto::ExecutePlanResponse,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<()> {
        if !response.response_id.is_empty() {
            self.last = Some(response.response_id);
        }
        match response.response_type {
            Some(ResponseType::ArrowBatch(batch)) => {
                for batch in StreamReader::try_new(&*batch.data, None)? {
                    let batch = batch?;
                    if batch.num_rows() > 0 {
                        self.columns = batch.columns().to_vec();
                    }
                }
            }
            Some(ResponseType::ExecutionProgress(now)) => {
                for stage in now.stages {
                    let count = |tasks: i64| u64::try_from(tasks).unwrap_or(0);
                    self.stages.insert(stage.stage_id, (count(stage.num_completed_tasks), count(stage.num_tasks)));
                }
                let sum = |of: fn(&(u64, u64)) -> u64| self.stages.values().map(of).sum();
                progress(sum(|stage| stage.0), sum(|stage| stage.1));
            }
            Some(ResponseType::ResultComplete(_)) => self.is_complete = true,
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Asks for the answers after those that came.
    pub(crate) fn rest(&self, session: &str, user: proto::UserContext) -> proto::ReattachExecuteRequest {
        proto::ReattachExecuteRequest {
            session_id: session.to_owned(),
            user_context: Some(user),
            operation_id: self.operation.clone(),
            last_response_id: self.last.clone(),
            ..Default::default()
        }
    }

    pub(crate) fn into_columns(self) -> Vec<ArrayRef> {
        self.columns
    }
}

#[cfg(test)]
mod tests {
    use spark_connect_proto::execute_plan_response::execution_progress::StageInfo;
    use spark_connect_proto::execute_plan_response::{ExecutionProgress, ResultComplete};

    use super::*;

    fn answer(response: &str, kind: ResponseType) -> proto::ExecutePlanResponse {
        proto::ExecutePlanResponse { response_id: response.to_owned(), response_type: Some(kind), ..Default::default() }
    }

    fn stage(stage_id: i64, num_completed_tasks: i64, num_tasks: i64) -> ResponseType {
        let stage = StageInfo { stage_id, num_completed_tasks, num_tasks, ..Default::default() };
        ResponseType::ExecutionProgress(ExecutionProgress { stages: vec![stage], ..Default::default() })
    }

    #[test]
    fn a_statement_is_done_when_the_server_says_so_and_goes_on_after_the_last_answer() {
        let (mut answers, mut told) = (Answers::to("operation"), Vec::new());
        let rest = |answers: &Answers| answers.rest("session", proto::UserContext::default());
        assert_eq!(rest(&answers).last_response_id, None, "all of it");
        let mut take = |answers: &mut Answers, response: &str, kind| {
            answers.take(answer(response, kind), &mut |done, total| told.push((done, total))).unwrap();
        };
        take(&mut answers, "first", stage(1, 3, 4));
        // The first stage is left out from here on.
        take(&mut answers, "second", stage(2, 1, 6));
        assert!(!answers.is_complete());
        let after = rest(&answers);
        assert_eq!((after.session_id.as_str(), after.operation_id.as_str()), ("session", "operation"));
        assert_eq!(after.last_response_id.as_deref(), Some("second"));
        take(&mut answers, "third", ResponseType::ResultComplete(ResultComplete {}));
        assert!(answers.is_complete());
        assert_eq!(told, [(3, 4), (4, 10)]);
    }
}
