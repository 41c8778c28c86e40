use std::io::Cursor;

use proptest::prelude::*;

use super::*;

fn pages_of(bytes: &[u8]) -> Result<Vec<Page>, Reason> {
    pages(&mut Cursor::new(bytes))
}

fn fax(width: u32, height: u32) -> Fax {
    Fax { width, height, dimensions: -1, is_aligned: false, is_inverted: false }
}

/// A length as TIFF has it.
fn short(length: usize) -> u32 {
    u32::try_from(length).unwrap()
}

/// A file of several pages, in either order of bytes. Each has its data in two strips.
fn file(order: Order, shapes: &[(u32, u32)]) -> Vec<u8> {
    let mut file = if order == Order::Little { b"II*\0".to_vec() } else { b"MM\0*".to_vec() };
    file.extend([0; 4]);
    let mut link = 4;
    for (number, (width, height)) in (1u8..).zip(shapes) {
        let data = short(file.len());
        file.extend([number; 7]);
        let (offsets, lengths) = (short(file.len()), short(file.len()) + 8);
        for value in [data, data + 3, 3, 4] {
            file.extend(order.of_u32(value));
        }
        let at = order.of_u32(short(file.len()));
        file[link..link + 4].copy_from_slice(&at);
        let fields = [
            (WIDTH, LONG, 1, *width),
            (HEIGHT, LONG, 1, *height),
            (STRIP_OFFSETS, LONG, 2, offsets),
            (STRIP_LENGTHS, LONG, 2, lengths),
            // A field that no picture needs, with a place beyond the end.
            (700, LONG, 1000, u32::MAX),
        ];
        file.extend(order.of_u16(u16::try_from(fields.len()).unwrap()));
        for (tag, kind, count, value) in fields {
            file.extend([order.of_u16(tag), order.of_u16(kind)].concat());
            file.extend([order.of_u32(count), order.of_u32(value)].concat());
        }
        link = file.len();
        file.extend([0; 4]);
    }
    file
}

#[test]
fn each_page_is_a_file_of_its_own_with_its_data() {
    for order in [Order::Little, Order::Big] {
        let bytes = file(order, &[(1728, 2200), (1000, 1400)]);
        let pages = pages_of(&bytes).unwrap();
        assert_eq!(pages.len(), 2);
        for (number, page) in (1u8..).zip(&pages) {
            let own = page.file(&mut Cursor::new(bytes.as_slice())).unwrap();
            let [again] = &pages_of(&own).unwrap()[..] else { panic!("it has one page") };
            assert_eq!(again.shape(), page.shape());
            let lengths = again.numbers(STRIP_LENGTHS).unwrap();
            let strips: Vec<Vec<u8>> = again
                .numbers(STRIP_OFFSETS)
                .unwrap()
                .into_iter()
                .zip(lengths)
                .map(|(at, length)| own[at as usize..(at + length) as usize].to_vec())
                .collect();
            assert_eq!(strips, [vec![number; 3], vec![number; 4]]);
            assert!(again.fields.iter().all(|field| field.tag != 700));
        }
    }
}

#[test]
fn small_pictures_and_copies_of_pages_do_not_count() {
    assert_eq!(pages_of(&file(Order::Little, &[(64, 64), (1728, 2200), (300, 4000)])).unwrap().len(), 1);
    let mut thumbnail = pages_of(&of_fax(&fax(1000, 1400), b"x")).unwrap().remove(0);
    thumbnail.fields.push(Field { tag: KIND_OF_IMAGE, kind: LONG, count: 1, bytes: vec![1, 0, 0, 0] });
    let file = written(Order::Little, thumbnail.fields, STRIP_OFFSETS, &[b"x"]);
    assert!(pages_of(&file).unwrap().is_empty());
}

#[test]
fn a_file_around_a_fax_has_its_compression_and_its_white() {
    let numbers = |fax: &Fax| {
        let page = pages_of(&of_fax(fax, b"data")).unwrap().remove(0);
        [COMPRESSION, PHOTOMETRIC, T4_OPTIONS, T6_OPTIONS].map(|tag| page.number(tag))
    };
    let plain = fax(1728, 2200);
    assert_eq!(numbers(&plain), [Some(4), Some(0), None, Some(0)]);
    assert_eq!(numbers(&Fax { dimensions: 0, ..plain }), [Some(3), Some(0), Some(0), None]);
    assert_eq!(
        numbers(&Fax { dimensions: 4, is_aligned: true, is_inverted: true, ..plain }),
        [Some(3), Some(1), Some(5), None]
    );
}

