//! A list of documents by what became of them: at one site, or at one site as against another.

use std::collections::{HashMap, HashSet};

use super::{DocumentSection, Report, hex};
use crate::error::Error;

/// Which documents are listed.
#[derive(Clone, Default, Debug)]
pub struct DocumentFilter {
    /// Only those of this status; `excluded` is any of its reasons.
    pub status: Option<String>,
    /// Only those at this site.
    pub site: Option<String>,
    /// What became of them is told of this site alone, as if it were the only other one.
    pub against: Option<String>,
}

/// Statuses that links give, the first that applies counts.
const LINKED: [&str; 4] = ["near", "contains", "contained", "shares"];

impl Report {
    /// The documents that a filter lets through.
    ///
    /// # Errors
    /// When the file cannot be read, names no such site, or `each` fails.
    pub fn documents_where<E: From<Error>>(
        &self,
        filter: &DocumentFilter,
        mut each: impl FnMut(DocumentSection) -> Result<(), E>,
    ) -> Result<(), E> {
        let sites: HashSet<String> = self.sites()?.into_iter().map(|site| site.site).collect();
        for named in [&filter.site, &filter.against].into_iter().flatten() {
            if !sites.contains(named) {
                return Err(Error::Invalid(format!("the scan has no site `{named}`")).into());
            }
        }
        let against = filter.against.as_ref().map(|site| Against::of(self, site)).transpose()?;
        self.documents(|mut document| {
            if filter.site.as_ref().is_some_and(|site| document.site != *site) {
                return Ok(());
            }
            if let (Some(against), Some(other)) = (&against, &filter.against) {
                if document.site == *other {
                    return Ok(());
                }
                against.tell(&mut document);
                document.partner = document.partner.filter(|partner| partner.site == *other);
            }
            let wanted = filter.status.as_ref().is_none_or(|status| {
                document.status == *status
                    || document.status.strip_prefix(status.as_str()).is_some_and(|rest| rest.starts_with('('))
            });
            if wanted { each(document) } else { Ok(()) }
        })
    }
}

/// What another site has, by content: the number of its layer and its digest.
struct Against {
    copies: HashSet<(usize, String)>,
    /// The first of [`LINKED`] that applies.
    linked: HashMap<(usize, String), usize>,
    messages: HashSet<String>,
}

impl Against {
    fn of(report: &Report, site: &str) -> Result<Against, Error> {
        let mut copies = HashSet::new();
        let mut statement = report
            .connection
            .prepare(
                "SELECT DISTINCT c.digest, c.layer FROM content c JOIN document d ON d.content = c.id JOIN root r ON r.id = d.root
                 WHERE r.site = ?",
            )
            .map_err(|error| report.failed(error))?;
        let mut rows = statement.query([site]).map_err(|error| report.failed(error))?;
        while let Some(row) = rows.next().map_err(|error| report.failed(error))? {
            let digest: Vec<u8> = row.get(0).map_err(|error| report.failed(error))?;
            copies.insert((row.get(1).map_err(|error| report.failed(error))?, hex(&digest)));
        }
        let mut linked = HashMap::new();
        let sql = "SELECT a.digest, b.digest, l.relation, a.layer FROM link l JOIN content a ON a.id = l.a JOIN content b ON b.id = l.b";
        report.each(sql, |row| {
            let layer: usize = row.get(3)?;
            let (a, b) = ((layer, hex(row.get_ref(0)?.as_blob()?)), (layer, hex(row.get_ref(1)?.as_blob()?)));
            let relation: String = row.get(2)?;
            let back = super::reversed(&relation).to_owned();
            for (from, to, relation) in [(&a, &b, &relation), (&b, &a, &back)] {
                let place = LINKED.iter().position(|one| one == relation).unwrap_or(LINKED.len() - 1);
                if copies.contains(to) {
                    let best = linked.entry(from.clone()).or_insert(place);
                    *best = place.min(*best);
                }
            }
            Ok(())
        })?;
        let mut messages = HashSet::new();
        // Only where messages are matched do documents stand in sets of them.
        let sql =
            "SELECT m.hash, r.site FROM message m JOIN document d ON d.message = m.id JOIN root r ON r.id = d.root";
        report.each(sql, |row| {
            if row.get::<_, String>(1)? == site {
                messages.insert(hex(row.get_ref(0)?.as_blob()?));
            }
            Ok(())
        })?;
        Ok(Against { copies, linked, messages })
    }

    /// Says of a document what became of it at the other site.
    fn tell(&self, document: &mut DocumentSection) {
        if document.status.starts_with("excluded") {
            return;
        }
        let contents: Vec<(usize, String)> = [&document.content, &document.text_content]
            .into_iter()
            .enumerate()
            .filter_map(|(layer, content)| Some((layer, content.clone()?)))
            .collect();
        let is_same_message = document.message_id_hash.as_ref().is_some_and(|hash| self.messages.contains(hash));
        let linked = contents.iter().filter_map(|content| self.linked.get(content)).min();
        document.status = match (contents.iter().any(|content| self.copies.contains(content)), linked) {
            (true, _) => "identical".to_owned(),
            _ if is_same_message => "identical".to_owned(),
            (false, Some(place)) => LINKED[*place].to_owned(),
            (false, None) => "unique".to_owned(),
        };
    }
}
