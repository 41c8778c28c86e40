//! A plan as its page shows it: sums over all sets, and the first sets of each kind. The copies of all sets are compared as they
//! are packed in the result; only what is shown is read row by row.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::browse::Browse;
use crate::error::Error;
use crate::marks::Mark;
use crate::plan::{Bearing, Choice, Decision, Group, Keep, Left, OnAll, Placed, Said, Totals, Word, choose, decide};
use crate::report::{Located, VerdictSection};
use cognate_result_file::PackedSet;
use cognate_storage::store::Store;
use cognate_storage::verdict::Key;
use rusqlite::params;

/// The outcome of rules for a page.
#[derive(Default, Debug)]
pub struct PlanPreview {
    /// Sums over all sets.
    pub totals: Totals,
    /// Documents that go at each site, and their bytes.
    pub sites: BTreeMap<String, (u64, u64)>,
    /// The first sets that nobody has decided about clearly.
    pub ties: Vec<Decision>,
    /// The first sets of which something goes.
    pub shown: Vec<Decision>,
    /// The first sets that verdicts leave out.
    pub left_out: Vec<Decision>,
}

/// The verdicts on a result, as far as they affect plans.
struct Verdicts<'b> {
    clusters: HashMap<u64, Word>,
    sets: HashSet<u64>,
    documents: &'b HashMap<[u8; 18], ([u8; 16], &'static str)>,
}

/// A document of a packed set.
struct Unpacked<'a> {
    site: &'a str,
    repository: &'a str,
    path: &'a str,
    modified: i64,
}

impl Placed for Unpacked<'_> {
    fn site(&self) -> &str {
        self.site
    }

    fn repository(&self) -> &str {
        self.repository
    }

    fn path(&self) -> &str {
        self.path
    }

    fn size_bytes(&self) -> Option<u64> {
        None
    }

    fn compare_modified(&self, other: &Self) -> Ordering {
        self.modified.cmp(&other.modified)
    }
}

impl Browse {
    /// Decides about all sets of the same bytes, as `Report::plan` does, and shows the first `shown_max` of each kind.
    ///
    /// # Errors
    /// Fails if the result or the store cannot be read.
    pub fn plan(&self, store: &Store, keep: &Keep, shown_max: usize) -> Result<PlanPreview, Error> {
        let roots: Vec<(u64, String, String)> = self.report().rows("SELECT id, site, repository FROM root", ())?;
        let roots = roots.into_iter().map(|(id, site, repository)| (id, (site, repository))).collect();
        let verdicts = self.verdicts_for_plans()?;
        let mut preview = PlanPreview::default();
        let mut set = PackedSet::default();
        let mut text = String::new();
        self.report().each_row("SELECT block FROM packed_sets ORDER BY first", (), |block: Vec<u8>| {
            let mut block = block.as_slice();
            let damaged = |damaged| Error::Invalid(format!("{damaged}: run the scan again"));
            while set.unpack(&mut block).map_err(damaged)? {
                self.add_set(&mut preview, &set, (&roots, &verdicts, &mut text), (store, keep, shown_max))?;
            }
            Ok::<_, Error>(())
        })?;
        Ok(preview)
    }