#[test]
fn a_file_that_is_cut_or_runs_in_a_circle_ends_with_a_reason() {
    let bytes = file(Order::Little, &[(1728, 2200)]);
    for length in 0..bytes.len() {
        let read = pages_of(&bytes[..length]);
        assert!(matches!(read, Err(Reason::Damaged | Reason::Unsupported)), "{length}: {read:?}");
    }
    let mut circle = file(Order::Little, &[(1728, 2200)]);
    let (at, end) = (circle[4..8].to_vec(), circle.len() - 4);
    circle[end..].copy_from_slice(&at);
    assert_eq!(pages_of(&circle).unwrap_err(), Reason::TooMany);
    let mut beyond = file(Order::Little, &[(1728, 2200)]);
    let offsets = beyond.len() - 4 - 5 * FIELD_BYTES - 2 - 16;
    beyond[offsets..offsets + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let page = pages_of(&beyond).unwrap().remove(0);
    assert_eq!(page.file(&mut Cursor::new(beyond.as_slice())), Err(Reason::Damaged));
}

/// The only page of a file with one field changed.
fn page_with(tag: u16, change: impl FnOnce(&mut Field)) -> (Vec<u8>, Page) {
    let bytes = of_fax(&fax(1728, 2200), b"data");
    let mut page = pages_of(&bytes).unwrap().remove(0);
    change(page.fields.iter_mut().find(|field| field.tag == tag).unwrap());
    (bytes, page)
}

#[test]
fn a_page_whose_places_and_lengths_do_not_agree_is_damaged_and_a_huge_one_is_not_recognised() {
    let long = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    for (tag, numbers, expected) in [
        (STRIP_LENGTHS, &[4][..], None),
        (STRIP_LENGTHS, &[0], None),
        (STRIP_LENGTHS, &[1, 3], Some(Reason::Damaged)),
        (STRIP_LENGTHS, &[], Some(Reason::Damaged)),
        (STRIP_LENGTHS, &[5000], Some(Reason::Damaged)),
        (STRIP_LENGTHS, &[u32::MAX], Some(Reason::NotRecognised)),
        (STRIP_OFFSETS, &[u32::MAX], Some(Reason::Damaged)),
        (STRIP_OFFSETS, &[8, 8], Some(Reason::Damaged)),
    ] {
        let (bytes, page) = page_with(tag, |field| field.bytes = long(numbers));
        assert_eq!(page.file(&mut Cursor::new(bytes.as_slice())).err(), expected, "{tag} {numbers:?}");
    }
    let (bytes, page) = page_with(STRIP_OFFSETS, |field| field.tag = TILE_OFFSETS);
    assert_eq!(page.file(&mut Cursor::new(bytes.as_slice())).err(), Some(Reason::Damaged), "tiles without lengths");
    let (bytes, page) = page_with(STRIP_OFFSETS, |field| field.kind = 5);
    assert_eq!(page.file(&mut Cursor::new(bytes.as_slice())).err(), Some(Reason::Damaged), "places that are fractions");
}

#[test]
fn a_page_has_no_more_fields_and_values_than_a_picture_needs() {
    let whole = of_fax(&fax(1728, 2200), b"data");
    let at = u32::from_le_bytes(whole[4..8].try_into().unwrap()) as usize;
    let changed = |place: usize, bytes: &[u8]| {
        let mut file = whole.clone();
        file[at + place..at + place + bytes.len()].copy_from_slice(bytes);
        pages_of(&file).map(|pages| pages.len())
    };
    assert_eq!(changed(0, &(FIELDS_MAX + 1).to_le_bytes()), Err(Reason::Damaged));
    let values = u32::try_from(VALUES_BYTES_MAX / 4).unwrap();
    assert_eq!(changed(2 + 4, &(values + 1).to_le_bytes()), Err(Reason::TooLarge));
    assert_eq!(changed(2 + 4, &values.to_le_bytes()), Err(Reason::Damaged), "as many as are allowed are not there");
    assert_eq!(changed(2 + 2, &99_u16.to_le_bytes()), Ok(0), "a width of an unknown type");
    assert_eq!(changed(2 + 4, &[0; 4]), Ok(0), "a width without a value");
}

proptest! {
    #[test]
    fn no_damage_makes_a_page_of_bytes_that_are_not_in_the_file(
        order in prop::sample::select(&[Order::Little, Order::Big][..]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = file(order, &[(1728, 2200), (1000, 1400)]);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let mut source = Cursor::new(bytes.as_slice());
        for page in pages(&mut source).unwrap_or_default().iter().take(9) {
            if let Ok(own) = page.file(&mut source) {
                let again = pages_of(&own).unwrap();
                prop_assert_eq!(again.len(), 1);
                prop_assert_eq!(again[0].shape(), page.shape());
            }
        }
    }
}
