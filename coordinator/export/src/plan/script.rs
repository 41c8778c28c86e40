//! The script of a plan, which the administrator of a site reads and runs. It shows its steps unless it is run with
//! `--move`; it moves documents into a folder and deletes nothing; and it moves only documents that are as the plan
//! describes them.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use cognate_proto::name::one_line;
use cognate_proto::path::{INSIDE, unescaped};

use super::file::{Going, PlanFile, StayingCopy};

const HEAD: &str = r#"#!/bin/sh
# A plan of Cognate for the site @@SITE@@.
#
# Without options this shows what would be moved, and changes nothing:
#   sh @@SCRIPT@@ @@ROOTS@@
# With --move it moves the documents into a folder of yours, under REPOSITORY/PATH, so that they can be moved back:
#   sh @@SCRIPT@@ @@ROOTS@@ --move /srv/quarantine
#
# A document is moved only if it is still a plain file of the size that it had; if a copy that stays is at this site,
# only if that is another file with the same bytes. This script cannot check the copies at other sites.
# `cognate worker plan check` compares this site's documents with the plan, and names those that have changed.
# Nothing is deleted or overwritten. The exit code is 3 if a document was not moved.
set -u
quarantine=
moved=0
left=0
@@UNSET@@
while [ $# -gt 0 ]; do
  case $1 in
    --move) [ $# -ge 2 ] || { echo "--move: give a folder" >&2; exit 2; }; quarantine=$2; shift 2 ;;
    --root)
      [ $# -ge 2 ] || { echo "--root: give NAME=FOLDER" >&2; exit 2; }
      case $2 in
@@CASES@@
        *) echo "--root: there is no repository of that name in this plan" >&2; exit 2 ;;
      esac
      shift 2 ;;
    *) printf 'usage: sh %s [--move FOLDER]\n' @@USAGE@@ >&2; exit 2 ;;
  esac
