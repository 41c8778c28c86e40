//! A child alone, for tests and benches; with `faulty` as its second argument, one that obeys documents. It is the program
//! that becomes one that recognises text as well, and such a program, which obeys pictures.

use std::fs::File;
use std::io::{self, Read, Write};
use std::process::ExitCode;

use cognate_view::{Kind, Limits, Outcome, PartsWriter};

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(cognate_view::RECOGNISER_ARGUMENT) => return cognate_view::recogniser_main(),
        Some("--version") => return print("tesseract 0.1-test\n more\n"),
        Some("--list-langs") => return print("List of available languages in \"/nowhere/\" (2):\neng\nxyz\n"),
        Some("stdin") => return recognise(),
        _ => {}
    }
    let faulty = std::env::args_os().nth(2).is_some_and(|argument| argument == "faulty");
    if faulty { cognate_view::serve(obey) } else { cognate_view::child_main() }
}

/// Obeys the word of a document after `!`, or reads the document.
fn obey(mut file: File, hint: Option<&str>, limits: &Limits, out: &mut dyn Write) -> io::Result<()> {
    let mut head = [0; 64];
    let read = std::os::unix::fs::FileExt::read_at(&file, &mut head, 0)?;
    let Some(order) = head[..read].strip_prefix(b"!") else { return cognate_view::walk(file, hint, limits, out) };
    let answer = match order {
        b"panic" => panic!("the document asked for a panic"),
        b"abort" => std::process::abort(),
        b"exit" => std::process::exit(0),
        b"recurse" => depth(0).to_string(),
        b"eat" => eat().to_string(),
        b"hang" => loop {
            std::hint::spin_loop();
        },
        b"garbage" => return out.write_all(&[7; 4096]),
        b"nothing" => return Ok(()),
        b"half" => {
            let mut parts = PartsWriter::new(&mut *out)?;
            parts.begin("member", Kind::Text)?;
            parts.text(&"text ".repeat(100_000))?;
            out.flush()?;
            std::process::exit(1);
        }
        b"read" => described(file.read(&mut [0; 1])),
        b"open" => described(File::open("/etc/passwd")),
        b"create" => described(File::create("/tmp/cognate-view-child")),
        b"connect" => described(std::net::TcpStream::connect(("127.0.0.1", 1))),
        b"socket" => described(std::os::unix::net::UnixStream::pair()),
        b"start" => described(std::process::Command::new("/bin/true").status()),
        b"thread" => described(std::thread::Builder::new().spawn(|| ())),
        b"folder" => described(std::fs::read_dir("/").map(Iterator::count)),
        b"name" => hint.unwrap_or_default().to_owned(),
        b"environment" => std::env::vars_os().count().to_string(),
        _ => "unknown order".to_owned(),
    };
    let mut parts = PartsWriter::new(out)?;
    parts.begin("", Kind::Text)?;
    parts.text(&answer)?;
    parts.end(Outcome::Text, None)?;
    parts.finish().map(drop)
}

/// Prints like `tesseract`.
#[expect(clippy::print_stdout, reason = "this is how such a program answers")]
fn print(text: &str) -> ExitCode {
    print!("{text}");
    ExitCode::SUCCESS
}

/// Obeys the word of a picture between its last `!` and `;`.
fn recognise() -> ExitCode {
    let mut picture = Vec::new();
    if io::stdin().read_to_end(&mut picture).is_err() {
        return ExitCode::FAILURE;
    }
    let at = picture.iter().rposition(|byte| *byte == b'!').map_or(0, |at| at + 1);
    let order = picture.get(at..).unwrap_or_default();
    let answer = match order.split(|byte| *byte == b';').next().unwrap_or_default() {
        b"arguments" => std::env::args().skip(1).collect::<Vec<_>>().join(" "),
        b"environment" => std::env::vars().map(|(name, value)| format!("{name}={value} ")).collect(),
        b"fail" => return ExitCode::FAILURE,
        b"abort" => std::process::abort(),
        b"eat" => eat().to_string(),
        b"spin" => loop {
            std::hint::spin_loop();
        },
        b"wait" => loop {
            std::thread::park();
        },
        b"flood" => loop {
            if io::stdout().write_all(&[b'x'; 4096]).is_err() {
                return ExitCode::FAILURE;
            }
        },
        b"open" => described(File::open("/etc/passwd")),
        b"own" => described(File::open(std::env::args_os().next().unwrap_or_default())),
        b"folder" => described(std::fs::read_dir("/etc").map(Iterator::count)),
        b"create" => described(File::create("/tmp/cognate-view-recogniser")),
        b"remove" => described(std::fs::remove_file("/tmp/cognate-view-recogniser")),
        b"connect" => described(std::net::TcpStream::connect(("127.0.0.1", 1))),
        b"socket" => described(std::os::unix::net::UnixStream::pair()),
        b"start" => described(std::process::Command::new("/bin/true").status()),
        b"thread" => described(std::thread::Builder::new().spawn(|| ())),
        word => String::from_utf8_lossy(word).into_owned(),
    };
    // A text that is long enough to be one.
    print(&format!("{answer}\n\nThis is the recognised text of one page.\n\x0C"))
}

fn described<T>(result: io::Result<T>) -> String {
    result.map_or_else(|error| format!("{:?}", error.kind()), |_| "done".to_owned())
}

fn depth(so_far: u64) -> u64 {
    let here = std::hint::black_box([so_far; 128]);
    if here[7] == u64::MAX { so_far } else { here[5] + std::hint::black_box(depth(so_far + 1)) }
}

fn eat() -> usize {
    let mut eaten = Vec::new();
    loop {
        eaten.push(vec![1_u8; 1 << 20]);
        if std::hint::black_box(&eaten).len() > 1 << 20 {
            return eaten.len();
        }
    }
}
