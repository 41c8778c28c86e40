//! Versions: documents that say hardly anything which a document that stays does not say. Near and contained documents of a
//! cluster go, where what would be lost is at most what the person allows.
//!
//! Source: G. Forman, K. Eshghi, S. Chiocchetti, "Finding Similar Files in Large Document Repositories" (2005), whose
//! purpose it is to find documents that are "largely duplicates of newer versions"; A. Broder, "On the resemblance and
//! containment of documents" (1997), 2.4, on links that forward to the kept one.
//!
//! The contents of a cluster are taken in the order that the rules give to the best document of each. A content goes if it was
//! measured against one that stays and that the rules prefer, at least four fifths of it are there, and the rest is not more
//! than allowed. What a content was not measured against is no reason: a chain of versions never lets one go because of one that
//! it does not resemble.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::said::Around;
use super::{Group, Keep, Member, OnAll, Rule, Said, Why, compare, decide};
use crate::error::Error;
use crate::report::{DocumentPlace, Located, Report, hex};

/// A scan finds what two documents share to the borders of fine chunks, which have about 7 bytes: so much may be missing of a document
/// that is in another one entirely. The site counts byte by byte before anything goes, and refuses what loses more than is allowed.
const BORDER_BYTES: u64 = 8;

/// The conditions under which versions go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Versions {
    /// The greatest number of bytes of a document that no document which stays has for it.
    pub lose_bytes_max: u64,
}

/// A content of which documents go because another content has nearly all of it.
#[derive(Clone, Debug)]
pub struct Version {
    /// The view under which the two were compared: `raw` or `text`.
    pub view: String,
    /// The digest of the content that goes.
    pub digest: String,
    /// Its size under the view.
    pub size_bytes: u64,
    /// The digest of the content that stays.
    pub kept_digest: String,
    /// Its size under the view.
    pub kept_size_bytes: u64,
    /// Bytes of the content that goes which the other has too.
    pub shared_bytes: u64,
    /// The rest: bytes that would be lost. Bytes of templates are among them.
    pub lost_bytes: u64,
    /// The relation of the content that goes to the one that stays: `near` or `contained`.
    pub relation: &'static str,
    /// The documents that go, by site, repository and path.
    pub gone: Vec<Member>,
    /// The documents that stay for them, the preferred one first.
    pub kept: Vec<Member>,
}

/// Sums of the versions of a plan.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct VersionTotals {
    /// Contents of which documents go.
    pub contents: u64,
    /// Documents that go.
    pub gone: u64,
    /// Their bytes under the view.
    pub gone_bytes: u64,
    /// Bytes that would be lost, each content once.
    pub lost_bytes: u64,
    /// Contents that would go if the rules preferred one of two.
    pub ties: u64,
    /// Contents that stay because too much would be lost, and the bytes that the least of their losses comes to.
    pub too_much: u64,
    /// Clusters that verdicts leave out.
    pub left_out: u64,
    /// Clusters whose verdicts contradict each other or do not hold any more.
    pub unclear: u64,
}

/// A content of a cluster.
struct Candidate {
    digest: String,
    size_bytes: u64,
    members: Vec<Member>,
    /// True if a verdict protects it, or its verdicts are unclear.
    is_protected: bool,
    /// True if documents of it can stay for others.
    serves: bool,
}

impl Candidate {
    /// The place of its preferred document among those that stay for others, or of all if none does.
    fn best(&self, rules: &[Rule]) -> &Member {
        let serving = self.members.iter().filter(|member| member.serves());
        serving
            .min_by(|a, b| compare(rules, a, b).0)
            .or_else(|| self.members.first())
            .expect("a content of a cluster has documents")
    }

    /// True if all of its documents may go.
    fn may_go(&self) -> bool {
        !self.is_protected
            && self
                .members
                .iter()
                .all(|member| !matches!(member.kept, Some(Why::Reference(_) | Why::Verdict(_) | Why::Inside)))
    }
}

impl Member {
    /// True if it stays and others may go because of it.
    fn serves(&self) -> bool {
        match &self.kept {
            None | Some(Why::Inside) => false,
            Some(Why::Verdict(word)) => *word == "keep",
            Some(_) => true,
        }
    }
}

/// The bytes that two contents of a cluster share, by their places, the smaller first.
type Shared = HashMap<(usize, usize), u64>;

