//! Marking of tags that are set aside from then on, and taking it back.

use std::collections::HashMap;

use cognate_fingerprint::{ContentDigest, MethodId, Tag};
use cognate_proto::limits::TEXT_BYTES_MAX;
use cognate_proto::name::{ScanId, one_line};
use cognate_proto::options::LayerOptions;
use cognate_proto::v1;
use cognate_similarity::Containment;

use cognate_analysis::suggest::Postings;
use cognate_similarity::frame::{FrameRow, ROW_BYTES};
use cognate_storage::template::{
    Chunk, Ignored, ROWS_MAX, TAGS_MAX, check_chunks, joined, joined_rows, split, split_rows,
};

use super::Templates;
use crate::error::Error;
use cognate_result::report::Report;
use cognate_storage::indexes::Sealed;
use cognate_storage::journal::What;
use cognate_storage::store::{FrozenRow, ScanRow, ScanStep};

/// The longest decimal number from 0 to 1 that is taken.
const SHARE_BYTES_MAX: usize = 32;

/// A request to mark a template.
pub(crate) struct Mark {
    pub(crate) which: Which,
    /// The cluster of its tags, by the beginning of its id; nothing: none.
    pub(crate) cluster: String,
    pub note: String,
}

/// The tags.
pub(crate) enum Which {
    /// Those that at least this share of the cluster's contents have.
    Common(Containment),
    /// Those of the frames on which the cluster rests.
    Frame,
    /// These, and these rows of fine chunks.
    These(Vec<Tag>, Vec<FrameRow>),
}

impl Mark {
    /// Checks a request.
    pub(crate) fn from_wire(request: &v1::MarkTemplateRequest) -> Result<Mark, Error> {
        let refused = |field: &str, why: &dyn std::fmt::Display| Error::Invalid(format!("`{field}`: {why}"));
        let v1::MarkTemplateRequest { cluster, share, tags, rows, note, frame, .. } = request;
        if note.len() > TEXT_BYTES_MAX {
            return Err(refused("note", &"it is too long"));
        }
        let digits = cluster.bytes().all(|byte| byte.is_ascii_hexdigit()) && cluster.len() <= 32;
        let has_none = tags.is_empty() && rows.is_empty();
        if !digits || (cluster.is_empty() && (has_none || *frame)) {
            return Err(refused("cluster", &"an id is up to 32 hexadecimal digits: `cognate report` shows them"));
        }
        if !tags.len().is_multiple_of(16) || tags.len() / 16 > TAGS_MAX {
            return Err(refused("tags", &format!("they are at most {TAGS_MAX} of 16 bytes each")));
        }
        if !rows.len().is_multiple_of(ROW_BYTES) || rows.len() / ROW_BYTES > ROWS_MAX {
            return Err(refused("rows", &format!("they are at most {ROWS_MAX} of {ROW_BYTES} bytes each")));
        }
        let which = if *frame {
            Which::Frame
        } else if has_none {
            let share = if share.is_empty() { "1" } else { share };
            let parsed = if share.len() > SHARE_BYTES_MAX { None } else { share.parse::<Containment>().ok() };
            let above_nothing = parsed.filter(|share| share.share_of_bytes(u64::MAX) > 0);
            Which::Common(above_nothing.ok_or_else(|| refused("share", &"a decimal number above 0, at most 1"))?)
        } else {
            Which::These(split(tags).collect(), split_rows(rows).collect())
        };
        Ok(Mark { which, cluster: cluster.to_ascii_lowercase(), note: one_line(note) })
    }
}

/// A cluster of a result and the contents in it.
struct Members {
    cluster: String,
    /// The layer of the scan that it was found in.
    layer: usize,
    contents: HashMap<ContentDigest, u32>,
}

