//! The report as JSON: one object, or one object a line.
//!
//! The digest is a field before the lists, and is known only when all of them are read. The object is therefore written by way of a
//! temporary file, so that its rows are read once. Lines are written as they are read, after the digest.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write};
use std::ops::Range;

use cognate_result::report::{ListRow, LongList, Report, SCHEMA};
use serde::Serialize;

use crate::Error;

/// Writes the report as one object.
pub(super) fn write(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    let mut scan = report.scan()?;
    let mut lists = Lists::create(report)?;
    scan.digest = Some(report.digest_and_rows(|row| lists.push(row))?);
    write!(out, "{{\"schema\":\"{SCHEMA}\",\n\"scan\":")?;
    serde_json::to_writer(&mut *out, &scan)?;
    write!(out, ",\n\"sites\":")?;
    serde_json::to_writer(&mut *out, &report.sites()?)?;
    let aligned = report.alignment_rows()?;
    if !aligned.is_empty() {
        write!(out, ",\n\"alignment\":")?;
        serde_json::to_writer(&mut *out, &aligned)?;
    }
    let changes = report.changes()?;
    if !changes.is_empty() {
        write!(out, ",\n\"changes\":")?;
        serde_json::to_writer(&mut *out, &changes)?;
    }
    lists.copy(LongList::Identical, "identical", out)?;
    lists.copy(LongList::Clusters, "clusters", out)?;
    lists.copy(LongList::Folders, "folders", out)?;
    write!(out, ",\n\"overlap\":")?;
    serde_json::to_writer(&mut *out, &report.overlap()?)?;
    if let Some(histogram) = report.histogram()? {
        write!(out, ",\n\"histogram\":")?;
        serde_json::to_writer(&mut *out, &histogram)?;
    }
    if let Some(histogram) = report.text_histogram()? {
        write!(out, ",\n\"text_histogram\":")?;
        serde_json::to_writer(&mut *out, &histogram)?;
    }
    lists.copy(LongList::SetAside, "set_aside", out)?;
    lists.copy(LongList::Unread, "unread", out)?;
    writeln!(out, "}}")?;
    Ok(())
}

/// Writes the report as one object a line, each with its type.
pub(super) fn write_lines(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    let mut scan = report.scan()?;
    scan.digest = Some(report.digest()?);
    line(out, "scan", &scan)?;
    report.sites()?.iter().try_for_each(|site| line(out, "site", site))?;
    report.alignment_rows()?.iter().try_for_each(|row| line(out, "alignment", row))?;
    report.changes()?.iter().try_for_each(|row| line(out, "changes", row))?;
    report.overlap()?.iter().try_for_each(|row| line(out, "overlap", row))?;
    report.set_aside(|row| line(out, "set_aside", &row))?;
    report.histogram()?.iter().try_for_each(|row| line(out, "histogram", row))?;
    report.text_histogram()?.iter().try_for_each(|row| line(out, "histogram", row))?;
    report.identical(|set| line(out, "identical", &set))?;
    report.clusters(|cluster| line(out, "cluster", &cluster))?;
    report.folders(|pair| line(out, "folder", &pair))?;
    report.documents(|document| line(out, "document", &document))?;
    report.unread(|row| line(out, "unread", &row))
}

#[derive(Serialize)]
struct Line<'a, T> {
    r#type: &'static str,
    #[serde(flatten)]
    row: &'a T,
}

fn line(out: &mut impl Write, r#type: &'static str, row: &impl Serialize) -> crate::Result<()> {
    serde_json::to_writer(&mut *out, &Line { r#type, row })?;
    Ok(out.write_all(b"\n")?)
}

/// The rows of the long lists, as they are in the object: one element a line.
struct Lists {
    file: BufWriter<File>,
    /// The folder of the file, for people.
    folder: String,
    /// The places of the lists in the file, in the order of their first rows.
    places: Vec<(LongList, Range<u64>)>,
}

impl Lists {
    /// Next to the result, where there is room for its like, and where only those look who may see it; where nothing can be written, in the
    /// system's folder for such files.
    fn create(report: &Report) -> crate::Result<Lists> {
        let next_to = report.path().parent().filter(|folder| !folder.as_os_str().is_empty());
        let next_to = next_to.and_then(|folder| Some((folder.to_owned(), tempfile::tempfile_in(folder).ok()?)));
        let (folder, file) = match next_to {
            Some((folder, file)) => (folder, Ok(file)),
            None => (std::env::temp_dir(), tempfile::tempfile()),
        };
        let folder = format!("`{}`", folder.display());
        match file {
            Ok(file) => Ok(Lists { file: BufWriter::with_capacity(1 << 16, file), folder, places: Vec::new() }),
            Err(source) => Err(Error::Rows { folder, source }),
        }
    }

    fn push(&mut self, ListRow { list, bytes }: ListRow<'_>) -> crate::Result<()> {
        let begun = self.places.last().is_some_and(|(last, _)| *last == list);
        if !begun {
            let end = self.places.last().map_or(0, |(_, place)| place.end);
            self.places.push((list, end..end));
        }
        let separator: &[u8] = if begun { b",\n" } else { b"\n" };
        let written = self.file.write_all(separator).and_then(|()| self.file.write_all(bytes));
        written.map_err(|source| self.failed(source))?;
        if let Some((_, place)) = self.places.last_mut() {
            place.end += (separator.len() + bytes.len()) as u64;
        }
        Ok(())
    }

    fn copy(&mut self, list: LongList, name: &str, out: &mut impl Write) -> crate::Result<()> {
        write!(out, ",\n\"{name}\":[")?;
        if let Some((_, place)) = self.places.iter().find(|(of, _)| *of == list).cloned() {
            self.file.seek(SeekFrom::Start(place.start)).map_err(|source| self.failed(source))?;
            let size_bytes = place.end - place.start;
            let copied = io::copy(&mut self.file.get_mut().take(size_bytes), out)?;
            if copied < size_bytes {
                return Err(self.failed(io::ErrorKind::UnexpectedEof.into()));
            }
        }
        Ok(out.write_all(b"]")?)
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Rows { folder: self.folder.clone(), source }
    }
}
