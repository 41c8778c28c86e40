//! An address that takes notices, as the webhook of a watch.

use std::io::{BufRead as _, Read as _, Write as _};

use serde_json::Value;

/// Takes what is posted to it, one message at a time.
pub(crate) fn listener() -> (String, std::sync::mpsc::Receiver<Value>) {
    let (told, heard) = std::sync::mpsc::channel();
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/hook", socket.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in socket.incoming() {
            let mut reader = std::io::BufReader::new(stream.unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).unwrap() > 2 {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            reader.into_inner().write_all(answer).unwrap();
            if told.send(serde_json::from_slice(&body).unwrap()).is_err() {
                return;
            }
        }
    });
    (address, heard)
}