impl Templates {
    /// Marks a template. An earlier mark of the same tags stays, note and all.
    ///
    /// # Errors
    /// Fails if the scan has no such cluster, its documents have changed since, or they have nothing in common.
    pub(crate) fn mark(&self, scans: &[ScanId], mark: &Mark, by: &str) -> Result<v1::Template, Error> {
        let (scan, row, members) = self.origin(scans, mark)?;
        let indexes = &self.scans.analyser.indexes;
        let places = row.frozen.iter().map(|frozen| (frozen.site.clone(), frozen.repository.clone()));
        let _hold = indexes.hold(places);
        let (layer, chunks, rows) = match (&mark.which, &members) {
            (Which::These(tags, rows), _) => {
                let (layer, chunks) = self.known(scan, &row, tags)?;
                (layer, chunks, rows.clone())
            }
            (Which::Common(share), Some(members)) => {
                let sealed = self.sealed(&row, members.layer)?;
                let postings = Postings::open(indexes, &sealed, Some(&members.contents))?;
                (members.layer, common(&postings, members, *share)?, Vec::new())
            }
            (Which::Frame, Some(members)) => {
                let (chunks, rows) = self.frame(scan, members)?;
                (members.layer, chunks, rows)
            }
            (Which::Common(_) | Which::Frame, None) => {
                return Err(Error::Invalid("`cluster`: it is missing".to_owned()));
            }
        };
        let (method_id, method) = method_of(scan, &row, layer)?;
        let (tags, lengths) = joined(&chunks);
        let rows = joined_rows(&rows);
        let ignored = Ignored::of(&[v1::Template { tags: tags.clone(), rows: rows.clone(), ..Default::default() }]);
        let id = ignored.id(method_id);
        if let Some(known) = self.records.store.template(id)?.filter(|known| known.unmarked == 0) {
            return Ok(known);
        }
        let template = v1::Template {
            id,
            method: Some(method),
            tag_count: lengths.len() as u64,
            tag_bytes: lengths.iter().copied().map(u64::from).sum(),
            tags,
            lengths,
            rows: joined_rows(&ignored.rows),
            row_count: ignored.rows.len() as u64,
            row_bytes: ignored.rows.iter().map(|row| row.first_bytes()).sum(),
            note: mark.note.clone(),
            scan: scan.0,
            cluster: members.map(|members| members.cluster).unwrap_or_default(),
            marked_by: by.to_owned(),
            marked: self.records.now(),
            unmarked_by: String::new(),
            unmarked: 0,
        };
        self.records.record(What::Template(template.clone()), by)?;
        tracing::info!(template = %ScanId(id), by, tags = chunks.len(), rows = ignored.rows.len(), "a template is marked");
        Ok(template)
    }

    /// Takes a template back: from now on its tags count again, unless another has them.
    ///
    /// # Errors
    /// Fails if there is none.
    pub(crate) fn unmark(&self, id: u64, by: &str) -> Result<(), Error> {
        match self.records.store.template(id)? {
            None => Err(Error::UnknownMember(format!("no template {}", ScanId(id)))),
            // A repeated request.
            Some(template) if template.unmarked != 0 => Ok(()),
            Some(_) => {
                tracing::info!(template = %ScanId(id), by, "a template is taken back");
                Ok(self.records.record(What::TemplateUnmarked(id), by)?)
            }
        }
    }

    /// The first of these scans that has a result with the cluster; where none is named, the first that has a result.
    fn origin(&self, scans: &[ScanId], mark: &Mark) -> Result<(ScanId, ScanRow, Option<Members>), Error> {
        for id in scans {
            let Some(row) = self.records.store.scan(*id)?.filter(|row| row.step() == ScanStep::Published) else {
                continue;
            };
            if mark.cluster.is_empty() {
                return Ok((*id, row, None));
            }
            let report = Report::open(&self.scans.analyser.published(*id)?)?;
            if let Some((cluster, layer, digests)) = report.members_of(&mark.cluster)? {
                let contents = digests.into_iter().zip(0..).collect();
                return Ok((*id, row, Some(Members { cluster, layer, contents })));
            }
        }
        Err(match scans {
            [scan] if mark.cluster.is_empty() => Error::Refused(format!("scan {scan} has no result")),
            [scan] => Error::UnknownMember(format!("scan {scan} has no cluster `{}`", mark.cluster)),
            _ => Error::UnknownMember(format!("no scan has a cluster `{}`", mark.cluster)),
        })
    }

