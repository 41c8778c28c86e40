//! `cognate report audit SCAN`: the auditor's signed report; and `report verify`, which checks one.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use cognate_proto::identity::{CertificateInfo, KeyHash};
use cognate_proto::name::ScanId;
use cognate_proto::v1::{self, AuditFormat};
use cognate_server::verify_signed;
use serde_json::Value;

use crate::args::ReportFormat;
use crate::exit::{Exit, usage};
use crate::operator::client::{Operator, OperatorArg, refusal};
use crate::operator::file::OperatorFile;
use crate::operator::members::print;
use crate::output::{OutputArgs, write_with};
use crate::stop::Stop;

/// Requests the report of a scan, and writes it unchanged: its signature covers every byte.
pub(super) async fn write(
    operator: &Operator,
    scan: ScanId,
    format: ReportFormat,
    output: &OutputArgs,
    stop: &Stop,
) -> anyhow::Result<Exit> {
    let wanted = match format {
        ReportFormat::Html => AuditFormat::Html,
        ReportFormat::Json | ReportFormat::Text => AuditFormat::Json,
        _ => return Err(usage("an auditor's report is text (its findings alone), json or html")),
    };
    if format == ReportFormat::Html && output.file.is_none() {
        return Err(usage("--format html is a file: name it with -o FILE"));
    }
    let document = tokio::select! {
        document = fetch(operator, scan, wanted) => document?,
        () = stop.stopped() => return Ok(Exit::Signal(stop.signal().unwrap_or(2))),
    };
    if format == ReportFormat::Text {
        let text = findings(&document)?;
        write_with(output, stop, |out| Ok(out.write_all(text.as_bytes())?))?;
    } else {
        write_with(output, stop, |out| Ok(out.write_all(&document)?))?;
    }
    Ok(Exit::Complete)
}

async fn fetch(operator: &Operator, scan: ScanId, format: AuditFormat) -> anyhow::Result<Vec<u8>> {
    let request = v1::AuditRequest { scan: scan.0, format: format.into() };
    let mut pieces = operator.call(|mut client| async move { client.audit(request).await }).await?;
    let mut document = Vec::new();
    while let Some(v1::AuditResponse { piece }) = pieces.message().await.map_err(|status| refusal(&status))? {
        document.extend_from_slice(&piece);
    }
    Ok(document)
}

/// The findings in words.
fn findings(document: &[u8]) -> anyhow::Result<String> {
    let document: Value = serde_json::from_slice(document).context("the coordinator's report is not JSON")?;
    let sentences = document.pointer("/audit/statement").and_then(Value::as_array);
    let sentences = sentences.into_iter().flatten().filter_map(Value::as_str);
    let numbered = sentences.enumerate().map(|(number, sentence)| format!("{}. {sentence}\n", number + 1));
    Ok(numbered.collect())
}

/// Checks the signature of a signed document, and prints its key; false if the document is not signed.
pub(super) fn verify(file: &Path, document: &[u8], operator: &OperatorArg) -> anyhow::Result<Option<Exit>> {
    let Some(verified) = verify_signed(document) else { return Ok(None) };
    let key = verified.map_err(|error| anyhow!("`{}` does not match its signature: {error}", file.display()))?;
    let known = operator.operator.as_deref().map(own_authority).transpose()?;
    let whose = match known {
        Some(own) if own == key => "the authority of your own federation".to_owned(),
        Some(own) => {
            return Err(anyhow!(
                "`{}` was signed with the key {}, which is not that of your federation, {}",
                file.display(),
                key.words(),
                own.words()
            ));
        }
        None => "compare the key with the output of `cognate report verify --operator FILE`, or ask the coordinator's administrators"
            .to_owned(),
    };
    print(&format!("{}: unchanged, signed with the key {} ({whose})", file.display(), key.words()))?;
    Ok(Some(Exit::Complete))
}

/// The key of the authority in an operator's file.
fn own_authority(path: &Path) -> anyhow::Result<KeyHash> {
    let file = OperatorFile::read(path)?;
    Ok(CertificateInfo::read(&file.credential.ca_certificate)?.key)
}
