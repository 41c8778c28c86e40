//! A report of the clusters that people decided about in some way, or labelled: the rows of these clusters and of their
//! documents. They are the same rows as in the complete report.

use std::fmt;
use std::str::FromStr;

use cognate_proto::v1;
use rusqlite::params;

use super::Report;
use super::sets::loose_tier;
use super::slice::LAYERS;
use crate::error::Error;
use cognate_storage::verdict::{self, Labels};

/// Verdicts of the clusters that are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VerdictWanted {
    /// None, or its members have changed since: these clusters are still to be reviewed.
    Open,
    /// Nothing at all.
    None,
    /// Something, and it still holds.
    Any,
    /// Something, and what it consists of has changed since.
    Changed,
    /// This, and it still holds.
    Is(v1::Verdict),
}

/// The clusters to which a report is limited.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Choice {
    /// With this verdict: `open`, `none`, `any`, `changed`, or one of the verdicts.
    pub verdict: Option<VerdictWanted>,
    /// With all of these tags.
    pub tags: Vec<String>,
    /// For this person.
    pub assignee: Option<String>,
}

impl Choice {
    /// Reads what somebody typed.
    ///
    /// # Errors
    /// Fails if there is no such verdict.
    pub fn parse(verdict: Option<&str>, tags: &[String], assignee: Option<&str>) -> Result<Choice, Error> {
        let verdict = verdict.map(str::parse).transpose();
        let verdict = verdict.map_err(|known: String| Error::Invalid(format!("`verdict`: one of {known}")))?;
        Ok(Choice { verdict, tags: tags.to_vec(), assignee: assignee.map(str::to_owned) })
    }

    /// True if it is of all clusters.
    pub fn is_empty(&self) -> bool {
        *self == Choice::default()
    }

    fn words(&self) -> String {
        let verdict = self.verdict.map(|verdict| format!("verdict {verdict}"));
        let tags = self.tags.iter().map(|tag| format!("tag {tag}"));
        let assignee = self.assignee.as_ref().map(|name| format!("for {name}"));
        verdict.into_iter().chain(tags).chain(assignee).collect::<Vec<_>>().join(", ")
    }

    fn is_of(&self, labels: &Labels) -> bool {
        self.tags.iter().all(|tag| labels.tags.contains(tag))
            && self.assignee.as_ref().is_none_or(|name| *name == labels.assignee)
    }
}

impl FromStr for VerdictWanted {
    type Err = String;

    fn from_str(text: &str) -> Result<VerdictWanted, String> {
        Ok(match text {
            "open" => VerdictWanted::Open,
            "none" => VerdictWanted::None,
            "any" => VerdictWanted::Any,
            "changed" => VerdictWanted::Changed,
            word => VerdictWanted::Is(verdict::parse(word).ok_or_else(|| {
                let words: Vec<_> = verdict::WORDS.iter().map(|(_, word)| *word).collect();
                format!("open, none, any, changed, {}", words.join(", "))
            })?),
        })
    }
}

impl fmt::Display for VerdictWanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            VerdictWanted::Open => "open",
            VerdictWanted::None => "none",
            VerdictWanted::Any => "any",
            VerdictWanted::Changed => "changed",
            VerdictWanted::Is(verdict) => verdict::word(*verdict),
        })
    }
}

impl VerdictWanted {
    /// True if it is this verdict, given with true if its subject has changed since.
    fn is_of(self, found: Option<(&str, bool)>) -> bool {
        match self {
            VerdictWanted::Open => found.is_none_or(|(_, changed)| changed),
            VerdictWanted::None => found.is_none(),
            VerdictWanted::Any => found.is_some_and(|(_, changed)| !changed),
            VerdictWanted::Changed => found.is_some_and(|(_, changed)| changed),
            VerdictWanted::Is(wanted) => {
                found.is_some_and(|(word, changed)| !changed && verdict::parse(word) == Some(wanted))
            }
        }
    }
}

