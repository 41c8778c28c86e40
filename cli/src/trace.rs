//! Diagnostics on standard error, in the requested format, set up once.

use std::io::IsTerminal as _;
use std::sync::OnceLock;

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Registry, reload};

/// Format of a log line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum LogFormat {
    /// Several lines per event, for development
    Pretty,
    /// One line per event
    Compact,
    /// One JSON object per event, for programs
    Json,
}

/// Lowest severity that is logged.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum LogLevel {
    /// Nothing
    Off,
    /// Errors that stop a command
    Error,
    /// Probable problems as well
    Warn,
    /// Events for operators as well
    Info,
    /// Events for developers as well
    Debug,
    /// Everything
    Trace,
}

/// The filter in force, which can be replaced.
static FILTER: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

/// Logs events of this severity or above from now on.
pub(crate) fn set_level(level: LogLevel) {
    if let Some(filter) = FILTER.get() {
        // It fails only if the log itself is gone, and then there is nowhere to report it.
        let _ = filter.reload(targets(level));
    }
}

/// Sets up the log of this process.
pub(crate) fn set_up(format: Option<LogFormat>, level: LogLevel) {
    let on_terminal = std::io::stderr().is_terminal();
    let format = format.unwrap_or(if on_terminal { LogFormat::Compact } else { LogFormat::Json });
    let (filter, handle) = reload::Layer::new(targets(level));
    let _ = FILTER.set(handle);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(on_terminal);
    let lines = match format {
        LogFormat::Pretty => lines.pretty().boxed(),
        LogFormat::Compact => lines.compact().boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    tracing_subscriber::registry().with(lines.with_filter(filter)).init();
}

fn targets(level: LogLevel) -> Targets {
    let level = match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    // From other crates only warnings and errors: transports and stores log too much.
    let ours = ["cognate", "cognate_cli", "cognate_coordinator", "cognate_worker"];
    Targets::new().with_default(level.min(LevelFilter::WARN)).with_targets(ours.map(|target| (target, level)))
}