impl Report {
    /// Finds the contents that go because another one has nearly all of them, cluster by cluster in the order of the report.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or `each` fails.
    pub fn plan_versions<E: From<Error>>(
        &self,
        keep: &Keep,
        versions: Versions,
        mut each: impl FnMut(Version) -> Result<(), E>,
    ) -> Result<VersionTotals, E> {
        let (around, mut totals) = (Around::of(self)?, VersionTotals::default());
        let clusters: Vec<(i64, String, usize)> = self.rows("SELECT id, name, layer FROM cluster ORDER BY id", ())?;
        // Under two views a document may be in a cluster of each: it goes at most once, and stays if it is needed once.
        let mut decided: HashMap<(String, String, String), bool> = HashMap::new();
        for (cluster, name, layer) in clusters {
            let verdict = self.verdict_of_cluster(layer, &name);
            let view = self.views()[layer].clone();
            let of_cluster =
                verdict.map(|verdict| Said { about: "cluster", id: Some(name), view: Some(view.clone()), verdict });
            match OnAll::of(of_cluster.iter().map(Said::word), &[]) {
                OnAll::Open => {}
                OnAll::Apart(_) => {
                    totals.left_out += 1;
                    continue;
                }
                OnAll::Unclear => {
                    totals.unclear += 1;
                    continue;
                }
            }
            let (candidates, shared) = self.candidates(cluster, layer, keep, &around)?;
            for version in choose(&candidates, &shared, &view, keep, versions, &mut totals) {
                let place = |member: &Member| {
                    let Located { site, repository, path, .. } = &member.document;
                    (site.clone(), repository.clone(), path.clone())
                };
                let is_free = version.gone.iter().all(|member| !decided.contains_key(&place(member)))
                    && version.kept.iter().all(|member| decided.get(&place(member)) != Some(&true));
                if is_free {
                    decided.extend(version.gone.iter().map(|member| (place(member), true)));
                    decided.extend(version.kept.iter().map(|member| (place(member), false)));
                    totals.contents += 1;
                    totals.gone += version.gone.len() as u64;
                    totals.gone_bytes += version.gone.len() as u64 * version.size_bytes;
                    totals.lost_bytes += version.lost_bytes;
                    each(version)?;
                }
            }
        }
        Ok(totals)
    }

    /// The contents of a cluster with their documents, and what was measured of them.
    fn candidates(
        &self,
        cluster: i64,
        layer: usize,
        keep: &Keep,
        around: &Around,
    ) -> Result<(Vec<Candidate>, Shared), Error> {
        let sql = format!(
            "SELECT c.id, c.digest, c.size_bytes, {} FROM content c JOIN document d ON d.content = c.id
             WHERE c.cluster = ? ORDER BY c.id, d.id",
            DocumentPlace::select()
        );
        let mut places: HashMap<i64, usize> = HashMap::new();
        let mut groups: Vec<Group> = Vec::new();
        self.each_row(&sql, [cluster], |(content, digest, size_bytes, place): (i64, [u8; 16], u64, DocumentPlace)| {
            let document = Located { size_bytes: Some(size_bytes), ..self.located(&place)? };
            let place = *places.entry(content).or_insert(groups.len());
            if place == groups.len() {
                let digest = hex(&digest);
                let of_set = self.verdict_of_set(self.tier(layer), &digest).map(|verdict| {
                    let (id, view) = (Some(digest.clone()), Some(self.tier(layer).to_owned()));
                    Said { about: "identical", id, view, verdict }
                });
                let said = of_set.into_iter().chain(around.said(&digest).filter(|said| said.about != "cluster"));
                groups.push(Group { said: said.collect(), digest, size_bytes, documents: Vec::new() });
            }
            let said = self.verdict_of_document(&document);
            let said = said.map(|verdict| Said { about: "document", id: None, view: None, verdict });
            groups[place].documents.push((document, said));
            Ok::<_, Error>(())
        })?;
        let sql = "SELECT a, b, shared_bytes FROM link WHERE cluster = ? AND NOT estimated";
        let mut shared = Shared::new();
        for (a, b, shared_bytes) in self.rows::<(i64, i64, u64)>(sql, [cluster])? {
            if let (Some(a), Some(b)) = (places.get(&a), places.get(&b)) {
                shared.insert((*a.min(b), *a.max(b)), shared_bytes);
            }
        }
        let candidates = groups.into_iter().map(|group| candidate(group, keep)).collect();
        Ok((candidates, shared))
    }
}

