//! Everything that leaves the program as a document: a session as an HTML page, Markdown, JSON or a transcript; a drawn
//! screen as an SVG picture. One module ([`crate::redact`]) removes the secrets from all of them.
//!
//! Everything here is a pure function from loaded data to text; the caller writes the file.

pub mod document;
pub mod folder;
mod glyphs;
pub mod html;
pub mod json;
mod lines;
pub mod markdown;
pub mod pi;
pub mod runtime_words;
pub mod shape;
mod shapes;
mod svg;
mod tiles;
mod words;

pub use document::{Document, ExportRequest, Redactions};
pub use shapes::Rgb;
pub use svg::svg;
pub use tiles::ScreenImage;

use crate::format::quantity;
use crate::js;
use crate::session::SessionItem;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// One HTML file, offline and searchable.
    Html,
    Markdown,
    /// JSON with a stable schema.
    Json,
    /// A transcript that the runtime opens.
    Pi,
}

impl Format {
    /// The word on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "md",
            Self::Json => "json",
            Self::Pi => "pi",
        }
    }

    /// The extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Pi => "jsonl",
            other => other.as_str(),
        }
    }
}

/// A document, and the number of removed secrets and images.
#[derive(Debug)]
pub struct ExportedDocument {
    /// The whole document.
    pub text: String,
    /// `None` if redaction is off.
    pub redacted: Option<Redactions>,
}

/// Builds a document.
pub fn export(wanted: &ExportRequest<'_>, format: Format) -> Result<ExportedDocument, pi::PiError> {
    if format == Format::Pi {
        let (text, redactor) = pi::export_transcript(wanted)?;
        return Ok(ExportedDocument { text, redacted: Redactions::of(&redactor) });
    }
    let document = Document::build(wanted)?;
    let text = match format {
        Format::Html => html::html(&document),
        Format::Markdown => markdown::markdown(&document),
        Format::Json | Format::Pi => format!("{}\n", js::json_text(&json::json(&document))?),
    };
    Ok(ExportedDocument { text, redacted: document.redacted })
}

impl ExportedDocument {
    /// Describes the removed secrets and images; `None` if redaction is off.
    pub fn removal_text(&self) -> Option<String> {
        let Redactions { secrets, signatures, images } = self.redacted.as_ref()?;
        let total: usize = secrets.values().sum();
        let each: Vec<String> = secrets.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
        let secrets = match (total, each.len()) {
            (0, _) => "no secret found".to_owned(),
            (_, 1) => format!("{} replaced", quantity(total, "secret")),
            _ => format!("{} replaced ({})", quantity(total, "secret"), each.join(", ")),
        };
        let omitted = [(*signatures, "provider signature"), (*images, "image")];
        let omitted = omitted.into_iter().filter(|(count, _)| *count > 0);
        let omitted = omitted.map(|(count, what)| format!("{} omitted", quantity(count, what)));
        Some([secrets].into_iter().chain(omitted).collect::<Vec<_>>().join(", "))
    }
}

/// Returns a file name for a session: its key with only letters, digits, dots and dashes.
pub fn file_name(session: &SessionItem, extension: &str) -> String {
    let plain = |char: char| if char.is_ascii_alphanumeric() || char == '.' { char } else { '-' };
    let name: String = session.key.0.chars().map(plain).take(80).collect();
    let name = name.trim_matches(['-', '.']);
    format!("{}.{extension}", if name.is_empty() { "session" } else { name })
}
