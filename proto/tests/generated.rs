//! The generated code is committed, so that a build needs no compiler for protocol buffers; this test compares it with
//! its source.
//!
//! After a change of a `.proto` file: `COGNATE_REGENERATE=1 cargo test -p cognate-proto --test generated`

use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[test]
fn generated_code_matches_the_proto_files() {
    let descriptors = protox::compile(
        ["cognate/v1/worker.proto", "cognate/v1/enrolment.proto", "cognate/v1/operator.proto"],
        [folder("proto")],
    )
    .unwrap();
    let fresh = std::env::temp_dir().join(format!("cognate-generated-{}", std::process::id()));
    std::fs::create_dir_all(&fresh).unwrap();
    tonic_prost_build::configure()
        .out_dir(&fresh)
        .build_transport(false)
        .bytes(".cognate.v1.Batch.body")
        .bytes(".cognate.v1.PushRequest.padding")
        .compile_fds(descriptors)
        .unwrap();
    let generated = std::fs::read_to_string(fresh.join("cognate.v1.rs")).unwrap();
    std::fs::remove_dir_all(&fresh).unwrap();
    let committed = folder("src/generated/cognate.v1.rs");
    if std::env::var_os("COGNATE_REGENERATE").is_some() {
        std::fs::create_dir_all(folder("src/generated")).unwrap();
        std::fs::write(&committed, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(committed).unwrap();
    assert!(generated == committed, "the .proto files have changed: regenerate (see the top of this file)");
}
