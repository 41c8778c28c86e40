//! The script of a plan, which the administrator of a site reads and runs. It shows its steps unless it is run with
//! `--move`; it moves documents into a folder and deletes nothing; and it moves only documents that are as the plan
//! describes them.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use cognate_proto::path::unescaped;

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
    *) echo "usage: sh @@SCRIPT@@ @@ROOTS@@ [--move FOLDER]" >&2; exit 2 ;;
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
  if [ $(wc -c <"$file") -ne "$4" ]; then leave 'it has another size'; return; fi
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
pub fn script(plan: &PlanFile, roots: &[(String, &Path)]) -> crate::Result<Vec<u8>> {
    let mut numbers = BTreeMap::<&str, usize>::new();
    for set in &plan.sets {
        let going = set.go.iter().map(|going| going.repository.as_str());
        let staying = set.kept.iter().filter(|copy| copy.site == plan.site).map(|copy| copy.repository.as_str());
        for name in going.chain(staying) {
            let next = numbers.len() + 1;
            numbers.entry(name).or_insert(next);
        }
    }
    let known = |name: &str| roots.iter().find(|(own, _)| own == name).map(|(_, path)| *path);
    let each = |line: &dyn Fn(&str, usize) -> Vec<u8>| -> Vec<u8> {
        numbers.iter().map(|(name, number)| line(name, *number)).collect::<Vec<_>>().join(&b'\n')
    };
    let usage: Vec<String> =
        numbers.keys().filter(|name| known(name).is_none()).map(|name| format!("--root {name}=FOLDER")).collect();
    let mut head = HEAD.as_bytes().to_vec();
    let unset = each(&|name, number| {
        let root = known(name).map(|path| quoted(path.as_os_str().as_encoded_bytes())).unwrap_or_default();
        [format!("root_{number}=").as_bytes(), &root].concat()
    });
    let cases = each(&|name, number| {
        format!("        {}=*) root_{number}=${{2#*=}} ;;", String::from_utf8_lossy(&quoted(name.as_bytes())))
            .into_bytes()
    });
    let check = each(&|name, number| {
        format!("[ -d \"$root_{number}\" ] || {{ echo \"give the folder of the repository {name}: --root {name}=FOLDER\" >&2; exit 2; }}")
            .into_bytes()
    });
    for (word, text) in [
        ("@@CASES@@", cases),
        ("@@CHECK@@", check),
        ("@@ROOTS@@", usage.join(" ").into_bytes()),
        ("@@SITE@@", plan.site.clone().into_bytes()),
        ("@@SCRIPT@@", format!("{}.sh", plan.site).into_bytes()),
        // Paths may hold anything, and come last.
        ("@@UNSET@@", unset),
    ] {
        head = replaced(&head, word.as_bytes(), &text);
    }
    let mut out = head;
    writeln!(out, "# Scan {}, report {}", plan.scan, plan.report_digest)?;
    // Rules hold what people typed: on one line, whatever it is.
    let rules: Vec<String> = plan.keep.iter().map(|rule| cognate_proto::name::one_line(rule)).collect();
    writeln!(out, "# Rules: {}; at least {} copies of each document stay\n", rules.join(", "), plan.min_copies)?;
    let versions = plan.sets.iter().filter(|set| set.version_of.is_some()).count();
    if versions > 0 {
        writeln!(
            out,
            "# {versions} sets are versions, not copies. This script leaves them where they are, since a shell cannot measure"
        )?;
        writeln!(out, "# what would be lost: `cognate worker plan apply {}.json` does.\n", plan.site)?;
    }
    for set in plan.sets.iter().filter(|set| set.version_of.is_none()) {
        writeln!(out, "# {}", set.digest)?;
        let here =
            set.kept.iter().find(|copy| copy.site == plan.site && !copy.path.contains(cognate_proto::path::INSIDE));
        for going in &set.go {
            let number = numbers[going.repository.as_str()];
            write!(out, "go \"$root_{number}\" {} ", String::from_utf8_lossy(&quoted(going.repository.as_bytes())))?;
            out.extend(quoted(&path_of(going)));
            write!(out, " {}", set.size_bytes)?;
            if let Some(copy) = here {
                write!(out, " \"$root_{}\" ", numbers[copy.repository.as_str()])?;
                out.extend(quoted(&staying_path(copy)));
            }
            writeln!(out)?;
        }
    }
    out.extend_from_slice(TAIL.as_bytes());
    Ok(out)
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

/// As one word of the shell, whatever is in it.
fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut word = vec![b'\''];
    for byte in bytes {
        match byte {
            b'\'' => word.extend_from_slice(b"'\\''"),
            other => word.push(*other),
        }
    }
    word.push(b'\'');
    word
}

fn replaced(text: &[u8], word: &[u8], with: &[u8]) -> Vec<u8> {
    let mut made = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.windows(word.len()).position(|window| window == word) {
        made.extend_from_slice(&rest[..place]);
        made.extend_from_slice(with);
        rest = &rest[place + word.len()..];
    }
    made.extend_from_slice(rest);
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_the_shell_is_one_whatever_is_in_it() {
        assert_eq!(quoted(b"a'b $(rm) \n\xff"), b"'a'\\''b $(rm) \n\xff'");
        assert_eq!(quoted(b"-rf"), b"'-rf'");
    }
}
