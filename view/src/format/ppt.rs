//! Presentations of `PowerPoint` of 1997 to 2003: slide by slide, each with its notes, as those of Office Open XML.
//!
//! A presentation is a tree of records. Each time that it is saved, what has changed is added at its end with a directory of
//! where it is now ([MS-PPT] 2.1.2); the latest says which slides there are.

mod records;

use std::collections::HashMap;

use self::records::{Record, record_at, records};
use crate::format::compound::{Compound, place_at, u16_at, u32_at, wide_text};
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::Text;

/// Where a presentation is that was saved for `PowerPoint` 95 too.
const BESIDE_OLD: &str = "/PP97_DUALSTORAGE";
/// Kinds of records.
const DOCUMENT: u16 = 0x03E8;
const SLIDE_ATOM: u16 = 0x03EF;
const SLIDE_PERSIST: u16 = 0x03F3;
const DRAWING: u16 = 0x040C;
const SLIDE_LIST: u16 = 0x0FF0;
const USER_EDIT: u16 = 0x0FF5;
const PERSIST_DIRECTORY: u16 = 0x1772;
const OUTLINE_REFERENCE: u16 = 0x0F9E;
const TEXT_HEADER: u16 = 0x0F9F;
const WIDE_TEXT: u16 = 0x0FA0;
const NARROW_TEXT: u16 = 0x0FA8;
const CLIENT_TEXT_BOX: u16 = 0xF00D;
/// Marks of what a program fills in, such as the number of a slide: the text has a sign in its place.
const FILLED_IN: [u16; 6] = [0x0FD8, 0x0FF7, 0x0FF8, 0x0FF9, 0x0FFA, 0x1015];
const STRING: u16 = 0x0FBA;
const HEADERS_FOOTERS: u16 = 0x0FD9;
const HEADERS_FOOTERS_ATOM: u16 = 0x0FDA;
/// The footers of a presentation that are for its slides.
const FOOTERS_OF_SLIDES: u16 = 3;
/// The flags of a date of its own and of a footer that are shown, and the instances of their strings.
const SHOWN_FOOTERS: [(u16, u16); 2] = [(1 | 4, 0), (32, 2)];
/// The lists of slides and of notes.
const SLIDES: u16 = 0;
const NOTES: u16 = 2;
/// What the stream of the user begins with, behind its header, where the presentation has a password.
const ENCRYPTED: u32 = 0xF3D1_C4DF;
/// Lengths of the record of a save.
const EDIT_LENGTHS: [u8; 2] = [28, 32];
/// Saves that are followed back at most, and depth of records.
const EDITS_MAX: usize = 10_000;
const DEPTH_MAX: usize = 32;

/// Reads a presentation.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let mut file = Compound::open(source)?;
    let root = if file.is_storage(BESIDE_OLD) { BESIDE_OLD } else { "" };
    let user = file.stream(&format!("{root}/Current User"))?.unwrap_or_default();
    if u32_at(&user, 12) == Some(ENCRYPTED) {
        return Err(Reason::Encrypted);
    }
    let stream = file.stream(&format!("{root}/PowerPoint Document"))?.ok_or(Reason::Damaged)?;
    let edit = place_at(&user, 16).and_then(|edit| Presentation::read(&stream, edit));
    let last = || last_edit(&stream).and_then(|edit| Presentation::read(&stream, edit));
    let presentation = edit.or_else(last).ok_or(Reason::Damaged)?;
    let mut is_complete = true;
    for slide in &presentation.slides {
        let Some(record) = presentation.record(slide) else {
            is_complete = false;
            continue;
        };
        boxes(record.body, slide, DEPTH_MAX, text)?;
        let own = records(record.body).find(|inner| inner.kind == HEADERS_FOOTERS);
        own.or(presentation.footers).map_or(Ok(()), |footers| give_footers(&footers, text))?;
        if let Some(notes) = presentation.notes_of(&record)
            && let Some(record) = presentation.record(notes)
        {
            boxes(record.body, notes, DEPTH_MAX, text)?;
        }
    }
    if is_complete { file.finish() } else { Err(Reason::Damaged) }
}

/// The place of the last save in the file, for where nothing that can be read names the latest.
fn last_edit(stream: &[u8]) -> Option<usize> {
    EDIT_LENGTHS
        .into_iter()
        .filter_map(|length| memchr::memmem::rfind(stream, &[0, 0, 0xF5, 0x0F, length, 0, 0, 0]))
        .max()
}

/// The structure of a presentation.
struct Presentation<'s> {
    stream: &'s [u8],
    /// Where a record is, by its number.
    places: HashMap<u32, usize>,
    slides: Vec<Slide<'s>>,
    notes: Vec<Slide<'s>>,
    /// The footers of slides that have none of their own.
    footers: Option<Record<'s>>,
}

/// A slide, or the notes of one.
struct Slide<'s> {
    /// The number of its record, and its own, by which others refer to it.
    record: u32,
    id: u32,
    /// The texts of its outline.
    outline: Vec<TextPart<'s>>,
}

