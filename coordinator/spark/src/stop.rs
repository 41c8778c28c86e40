//! Stopping: the coordinator writes `cancel`, or closes the input.
//!
//! After `cancel` the exchange and the folder of the job are removed; after the mere end of the input, which a coordinator that is killed
//! leaves as well, what is published stays for another attempt.

use std::io::BufRead as _;
use std::path::PathBuf;
use std::process::exit;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::connect::Server;

const RUNS: u8 = 0;
const STOPS: u8 = 1;
const CANCELS: u8 = 2;
/// Time for the stages to end by themselves.
const GRACE: Duration = Duration::from_secs(30);

/// Shared state of a stop.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<Inner>);

#[derive(Default)]
struct Inner {
    asked: AtomicU8,
    folder: Mutex<PathBuf>,
    server: Mutex<Option<Server>>,
}

impl Stop {
    /// Listens to the coordinator on a thread of its own.
    pub(crate) fn listen(&self, folder: PathBuf) {
        *self.0.folder.lock().expect("nothing panics while it is held") = folder;
        let stop = self.clone();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = std::io::stdin().lock().read_line(&mut line);
            let cancels = read.is_ok() && line.trim() == "cancel";
            stop.0.asked.store(if cancels { CANCELS } else { STOPS }, Ordering::SeqCst);
            let server = stop.0.server.lock().expect("nothing panics while it is held").take();
            if let Some(server) = server {
                server.interrupt();
            }
            // A server that does not answer holds up nobody.
            std::thread::sleep(GRACE);
            stop.finish();
            exit(i32::from(crate::STOPPED));
        });
    }

    /// What the server does is interrupted at a stop.
    pub(crate) fn interrupts(&self, server: &Server) {
        *self.0.server.lock().expect("nothing panics while it is held") = Some(server.clone());
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst) != RUNS
    }

    /// Removes everything if that was asked.
    pub(crate) fn finish(&self) {
        if self.0.asked.load(Ordering::SeqCst) == CANCELS {
            let folder = self.0.folder.lock().expect("nothing panics while it is held").clone();
            if let Err(error) = crate::clean(&folder) {
                eprintln!("warning: the exchange stays: {}", crate::one_line(&format!("{error:#}")));
            }
        }
    }
}
