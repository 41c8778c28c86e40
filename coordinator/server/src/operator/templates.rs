//! Templates, as far as a person may see, mark and take them back. They count in every analysis under their method, so
//! that a person who is bound to a site or a party marks none, and sees neither their tags, nor the lengths of their chunks, nor their notes.

use std::sync::{Arc, Mutex};

use cognate_proto::name::ScanId;
use cognate_proto::v1;
use tokio::sync::mpsc;
use tonic::Status;

use super::OperatorService;
use crate::error::Error;
use crate::identity::Operator;
use crate::streams::forward;
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
    ) -> Result<mpsc::Receiver<Result<v1::SuggestTemplatesResponse, Status>>, Error> {
        let request = SuggestRequest::from_wire(request)?;
        let state = self.visible_state(operator, request.scan)?;
        self.check_full_result(operator, request.scan, &state)?;
        let (sender, stream) = mpsc::channel(1);
        let (services, limits) = (Arc::clone(&self.services), self.settings.limits);
        crate::tasks::spawn(async move {
            let turn = tokio::select! {
                turn = Arc::clone(&services.scans.analyses).acquire_owned() => turn.expect("it is never closed"),
                () = sender.closed() => return,
            };
            let streams = Arc::clone(&services.streams);
            let found = streams.spooled(move |writer| {
                let (_turn, writer) = (turn, Mutex::new(writer));
                services.templates.suggest(&request, &limits, &|answer| {
                    let mut writer = writer.lock().expect("nothing panics while it is held");
                    // Progress is only for a reader who has seen all before it.
                    let is_wanted = answer.suggestion.is_some() || writer.is_read();
                    !is_wanted || writer.message(&answer).and_then(|()| writer.show()).is_ok()
                })
            });
            forward(found, sender).await;
        });
        Ok(stream)
    }

    /// The templates, those that were marked last first.
    pub(super) fn list_templates(&self, operator: &Operator, all: bool) -> Result<Vec<v1::Template>, Error> {
        let mut templates = self.services.records.store.templates()?;
        templates.retain(|template| all || template.unmarked == 0);
        templates.sort_by_key(|template| (std::cmp::Reverse(template.marked), template.id));
        if check_unbound(operator).is_err() {
            templates = templates.into_iter().map(outline).collect();
        }
        Ok(templates)
    }
}

/// What a person who is bound to a site or a party sees of a template: its size, and who marked it. The lengths of its chunks in
/// their order would tell the document of another party as their tags would.
fn outline(template: v1::Template) -> v1::Template {
    v1::Template {
        tags: Vec::new(),
        lengths: Vec::new(),
        rows: Vec::new(),
        note: String::new(),
        scan: 0,
        cluster: String::new(),
        ..template
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_has_the_size_of_a_template_and_nothing_of_its_chunks() {
        let template = v1::Template {
            id: 7,
            tags: vec![1; 32],
            lengths: vec![600, 900],
            rows: vec![2; 12],
            row_count: 2,
            row_bytes: 14,
            note: "the frame of all pages".into(),
            scan: 8,
            cluster: "c0ffee".into(),
            tag_count: 2,
            tag_bytes: 1500,
            ..v1::Template::default()
        };
        let seen = outline(template);
        assert_eq!(
            seen,
            v1::Template {
                id: 7,
                tag_count: 2,
                tag_bytes: 1500,
                row_count: 2,
                row_bytes: 14,
                ..v1::Template::default()
            }
        );
    }
}
