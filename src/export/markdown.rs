//! A document as Markdown: the active branch message by message, the plan, and the other branches at the end.

use std::fmt::Write as _;

use crate::export::document::{Document, DocumentEntry, ExportedPlan, ExportedPolicy, NewMessage};
use crate::export::words::{facts, fate, head, legend, new_message_parts, sanitized};
use crate::format::{format_counted, format_number, format_timestamp};
use crate::session::message::{PartKind, TextPart};
use crate::store::entry::EntryKind;

/// Longer texts are folded.
const FOLD_CHARS: usize = 4000;

/// Renders the document.
pub fn markdown(document: &Document) -> String {
    let mut out = format!("# {}\n\n", inline(&document.session.key));
    out.push_str("| | |\n|---|---|\n");
    for (name, value) in facts(document) {
        let _ = writeln!(out, "| {name} | {} |", inline(&value));
    }
    out.push('\n');
    let parts: Vec<String> = document
        .budget
        .iter()
        .filter(|(_, tokens)| *tokens > 0)
        .map(|(name, tokens)| format!("{name} ~{}", format_number(*tokens)))
        .collect();
    let total = format_counted(document.total_tokens(), document.is_prompt_measured);
    let who = if document.is_prompt_measured { " (counted by the provider); parts" } else { "; parts" };
    let _ = writeln!(out, "Prompt: {total} tokens{who}: {}\n", parts.join(" · "));
    if let Some(plan) = &document.plan {
        plan_section(plan, &mut out);
    }
    for finding in &document.diagnostics {
        let _ = writeln!(out, "- {}", inline(finding));
    }
    let (active, others): (Vec<&DocumentEntry>, Vec<&DocumentEntry>) =
        document.entries.iter().partition(|node| node.is_active);
    out.push_str("\n## Messages\n");
    for node in active {
        entry(node, &mut out);
    }
    if !others.is_empty() {
        out.push_str("\n## Other branches\n");
        for node in others {
            entry(node, &mut out);
        }
    }
    out
}

fn plan_section(plan: &ExportedPlan, out: &mut String) {
    let _ = writeln!(out, "## Plan\n\n{}\n", legend());
    out.push_str("| policy | messages | tokens | changed |\n|---|---|---|---|\n");
    for ExportedPolicy { effect, .. } in &plan.policies {
        let _ = writeln!(
            out,
            "| {} | {} → {} | ~{} → ~{} | {} |",
            effect.policy.word(),
            format_number(effect.messages_before as u64),
            format_number(effect.messages_after as u64),
            format_number(effect.tokens_before),
            format_number(effect.tokens_after),
            format_number(effect.changed_count() as u64)
        );
    }
    for NewMessage { before, message } in &plan.new_messages {
        let _ = writeln!(out, "\nAdded by the plan before message {before}:\n");
        for part in new_message_parts(message) {
            part_text(&part, out);
        }
    }
    out.push('\n');
}

fn entry(node: &DocumentEntry, out: &mut String) {
    let mut title = vec![inline(&node.kind_text())];
    title.extend(node.tool.as_deref().map(inline));
    title.extend(node.tokens.map(|tokens| format!("~{} tokens", format_number(tokens))));
    title.extend(format_timestamp(node.time));
    let number = node.position.map(|at| format!("{} · ", at + 1)).unwrap_or_default();
    let leaf = if node.is_leaf { " ◀ leaf" } else { "" };
    let _ = writeln!(out, "\n### {number}{}{leaf}\n", title.join(" · "));
    let parent = node.parent.as_deref().unwrap_or("none");
    let _ = write!(out, "`{}`, parent `{}`, line {}", code(&node.id), code(parent), node.line);
    if let Some(label) = &node.label {
        let _ = write!(out, ", label {}", inline(label));
    }
    out.push('\n');
    if let Some(reported) = &node.fate {
        let _ = writeln!(out, "\n{}", inline(&fate(reported)));
    }
    if matches!(node.kind, EntryKind::Unknown | EntryKind::Scalar | EntryKind::Custom) {
        fenced(&crate::js::stringify(&node.value), "json", out);
        return;
    }
    for part in node.parts() {
        part_text(&part, out);
    }
    if let Some(after) = node.parts_after() {
        out.push_str("\nUnder the plan:\n");
        for part in &after {
            part_text(part, out);
        }
    }
}

fn part_text(part: &TextPart, out: &mut String) {
    if let Some(head) = head(part) {
        let _ = writeln!(out, "\n*{}*", inline(&head));
    }
    let language = if matches!(part.kind, PartKind::Call { .. } | PartKind::Other) { "json" } else { "text" };
    if !part.text.is_empty() {
        fenced(&part.text, language, out);
    }
}

/// Returns a text between fences that it cannot close.
pub fn code_block(text: &str, language: &str) -> String {
    let fence = "`".repeat(longest_run(text, '`').max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}

/// Renders a text as a block of code; a long one is folded.
fn fenced(text: &str, language: &str, out: &mut String) {
    let text = sanitized(text);
    let chars = text.encode_utf16().count();
    let block = format!("\n{}\n", code_block(&text, language));
    if chars > FOLD_CHARS {
        let _ = writeln!(
            out,
            "\n<details><summary>{} chars</summary>\n{block}\n</details>",
            format_number(chars as u64)
        );
    } else {
        out.push_str(&block);
    }
}

fn longest_run(text: &str, wanted: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for char in text.chars() {
        run = if char == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Renders one line in which nothing acts as Markdown or HTML.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for char in sanitized(text).chars() {
        match char {
            '\n' | '\t' => out.push(' '),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' => {
                out.push('\\');
                out.push(char);
            }
            _ => out.push(char),
        }
    }
    out
}

/// Sanitizes a text for single backticks.
fn code(text: &str) -> String {
    sanitized(text).replace(['`', '\n'], "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_close_its_fence() {
        let mut out = String::new();
        fenced("a\n````\n# b", "text", &mut out);
        assert_eq!(out, "\n`````text\na\n````\n# b\n`````\n");
    }

    #[test]
    fn markdown_signs_are_escaped() {
        assert_eq!(inline("a|b <script> *c*\u{1b}[0m"), "a\\|b &lt;script&gt; \\*c\\*␛\\[0m");
    }
}
