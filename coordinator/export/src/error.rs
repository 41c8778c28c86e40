//! Errors of writing a report.

/// An error of writing a report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The result cannot be read.
    #[error(transparent)]
    Result(#[from] cognate_result::Error),
    /// The output fails.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The temporary file of a report fails.
    #[error(
        "the rows of the report cannot be kept in a temporary file in {folder}: {source}; see that there is room for them"
    )]
    Rows {
        /// The folder, as people know it.
        folder: String,
        /// What failed.
        source: std::io::Error,
    },
    /// A row cannot be written as JSON, or the output fails.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A row cannot be written as CSV, or the output fails.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// The workbook cannot be written.
    #[error("the workbook cannot be written: {0}")]
    Workbook(#[from] rust_xlsxwriter::XlsxError),
    /// A page cannot be rendered.
    #[error(transparent)]
    Page(#[from] askama::Error),
    /// A stored path is not valid.
    #[error("a path cannot be read: {0}")]
    Path(String),
    /// The format shows complete results only.
    #[error("{0}")]
    CompleteOnly(&'static str),
}

/// The outcome of writing.
pub type Result<T> = std::result::Result<T, Error>;