    /// The chunks and rows of the frames on which a cluster rests, the most common frames first, as many as a template can have.
    fn frame(&self, scan: ScanId, members: &Members) -> Result<(Vec<Chunk>, Vec<FrameRow>), Error> {
        let frames = Report::open(&self.scans.analyser.published(scan)?)?.frames()?.into_iter();
        let of_cluster =
            frames.filter(|frame| frame.layer == members.layer && frame.clusters.contains(&members.cluster));
        let (mut chunks, mut rows): (Vec<Chunk>, Vec<FrameRow>) = (Vec::new(), Vec::new());
        for frame in of_cluster {
            if chunks.len() + frame.chunks.len() <= TAGS_MAX && rows.len() + frame.rows.len() <= ROWS_MAX {
                chunks.extend(frame.chunks);
                rows.extend(frame.rows);
            }
        }
        if chunks.is_empty() && rows.is_empty() {
            return Err(Error::Refused(format!(
                "no link of cluster {} of scan {scan} rests on a frame",
                members.cluster
            )));
        }
        chunks.sort_unstable();
        chunks.dedup();
        Ok((chunks, rows))
    }

    /// These chunks, and the first layer of a scan whose documents have them all.
    fn known(&self, scan: ScanId, row: &ScanRow, tags: &[Tag]) -> Result<(usize, Vec<Chunk>), Error> {
        let mut first_unknown = None;
        for layer in 0..row.layer_count() {
            let known = Postings::open(&self.scans.analyser.indexes, &self.sealed(row, layer)?, None)?.known(tags)?;
            match tags.iter().find(|tag| known.binary_search_by_key(*tag, |known| known.0).is_err()) {
                None => return Ok((layer, known)),
                Some(unknown) => drop(first_unknown.get_or_insert(*unknown)),
            }
        }
        let unknown = first_unknown.map(|tag| tag.to_string()).unwrap_or_default();
        Err(Error::Invalid(format!("`tags`: no document of scan {scan} has {unknown} now")))
    }

    /// The current indexes of the repositories of a scan's layer.
    fn sealed(&self, row: &ScanRow, layer: usize) -> Result<Vec<Sealed>, Error> {
        let mut sealed = Vec::new();
        for key in row.frozen_of(layer).filter_map(FrozenRow::slot) {
            sealed.extend(self.scans.analyser.indexes.sealed(&key)?);
        }
        Ok(sealed)
    }
}

/// The method of a layer of a scan, as its indexes have it.
fn method_of(scan: ScanId, row: &ScanRow, layer: usize) -> Result<(MethodId, v1::MethodSpec), Error> {
    let layers = row.options().layers().unwrap_or_default();
    match (row.method_id(layer), layers.get(layer)) {
        (Some(id), Some(LayerOptions { method, .. })) => {
            check_chunks(method)?;
            Ok((id, v1::MethodSpec { method_id: id.0.to_vec(), ..method.into() }))
        }
        _ => Err(Error::Refused(format!("scan {scan} does not name the indexes that it compared: launch it again"))),
    }
}

/// The tags that this share of a cluster's contents has in common.
fn common(postings: &Postings, members: &Members, share: Containment) -> Result<Vec<Chunk>, Error> {
    let Members { cluster, contents, .. } = members;
    if postings.found < contents.len() {
        let gone = contents.len() - postings.found;
        let all = contents.len();
        return Err(Error::Refused(format!(
            "{gone} of the {all} contents of cluster {cluster} have changed or are gone since: scan again, and mark a cluster of that"
        )));
    }
    let least = usize::try_from(share.share_of_bytes(contents.len() as u64)).unwrap_or(usize::MAX);
    let common = postings.common(least.max(1))?;
    match common.len() {
        0 => Err(Error::Refused(format!(
            "no chunk is common to so many of the {} contents of cluster {cluster}: ask for a smaller --share",
            contents.len()
        ))),
        count if count > TAGS_MAX => Err(Error::Refused(format!(
            "the contents of cluster {cluster} have {count} chunks in common, more than the {TAGS_MAX} of a template: these \
             are copies rather than templates"
        ))),
        _ => Ok(common),
    }
}
