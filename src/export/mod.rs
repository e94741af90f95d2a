//! Everything that leaves the program as a document: a session as an HTML page, Markdown, JSON or a transcript; a drawn
//! screen as an SVG picture. One module ([`crate::redact`]) removes the secrets from all of them.
//!
//! Everything here is a pure function from loaded data to text; the caller writes the file.

mod colour;
pub mod document;
pub mod folder;
mod glyphs;
pub mod html;
pub mod json;
mod lines;
pub mod markdown;
pub mod pi;
mod runtime_words;
pub mod shape;
mod shapes;
pub mod stand_in;
mod svg;
mod tiles;
mod words;

use std::collections::BTreeMap;

pub use colour::Rgb;
pub use document::{Document, ExportRequest};
pub use svg::svg;
pub use tiles::ScreenImage;

use crate::format::quantity;
use crate::js;
use crate::redact::SIGNATURE_KIND;
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
    /// Replaced secrets, by kind; `None` if redaction is off.
    pub redacted: Option<BTreeMap<&'static str, usize>>,
    /// Number of omitted images.
    pub removed_images: usize,
}

/// Builds a document.
pub fn export(wanted: &ExportRequest<'_>, format: Format) -> Result<ExportedDocument, pi::PiError> {
    if format == Format::Pi {
        let (text, redactor) = pi::export_transcript(wanted)?;
        let redacted = redactor.is_enabled().then(|| redactor.counts().clone());
        return Ok(ExportedDocument { text, redacted, removed_images: redactor.removed_images() });
    }
    let document = Document::build(wanted)?;
    let text = match format {
        Format::Html => html::html(&document),
        Format::Markdown => markdown::markdown(&document),
        Format::Json | Format::Pi => format!("{}\n", js::json_text(&json::json(&document))?),
    };
    Ok(ExportedDocument { text, redacted: document.redacted, removed_images: document.removed_images })
}

impl ExportedDocument {
    /// Describes the removed secrets and images; `None` if redaction is off.
    pub fn removal_text(&self) -> Option<String> {
        let kinds = self.redacted.as_ref()?;
        let secrets = || kinds.iter().filter(|(kind, _)| **kind != SIGNATURE_KIND);
        let total: usize = secrets().map(|(_, count)| count).sum();
        let each: Vec<String> = secrets().map(|(kind, count)| format!("{kind}: {count}")).collect();
        let secrets = match (total, each.len()) {
            (0, _) => "no secret found".to_owned(),
            (_, 1) => format!("{} replaced", quantity(total, "secret")),
            _ => format!("{} replaced ({})", quantity(total, "secret"), each.join(", ")),
        };
        let signatures = kinds.get(SIGNATURE_KIND).map(|count| quantity(*count, "provider signature"));
        let images = (self.removed_images > 0).then(|| quantity(self.removed_images, "image"));
        let omitted = [signatures, images].into_iter().flatten().map(|what| format!("{what} omitted"));
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