    fn verdicts_for_plans(&self) -> Result<Verdicts<'_>, Error> {
        let marks: Vec<(u64, String, bool)> =
            self.report().rows("SELECT cluster, verdict, changed FROM temp.mark", ())?;
        let word =
            |(cluster, verdict, changed): (u64, String, bool)| (cluster, Word::new(verdict_word(&verdict), !changed));
        let mut sets = HashSet::new();
        for key in &self.other_verdicts.sets {
            let name = crate::report::hex(&key[2..]);
            sets.extend(self.report().rows::<u64>("SELECT id FROM identical WHERE name = ?", [name])?);
        }
        Ok(Verdicts {
            clusters: marks.into_iter().map(word).collect(),
            sets,
            documents: &self.other_verdicts.documents,
        })
    }

    fn add_set(
        &self,
        preview: &mut PlanPreview,
        set: &PackedSet,
        (roots, verdicts, text): (&HashMap<u64, (String, String)>, &Verdicts<'_>, &mut String),
        (store, keep, shown_max): (&Store, &Keep, usize),
    ) -> Result<(), Error> {
        let placed = decided_quickly(set, roots, verdicts, text, keep);
        let (left, is_full) = match &placed {
            Some(Quick { left, .. }) => (*left, preview.is_full(*left, shown_max)),
            None => (None, false),
        };
        if let Some(Quick { word, gone, .. }) = placed.filter(|_| is_full) {
            preview.totals.add_counts(left, word, (set.documents.len(), gone.len()), set.size_bytes, keep);
            for site in gone {
                let of_site = preview.sites.entry(site.to_owned()).or_default();
                *of_site = (of_site.0 + 1, of_site.1 + set.size_bytes);
            }
            return Ok(());
        }
        let Some(decision) = self.decision_of(store, set, keep)? else { return Ok(()) };
        preview.totals.add(&decision, keep);
        for gone in decision.gone() {
            let of_site = preview.sites.entry(gone.document.site.clone()).or_default();
            *of_site = (of_site.0 + 1, of_site.1 + decision.size_bytes);
        }
        if !preview.is_full(decision.left, shown_max) {
            preview.list(decision.left).into_iter().for_each(|list| list.push(decision.clone()));
        }
        Ok(())
    }

    /// The decision about a set with the verdicts as they are shown.
    fn decision_of(&self, store: &Store, set: &PackedSet, keep: &Keep) -> Result<Option<Decision>, Error> {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let Some(found) = self.report().identical_numbered(number(set.number))? else { return Ok(None) };
        let mut said = Vec::new();
        let mut of_sets = Vec::new();
        for other in [set.number].iter().chain(&set.sets) {
            let Some(row) = self.set_numbered(number(*other))? else { continue };
            if let Some(mark) = self.mark_of_set(store, &row)? {
                let verdict = Said::of("identical", row.id.clone(), row.tier.to_string(), mark);
                if *other == set.number { said.push(verdict) } else { of_sets.push(verdict) }
            }
        }
        let mut of_clusters = Vec::new();
        for cluster in &set.clusters {
            let Some(row) = self.cluster_numbered(number(*cluster))? else { continue };
            let mark = self.mark_of_cluster(store, &row)?;
            of_clusters.extend(mark.map(|mark| Said::of("cluster", row.id, row.view, mark)));
        }
        for more in [&mut of_sets, &mut of_clusters] {
            more.sort_by(|a, b| (&a.view, &a.id).cmp(&(&b.view, &b.id)));
            said.append(more);
        }
        let mut documents = Vec::new();
        for (document, packed) in found.documents.into_iter().zip(self.paths_of(set)?) {
            let on_it = self.said_of_document(store, &document, &packed)?;
            documents.push((document, on_it));
        }
        Ok(Some(decide(Group { digest: found.id, size_bytes: set.size_bytes, documents, said }, keep)))
    }

    /// The paths of a set's documents, in the order of reports.
    fn paths_of(&self, set: &PackedSet) -> Result<Vec<Vec<u8>>, Error> {
        let sql = format!(
            "SELECT d.path FROM content c JOIN document d ON d.content = c.id JOIN root r ON r.id = d.root
             WHERE c.identical = ? ORDER BY {}",
            self.report().by_document()
        );
        self.report().rows(&sql, params![set.number])
    }

    fn said_of_document(&self, store: &Store, document: &Located, path: &[u8]) -> Result<Option<Said>, Error> {
        let key = Key::of_document(&document.site, &document.repository, path);
        if !self.other_verdicts.documents.contains_key(&key.0) {
            return Ok(None);
        }
        let Some(row) = store.verdict(key)? else { return Ok(None) };
        let Some(entry) = self.in_force(&row) else { return Ok(None) };
        let found = self.document_state(key, entry)?;
        Ok(found.map(|(_, mark)| Said { about: "document", id: None, view: None, verdict: section(mark) }))
    }
}

