//! The generated code is committed, so that a build needs no compiler for protocol buffers; this test compares it with
//! its source. Messages are prost's; services are made here, over the calls of `src/calls.rs`, which are compiled once for all messages.
//!
//! After a change of a `.proto` file: `COGNATE_REGENERATE=1 cargo test -p cognate-proto --test generated`

use std::path::{Path, PathBuf};

use prost_build::{Comments, Method, Service, ServiceGenerator};

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
    prost_build::Config::new()
        .out_dir(&fresh)
        .bytes([".cognate.v1.Batch.body", ".cognate.v1.PushRequest.padding"])
        .service_generator(Box::new(Services))
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

/// Writes the client and the server of a service.
struct Services;

impl ServiceGenerator for Services {
    fn generate(&mut self, service: Service, code: &mut String) {
        code.push_str(&client(&service));
        code.push_str(&server(&service));
    }
}

/// The kind of a call, as the functions for it are named in `src/calls.rs`.
fn kind(method: &Method) -> &'static str {
    match (method.client_streaming, method.server_streaming) {
        (false, false) => "unary",
        (false, true) => "server_streaming",
        (true, false) => "client_streaming",
        (true, true) => "streaming",
    }
}

fn path(service: &Service, method: &Method) -> String {
    format!("/{}.{}/{}", service.package, service.proto_name, method.proto_name)
}

fn docs(comments: &Comments) -> String {
    comments.leading.iter().map(|line| format!("///{line}\n")).collect()
}

fn module(service: &Service) -> String {
    let mut name = String::new();
    for letter in service.proto_name.chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

fn client(service: &Service) -> String {
    let (module, name) = (module(service), &service.name);
    let methods: String = service.methods.iter().map(|method| asking(service, method)).collect();
    format!(
        "/// Calls of the service `{name}`.
pub mod {module}_client {{
    use crate::calls::Calls;
    use tonic::{{IntoRequest, Response, Status}};

    /// Calls of the service `{name}`.
    #[derive(Clone, Debug)]
    pub struct {name}Client {{
        calls: Calls,
    }}

    impl {name}Client {{
        pub fn new(channel: tonic::transport::Channel) -> {name}Client {{
            {name}Client {{ calls: Calls::new(channel) }}
        }}

        /// Limits what is received: a longer message ends its call.
        pub fn max_decoding_message_size(self, bytes: usize) -> {name}Client {{
            {name}Client {{ calls: self.calls.max_decoding_message_size(bytes) }}
        }}

        {methods}
    }}
}}
"
    )
}

fn asking(service: &Service, method: &Method) -> String {
    let (input, output) = (&method.input_type, &method.output_type);
    let (request, into) = match method.client_streaming {
        false => (format!("impl IntoRequest<super::{input}>"), "into_request"),
        true => (format!("impl tonic::IntoStreamingRequest<Message = super::{input}>"), "into_streaming_request"),
    };
    let answer = match method.server_streaming {
        false => format!("super::{output}"),
        true => format!("crate::calls::Messages<super::{output}>"),
    };
    format!(
        "{docs}pub async fn {name}(&mut self, request: {request}) -> Result<Response<{answer}>, Status> {{
            self.calls.{kind}(\"{path}\", request.{into}()).await
        }}\n\n",
        docs = docs(&method.comments),
        name = method.name,
        kind = kind(method),
        path = path(service, method),
    )
}

fn server(service: &Service) -> String {
    let (module, name) = (module(service), &service.name);
    let methods: String = service.methods.iter().map(declared).collect();
    let arms: String = service.methods.iter().map(|method| serving(service, method)).collect();
    format!(
        "/// The service `{name}`.
pub mod {module}_server {{
    use crate::calls::server::{{Answering, Incoming, unknown_method}};
    use std::sync::Arc;
    use std::task::{{Context, Poll}};
    use tonic::codegen::{{async_trait, http}};
    use tonic::{{Request, Response, Status}};

    {docs}#[async_trait]
    pub trait {name}: Send + Sync + 'static {{
        {methods}
    }}

    /// Serves the calls of the service over HTTP.
    #[derive(Debug)]
    pub struct {name}Server<T> {{
        service: Arc<T>,
        message_bytes_max: usize,
    }}

    impl<T> {name}Server<T> {{
        /// Serves messages of at most `message_bytes_max` bytes.
        pub fn new(service: T, message_bytes_max: usize) -> {name}Server<T> {{
            {name}Server {{ service: Arc::new(service), message_bytes_max }}
        }}
    }}

    impl<T> Clone for {name}Server<T> {{
        fn clone(&self) -> {name}Server<T> {{
            {name}Server {{ service: Arc::clone(&self.service), message_bytes_max: self.message_bytes_max }}
        }}
    }}

    impl<T> tonic::server::NamedService for {name}Server<T> {{
        const NAME: &'static str = \"{package}.{proto_name}\";
    }}

    impl<T: {name}> tonic::codegen::Service<http::Request<tonic::body::Body>> for {name}Server<T> {{
        type Response = http::Response<tonic::body::Body>;
        type Error = std::convert::Infallible;
        type Future = Answering;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {{
            Poll::Ready(Ok(()))
        }}

        fn call(&mut self, request: http::Request<tonic::body::Body>) -> Answering {{
            let service = Arc::clone(&self.service);
            let incoming = Incoming {{ request, message_bytes_max: self.message_bytes_max }};
            match incoming.request.uri().path() {{
                {arms}
                _ => unknown_method(),
            }}
        }}
    }}
}}
",
        docs = docs(&service.comments),
        package = service.package,
        proto_name = service.proto_name,
    )
}

fn declared(method: &Method) -> String {
    let (input, output, proto_name) = (&method.input_type, &method.output_type, &method.proto_name);
    let request = match method.client_streaming {
        false => format!("super::{input}"),
        true => format!("crate::calls::Messages<super::{input}>"),
    };
    let (stream, answer) = match method.server_streaming {
        false => (String::new(), format!("super::{output}")),
        true => (
            format!(
                "type {proto_name}Stream: tonic::codegen::tokio_stream::Stream<Item = Result<super::{output}, Status>> + Send + 'static;\n"
            ),
            format!("Self::{proto_name}Stream"),
        ),
    };
    format!(
        "{stream}{docs}async fn {name}(&self, request: Request<{request}>) -> Result<Response<{answer}>, Status>;\n",
        docs = docs(&method.comments),
        name = method.name,
    )
}

fn serving(service: &Service, method: &Method) -> String {
    format!(
        "\"{path}\" => incoming.{kind}(move |request| Box::pin(async move {{ T::{name}(&service, request).await }})),\n",
        path = path(service, method),
        kind = kind(method),
        name = method.name,
    )
}