impl<'s> Presentation<'s> {
    /// Reads what the latest save says, which is described at a place.
    fn read(stream: &'s [u8], edit: usize) -> Option<Presentation<'s>> {
        let (mut places, mut document, mut next) = (HashMap::new(), None, edit);
        for _ in 0..EDITS_MAX {
            let edit = record_at(stream, next).filter(|record| record.kind == USER_EDIT)?;
            document = document.or_else(|| u32_at(edit.body, 16));
            let directory = place_at(edit.body, 12).and_then(|at| record_at(stream, at));
            add_places(directory.filter(|record| record.kind == PERSIST_DIRECTORY)?.body, &mut places);
            next = place_at(edit.body, 8)?;
            if next == 0 {
                break;
            }
        }
        let document = record_at(stream, *places.get(&document?)?).filter(|record| record.kind == DOCUMENT)?;
        let list = |number| {
            let of = |record: &Record<'_>| record.kind == SLIDE_LIST && record.instance == number;
            records(document.body).filter(of).flat_map(|list| slides(list.body)).collect()
        };
        let is_footers = |record: &Record<'_>| record.kind == HEADERS_FOOTERS && record.instance == FOOTERS_OF_SLIDES;
        let footers = records(document.body).find(is_footers);
        Some(Presentation { stream, places, slides: list(SLIDES), notes: list(NOTES), footers })
    }

    fn record(&self, slide: &Slide<'_>) -> Option<Record<'s>> {
        record_at(self.stream, *self.places.get(&slide.record)?)
    }

    fn notes_of(&self, slide: &Record<'_>) -> Option<&Slide<'s>> {
        let id = records(slide.body).find(|record| record.kind == SLIDE_ATOM).and_then(|atom| u32_at(atom.body, 16))?;
        self.notes.iter().find(|notes| notes.id == id && id != 0)
    }
}

/// Adds the places of a directory where no later one has them: runs of a first number, a count, and as many places.
fn add_places(mut directory: &[u8], places: &mut HashMap<u32, usize>) {
    while let Some(run) = u32_at(directory, 0) {
        let (first, count) = (run & 0xF_FFFF, run >> 20);
        directory = &directory[4..];
        for number in (first..).take(count as usize) {
            let Some(place) = place_at(directory, 0) else { return };
            places.entry(number).or_insert(place);
            directory = &directory[4..];
        }
    }
}

/// The slides of a list, each with its outline.
fn slides(list: &[u8]) -> Vec<Slide<'_>> {
    let mut slides: Vec<Slide<'_>> = Vec::new();
    for record in records(list) {
        match record.kind {
            SLIDE_PERSIST => slides.push(Slide {
                record: u32_at(record.body, 0).unwrap_or(0),
                id: u32_at(record.body, 12).unwrap_or(0),
                outline: Vec::new(),
            }),
            _ => {
                if let Some(slide) = slides.last_mut() {
                    TextPart::add(record, &mut slide.outline);
                }
            }
        }
    }
    slides
}

/// A text with the marks of what is filled in.
#[derive(Default)]
struct TextPart<'s> {
    records: Vec<Record<'s>>,
}

impl<'s> TextPart<'s> {
    /// Takes a record, with which another text may begin.
    fn add(record: Record<'s>, texts: &mut Vec<TextPart<'s>>) {
        match record.kind {
            TEXT_HEADER => texts.push(TextPart::default()),
            _ => texts.last_mut().into_iter().for_each(|text| text.records.push(record)),
        }
    }

    fn give(&self, text: &mut dyn Text) -> Result<(), Reason> {
        let filled_in = self.records.iter().filter(|record| FILLED_IN.contains(&record.kind));
        let filled_in: Vec<usize> = filled_in.filter_map(|record| place_at(record.body, 0)).collect();
        for record in &self.records {
            let words: String = match record.kind {
                WIDE_TEXT => wide_text(record.body),
                NARROW_TEXT => record.body.iter().map(|&byte| char::from(byte)).collect(),
                _ => continue,
            };
            let shown = words.chars().enumerate().filter(|(at, _)| !filled_in.contains(at));
            let words: String = shown.map(|(_, letter)| if letter == '\u{B}' { ' ' } else { letter }).collect();
            for paragraph in words.split('\r') {
                text.push(paragraph)?;
                text.end_paragraph()?;
            }
        }
        Ok(())
    }
}

/// Gives the date and the footer of a slide, as far as they are shown.
fn give_footers(footers: &Record<'_>, text: &mut dyn Text) -> Result<(), Reason> {
    let atom = records(footers.body).find(|record| record.kind == HEADERS_FOOTERS_ATOM);
    let flags = atom.and_then(|atom| u16_at(atom.body, 2)).unwrap_or(0);
    for (flag, instance) in SHOWN_FOOTERS {
        let is_text = |record: &Record<'_>| record.kind == STRING && record.instance == instance;
        if flags & flag == flag
            && let Some(record) = records(footers.body).find(is_text)
        {
            text.push(&wide_text(record.body))?;
            text.end_paragraph()?;
        }
    }
    Ok(())
}

/// Gives the texts of the boxes of a drawing, in its order.
fn boxes(container: &[u8], slide: &Slide<'_>, depth: usize, text: &mut dyn Text) -> Result<(), Reason> {
    for record in records(container) {
        match record.kind {
            CLIENT_TEXT_BOX => {
                let mut own = Vec::new();
                for inner in records(record.body) {
                    match inner.kind {
                        OUTLINE_REFERENCE => {
                            let outline = place_at(inner.body, 0).and_then(|at| slide.outline.get(at));
                            outline.map_or(Ok(()), |part| part.give(text))?;
                        }
                        _ => TextPart::add(inner, &mut own),
                    }
                }
                own.iter().try_for_each(|part| part.give(text))?;
            }
            DRAWING => boxes(record.body, slide, depth, text)?,
            // Of the rest of a slide only its drawing has text that is shown on it.
            kind if kind >> 8 == 0xF0 && record.is_container() && depth > 0 => {
                boxes(record.body, slide, depth - 1, text)?;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