done
@@CHECK@@
case $quarantine in
  '' | /*) ;;
  *) quarantine=$PWD/$quarantine ;;
esac

leave() {
  left=$((left + 1))
  printf 'left   %s: %s\n' "$file" "$1"
}

# go ROOT REPOSITORY PATH SIZE [KEPT_ROOT KEPT_PATH]
go() {
  file=$1/$3
  if [ -L "$file" ] || [ ! -f "$file" ]; then leave 'it is not there, or no plain file'; return; fi
  # Of a document whose lines end with CR LF, the plan has the size with LF.
  if [ $(wc -c <"$file") -ne "$4" ] && [ $(tr -d '\r' <"$file" | wc -c) -ne "$4" ]; then leave 'it has another size'; return; fi
  if [ $# -eq 6 ]; then
    kept=$5/$6
    if [ ! -f "$kept" ]; then leave 'the copy that stays is missing'; return; fi
    if [ "$file" -ef "$kept" ]; then leave 'the copy that stays is the same file'; return; fi
    if ! cmp -s "$file" "$kept"; then leave 'the copy that stays has changed'; return; fi
  fi
  if [ -z "$quarantine" ]; then
    moved=$((moved + 1))
    printf 'would move  %s\n' "$file"
    return
  fi
  target=$quarantine/$2/$3
  if [ -e "$target" ] || [ -L "$target" ]; then leave 'the folder already has a file of that name'; return; fi
  if mkdir -p "${target%/*}" && mv "$file" "$target"; then
    moved=$((moved + 1))
    printf 'moved  %s\n' "$file"
  else
    leave 'it cannot be moved'
  fi
}

"#;

const TAIL: &str = r#"
if [ -z "$quarantine" ]; then
  printf '%s would be moved, %s would be left; nothing was changed\n' "$moved" "$left"
else
  printf '%s moved into %s, %s left\n' "$moved" "$quarantine" "$left"
fi
[ "$left" -eq 0 ] || exit 3
"#;

/// Writes the script. It contains the folders of repositories that are known; the others are options when it is run.
///
/// A plan may be from anybody, and so may the names in it: everything of it that a shell reads is one quoted word, and
/// everything else is in a comment of one line.
pub fn script(plan: &PlanFile, roots: &[(String, &Path)]) -> crate::Result<Vec<u8>> {
    let repositories = Repositories::of(plan, roots);
    let commented = |text: &str| one_line(text).into_bytes();
    let (name, options) = (format!("{}.sh", plan.site), repositories.options());
    let mut out = filled(HEAD, |word| match word {
        "SITE" => commented(&plan.site),
        "SCRIPT" => commented(&name),
        "ROOTS" => commented(&options),
        "USAGE" => quoted(one_line(&format!("{name} {options}")).as_bytes()),
        "UNSET" => repositories.each(|repository| {
            let root = repository.root.map(|path| quoted(path.as_os_str().as_encoded_bytes())).unwrap_or_default();
            [format!("root_{}=", repository.number).as_bytes(), &root].concat()
        }),
        "CASES" => repositories.each(|Repository { name, number, .. }| {
            [b"        ", &*quoted(name.as_bytes()), format!("=*) root_{number}=${{2#*=}} ;;").as_bytes()].concat()
        }),
        _ => repositories.each(|Repository { name, number, .. }| {
            let missing = one_line(&format!("give the folder of the repository {name}: --root {name}=FOLDER"));
            let test = format!("[ -d \"$root_{number}\" ] || {{ printf '%s\\n' ");
            [test.as_bytes(), &quoted(missing.as_bytes()), b" >&2; exit 2; }"].concat()
        }),
    });
    writeln!(out, "# Scan {}, report {}", one_line(&plan.scan), one_line(&plan.report_digest))?;
    let rules: Vec<String> = plan.keep.iter().map(|rule| one_line(rule)).collect();
    writeln!(out, "# Rules: {}; at least {} copies of each document stay\n", rules.join(", "), plan.min_copies)?;
    let versions = plan.sets.iter().filter(|set| set.version_of.is_some()).count();
    if versions > 0 {
        writeln!(
            out,
            "# {versions} sets are versions, not copies. This script leaves them where they are, since a shell cannot measure"
        )?;
        writeln!(out, "# what would be lost: `cognate worker plan apply {}.json` does.\n", one_line(&plan.site))?;
    }
    for set in plan.sets.iter().filter(|set| set.version_of.is_none()) {
        writeln!(out, "# {}", one_line(&set.digest))?;
        let here = set.kept.iter().find(|copy| copy.site == plan.site && !copy.path.contains(INSIDE));
        if here.is_none() && set.kept.iter().all(|copy| copy.site == plan.site) {
            writeln!(
                out,
                "# What stays is inside of another document, where this script does not look: nothing goes."
            )?;
            continue;
        }
        for going in &set.go {
            write!(out, "go \"$root_{}\" ", repositories.number(&going.repository))?;
            out.extend([quoted(going.repository.as_bytes()), quoted(&path_of(going))].join(&b' '));
            write!(out, " {}", set.size_bytes)?;
            if let Some(copy) = here {
                write!(out, " \"$root_{}\" ", repositories.number(&copy.repository))?;
                out.extend(quoted(&staying_path(copy)));
            }
            writeln!(out)?;
        }
    }
    out.extend_from_slice(TAIL.as_bytes());
    Ok(out)
}

/// The repositories of a script.
struct Repositories<'a>(BTreeMap<&'a str, Repository<'a>>);

/// A repository of a script.
struct Repository<'a> {
    name: &'a str,
    /// The number of its variable.
    number: usize,
    /// Its folder, if that is known.
    root: Option<&'a Path>,
}

impl<'a> Repositories<'a> {
    fn of(plan: &'a PlanFile, roots: &[(String, &'a Path)]) -> Repositories<'a> {
        let mut repositories = BTreeMap::new();
        for set in &plan.sets {
            let going = set.go.iter().map(|going| going.repository.as_str());
            let staying = set.kept.iter().filter(|copy| copy.site == plan.site).map(|copy| copy.repository.as_str());
            for name in going.chain(staying) {
                let number = repositories.len() + 1;
                let root = || roots.iter().find(|(own, _)| own == name).map(|(_, path)| *path);
                repositories.entry(name).or_insert_with(|| Repository { name, number, root: root() });
            }
        }
        Repositories(repositories)
    }

    fn number(&self, name: &str) -> usize {
        self.0[name].number
    }

    /// The options that say where the unknown ones are.
    fn options(&self) -> String {
        let unknown = self.0.values().filter(|repository| repository.root.is_none());
        unknown.map(|repository| format!("--root {}=FOLDER", repository.name)).collect::<Vec<_>>().join(" ")
    }

    /// A line for each.
    fn each(&self, line: impl Fn(&Repository<'_>) -> Vec<u8>) -> Vec<u8> {
        self.0.values().map(line).collect::<Vec<_>>().join(&b'\n')
    }
}

/// The bytes of the path of a document that goes.
pub fn path_of(going: &Going) -> Vec<u8> {
    bytes_of(&going.path, going.path_escaped)
}

/// The bytes of the path of a copy that stays.
pub fn staying_path(copy: &StayingCopy) -> Vec<u8> {
    bytes_of(&copy.path, copy.path_escaped)
}

fn bytes_of(path: &str, escaped: Option<bool>) -> Vec<u8> {
    if escaped == Some(true) { unescaped(path) } else { path.as_bytes().to_vec() }
}

/// As one word of the shell, whatever is in it. A NUL, which no word can have, is left out.
fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut word = vec![b'\''];
    for byte in bytes {
        match byte {
            b'\'' => word.extend_from_slice(b"'\\''"),
            0 => {}
            other => word.push(*other),
        }
    }
    word.push(b'\'');
    word
}

/// A template with a text for each `@@WORD@@`. Inserted texts are not searched for words.
fn filled(template: &str, text: impl Fn(&str) -> Vec<u8>) -> Vec<u8> {
    let parts = template.split("@@").enumerate();
    parts.flat_map(|(number, part)| if number % 2 == 0 { part.as_bytes().to_vec() } else { text(part) }).collect()
}

#[cfg(test)]
mod tests;
