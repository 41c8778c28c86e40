//! Messages for people: their complete content, as JSON.

use cognate_proto::batch::Batch;
use cognate_proto::path::escaped;
use cognate_proto::v1::attach_request::Message as AttachUp;
use cognate_proto::v1::push_request::Message as PushUp;
use cognate_proto::v1::{ChunkTable, DocumentState, FileClass, SkipReason};
use cognate_worker::dry_run::DryRunMessage;
use serde_json::{Value, json};

/// One message.
pub(super) fn line(message: &DryRunMessage) -> Result<Value, String> {
    match message {
        DryRunMessage::Attach(request) => Ok(attach(request.message.as_ref())),
        DryRunMessage::Push(request) => push(request.message.as_ref()),
    }
}

fn attach(message: Option<&AttachUp>) -> Value {
    match message {
        Some(AttachUp::Hello(hello)) => json!({
            "message": "hello", "protocol_min": hello.protocol_min, "protocol_max": hello.protocol_max,
            "key_fingerprint": hex(&hello.key_fingerprint), "repositories": hello.repositories,
            "software": hello.software, "instance": hello.instance, "earlier_instances": hello.earlier_instances,
            "paused": hello.paused, "unkeyed_across_parties": hello.unkeyed_across_parties, "now": hello.now,
        }),
        Some(AttachUp::Ended(ended)) => {
            let summary = ended.summary.clone().unwrap_or_default();
            let skipped =
                summary.skipped.iter().map(|row| json!([SkipReason::as_str_name(&row.reason()), row.entries]));
            let census = summary
                .census
                .iter()
                .map(|row| json!([FileClass::as_str_name(&row.class()), row.documents, row.size_bytes]));
            json!({
                "message": "ended", "assignment": ended.assignment, "failure": ended.failure,
                "read_bytes": summary.read_bytes, "read_documents": summary.read_documents,
                "sent_bytes": summary.sent_bytes, "skipped": skipped.collect::<Vec<_>>(),
                "census": census.collect::<Vec<_>>(), "hard_links": [summary.hard_links, summary.hard_link_bytes],
            })
        }
        Some(AttachUp::Progress(progress)) => json!({"message": "progress", "assignment": progress.assignment}),
        Some(AttachUp::KeepAlive(_)) => json!({"message": "keep-alive"}),
        Some(AttachUp::State(state)) => json!({"message": "state", "paused": state.paused}),
        None => json!({"message": "nothing"}),
    }
}

fn push(message: Option<&PushUp>) -> Result<Value, String> {
    Ok(match message {
        Some(PushUp::Open(open)) => json!({
            "message": "open", "assignment": open.assignment, "repository": open.repository,
            "method_id": hex(&open.method_id), "epoch": format!("{:016x}", open.epoch),
        }),
        Some(PushUp::Seal(seal)) => {
            json!({"message": "seal", "sequence": seal.sequence, "root": hex(&seal.index_digest), "canary": hex(&seal.canary)})
        }
        Some(PushUp::Batch(batch)) => {
            let body = Batch::decode(&batch.body, u32::MAX).map_err(|error| error.to_string())?;
            let mut rest = body.chunks.iter();
            let contents = body.contents.iter().map(|content| {
                let count = usize::try_from(content.chunk_count).unwrap_or(usize::MAX);
                let chunks = rest.by_ref().take(count).map(|(tag, length, _)| json!([length, tag.to_string()]));
                json!({
                    "digest": content.digest.to_string(), "size_bytes": content.size_bytes,
                    "chunks": chunks.collect::<Vec<_>>(),
                })
            });
            let contents: Vec<Value> = contents.collect();
            let parts = body.parts.iter().map(|part| {
                let end = part.end.as_ref();
                json!({
                    "upload": part.upload, "chunks": chunks(&part.chunks),
                    "digest": end.map(|content| content.digest.to_string()),
                    "size_bytes": end.map(|content| content.size_bytes),
                })
            });
            let documents = body.documents.iter().map(|row| {
                let (path, is_escaped) = escaped(row.path.as_bytes());
                json!({
                    "path": path, "path_escaped": is_escaped, "state": DocumentState::as_str_name(&row.state),
                    "content": row.content.map(|digest| digest.to_string()), "modified": row.modified,
                })
            });
            json!({
                "message": "batch", "sequence": batch.sequence, "digest": hex(&batch.digest),
                "body_bytes": batch.body.len(), "contents": contents, "parts": parts.collect::<Vec<_>>(),
                "documents": documents.collect::<Vec<_>>(),
            })
        }
        None => json!({"message": "nothing"}),
    })
}

fn chunks(table: &ChunkTable) -> Vec<Value> {
    table.iter().map(|(tag, length, _)| json!([length, tag.to_string()])).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
