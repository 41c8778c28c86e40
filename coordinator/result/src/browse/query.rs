//! Filters as an address has them: `name=value` pairs, so that people can share the address of a list.

/// The pairs of a query, decoded.
pub(super) fn pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    let query = query.strip_prefix('?').unwrap_or(query);
    form_urlencoded::parse(query.as_bytes()).map(|(name, value)| (name.into_owned(), value.trim().to_owned()))
}

/// Puts pairs together.
pub(super) struct Pairs {
    out: form_urlencoded::Serializer<'static, String>,
}

impl Pairs {
    pub(super) fn new() -> Pairs {
        Pairs { out: form_urlencoded::Serializer::new(String::new()) }
    }

    pub(super) fn put(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.out.append_pair(name, &value.to_string());
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.out.finish()
    }
}
