//! Tests of all methods, and of calls in progress when a member is shut out.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use cognate_proto::identity::Credential;
use cognate_proto::v1::worker_client::WorkerClient;
use cognate_proto::v1::{AttachRequest, Hello, MemberKind, ReceivedRequest, ReceivedResponse, attach_request};
use tokio_stream::StreamExt as _;
use tonic::Code;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic_prost::ProstCodec;

use super::*;
use crate::harness::{Harness, person, site, soon};
use crate::identity::Operator;

/// Every method that the `.proto` files name.
fn described() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto/proto");
    let files = ["cognate/v1/worker.proto", "cognate/v1/enrolment.proto", "cognate/v1/operator.proto"];
    let descriptors = protox::compile(files, [folder]).unwrap();
    let mut methods = BTreeSet::new();
    for file in &descriptors.file {
        for service in &file.service {
            for method in &service.method {
                methods.insert(format!("/{}.{}/{}", file.package(), service.name(), method.name()));
            }
        }
    }
    methods
}

/// The outcome of a call with an empty message.
async fn call(channel: &Channel, path: &str) -> Result<(), Status> {
    let mut client = Grpc::new(channel.clone());
    soon(client.ready()).await.map_err(|error| Status::from_error(Box::new(error)))?;
    let codec = ProstCodec::<ReceivedRequest, ReceivedResponse>::default();
    let path: PathAndQuery = path.parse().unwrap();
    let messages = tokio_stream::iter([ReceivedRequest {}]);
    let mut answers = soon(client.streaming(tonic::Request::new(messages), path, codec)).await?.into_inner();
    while let Some(_answer) = soon(answers.next()).await.transpose()? {}
    Ok(())
}

fn refused_as(result: &Result<(), Status>) -> Option<Refusal> {
    let status = result.as_ref().err()?;
    Refusal::ALL.into_iter().find(|refusal| Status::from(*refusal).message() == status.message())
}

#[test]
fn every_method_is_classified() {
    let classified: BTreeSet<String> = METHODS.iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(classified, described());
    assert_eq!(classified.len(), METHODS.len());
    let anyone: Vec<_> =
        METHODS.iter().filter(|(_, access)| *access == Access::Anyone).map(|(path, _)| *path).collect();
    assert_eq!(anyone, ["/cognate.v1.Enrolment/Enroll"]);
    for (path, access) in METHODS {
        let of_operators = path.starts_with("/cognate.v1.Operator/");
        assert_eq!(of_operators, matches!(access, Access::Role(_)), "{path}");
    }
}

#[test]
fn callers_within_the_process_are_held_to_the_same_table() {
    let person = |role| Identity::Operator(Operator { name: "anna".parse().unwrap(), role, site: None, party: None });
    let may = |path: &str, role| check(&format!("/cognate.v1.Operator/{path}"), &person(role));
    for (path, access) in METHODS {
        let Access::Role(least) = access else { continue };
        for role in [Role::Viewer, Role::Analyst, Role::Administrator] {
            let expected = if i32::from(role) >= i32::from(*least) { Ok(()) } else { Err(Refusal::Role) };
            assert_eq!(check(path, &person(role)), expected, "{role:?} {path}");
        }
        assert_eq!(check(path, &Identity::Anyone), Err(Refusal::NoCertificate), "{path}");
    }
    assert_eq!(may("ListEvents", Role::Analyst), Err(Refusal::Role));
    assert_eq!(may("Nothing", Role::Administrator), Err(Refusal::Method));
}

