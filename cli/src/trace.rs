//! Where diagnostics go: standard error, in the format that was asked for, set up once.

use std::io::IsTerminal as _;
use std::sync::OnceLock;

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Registry, reload};

/// How a line of the log looks.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum LogFormat {
    /// Several lines an event, for a person at work on the program.
    Pretty,
    /// One line an event.
    Compact,
    /// One JSON object an event, for programs.
    Json,
}

/// From which severity on events are logged.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum LogLevel {
    /// Nothing.
    Off,
    /// What keeps a command from its work.
    Error,
    /// What is likely to matter.
    Warn,
    /// What an operator wants to know.
    Info,
    /// What a developer wants to know.
    Debug,
    /// Everything.
    Trace,
}

/// The filter in force, which can be exchanged.
static FILTER: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

/// From now on events from this severity on are logged.
pub(crate) fn set_level(level: LogLevel) {
    if let Some(filter) = FILTER.get() {
        // It fails only where the log itself is gone, and then nobody is left to be told.
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
    // Below us, only what goes wrong: the chatter of transports and stores drowns everything else.
    let ours = ["cognate", "cognate_cli", "cognate_coordinator", "cognate_worker"];
    Targets::new().with_default(level.min(LevelFilter::WARN)).with_targets(ours.map(|target| (target, level)))
}
