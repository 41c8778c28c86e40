//! Templates, as far as a person may see, mark and take them back. They count in every analysis under their method, so
//! that a person who is bound to a site or a party marks none, and sees neither their tags nor their notes.

use std::sync::Arc;

use cognate_proto::name::ScanId;
use cognate_proto::v1;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::OperatorService;
use crate::error::Error;
use crate::identity::Operator;
use crate::template::{Mark, SuggestRequest};

impl OperatorService {
    pub(super) fn mark_template(
        &self,
        operator: &Operator,
        request: &v1::MarkTemplateRequest,
    ) -> Result<v1::Template, Error> {
        check_unbound(operator)?;
        let mark = Mark::from_wire(request)?;
        let scans = match request.scan {
            0 => self.all_scans(operator)?.iter().map(|state| ScanId(state.scan)).collect(),
            id => {
                self.visible_state(operator, ScanId(id))?;
                vec![ScanId(id)]
            }
        };
        self.services.templates.mark(&scans, &mark, operator.name.as_str())
    }

    pub(super) fn unmark_template(&self, operator: &Operator, id: u64) -> Result<(), Error> {
        check_unbound(operator)?;
        self.services.templates.unmark(id, operator.name.as_str())
    }

    /// Sends suggestions as they are found.
    pub(super) fn suggest(
        &self,
        operator: &Operator,
        request: v1::SuggestTemplatesRequest,
    ) -> Result<ReceiverStream<Result<v1::SuggestTemplatesResponse, Status>>, Error> {
        let request = SuggestRequest::from_wire(request)?;
        let state = self.visible_state(operator, request.scan)?;
        self.check_full_result(operator, request.scan, &state)?;
        let (sender, stream) = mpsc::channel(16);
        let service = self.clone();
        tokio::spawn(async move {
            let turn = tokio::select! {
                turn = service.services.scans.analyses.acquire() => turn.expect("it is never closed"),
                () = sender.closed() => return,
            };
            let working = tokio::task::spawn_blocking({
                let (services, limits, sender) =
                    (Arc::clone(&service.services), service.settings.limits, sender.clone());
                move || {
                    services.templates.suggest(&request, &limits, &|answer| match answer.suggestion {
                        // Progress that does not fit into the queue is dropped.
                        None => !matches!(sender.try_send(Ok(answer)), Err(mpsc::error::TrySendError::Closed(_))),
                        Some(_) => sender.blocking_send(Ok(answer)).is_ok(),
                    })
                }
            });
            let done = working.await;
            drop(turn);
            let failed = match done {
                Ok(Ok(())) => return,
                Ok(Err(error)) => Status::from(error),
                Err(_) => Status::internal("a request crashed: see the log"),
            };
            // The client may be gone.
            let _ = sender.send(Err(failed)).await;
        });
        Ok(ReceiverStream::new(stream))
    }

    /// The templates, those that were marked last first.
    pub(super) fn list_templates(
        &self,
        operator: &Operator,
        all: bool,
    ) -> Result<ReceiverStream<Result<v1::Template, Status>>, Error> {
        let mut templates = self.services.records.store.templates()?;
        templates.retain(|template| all || template.unmarked == 0);
        templates.sort_by_key(|template| (std::cmp::Reverse(template.marked), template.id));
        let bound = check_unbound(operator).is_err();
        let (sender, stream) = mpsc::channel(4);
        tokio::spawn(async move {
            for mut template in templates {
                if bound {
                    template.tags.clear();
                    template.note.clear();
                    template.cluster.clear();
                }
                if sender.send(Ok(template)).await.is_err() {
                    return;
                }
            }
        });
        Ok(ReceiverStream::new(stream))
    }
}

pub(super) fn check_unbound(operator: &Operator) -> Result<(), Error> {
    match operator.viewer().is_bound() {
        false => Ok(()),
        true => Err(Error::Denied(format!(
            "`{}` is bound to a site or a party: templates are for all people, and only people without bounds mark them",
            operator.name
        ))),
    }
}