/// Tables of this connection alone, which hide those of the file, or of a slice, under the same names.
const CHOSEN: &str = "
  CREATE TEMP TABLE IF NOT EXISTS cluster AS SELECT * FROM main.cluster;
  DELETE FROM temp.cluster WHERE id NOT IN (SELECT id FROM temp.chosen_cluster);
  CREATE INDEX temp.chosen_cluster_id ON cluster (id);
  CREATE TEMP TABLE IF NOT EXISTS content AS SELECT * FROM main.content;
  UPDATE temp.content SET cluster = NULL
    WHERE cluster IS NOT NULL AND cluster NOT IN (SELECT id FROM temp.chosen_cluster);
  UPDATE temp.content SET identical = NULL, in_place = 0
    WHERE identical IS NOT NULL AND cluster IS NULL AND id NOT IN (SELECT id FROM temp.chosen_set);
  CREATE INDEX temp.chosen_content ON content (id);
  CREATE INDEX temp.chosen_content_identical ON content (identical) WHERE identical IS NOT NULL;
  CREATE INDEX temp.chosen_content_cluster ON content (cluster) WHERE cluster IS NOT NULL;
  CREATE TEMP TABLE IF NOT EXISTS loose_set AS SELECT * FROM main.loose_set;
  DELETE FROM temp.loose_set WHERE id NOT IN (SELECT id FROM temp.chosen_loose_set);
  CREATE INDEX temp.chosen_loose_set_id ON loose_set (id);
  CREATE TEMP TABLE IF NOT EXISTS folder AS SELECT * FROM main.folder WHERE 0;
  DELETE FROM temp.folder;
  CREATE TEMP TABLE IF NOT EXISTS unread AS SELECT * FROM main.unread WHERE 0;
  DELETE FROM temp.unread;
  CREATE TEMP TABLE chosen_document (id INTEGER PRIMARY KEY);
  INSERT INTO chosen_document SELECT d.id FROM main.document d JOIN temp.content c ON c.id = d.content
    WHERE c.cluster IS NOT NULL OR c.identical IS NOT NULL;
  INSERT OR IGNORE INTO chosen_document SELECT id FROM main.document
    WHERE loose_set IN (SELECT id FROM temp.loose_set);
  CREATE TEMP TABLE document AS SELECT * FROM main.document;
  UPDATE temp.document SET listed = 0
    WHERE listed AND id NOT IN (SELECT id FROM temp.chosen_document)
      AND coalesce(other, -1) NOT IN (SELECT id FROM temp.chosen_document);
  CREATE INDEX temp.chosen_document_id ON document (id);
  CREATE INDEX temp.chosen_document_content ON document (content);
  CREATE INDEX temp.chosen_document_loose_set ON document (loose_set) WHERE loose_set IS NOT NULL;
";

impl Report {
    /// Leaves of the report the clusters of a choice, with their documents; and if the choice is of a verdict alone, the identical
    /// sets with that verdict. Of all documents there remain the counts.
    ///
    /// # Errors
    /// Fails if no verdicts were added to the report, or the file cannot be read.
    pub fn choose(&mut self, choice: &Choice) -> Result<(), Error> {
        if choice.is_empty() {
            return Ok(());
        }
        if !self.has_verdicts {
            let why = "a file of a result has no verdicts and labels: name the scan";
            return Err(Error::Invalid(why.to_owned()));
        }
        let clusters: Vec<(i64, usize, String)> = self.rows("SELECT id, layer, name FROM cluster", ())?;
        let is_chosen = |(_, layer, name): &&(i64, usize, String)| {
            let verdict = self.verdict_of_cluster(*layer, name);
            let verdict = verdict.as_ref().map(|verdict| (verdict.verdict, verdict.changed.is_some()));
            choice.verdict.is_none_or(|wanted| wanted.is_of(verdict)) && choice.is_of(&self.labels_of(*layer, name))
        };
        let clusters: Vec<i64> = clusters.iter().filter(is_chosen).map(|(id, ..)| *id).collect();
        let (sets, loose) = match choice.verdict {
            Some(wanted) if choice.tags.is_empty() && choice.assignee.is_none() => self.sets_with(wanted)?,
            _ => (Vec::new(), Vec::new()),
        };
        let made = || -> rusqlite::Result<()> {
            self.connection.execute_batch("BEGIN")?;
            for (table, ids) in [("chosen_cluster", clusters), ("chosen_set", sets), ("chosen_loose_set", loose)] {
                self.connection.execute_batch(&format!("CREATE TEMP TABLE {table} (id INTEGER PRIMARY KEY)"))?;
                let mut insert = self.connection.prepare(&format!("INSERT INTO temp.{table} VALUES (?)"))?;
                for id in ids {
                    insert.execute(params![id])?;
                }
            }
            self.connection.execute_batch(CHOSEN)?;
            self.connection.execute_batch(LAYERS)?;
            self.connection.execute_batch("COMMIT")
        };
        made().map_err(|error| self.failed(error))?;
        self.chosen = Some(choice.words());
        Ok(())
    }

    /// The contents of identical sets, and the loose sets, with a verdict.
    fn sets_with(&self, wanted: VerdictWanted) -> Result<(Vec<i64>, Vec<i64>), Error> {
        let sql = "SELECT id, layer, digest FROM content WHERE identical IS NOT NULL";
        let sets: Vec<(i64, usize, [u8; 16])> = self.rows(sql, ())?;
        let loose: Vec<(i64, [u8; 16], bool)> = self.rows("SELECT id, name, same_lines FROM loose_set", ())?;
        let has = |tier: &str, id: &str| {
            let verdict = self.verdict_of_set(tier, id);
            wanted.is_of(verdict.as_ref().map(|verdict| (verdict.verdict, verdict.changed.is_some())))
        };
        let sets = sets
            .into_iter()
            .filter(|(_, layer, digest)| has(self.tier(*layer), &super::hex(digest)))
            .map(|(id, ..)| id);
        let is_wanted = |(_, name, same_lines): &(i64, [u8; 16], bool)| has(loose_tier(*same_lines), &super::hex(name));
        let loose = loose.into_iter().filter(is_wanted).map(|(id, ..)| id);
        Ok((sets.collect(), loose.collect()))
    }

    /// The clusters to which the report is limited, in words; `None`: it is not.
    pub fn chosen(&self) -> Option<&str> {
        self.chosen.as_deref()
    }
}
