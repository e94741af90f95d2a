//! What leaves the program as a document: a session as a page, as Markdown, as JSON, as a transcript of its own; a drawn
//! screen as an SVG picture. Secrets are taken out of each by the same module.
//!
//! Everything here is a pure function from what was read to text. Who writes the file is the caller's business.

mod colour;
pub mod document;
pub mod folder;
mod glyphs;
pub mod html;
pub mod json;
mod lines;
pub mod markdown;
pub mod pi;
pub mod shape;
mod shapes;
pub mod svg;
mod tiles;
mod words;

use std::collections::BTreeMap;

pub use colour::Rgb;
pub use document::{Document, ExportRequest};
pub use svg::{ScreenImage, svg};

use crate::inspect::SessionItem;
use crate::js;

/// A form of a document of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// One HTML file, offline and searchable.
    Html,
    /// Markdown.
    Markdown,
    /// JSON with a stable schema.
    Json,
    /// A transcript that the runtime opens.
    Pi,
}

impl Format {
    /// Its word on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "md",
            Self::Json => "json",
            Self::Pi => "pi",
        }
    }

    /// The ending of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Pi => "jsonl",
            other => other.as_str(),
        }
    }
}

/// A document, and what was taken out of it.
#[derive(Debug)]
pub struct Exported {
    /// The whole text.
    pub text: String,
    /// Secrets replaced, by kind; none where nothing was looked for.
    pub redacted: Option<BTreeMap<&'static str, usize>>,
    /// Images left out.
    pub removed_images: usize,
}

/// Puts a document together.
pub fn export(wanted: &ExportRequest<'_>, format: Format) -> Result<Exported, pi::PiError> {
    if format == Format::Pi {
        let (text, redactor) = pi::export_transcript(wanted)?;
        let redacted = redactor.is_enabled().then(|| redactor.counts().clone());
        return Ok(Exported { text, redacted, removed_images: redactor.removed_images() });
    }
    let document = Document::build(wanted)?;
    let text = match format {
        Format::Html => html::html(&document),
        Format::Markdown => markdown::markdown(&document),
        Format::Json | Format::Pi => format!("{}\n", js::stringify(&json::json(&document).into())),
    };
    Ok(Exported { text, redacted: document.redacted, removed_images: document.removed_images })
}

impl Exported {
    /// What was taken out, in words; none where nothing was.
    pub fn removal_text(&self) -> Option<String> {
        let kinds = self.redacted.as_ref()?;
        let total: usize = kinds.values().sum();
        let each: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let secrets = match total {
            0 => "no secret found".to_owned(),
            1 => format!("1 secret replaced ({})", each.join(", ")),
            _ => format!("{total} secrets replaced ({})", each.join(", ")),
        };
        Some(match self.removed_images {
            0 => secrets,
            1 => format!("{secrets}, 1 image left out"),
            images => format!("{secrets}, {images} images left out"),
        })
    }
}

/// A name for the file of a session: its key without what file systems mind.
pub fn file_name(session: &SessionItem, extension: &str) -> String {
    let plain = |char: char| if char.is_ascii_alphanumeric() || char == '.' { char } else { '-' };
    let name: String = session.key.0.chars().map(plain).take(80).collect();
    let name = name.trim_matches(['-', '.']);
    format!("{}.{extension}", if name.is_empty() { "session" } else { name })
}
