//! Warnings about the workspace files of a prompt, with the settings that decide them (compaction 11.8).

use crate::format::{format_number, quantity};
use crate::store::prompt_report::SystemPromptReport;
use crate::units::Chars;

/// Returns warnings about truncated and missing files, each with a remedy.
pub fn warnings(report: &SystemPromptReport) -> Vec<String> {
    truncation_warning(report).into_iter().chain(missing_files_warning(report)).collect()
}

fn truncation_warning(report: &SystemPromptReport) -> Option<String> {
    let cut: Vec<_> = report.truncated_files().collect();
    let (raw, sent) = cut
        .iter()
        .fold((Chars::ZERO, Chars::ZERO), |sum, file| (sum.0 + file.raw_chars, sum.1 + file.injected_chars));
    if cut.is_empty() {
        return None;
    }
    let first = format!(
        "{} cut: {} chars on disk, {} sent.",
        if cut.len() == 1 {
            "1 workspace file is".into()
        } else {
            format!("{} workspace files are", cut.len())
        },
        format_number(raw),
        format_number(sent)
    );
    let next = "Shorten them, or raise agents.defaults.bootstrapMaxChars or bootstrapTotalMaxChars.";
    let sentences =
        [Some(first), file_limit_advice(report), total_limit_advice(report), Some(next.to_owned())];
    Some(sentences.into_iter().flatten().collect::<Vec<_>>().join(" "))
}

fn file_limit_advice(report: &SystemPromptReport) -> Option<String> {
    let most = report.max_file_chars?;
    let over = report.files.iter().filter(|file| !file.is_missing && file.raw_chars > most).count();
    (over > 0)
        .then(|| format!("{} over bootstrapMaxChars {}.", quantity(over as f64, "file"), format_number(most)))
}

fn total_limit_advice(report: &SystemPromptReport) -> Option<String> {
    let most = report.max_total_chars?;
    let all: Chars = report.files.iter().filter(|file| !file.is_missing).map(|file| file.raw_chars).sum();
    let words = || {
        format!(
            "All files together have {} chars, over bootstrapTotalMaxChars {}.",
            format_number(all),
            format_number(most)
        )
    };
    (all > most).then(words)
}

fn missing_files_warning(report: &SystemPromptReport) -> Option<String> {
    let names: Vec<&str> = report.missing_files().map(|file| file.name.as_str()).collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    (!names.is_empty()).then(|| {
        format!(
            "{} {are} missing from the workspace; the gateway sends a notice instead. Create {} or ignore this.",
            names.join(", "),
            if names.len() == 1 { "it" } else { "them" }
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;

    fn warned(limits: &str, files: &str) -> Vec<String> {
        let raw = js::parse(&format!(r#"{{{limits}"injectedWorkspaceFiles":[{files}]}}"#)).unwrap();
        warnings(&SystemPromptReport::from_value(&raw).unwrap())
    }

    const LONG: &str = r#"{"name":"MEMORY.md","rawChars":31240,"injectedChars":7309,"truncated":true}"#;
    const WHOLE: &str = r#"{"name":"SOUL.md","rawChars":900,"injectedChars":900,"truncated":false}"#;

    #[test]
    fn a_cut_file_names_the_limits_it_is_over() {
        let limits = r#""bootstrapMaxChars":8000,"bootstrapTotalMaxChars":20000,"#;
        assert_eq!(
            warned(limits, &format!("{LONG},{WHOLE}")),
            [
                "1 workspace file is cut: 31,240 chars on disk, 7,309 sent. 1 file over bootstrapMaxChars 8,000. All files \
              together have 32,140 chars, over bootstrapTotalMaxChars 20,000. Shorten them, or raise agents.defaults.bootstrapMaxChars \
              or bootstrapTotalMaxChars."
            ]
        );
        let unknown = &warned("", LONG)[0];
        assert!(!unknown.contains("over"), "{unknown}");
    }

    #[test]
    fn missing_files_are_reported_even_if_marked_as_cut() {
        let gone =
            r#"{"name":"BOOTSTRAP.md","missing":true,"truncated":true,"rawChars":0,"injectedChars":65}"#;
        let warned = warned("", &format!("{gone},{WHOLE}"));
        assert_eq!(warned.len(), 1);
        assert!(warned[0].starts_with("BOOTSTRAP.md is missing"), "{warned:?}");
    }
}