impl PlanPreview {
    /// The list of sets that are decided so; nothing: they are only counted.
    fn list(&mut self, left: Option<Left>) -> Option<&mut Vec<Decision>> {
        match left {
            None => Some(&mut self.shown),
            Some(Left::Tie) => Some(&mut self.ties),
            Some(Left::Verdict) => Some(&mut self.left_out),
            Some(Left::Few) => None,
        }
    }

    fn is_full(&mut self, left: Option<Left>, shown_max: usize) -> bool {
        self.list(left).is_none_or(|list| list.len() >= shown_max)
    }
}

/// What sums need of a decision.
struct Quick<'a> {
    left: Option<Left>,
    /// A verdict because of which nothing goes.
    word: Option<&'static str>,
    /// The sites of the documents that go.
    gone: Vec<&'a str>,
}

/// The decision about a set; nothing where its verdicts have to be read one by one.
fn decided_quickly<'a>(
    set: &PackedSet,
    roots: &'a HashMap<u64, (String, String)>,
    verdicts: &Verdicts<'_>,
    text: &mut String,
    keep: &Keep,
) -> Option<Quick<'a>> {
    if !verdicts.sets.is_empty() && [set.number].iter().chain(&set.sets).any(|set| verdicts.sets.contains(set)) {
        return None;
    }
    let mut words = set.clusters.iter().filter_map(|cluster| verdicts.clusters.get(cluster)).copied();
    let first = words.next();
    if words.any(|word| Some(word) != first) {
        return None;
    }
    text.clear();
    let mut ends = Vec::with_capacity(set.documents.len());
    for document in &set.documents {
        text.push_str(&cognate_proto::path::escaped(set.path(document)).0);
        ends.push(text.len());
    }
    let mut begin = 0;
    let mut documents = Vec::with_capacity(ends.len());
    let mut on_each = vec![None; ends.len()];
    for (place, (document, end)) in set.documents.iter().zip(ends).enumerate() {
        let (site, repository) = roots.get(&document.root)?;
        if !verdicts.documents.is_empty() {
            let key = Key::of_document(site, repository, set.path(document));
            match verdicts.documents.get(&key.0) {
                Some((digest, verdict)) if *digest == set.digest => {
                    on_each[place] = Some(Word::new(verdict, true)).filter(|word| word.bearing != Bearing::None);
                }
                Some(_) => return None,
                None => {}
            }
        }
        documents.push(Unpacked { site, repository, path: &text[begin..end], modified: document.modified });
        begin = end;
    }
    let on_all = OnAll::of(first.into_iter(), &on_each);
    let word = match on_all {
        OnAll::Open => None,
        OnAll::Apart(word) => Some(word),
        OnAll::Unclear => first.map(|word| word.verdict),
    };
    let Choice { left, kept } = choose(&documents, &on_each, on_all, keep);
    let gone = set.documents.iter().zip(&kept).filter(|(_, kept)| kept.is_none());
    let gone = gone.filter_map(|(document, _)| roots.get(&document.root)).map(|(site, _)| site.as_str()).collect();
    Some(Quick { left, word, gone })
}

impl Said {
    fn of(about: &'static str, id: String, view: String, mark: Mark) -> Said {
        Said { about, id: Some(id), view: Some(view), verdict: section(mark) }
    }
}

fn section(mark: Mark) -> VerdictSection {
    VerdictSection {
        by: mark.by,
        changed: mark.changed.filter(|why| !why.is_empty()),
        note: Some(mark.note).filter(|note| !note.is_empty()),
        time: mark.time,
        verdict: mark.verdict,
    }
}

/// The word of a verdict, as marks have it.
fn verdict_word(word: &str) -> &'static str {
    ["duplicate", "not-a-duplicate", "intentional", "keep", "done"]
        .into_iter()
        .find(|known| *known == word)
        .unwrap_or_default()
}
