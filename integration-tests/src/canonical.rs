//! The RFC 8785 form of a JSON value, and the digest of a report that is taken of it.

use std::fmt::Write as _;

use serde_json::Value;

/// The canonical form: names sorted, nothing between the tokens, integers without a point.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            // The standard sorts by UTF-16 units, which for the ASCII names of a report is the order of their bytes.
            names.sort();
            let write_field = |out: &mut String, name: &&String| {
                write_text(name, out);
                out.push(':');
                write(&fields[name.as_str()], out);
            };
            list(out, ['{', '}'], &names, write_field);
        }
        Value::Array(items) => list(out, ['[', ']'], items, |out, item| write(item, out)),
        Value::String(text) => write_text(text, out),
        Value::Number(number) if number.is_f64() => write_number(number.as_f64().unwrap(), out),
        other => write!(out, "{other}").unwrap(),
    }
}

fn list<T>(out: &mut String, [open, close]: [char; 2], items: &[T], each: impl Fn(&mut String, &T)) {
    out.push(open);
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        each(out, item);
    }
    out.push(close);
}

/// Reports hold ratios and counts: between them, the shortest decimal is what the standard asks for.
fn write_number(number: f64, out: &mut String) {
    assert!(number.abs() < 1e21 && (number == 0.0 || number.abs() >= 1e-6), "{number} needs an exponent");
    write!(out, "{number}").unwrap();
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            control if control < ' ' => write!(out, "\\u{:04x}", u32::from(control)).unwrap(),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// The report without what may differ between equal runs: the scan's id and its run.
pub fn comparable(report: &Value) -> Value {
    let mut report = report.clone();
    let scan = report["scan"].as_object_mut().expect("a report has a scan");
    scan.remove("id");
    scan.remove("run");
    report
}

/// The digest that a report must carry. What people decided is no part of it.
pub fn digest(report: &Value) -> String {
    let mut report = comparable(report);
    report["scan"].as_object_mut().unwrap().remove("digest");
    for list in ["clusters", "identical"] {
        let rows = report.get_mut(list).and_then(Value::as_array_mut);
        for row in rows.into_iter().flatten().filter_map(Value::as_object_mut) {
            for decided in ["verdict", "tags", "assignee"] {
                row.remove(decided);
            }
        }
    }
    blake3::hash(canonical(&report).as_bytes()).to_hex().to_string()
}
