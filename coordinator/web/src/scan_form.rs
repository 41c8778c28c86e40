//! What a form says of a scan: the values as they stand in its fields, the specification that they come to, and back.

use std::fmt::Display;
use std::time::Duration;

use cognate_fingerprint::{Method, View};
use cognate_proto::v1;

use crate::scans::repository;
use crate::{Fields, PageError};

/// Everything that a form can say of a scan, as text.
#[derive(Clone, Default, Debug)]
pub(crate) struct ScanForm {
    pub(crate) repositories: Vec<String>,
    /// `raw`, `text`, `passages` or `both`.
    pub(crate) view: String,
    pub(crate) method: String,
    pub(crate) param: String,
    pub(crate) chunk_bytes: String,
    pub(crate) min_shared_bytes: String,
    pub(crate) min_containment: String,
    pub(crate) include: String,
    pub(crate) exclude: String,
    pub(crate) size_max: String,
    pub(crate) sync_deadline: String,
    pub(crate) across_only: bool,
    pub(crate) require_complete: bool,
    pub(crate) no_sync: bool,
    pub(crate) follow: bool,
    pub(crate) match_message_ids: bool,
    pub(crate) control: String,
    pub(crate) greedy: bool,
}

impl ScanForm {
    /// What a form has when nobody has touched it.
    pub(crate) fn untouched() -> ScanForm {
        ScanForm {
            view: View::Raw.to_string(),
            method: "tttd".to_owned(),
            min_containment: "0.5".to_owned(),
            ..ScanForm::default()
        }
    }

    /// What came with a form.
    pub(crate) fn of_fields(fields: &Fields) -> ScanForm {
        let text = |name| fields.text(name).unwrap_or_default().to_owned();
        ScanForm {
            repositories: fields.all("repository").map(str::to_owned).collect(),
            view: text("view"),
            method: text("method"),
            param: text("param"),
            chunk_bytes: text("chunk_bytes"),
            min_shared_bytes: text("min_shared_bytes"),
            min_containment: text("min_containment"),
            include: text("include"),
            exclude: text("exclude"),
            size_max: text("size_max"),
            sync_deadline: text("sync_deadline"),
            across_only: fields.is_set("across_only"),
            require_complete: fields.is_set("require_complete"),
            no_sync: fields.is_set("no_sync"),
            follow: fields.is_set("follow"),
            match_message_ids: fields.is_set("match_message_ids"),
            control: text("control"),
            greedy: fields.is_set("greedy"),
        }
    }

    /// What a form has to begin with something that is there already: a profile, or a scan that is launched again.
    pub(crate) fn of_spec(spec: &v1::ScanSpec) -> ScanForm {
        let method = spec.method.clone().unwrap_or_default();
        let selection = spec.selection.clone().unwrap_or_default();
        let is_both = spec.text.is_some();
        let number = |number: u64| if number == 0 || is_both { String::new() } else { number.to_string() };
        ScanForm {
            repositories: spec.repositories.iter().map(repository).collect(),
            view: if is_both { "both".to_owned() } else { method.view },
            method: method.name,
            param: method.param,
            chunk_bytes: number(method.chunk_bytes),
            // 0 is a value of its own.
            min_shared_bytes: if is_both { String::new() } else { spec.min_shared_bytes.to_string() },
            min_containment: spec.min_containment.clone(),
            include: selection.include.join("\n"),
            exclude: selection.exclude.join("\n"),
            size_max: selection.size_bytes_max.map(|size| size.to_string()).unwrap_or_default(),
            sync_deadline: spec
                .sync_deadline_ms
                .map(|wait| humantime::format_duration(Duration::from_millis(wait)).to_string())
                .unwrap_or_default(),
            across_only: spec.across_only,
            require_complete: spec.require_complete,
            no_sync: spec.no_sync,
            follow: spec.follow_symlinks,
            match_message_ids: spec.match_message_ids,
            control: spec.control.join("\n"),
            greedy: spec.greedy,
        }
    }