#[tokio::test]
async fn each_method_is_open_only_to_its_callers() {
    let harness = Harness::start().await;
    let revoked = harness.credential(&site("shut-out"));
    harness.members().revoke(MemberKind::Site, "shut-out", "test").unwrap();
    let callers: [(&str, Option<Credential>); 6] = [
        ("nobody", None),
        ("site", Some(harness.credential(&site("paris")))),
        ("viewer", Some(harness.credential(&person("vera", Role::Viewer)))),
        ("analyst", Some(harness.credential(&person("anna", Role::Analyst)))),
        ("administrator", Some(harness.credential(&person("adam", Role::Administrator)))),
        ("revoked", Some(revoked)),
    ];
    for (caller, credential) in &callers {
        let channel = harness.channel(credential.as_ref());
        for path in described() {
            let access = access(&path).unwrap();
            let expected = match (*caller, access) {
                (_, Access::Anyone) => None,
                ("nobody", _) => Some(Refusal::NoCertificate),
                ("revoked", _) => Some(Refusal::Revoked),
                (_, Access::Member) | ("site", Access::Site) | ("administrator", Access::Role(_)) => None,
                ("viewer", Access::Role(Role::Viewer)) => None,
                ("analyst", Access::Role(Role::Viewer | Role::Analyst)) => None,
                _ => Some(Refusal::Role),
            };
            let result = call(&channel, &path).await;
            // An empty enrolment has no invitation: the call reached the handler that checks it.
            let refused = refused_as(&result).filter(|refusal| *refusal != Refusal::Token);
            assert_eq!(refused, expected, "{caller} calls {path}: {result:?}");
            if let Some(expected) = expected {
                let code = result.unwrap_err().code();
                let denied =
                    if expected == Refusal::NoCertificate { Code::Unauthenticated } else { Code::PermissionDenied };
                assert_eq!(code, denied, "{caller} calls {path}");
            }
        }
        for unknown in [
            "/cognate.v1.Worker/Nothing",
            "/cognate.v2.Worker/Attach",
            "/",
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        ] {
            let result = call(&channel, unknown).await;
            assert_eq!(result.unwrap_err().code(), Code::Unimplemented, "{caller} calls {unknown}");
        }
    }
    assert!(harness.count(Refusal::NoCertificate) > 20 && harness.count(Refusal::Revoked) > 20);
}

/// A control stream that is open, and its end at the worker.
async fn attach(
    channel: Channel,
    hello: Hello,
) -> Result<cognate_proto::calls::Messages<cognate_proto::v1::AttachResponse>, Status> {
    let greeting = AttachRequest { message: Some(attach_request::Message::Hello(hello)) };
    let requests = tokio_stream::once(greeting).chain(tokio_stream::pending());
    Ok(soon(WorkerClient::new(channel).attach(requests)).await?.into_inner())
}

fn hello() -> Hello {
    Hello {
        protocol_min: 1,
        protocol_max: 1,
        key_fingerprint: vec![0; 16],
        repositories: vec!["main".into()],
        ..Hello::default()
    }
}

#[tokio::test]
async fn a_revoked_site_is_cut_off_within_a_second_and_others_are_not() {
    let harness = Harness::start().await;
    let (paris, tokyo) = (harness.credential(&site("paris")), harness.credential(&site("tokyo")));
    let channel = harness.channel(Some(&paris));
    let mut cut = attach(channel.clone(), hello()).await.unwrap();
    let mut remaining = attach(harness.channel(Some(&tokyo)), hello()).await.unwrap();
    soon(cut.message()).await.unwrap().expect("a welcome");
    soon(remaining.message()).await.unwrap().expect("a welcome");

    let revoked = Instant::now();
    harness.members().revoke(MemberKind::Site, "paris", "test").unwrap();
    let status = loop {
        if let Err(status) = soon(cut.message()).await {
            break status;
        }
    };
    assert!(revoked.elapsed() < Duration::from_secs(1), "{:?}", revoked.elapsed());
    assert_eq!((status.code(), status.message()), (Code::PermissionDenied, Refusal::Revoked.to_string().as_str()));
    // On the same connection, and on a new one.
    for channel in [channel, harness.channel(Some(&paris))] {
        let status = WorkerClient::new(channel).received(ReceivedRequest {}).await.unwrap_err();
        assert_eq!(status.code(), Code::PermissionDenied);
    }
    // The other stream was checked again too, and continues.
    let quiet = tokio::time::timeout(Duration::from_millis(200), remaining.message()).await;
    assert!(!matches!(quiet, Ok(Err(_) | Ok(None))), "{quiet:?}");
}
