//! The file of a result, in pieces.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use cognate_proto::name::ScanId;
use cognate_proto::v1;
use tokio::sync::mpsc;
use tonic::Status;

use super::{OperatorService, blocking};
use crate::error::Error;
use crate::identity::Operator;
use cognate_storage::journal::Action;

/// The bytes that go in one message.
const PIECE_BYTES: usize = 256 << 10;

impl OperatorService {
    /// The file of a result from an offset on.
    ///
    /// # Errors
    /// Fails if there is none, or it names documents that the person may not see.
    pub(super) fn fetch(
        &self,
        operator: &Operator,
        id: ScanId,
        offset: u64,
    ) -> Result<mpsc::Receiver<Result<v1::FetchResultResponse, Status>>, Error> {
        let path = self.result_of(operator, id)?;
        let file = File::open(&path).map_err(Error::state(&path))?;
        let total_bytes = file.metadata().map_err(Error::state(&path))?.len();
        if offset > total_bytes {
            return Err(Error::Invalid(format!("`offset`: the result has only {total_bytes} bytes")));
        }
        let file = Arc::new(file);
        if offset == 0 {
            self.services.records.note(Action::Fetched, id.0, operator.name.as_str())?;
        }
        let (pieces, stream) = mpsc::channel(1);
        crate::tasks::spawn(async move {
            let (mut offset, mut begun) = (offset, false);
            // A piece is read only when there is room for it: no thread waits for the peer.
            while let Ok(room) = pieces.reserve().await {
                let (file, path) = (Arc::clone(&file), path.clone());
                let message = blocking(move || read(&file, offset).map_err(Error::state(&path))).await;
                let bytes = message.as_ref().map_or(0, Vec::len);
                if bytes == 0 && begun && message.is_ok() {
                    return;
                }
                begun = true;
                offset += bytes as u64;
                let failed = message.is_err();
                room.send(message.map(|piece| v1::FetchResultResponse { piece, total_bytes }));
                if failed {
                    return;
                }
            }
        });
        Ok(stream)
    }

    /// The path of a scan's result, if it has one and a person may see all of it.
    ///
    /// # Errors
    /// Fails if there is none, or it names documents that the person may not see.
    pub fn result_of(&self, operator: &Operator, id: ScanId) -> Result<PathBuf, Error> {
        let state = self.visible_state(operator, id)?;
        match state.status() {
            v1::ScanStatus::Complete | v1::ScanStatus::Partial => {}
            v1::ScanStatus::Failed => {
                return Err(Error::Refused(format!("scan {id} has no result, it failed: {}", state.failure)));
            }
            v1::ScanStatus::Cancelled => {
                return Err(Error::Refused(format!("scan {id} has no result: it was cancelled")));
            }
            _ => {
                return Err(Error::Refused(format!(
                    "scan {id} has not ended: wait for it with `cognate scan watch {id}`"
                )));
            }
        }
        self.check_full_result(operator, id, &state)?;
        Ok(self.services.scans.analyser.published(id)?)
    }

    /// A full result names documents of all its sites: a person who is bound to a site or party gets it only if all of
    /// them are of that party, whose sites trust each other.
    pub(super) fn check_full_result(
        &self,
        operator: &Operator,
        id: ScanId,
        state: &v1::ScanState,
    ) -> Result<(), Error> {
        let repositories = state.options.iter().flat_map(|options| &options.repositories);
        let sites = repositories.map(|repository| repository.site.as_str());
        match operator.viewer().hidden_site(sites, |site| self.party_of(site)) {
            None => Ok(()),
            Some(other) => Err(Error::Denied(format!(
                "scan {id} holds documents of `{other}`, which `{}` may not see: the site's own part is shown by `cognate \
                 worker results`",
                operator.name
            ))),
        }
    }
}

/// A piece of a file from an offset on; empty: that is its end.
fn read(file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut filled = 0;
    while filled < PIECE_BYTES {
        match file.read_at(&mut piece[filled..], offset + filled as u64)? {
            0 => break,
            bytes => filled += bytes,
        }
    }
    piece.truncate(filled);
    Ok(piece)
}
