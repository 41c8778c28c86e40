//! The golden vectors: other programs can check themselves against them, and they must never change unnoticed.
//!
//! `testdata/golden.ndjson` has a line a case; `docs/fingerprint.md` says how inputs are made. After a change of the recipe
//! itself, which needs a new version in the method's canonical form: `COGNATE_REGENERATE=1 cargo test -p
//! cognate-fingerprint --test golden`.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::fmt::Write as _;
use std::path::Path;

use cognate_fingerprint::{Key, Method, View};

/// An input that other programs can make too.
enum Input {
    /// The bytes of a text.
    Text(&'static str),
    /// So many bytes of BLAKE3's extended output over a label.
    Noise(&'static str, usize),
    /// A repeated byte.
    Repeated(u8, usize),
    /// Noise, then a run of one byte, then the same noise again: `noise`, `run`, `noise` bytes.
    Sandwich(&'static str, usize, usize),
}

impl Input {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Input::Text(text) => text.as_bytes().to_vec(),
            Input::Noise(label, length) => noise(label, *length),
            Input::Repeated(byte, length) => vec![*byte; *length],
            Input::Sandwich(label, length, run) => {
                [noise(label, *length), vec![b' '; *run], noise(label, *length)].concat()
            }
        }
    }

    fn json(&self) -> String {
        match self {
            Input::Text(text) => format!("{{\"text\":\"{text}\"}}"),
            Input::Noise(label, length) => format!("{{\"noise\":\"{label}\",\"bytes\":{length}}}"),
            Input::Repeated(byte, length) => format!("{{\"repeated\":{byte},\"bytes\":{length}}}"),
            Input::Sandwich(label, length, run) => {
                format!("{{\"sandwich\":\"{label}\",\"bytes\":{length},\"run\":{run}}}")
            }
        }
    }
}

fn noise(label: &str, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(label.as_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

fn line(input: &Input, chunk_bytes: u64, key: Option<[u8; 32]>) -> String {
    let method = Method::tttd(View::Raw, chunk_bytes).unwrap();
    let (key, key_json) = match key {
        None => (Key::none(), "null".to_owned()),
        Some(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            (Key::parse(&bytes).unwrap(), format!("\"{digits}\""))
        }
    };
    let mut chunks = String::new();
    let content = method
        .fingerprinter(&key)
        .read(&mut input.bytes().as_slice(), |chunk| {
            let comma = if chunks.is_empty() { "" } else { "," };
            let repeated = if chunk.repeated_byte { ",true" } else { "" };
            write!(chunks, "{comma}[{},{},\"{}\"{repeated}]", chunk.offset, chunk.length_bytes, chunk.tag).unwrap();
            Ok(())
        })
        .unwrap();
    let sample: Vec<String> = content.sample.values().map(|value| value.to_string()).collect();
    let sample = sample.join(",");
    format!(
        "{{\"input\":{},\"chunk_bytes\":{chunk_bytes},\"key\":{key_json},\"key_fingerprint\":\"{}\",\"method_id\":\"{}\",\
         \"size_bytes\":{},\"content\":\"{}\",\"chunks\":[{chunks}],\"sample\":[{sample}]}}\n",
        input.json(),
        key.fingerprint(),
        method.id(&key),
        content.size_bytes,
        content.digest,
    )
}

#[test]
fn the_recipe_gives_the_golden_vectors() {
    let counting: [u8; 32] = std::array::from_fn(|place| u8::try_from(place).unwrap());
    let cases = [
        (Input::Text(""), 1000, None),
        (Input::Text("a"), 1000, None),
        (Input::Text("Cognates are words of different languages that descend from one."), 80, None),
        (Input::Repeated(0, 10_000), 1000, None),
        (Input::Repeated(0, 2843), 1000, None),
        (Input::Repeated(97, 5000), 80, None),
        (Input::Noise("cognate", 466), 1000, None),
        (Input::Noise("cognate", 467), 1000, None),
        (Input::Noise("cognate", 100_000), 1000, None),
        (Input::Noise("cognate", 10_000), 80, None),
        (Input::Noise("cognate", 10_000), 82, None),
        (Input::Noise("cognate", 100_000), 5000, None),
        (Input::Noise("cognate", 300_000), 16_384, None),
        (Input::Sandwich("cognate", 9000, 7000), 985, None),
        (Input::Noise("cognate", 100_000), 1000, Some(counting)),
    ];
    let golden: String = cases.iter().map(|(input, chunk_bytes, key)| line(input, *chunk_bytes, *key)).collect();
    compare(&golden, "testdata/golden.ndjson");
}

/// Compares with the committed lines, or writes them where that is asked for.
fn compare(golden: &str, path: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("COGNATE_REGENERATE").is_some() {
        std::fs::write(&path, golden).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    for (line, committed) in golden.lines().zip(committed.lines()) {
        assert_eq!(line, committed);
    }
    assert_eq!(golden.lines().count(), committed.lines().count());
}

/// Every method over a text of numbered words and over noise, without a key and with one.
#[test]
fn every_method_gives_its_golden_vectors() {
    let counting: [u8; 32] = std::array::from_fn(|place| u8::try_from(place).unwrap());
    let methods = [
        ("mod", "w=20,n=200"),
        ("min", "w=20,n=8"),
        ("sketch", "w=20,n=8"),
        ("bsw", "w=20,n=400"),
        ("bsw-chunk", "w=20,n=400"),
        ("shingle", "w=3,m=50"),
        ("shingle", "tokens=lines,w=2,option=a,m=4"),
        ("shingle", "tokens=letters,w=10,sample=min,s=8"),
        ("shingle", "w=3,sample=levels,s=8"),
        ("fuzzy", "k=18,r=3"),
        ("fuzzy", "k=18,r=2,rho=4,step=10,words=100"),
        ("similarity-index", ""),
        ("similarity-index", "way=6A,k=8,w=12"),
        ("similarity-index", "way=14C,k=4,hash=unsigned"),
    ];
    let words: String = (0..400_u32)
        .map(|place| {
            format!(
                "{}{place}{}",
                ["Rose ", "is", "flower, "][place as usize % 3],
                if place % 10 == 9 { ".\n" } else { " " }
            )
        })
        .collect();
    let mut golden = String::new();
    for (name, param) in methods {
        for key in [Key::none(), Key::parse(&counting).unwrap()] {
            let method = Method::parse(name, View::Raw, None, param).unwrap();
            let signature = method.signer(&key).read(&mut words.as_bytes()).unwrap();
            let features: Vec<String> =
                signature.features.iter().map(|feature| format!("[\"{}\",{}]", feature.tag, feature.weight)).collect();
            let became = match signature.index {
                Some(index) => format!("\"index\":{index}"),
                None => format!("\"features\":[{}]", features.join(",")),
            };
            writeln!(
                golden,
                "{{\"method\":\"{name}\",\"param\":\"{param}\",\"keyed\":{},\"content\":\"{}\",\"windows\":{},{became}}}",
                key.is_keyed(),
                signature.digest,
                signature.windows,
            )
            .unwrap();
        }
    }
    compare(&golden, "testdata/methods.ndjson");
}
