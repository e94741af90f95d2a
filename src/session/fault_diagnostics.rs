//! Describes messages that a provider refuses, and workspace files that are cut.

use std::path::PathBuf;

use crate::diagnostic::{Diagnostic, Severity};
use crate::format::{format_number, format_size};
use crate::session::LoadedSession;
use crate::session::diagnostic_lines::diagnostic_at;
use crate::session::manual_change::ManualChange;
use crate::session::prompt_faults::{PromptFault, PromptFaultKind};
use crate::store::prompt_report::{InjectedFile, ReportSource};

pub(super) fn collect(session: &LoadedSession) -> Vec<Diagnostic> {
    let faults = session.prompt_faults();
    let mut found: Vec<Diagnostic> = faults.iter().map(|fault| describe_fault(session, fault)).collect();
    found.extend(cut_files(session));
    found
}

fn describe_fault(session: &LoadedSession, fault: &PromptFault) -> Diagnostic {
    let what = fault.kind.description();
    let next = format!(
        "Providers refuse every prompt with it. `{}` continues on a branch without it; /new starts without the history.",
        ManualChange::Drop(vec![fault.entry]).command(session)
    );
    diagnostic_at(&session.index, fault.entry, Severity::Warning, what, &next)
}

impl PromptFaultKind {
    /// Describes the fault without its entry.
    pub fn description(&self) -> String {
        match self {
            Self::ResultWithoutCall { call } => {
                format!(
                    "this tool result answers call {call}, which is not sent: no answer before it has that call"
                )
            }
            Self::EmptyCallId => "this tool result has an empty call id (toolCallId)".to_owned(),
            Self::CallWithoutResult { call } => format!("no tool result answers call {call} of this message"),
            Self::LargeImage { bytes } => {
                format!(
                    "this message has an image of {} in base64 ({} bytes)",
                    format_size(*bytes),
                    format_number(bytes.get())
                )
            }
        }
    }
}

/// Describes each workspace file that a run sent only in part (compaction 11.9).
fn cut_files(session: &LoadedSession) -> Vec<Diagnostic> {
    let Some(report) = &session.prompt_report else { return Vec::new() };
    // An estimate of today's files says nothing of what was sent.
    if matches!(report.source, ReportSource::Workspace | ReportSource::Estimate) {
        return Vec::new();
    }
    let is_cut = |file: &&InjectedFile| !file.is_missing && file.injected_chars < file.raw_chars;
    let limit =
        report.max_file_chars.map(|chars| format!(" (bootstrapMaxChars {})", format_number(chars.whole())));
    let limit = limit.unwrap_or_default();
    let describe = |file: &InjectedFile| {
        let path = file.path.as_deref().map_or_else(|| PathBuf::from(&file.name), PathBuf::from);
        let what = format!(
            "{} is cut: {} of {} chars are sent{limit}",
            file.name,
            format_number(file.injected_chars.whole()),
            format_number(file.raw_chars.whole()),
        );
        let next = "Shorten the file, or raise agents.defaults.bootstrapMaxChars (bootstrapTotalMaxChars for all files together).";
        Diagnostic::new(path, Severity::Warning, what, next)
    };
    report.files.iter().filter(is_cut).map(describe).collect()
}
