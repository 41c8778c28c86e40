//! Templates as somebody may see, mark and take them back. They count in every analysis under their method, so that who is
//! bound to a site or a party marks none, and sees of them neither tags nor notes.

use std::sync::Arc;

use cognate_proto::name::ScanId;
use cognate_proto::v1;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::OperatorService;
use crate::error::Error;
use crate::identity::Operator;
use crate::template::{Mark, Wish};

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
        self.coordinator.mark_template(&scans, &mark, operator.name.as_str())
    }

    pub(super) fn unmark_template(&self, operator: &Operator, id: u64) -> Result<(), Error> {
        check_unbound(operator)?;
        self.coordinator.unmark_template(id, operator.name.as_str())
    }

    /// Tells what is worth marking, as it is found.
    pub(super) fn suggest(
        &self,
        operator: &Operator,
        request: v1::SuggestTemplatesRequest,
    ) -> Result<ReceiverStream<Result<v1::SuggestTemplatesResponse, Status>>, Error> {
        let wish = Wish::from_wire(request)?;
        let state = self.visible_state(operator, wish.scan)?;
        self.check_whole_result(operator, wish.scan, &state)?;
        let (told, stream) = mpsc::channel(16);
        let service = self.clone();
        tokio::spawn(async move {
            let turn = tokio::select! {
                turn = service.coordinator.scans.analyses.acquire() => turn.expect("it is never closed"),
                () = told.closed() => return,
            };
            let working = tokio::task::spawn_blocking({
                let (coordinator, limits, told) =
                    (Arc::clone(&service.coordinator), service.settings.limits, told.clone());
                move || {
                    coordinator.suggest_templates(&wish, &limits, &|answer| match answer.suggestion {
                        // How far it is may be told another time.
                        None => !matches!(told.try_send(Ok(answer)), Err(mpsc::error::TrySendError::Closed(_))),
                        Some(_) => told.blocking_send(Ok(answer)).is_ok(),
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
            // Whoever asked may be gone.
            let _ = told.send(Err(failed)).await;
        });
        Ok(ReceiverStream::new(stream))
    }

    /// The templates, those that were marked last first.
    pub(super) fn list_templates(
        &self,
        operator: &Operator,
        all: bool,
    ) -> Result<ReceiverStream<Result<v1::Template, Status>>, Error> {
        let mut templates = self.coordinator.store.templates()?;
        templates.retain(|template| all || template.unmarked == 0);
        templates.sort_by_key(|template| (std::cmp::Reverse(template.marked), template.id));
        let bound = check_unbound(operator).is_err();
        let (told, stream) = mpsc::channel(4);
        tokio::spawn(async move {
            for mut template in templates {
                if bound {
                    template.tags.clear();
                    template.note.clear();
                    template.cluster.clear();
                }
                if told.send(Ok(template)).await.is_err() {
                    return;
                }
            }
        });
        Ok(ReceiverStream::new(stream))
    }
}

pub(super) fn check_unbound(operator: &Operator) -> Result<(), Error> {
    match (&operator.site, &operator.party) {
        (None, None) => Ok(()),
        _ => Err(Error::Denied(format!(
            "`{}` is bound to a site or a party: templates count for all, and are marked by who is bound to none",
            operator.name
        ))),
    }
}