    /// The same as fields, to be carried by the next form.
    pub(crate) fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields: Vec<(&'static str, String)> =
            self.repositories.iter().map(|name| ("repository", name.clone())).collect();
        let texts = [
            ("view", &self.view),
            ("method", &self.method),
            ("param", &self.param),
            ("chunk_bytes", &self.chunk_bytes),
            ("min_shared_bytes", &self.min_shared_bytes),
            ("min_containment", &self.min_containment),
            ("include", &self.include),
            ("exclude", &self.exclude),
            ("size_max", &self.size_max),
            ("sync_deadline", &self.sync_deadline),
            ("control", &self.control),
        ];
        fields.extend(texts.into_iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name, text.clone())));
        let boxes = [
            ("across_only", self.across_only),
            ("require_complete", self.require_complete),
            ("no_sync", self.no_sync),
            ("follow", self.follow),
            ("match_message_ids", self.match_message_ids),
            ("greedy", self.greedy),
        ];
        fields.extend(boxes.into_iter().filter(|(_, is)| *is).map(|(name, _)| (name, "on".to_owned())));
        fields
    }

    /// Whether a repository is chosen.
    pub(crate) fn has(&self, repository: &str) -> bool {
        self.repositories.iter().any(|chosen| chosen == repository)
    }

    /// The specification that it comes to.
    ///
    /// # Errors
    /// When a field makes no sense; it is named.
    pub(crate) fn spec(&self) -> Result<v1::ScanSpec, PageError> {
        let views = match self.view.as_str() {
            "both" => vec![View::Raw, View::Text],
            view => vec![view.parse().map_err(|error| wrong("view", &error))?],
        };
        let layers: Vec<(Method, u64)> = views.into_iter().map(|view| self.layer(view)).collect::<Result<_, _>>()?;
        let (method, min_shared_bytes) = &layers[0];
        let lines =
            |text: &str| text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
        let deadline = match self.sync_deadline.as_str() {
            "" => None,
            text => Some(humantime::parse_duration(text).map_err(|_| wrong("sync_deadline", &"10s, 5m or 2h"))?),
        };
        Ok(v1::ScanSpec {
            repositories: self.repositories.iter().map(|name| named(name)).collect::<Result<_, _>>()?,
            method: Some(method.into()),
            min_shared_bytes: *min_shared_bytes,
            min_containment: if self.min_containment.is_empty() { "0.5" } else { &self.min_containment }.to_owned(),
            across_only: self.across_only,
            selection: Some(v1::SelectionSpec {
                include: lines(&self.include),
                exclude: lines(&self.exclude),
                size_bytes_max: size("size_max", &self.size_max)?,
            }),
            follow_symlinks: self.follow,
            no_sync: self.no_sync,
            sync_deadline_ms: deadline.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            require_complete: self.require_complete,
            text: layers.get(1).map(|(method, min_shared_bytes)| v1::TextLayer {
                method: Some(method.into()),
                min_shared_bytes: *min_shared_bytes,
            }),
            match_message_ids: self.match_message_ids,
            control: lines(&self.control),
            greedy: self.greedy,
            ..v1::ScanSpec::default()
        })
    }

    fn layer(&self, view: View) -> Result<(Method, u64), PageError> {
        let least = size("min_shared_bytes", &self.min_shared_bytes)?.unwrap_or(view.min_shared_bytes_default());
        let chunk_bytes = size("chunk_bytes", &self.chunk_bytes)?;
        let method = Method::parse(&self.method, view, chunk_bytes, &self.param);
        Ok((method.map_err(|error| wrong("method", &error))?, least))
    }
}

/// The methods that scans can use, with a word for people.
pub(crate) fn methods() -> Vec<(&'static str, &'static str)> {
    let told = |name| match name {
        "tttd" => "chunks that the content delimits; exact, the usual choice",
        "mod" => "sampled windows, estimated",
        "min" => "the least hashes of a document, estimated",
        "sketch" => "a sketch of fixed size, estimated",
        "bsw" => "windows chosen by their bits, estimated",
        "bsw-chunk" => "chunks between such windows",
        "shingle" => "runs of words, estimated; for text",
        "fuzzy" => "words and how often they occur, verified",
        "similarity-index" => "one number a document, verified by chunks",
        _ => "estimated",
    };
    Method::NAMES.iter().map(|name| (*name, told(name))).collect()
}

/// A repository by its name, `site/repository`.
fn named(name: &str) -> Result<v1::RepositoryRef, PageError> {
    let (site, repository) = name.split_once('/').ok_or_else(|| wrong("repository", &"it is SITE/REPOSITORY"))?;
    Ok(v1::RepositoryRef { site: site.to_owned(), repository: repository.to_owned() })
}

/// A size where there is one: `500`, `4KB`, `64MiB`.
fn size(field: &str, text: &str) -> Result<Option<u64>, PageError> {
    match text {
        "" => Ok(None),
        text => match text.parse::<bytesize::ByteSize>() {
            Ok(size) => Ok(Some(size.as_u64())),
            Err(_) => Err(wrong(field, &"a size is a number, with a unit or without: 500, 4KB, 64MiB")),
        },
    }
}

fn wrong(field: &str, why: &dyn Display) -> PageError {
    PageError::invalid(format!("`{field}`: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(more: &str) -> ScanForm {
        let fields = format!("repository=paris/kb&repository=tokyo/kb&view=raw&method=tttd&min_containment=0.5&{more}");
        ScanForm::of_fields(&Fields::read(fields.as_bytes()))
    }

    #[test]
    fn a_form_says_what_the_command_line_would() {
        let spec =
            form("chunk_bytes=2KB&min_shared_bytes=0&exclude=*.tmp%0D%0A+b+%0D%0A&sync_deadline=5m&across_only=on");
        let spec = spec.spec().unwrap();
        assert_eq!(spec.method.as_ref().unwrap().chunk_bytes, 2000);
        assert_eq!((spec.min_shared_bytes, spec.across_only, spec.no_sync), (0, true, false));
        assert_eq!(spec.selection.unwrap().exclude, ["*.tmp", "b"]);
        assert_eq!((spec.sync_deadline_ms, spec.repositories.len()), (Some(300_000), 2));
        let both = ScanForm { view: "both".to_owned(), ..form("") }.spec().unwrap();
        assert_eq!((both.min_shared_bytes, both.text.unwrap().min_shared_bytes), (16384, 2048));
        for (more, field) in
            [("size_max=x", "size_max"), ("sync_deadline=soon", "sync_deadline"), ("chunk_bytes=1", "method")]
        {
            let refused = form(more).spec().unwrap_err();
            assert!(refused.message.contains(field), "{}", refused.message);
        }
    }

    #[test]
    fn what_was_launched_can_be_launched_again_from_a_form() {
        for more in [
            "chunk_bytes=600&min_shared_bytes=0",
            "view=both",
            "size_max=4KB&include=a%0D%0Ab&require_complete=on&control=c&greedy=on",
        ] {
            let spec = form(more).spec().unwrap();
            assert_eq!(ScanForm::of_spec(&spec).spec().unwrap(), spec, "{more}");
            let fields = form_urlencoded::Serializer::new(String::new()).extend_pairs(form(more).fields()).finish();
            assert_eq!(ScanForm::of_fields(&Fields::read(fields.as_bytes())).spec().unwrap(), spec, "{more}");
        }
    }
}
