//! Lists of known files, as tools write them: `sha256sum` and its relatives in both their forms, `hashdeep`, CSV of reference
//! libraries, or a hash a line.

use std::collections::BTreeMap;
use std::io::{BufRead, Read as _};

use cognate_proto::file_hash::{FileHash, FileHashList};
use cognate_proto::limits::FILE_HASHES_MAX;

/// No line is longer.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// The number of names that are stored for a hash.
const NAMES_MAX: usize = 10;

/// A list that was read.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The hashes.
    pub list: FileHashList,
    /// The names that the list has for each hash, by number; the first ten of each.
    pub names: BTreeMap<u32, Vec<String>>,
}

impl Listed {
    /// Reads all lines. Blank ones, those that begin with `#`, `%` or `;`, and one of headings at the top are left out.
    ///
    /// # Errors
    /// In one line what is wrong with which line.
    pub fn read(mut from: impl BufRead) -> Result<Listed, String> {
        let mut rows: Vec<(FileHash, String)> = Vec::new();
        for number in 1_u64.. {
            let mut bytes = Vec::new();
            let wrong = |why: &dyn std::fmt::Display| format!("line {number}: {why}");
            let read = from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes);
            match read.map_err(|error| wrong(&error))? as u64 {
                0 => break,
                LINE_BYTES_MAX => return Err(wrong(&"it is no list of hashes: the line is too long")),
                _ => {}
            }
            let line = String::from_utf8_lossy(&bytes);
            let line = line.trim_start_matches('\u{feff}').trim();
            if line.is_empty() || line.starts_with(['#', '%', ';']) {
                continue;
            }
            let (hashes, name) = of_line(line);
            if hashes.is_empty() && !(rows.is_empty() && is_heading(line)) {
                let shown: String = line.chars().take(60).flat_map(char::escape_debug).collect();
                return Err(wrong(&format!("there is no MD5, SHA-1 or SHA-256 in `{shown}`")));
            }
            rows.extend(hashes.into_iter().map(|hash| (hash, name.to_owned())));
            if rows.len() > FILE_HASHES_MAX {
                return Err(format!("a list of more than {FILE_HASHES_MAX} hashes: ask with it in parts"));
            }
        }
        if rows.is_empty() {
            return Err("there is no hash in it".to_owned());
        }
        let list =
            FileHashList::new(rows.iter().map(|(hash, _)| *hash).collect()).map_err(|error| error.to_string())?;
        let mut names: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for (hash, name) in rows.into_iter().filter(|(_, name)| !name.is_empty()) {
            let number = list.number(&hash).expect("it was made of them");
            let names = names.entry(number).or_default();
            if names.len() < NAMES_MAX && !names.contains(&name) {
                names.push(name);
            }
        }
        Ok(Listed { list, names })
    }
}

/// The hashes of a line, and its name of the file.
fn of_line(line: &str) -> (Vec<FileHash>, &str) {
    // `HASH  NAME` or `HASH *NAME`; a backslash before it says that the name is escaped.
    let (first, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    if let Ok(hash) = first.trim_start_matches('\\').parse() {
        let name = rest.trim_start();
        return (vec![hash], name.strip_prefix('*').unwrap_or(name));
    }
    // `SHA256 (NAME) = HASH`.
    if let Some((name, hash)) = line.rsplit_once(") = ")
        && let Ok(hash) = hash.trim().parse()
    {
        return (vec![hash], name.split_once('(').map_or("", |(_, name)| name));
    }
    // Fields with commas between them: each that is a hash, and the last one for a name.
    let fields = || line.split([',', ';', '\t']).map(|field| field.trim().trim_matches('"'));
    let hashes: Vec<FileHash> = fields().filter_map(|field| field.parse().ok()).collect();
    let is_name = |field: &&str| field.parse::<FileHash>().is_err() && field.chars().any(char::is_alphabetic);
    (hashes, fields().next_back().filter(is_name).unwrap_or(""))
}

fn is_heading(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    ["md5", "sha1", "sha-1", "sha256", "sha-256", "hash"].iter().any(|word| line.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MD5: &str = "d41d8cd98f00b204e9800998ecf8427e";
    const SHA1: &str = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
    const SHA256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    /// The hashes of a list, each with its names.
    fn read(text: &str) -> Result<Vec<String>, String> {
        let Listed { list, names } = Listed::read(text.as_bytes())?;
        let row = |(number, hash): (u32, &FileHash)| {
            format!("{hash:?} {}", names.get(&number).map(|names| names.join("|")).unwrap_or_default())
        };
        Ok((0..).zip(list.hashes()).map(row).collect())
    }

    #[test]
    fn lists_are_read_as_tools_write_them() {
        let check = |text: &str, rows: &[String]| assert_eq!(read(text).unwrap(), rows, "{text}");
        let md5 = |name: &str| format!("md5:{MD5} {name}");
        let sha1 = |name: &str| format!("sha1:{SHA1} {name}");
        let sha256 = |name: &str| format!("sha256:{SHA256} {name}");
        check(&format!("{MD5}\n\n# known\n{SHA1}\r\n{SHA256}"), &[md5(""), sha1(""), sha256("")]);
        check(&format!("{SHA256}  a file.txt\n"), &[sha256("a file.txt")]);
        check(&format!("\\{} *b\\nc.bin\n", SHA1.to_uppercase()), &[sha1("b\\nc.bin")]);
        check(&format!("SHA256 (dir/x (1).pdf) = {SHA256}\n"), &[sha256("dir/x (1).pdf")]);
        check(&format!("%%%% HASHDEEP-1.0\n12,{MD5},{SHA256},/x/y.doc\n"), &[md5("/x/y.doc"), sha256("/x/y.doc")]);
        let nsrl = format!("\"SHA-1\",\"MD5\",\"CRC32\",\"FileName\"\n\"{SHA1}\",\"{MD5}\",\"0\",\"a.dll\"\n");
        check(&nsrl, &[md5("a.dll"), sha1("a.dll")]);
        check(&format!("{MD5}  b\n{MD5}  a\n{MD5}  b\n"), &[md5("b|a")]);
        check(&format!("\u{feff}{MD5}\n"), &[md5("")]);
    }

    #[test]
    fn a_name_that_looks_like_a_hash_is_a_name() {
        assert_eq!(read(&format!("{SHA1}  {MD5}\n")).unwrap(), [format!("sha1:{SHA1} {MD5}")]);
    }

    #[test]
    fn what_is_no_list_is_refused_with_the_line() {
        let check = |text: &str, why: &str| {
            let error = read(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        };
        check("", "there is no hash in it");
        check("Hash\n", "there is no hash in it");
        check(&format!("{MD5}\nhello\n"), "line 2: there is no MD5, SHA-1 or SHA-256 in `hello`");
        check(&format!("{SHA256}{SHA256}  sha512\n"), "line 1: there is no MD5");
        check("\u{1b}[31m\n", "`\\u{1b}[31m`");
        check(&"a".repeat(100_000), "line 1: it is no list of hashes");
    }
}
