//! The rules of an analysis, as the coordinator writes them for the tasks on the workers: a key and values a line.
//!
//! | line | what |
//! |---|---|
//! | `contents N` | all contents |
//! | `min-shared BYTES`, `min-containment SHARE` | the thresholds of a link |
//! | `level COUNT LABEL...` | labels of groups, for which overlap is counted |
//! | `across LABEL...` | labels of groups, if links have to go across |
//! | `groups N` | all groups |
//! | `class GROUP:COPIES...` | who holds the contents of a class; classes are numbered from 0 |
//! | `tag-bits N`, `contents-each N` | how tags and contents are divided; added by this program |

use std::fmt::Write as _;
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};
use cognate_similarity::{Containment, Group, Holding, Level, Thresholds};

/// The rules.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) contents: usize,
    pub(crate) thresholds: Thresholds,
    pub(crate) levels: Vec<Level>,
    pub(crate) across: Option<Vec<u16>>,
    pub(crate) groups: usize,
    pub(crate) classes: Vec<Vec<Holding>>,
    pub(crate) division: Division,
}

/// How tags and contents are divided among tasks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Division {
    /// Leading bits of a tag that are its key.
    pub(crate) tag_bits: u32,
    /// Contents that have one key.
    pub(crate) contents_each: u32,
}

impl Division {
    /// Lines of the rules.
    pub(crate) fn text(self) -> String {
        let mut text = String::new();
        let _ = write!(text, "tag-bits {}\ncontents-each {}\n", self.tag_bits, self.contents_each);
        text
    }

    /// The key of a tag.
    pub(crate) fn of_tag(self, tag: &[u8]) -> i32 {
        let leading = u32::from_be_bytes(tag[..4].try_into().expect("a tag has 16 bytes"));
        (u64::from(leading) >> (32 - self.tag_bits)).try_into().expect("31 bits at most")
    }

    /// The key of a content.
    pub(crate) fn of_content(self, content: u32) -> i32 {
        (content / self.contents_each).cast_signed()
    }
}

impl Rules {
    /// Reads the rules.
    pub(crate) fn parse(text: &str) -> Result<Rules> {
        let mut rules = Rules {
            contents: 0,
            thresholds: Thresholds { min_shared_bytes: 0, min_containment: Containment::FOUR_FIFTHS },
            levels: Vec::new(),
            across: None,
            groups: 0,
            classes: Vec::new(),
            division: Division::default(),
        };
        for line in text.lines() {
            let (key, values) = line.split_once(' ').unwrap_or((line, ""));
            rules
                .take(key, values)
                .with_context(|| format!("the rules have a line that is not understood: `{line}`"))?;
        }
        let beyond = |holding: &Holding| usize::from(holding.group.0) >= rules.groups;
        if rules.classes.iter().flatten().any(beyond) {
            bail!("the rules have a group beyond {}", rules.groups);
        }
        Ok(rules)
    }

    fn take(&mut self, key: &str, values: &str) -> Result<()> {
        match key {
            "contents" => self.contents = values.parse()?,
            "min-shared" => self.thresholds.min_shared_bytes = values.parse()?,
            "min-containment" => self.thresholds.min_containment = values.parse()?,
            "level" => {
                let mut numbers: Vec<u16> = numbers(values)?;
                let label_count = if numbers.is_empty() { bail!("no count") } else { numbers.remove(0) };
                self.levels.push(Level { labels: numbers, label_count });
            }
            "across" => self.across = Some(numbers(values)?),
            "groups" => self.groups = values.parse()?,
            "class" => {
                let holding = |word: &str| -> Result<Holding> {
                    let (group, copies) = word.split_once(':').context("no colon")?;
                    Ok(Holding { group: Group(group.parse()?), copies: copies.parse()? })
                };
                self.classes.push(values.split_whitespace().map(holding).collect::<Result<_>>()?);
            }
            "tag-bits" => self.division.tag_bits = values.parse()?,
            "contents-each" => self.division.contents_each = values.parse::<u32>()?.max(1),
            _ => bail!("an unknown key"),
        }
        Ok(())
    }

    /// The holders of a class.
    pub(crate) fn class(&self, class: u32) -> Result<&[Holding]> {
        self.classes.get(class as usize).map(Vec::as_slice).with_context(|| format!("there is no class {class}"))
    }
}

fn numbers<T: FromStr>(words: &str) -> Result<Vec<T>, T::Err> {
    words.split_whitespace().map(str::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_what_is_not_understood_is_named() {
        let text = "contents 9\nmin-shared 16384\nmin-containment 0.5\nlevel 2 0 1 1\nacross 0 0 1\ngroups 3\nclass 0:1\nclass 1:2 2:1\nclass\n";
        let division = Division { tag_bits: 6, contents_each: 4 };
        let rules = Rules::parse(&format!("{text}{}", division.text())).unwrap();
        assert_eq!((rules.contents, rules.groups, rules.thresholds.min_shared_bytes), (9, 3, 16384));
        assert_eq!((rules.levels[0].label_count, &*rules.levels[0].labels), (2, &[0, 1, 1][..]));
        assert_eq!((rules.across, rules.division), (Some(vec![0, 0, 1]), division));
        assert_eq!(rules.classes.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 0]);
        for wrong in ["class 3:1", "class 1", "level", "across x", "size 9", "min-containment 2"] {
            let error = format!("{:#}", Rules::parse(&format!("{text}{wrong}\n")).unwrap_err());
            assert!(error.contains("the rules"), "{wrong}: {error}");
        }
    }

    #[test]
    fn keys_divide_tags_by_their_leading_bits_and_contents_by_ranges() {
        let keys = |tag_bits| {
            let division = Division { tag_bits, contents_each: 4 };
            [0, 0x3f, 0x40, 0xff].map(|first| division.of_tag(&[first; 16]))
        };
        assert_eq!((keys(0), keys(2), keys(8)), ([0; 4], [0, 0, 1, 3], [0, 0x3f, 0x40, 0xff]));
        let division = Division { tag_bits: 0, contents_each: 4 };
        assert_eq!([0, 3, 4, 9].map(|content| division.of_content(content)), [0, 0, 1, 2]);
    }
}