fn candidate(group: Group, keep: &Keep) -> Candidate {
    let decision = decide(group, keep);
    let staying = decision.members.iter().filter(|member| member.serves()).count();
    Candidate {
        is_protected: !decision.said.is_empty(),
        serves: staying >= keep.min_copies.max(1) && decision.said.iter().all(|said| said.verdict.verdict == "keep"),
        digest: decision.group,
        size_bytes: decision.size_bytes,
        members: decision.members,
    }
}

/// Chooses the contents of a cluster that go.
fn choose(
    candidates: &[Candidate],
    shared: &Shared,
    view: &str,
    keep: &Keep,
    versions: Versions,
    totals: &mut VersionTotals,
) -> Vec<Version> {
    let mut order: Vec<(usize, &Member)> =
        candidates.iter().map(|candidate| candidate.best(&keep.rules)).enumerate().collect();
    order.sort_by(|(a, best_a), (b, best_b)| {
        compare(&keep.rules, best_a, best_b).0.then_with(|| candidates[*a].digest.cmp(&candidates[*b].digest))
    });
    // The members that have anything in common with each.
    let mut linked: Vec<Vec<usize>> = vec![Vec::new(); candidates.len()];
    for (a, b) in shared.keys() {
        linked[*a].push(*b);
        linked[*b].push(*a);
    }
    // Of those that stay, the place in the order, and the best.
    let mut staying: Vec<Option<(usize, &Member)>> = vec![None; candidates.len()];
    let mut going: Vec<Version> = Vec::new();
    for (rank, (place, best)) in order.into_iter().enumerate() {
        let one = &candidates[place];
        // Of each that stays: what would be lost, and whether the rules prefer it.
        let mut reasons: Vec<(u64, usize, bool)> = Vec::new();
        let serving = linked[place].iter().filter(|other| candidates[**other].serves);
        let mut others: Vec<(usize, usize, &Member)> =
            serving.filter_map(|other| staying[*other].map(|(rank, best)| (rank, *other, best))).collect();
        others.sort_unstable_by_key(|(rank, ..)| *rank);
        for (_, other, best_other) in others {
            let common = shared[&(place.min(other), place.max(other))].min(one.size_bytes);
            if u128::from(common) * 5 >= u128::from(one.size_bytes) * 4 {
                let is_preferred = compare(&keep.rules, best_other, best).0 == Ordering::Less;
                reasons.push((one.size_bytes - common, other, is_preferred));
            }
        }
        // The least loss; of equal ones the first in the order of preference.
        let least = |is_preferred: bool| {
            reasons.iter().filter(|reason| reason.2 == is_preferred).min_by_key(|reason| reason.0).copied()
        };
        let is_allowed = |lost_bytes: u64| lost_bytes <= versions.lose_bytes_max.saturating_add(BORDER_BYTES);
        let chosen = least(true).filter(|reason| is_allowed(reason.0));
        match chosen.filter(|_| one.may_go()) {
            Some((lost_bytes, other, _)) => going.push(version(one, &candidates[other], lost_bytes, view, keep)),
            None => {
                if one.may_go() && least(false).is_some_and(|reason| is_allowed(reason.0)) {
                    totals.ties += 1;
                } else if one.may_go() && least(true).is_some() {
                    totals.too_much += 1;
                }
                staying[place] = Some((rank, best));
            }
        }
    }
    going
}

fn version(gone: &Candidate, kept: &Candidate, lost_bytes: u64, view: &str, keep: &Keep) -> Version {
    let shared_bytes = gone.size_bytes - lost_bytes;
    let is_near = u128::from(shared_bytes) * 5 >= u128::from(kept.size_bytes) * 4;
    let mut staying: Vec<Member> = kept.members.iter().filter(|member| member.serves()).cloned().collect();
    staying.sort_by(|a, b| compare(&keep.rules, a, b).0);
    let leaving = gone.members.iter().map(|member| Member { kept: None, ..member.clone() });
    Version {
        view: view.to_owned(),
        digest: gone.digest.clone(),
        size_bytes: gone.size_bytes,
        kept_digest: kept.digest.clone(),
        kept_size_bytes: kept.size_bytes,
        shared_bytes,
        lost_bytes,
        relation: if is_near { "near" } else { "contained" },
        gone: leaving.collect(),
        kept: staying,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(digest: &str, size_bytes: u64, modified: &str, kept: Option<Why>) -> Candidate {
        let document = Located {
            message_id_hash: None,
            recognised: None,
            modified: modified.to_owned(),
            path: digest.to_owned(),
            path_escaped: None,
            repository: "main".to_owned(),
            site: "a".to_owned(),
            size_bytes: Some(size_bytes),
        };
        let kept = kept.or(Some(Why::All));
        let serves = !matches!(kept, Some(Why::Inside));
        let members = vec![Member { document, kept, said: None }];
        Candidate { digest: digest.to_owned(), size_bytes, members, is_protected: false, serves }
    }

    /// What goes, as `gone→kept lost`, and the sums.
    fn check(
        contents: &[Candidate],
        shared: &[(usize, usize, u64)],
        rules: &[&str],
        lose_bytes_max: u64,
    ) -> (Vec<String>, VersionTotals) {
        let keep = Keep { rules: rules.iter().map(|rule| rule.parse().unwrap()).collect(), min_copies: 1 };
        let shared = shared.iter().map(|(a, b, bytes)| ((*a, *b), *bytes)).collect();
        let mut totals = VersionTotals::default();
        let found = choose(contents, &shared, "raw", &keep, Versions { lose_bytes_max }, &mut totals);
        let shown = found.iter().map(|one| format!("{}→{} {}", one.digest, one.kept_digest, one.lost_bytes));
        (shown.collect(), totals)
    }

    #[test]
    fn an_older_version_goes_where_no_more_than_allowed_would_be_lost() {
        let contents = [content("old", 1000, "2020", None), content("new", 2000, "2021", None)];
        assert_eq!(check(&contents, &[(0, 1, 1000)], &["newest"], 0).0, ["old→new 0"]);
        assert_eq!(check(&contents, &[(0, 1, 950)], &["newest"], 50).0, ["old→new 50"]);
        // A border may lack 8 bytes: the site counts.
        assert_eq!(check(&contents, &[(0, 1, 950)], &["newest"], 42).0, ["old→new 50"]);
        let (found, totals) = check(&contents, &[(0, 1, 950)], &["newest"], 41);
        assert!(found.is_empty() && totals.too_much == 1);
        // The newer one is not in the older one.
        assert!(check(&contents, &[(0, 1, 1000)], &["oldest"], 5000).0.is_empty());
        // Four fifths have to be there, however much may be lost.
        assert_eq!(check(&contents, &[(0, 1, 800)], &["newest"], 5000).0, ["old→new 200"]);
        assert!(check(&contents, &[(0, 1, 799)], &["newest"], 5000).0.is_empty());
    }

    #[test]
    fn of_a_chain_only_those_go_that_were_measured_against_one_that_stays() {
        let contents =
            [content("v1", 1000, "2020", None), content("v2", 1000, "2021", None), content("v3", 1000, "2022", None)];
        // v1 resembles v2, and v2 resembles v3: v2 goes, so that nothing which stays speaks for v1.
        assert_eq!(check(&contents, &[(0, 1, 990), (1, 2, 990)], &["newest"], 20).0, ["v2→v3 10"]);
        let all = [(0, 1, 990), (1, 2, 990), (0, 2, 980)];
        assert_eq!(check(&contents, &all, &["newest"], 20).0, ["v2→v3 10", "v1→v3 20"]);
    }

    #[test]
    fn nothing_goes_that_no_rule_puts_behind_another() {
        let contents = [content("a", 1000, "2020", None), content("b", 1000, "2020", None)];
        let (found, totals) = check(&contents, &[(0, 1, 1000)], &["newest"], 0);
        assert!(found.is_empty() && totals.ties == 1);
        let contents = [content("part", 900, "2020", None), content("whole", 1000, "2020", None)];
        assert_eq!(check(&contents, &[(0, 1, 900)], &["newest", "most-complete"], 0).0, ["part→whole 0"]);
    }

    #[test]
    fn what_must_stay_stays_and_what_cannot_serve_lets_nothing_go() {
        let reference = Some(Why::Reference("reference:a".to_owned()));
        let contents = [content("old", 1000, "2020", reference), content("new", 2000, "2021", None)];
        assert!(check(&contents, &[(0, 1, 1000)], &["newest"], 0).0.is_empty());
        let contents = [content("old", 1000, "2020", Some(Why::Verdict("keep"))), content("new", 2000, "2021", None)];
        assert!(check(&contents, &[(0, 1, 1000)], &["newest"], 0).0.is_empty());
        let contents = [content("old", 1000, "2020", None), content("new", 2000, "2021", Some(Why::Inside))];
        assert!(check(&contents, &[(0, 1, 1000)], &["newest"], 0).0.is_empty());
    }
}
