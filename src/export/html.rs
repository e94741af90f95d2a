//! A document as one HTML file: it loads nothing, is readable without its script and searchable with it.

use std::fmt::Write as _;

use crate::export::document::{Document, DocumentEntry, ExportedPlan, ExportedPolicy, NewMessage};
use crate::export::words::{facts, fate, head, legend, new_message_parts, sanitized};
use crate::format::{format_counted, format_number, format_ordinal, format_timestamp};
use crate::session::message::{PartKind, TextPart};
use crate::store::entry::EntryKind;

const STYLE: &str = include_str!("../../assets/export/page.css");
const SCRIPT: &str = include_str!("../../assets/export/page.js");
/// Blocks all requests, for any text.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// Texts over one of these limits are folded.
const FOLD_CHARS: usize = 4000;
const FOLD_LINES: usize = 60;
/// Chars shown of a folded text.
const PREVIEW_CHARS: usize = 200;
/// Bytes that are laid out as one piece: browsers are slow with a piece of a million.
const CHUNK_CHARS: usize = 20_000;
/// Colours of the parts of the prompt, in order.
const COLOURS: [&str; 8] =
    ["#6b7280", "#8b6f47", "#557a95", "#9c6ade", "#2f8f5b", "#3b82c4", "#7f9fc4", "#b07d2b"];

/// Renders the page.
pub fn html(document: &Document) -> String {
    let mut out = String::new();
    let title = escaped(&document.session.key);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{CONTENT_SECURITY_POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    let _ = writeln!(
        out,
        "<header><div><h1>{title}</h1><div class=\"tools\">\
         <input id=\"words\" type=\"search\" placeholder=\"Search (/)\" aria-label=\"Search\">\
         <button id=\"before\" title=\"Match before (shift-enter)\">↑</button>\
         <button id=\"next\" title=\"Next match (enter)\">↓</button>\
         <span id=\"found\" role=\"status\"></span>\
         <select id=\"kind\" aria-label=\"Entries\"><option value=\"\">every entry</option>\
         <option value=\"active\">active branch</option><option value=\"user\">user</option>\
         <option value=\"assistant\">assistant</option><option value=\"toolResult\">tool results</option>\
         <option value=\"changed\">changed by the plan</option></select>\
         <button id=\"unfold\">Fold / unfold</button><button id=\"theme\">Light / dark</button>\
         </div></div></header>\n<main>"
    );
    summary(document, &mut out);
    if let Some(plan) = &document.plan {
        plan_section(plan, &mut out);
    }
    entries(document, &mut out);
    let _ = write!(out, "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    out
}

fn summary(document: &Document, out: &mut String) {
    out.push_str("<dl>");
    for (name, value) in facts(document) {
        let _ = write!(out, "<dt>{name}</dt><dd>{}</dd>", escaped(&value));
    }
    out.push_str("</dl>\n");
    let total = document.total_tokens();
    let whole = document.window.tokens.unwrap_or(total).max(total).max(1);
    let parts = || document.budget.iter().zip(COLOURS).filter(|((_, tokens), _)| *tokens > 0);
    out.push_str("<div class=\"bar\">");
    for ((name, tokens), colour) in parts() {
        let share = *tokens as f64 * 100.0 / whole as f64;
        let words = format!("{name} ~{}", format_number(*tokens));
        let _ =
            write!(out, "<span style=\"width:{share:.3}%;background:{colour}\" title=\"{words}\"></span>");
    }
    let _ = write!(
        out,
        "</div>\n<p class=\"legend\">prompt {} tokens",
        format_counted(total, document.is_prompt_measured)
    );
    for ((name, tokens), colour) in parts() {
        let _ = write!(out, "<i style=\"background:{colour}\"></i>{name} ~{}", format_number(*tokens));
    }
    out.push_str("</p>\n");
    if !document.diagnostics.is_empty() {
        out.push_str("<ul>");
        for finding in &document.diagnostics {
            let _ = write!(out, "<li>{}</li>", escaped(finding));
        }
        out.push_str("</ul>\n");
    }
}

fn plan_section(plan: &ExportedPlan, out: &mut String) {
    let _ = write!(
        out,
        "<section id=\"plan\"><h2>Plan</h2>\n<p class=\"legend\">{}</p>\n<table><tr><th>policy</th>\
         <th>messages</th><th>tokens</th><th>changed</th></tr>",
        legend()
    );
    for ExportedPolicy { effect, .. } in &plan.policies {
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{} → {}</td><td>~{} → ~{}</td><td>{}</td></tr>",
            effect.policy.word(),
            format_number(effect.messages_before as u64),
            format_number(effect.messages_after as u64),
            format_number(effect.tokens_before),
            format_number(effect.tokens_after),
            format_number(effect.changed_count() as u64)
        );
    }
    out.push_str("</table>\n");
    for NewMessage { before, message } in &plan.new_messages {
        let _ = write!(
            out,
            "<article class=\"made\"><header><span class=\"who\">added by the plan</span>\
             <span class=\"dim\">before message {before}</span></header>"
        );
        for each in new_message_parts(message) {
            part(&each, out);
        }
        out.push_str("</article>\n");
    }
    out.push_str("</section>\n");
}

/// Renders the tree in its order; each branch off the trunk is folded.
fn entries(document: &Document, out: &mut String) {
    out.push_str("<section id=\"entries\"><h2>Entries</h2>\n");
    let mut open: Vec<usize> = Vec::new();
    for (at, node) in document.entries.iter().enumerate() {
        while open
            .last()
            .is_some_and(|depth| node.depth < *depth || node.starts_branch && node.depth == *depth)
        {
            out.push_str("</details>\n");
            open.pop();
        }
        if node.starts_branch {
            let branch = document.entries[at..].iter().enumerate();
            let inside = |(after, other): &(usize, &DocumentEntry)| {
                *after == 0 || other.depth > node.depth || other.depth == node.depth && !other.starts_branch
            };
            let inside: Vec<&DocumentEntry> = branch.take_while(inside).map(|(_, node)| node).collect();
            let tokens: u64 = inside.iter().filter_map(|node| node.tokens).sum();
            let _ = writeln!(
                out,
                "<details class=\"branch\"><summary>branch of {} {}, ~{} tokens</summary>",
                format_number(inside.len() as u64),
                if inside.len() == 1 { "entry" } else { "entries" },
                format_number(tokens)
            );
            open.push(node.depth);
        }
        article(at, node, out);
    }
    out.push_str(&"</details>\n".repeat(open.len()));
    out.push_str("</section>\n");
}

fn article(at: usize, node: &DocumentEntry, out: &mut String) {
    let role = node.role.filter(|_| node.kind == EntryKind::Message).map_or("", |role| role.as_str());
    let off = if node.is_active { "" } else { " off" };
    let changed = node.fate.is_some_and(|reported| reported.fate.is_change());
    let _ = write!(
        out,
        "<article id=\"e{at}\" class=\"{role}{off}\" data-changed=\"{}\"><header>",
        u8::from(changed)
    );
    let number = node.position.map(|at| format!("{} ", format_ordinal(at))).unwrap_or_default();
    let _ = write!(out, "<a class=\"who\" href=\"#e{at}\">{number}{}</a>", escaped(&node.kind_text()));
    if let Some(tool) = &node.tool {
        let _ = write!(out, "<span>{}</span>", escaped(tool));
    }
    if let Some(tokens) = node.tokens {
        let _ = write!(out, "<span class=\"dim\">~{} tokens</span>", format_number(tokens));
    }
    if let Some(time) = format_timestamp(node.time) {
        let _ = write!(out, "<span class=\"dim\">{time}</span>");
    }
    let _ = write!(
        out,
        "<span class=\"dim\">{}{}</span>",
        escaped(&node.id),
        if node.is_leaf { " ◀ leaf" } else { "" }
    );
    if let Some(label) = &node.label {
        let _ = write!(out, "<span class=\"label\">{}</span>", escaped(label));
    }
    if let Some(reported) = &node.fate {
        let class = if changed { " changes" } else { "" };
        let _ = write!(
            out,
            "<span class=\"fate {}{class}\">{}</span>",
            reported.fate.word(),
            escaped(&fate(reported))
        );
    }
    out.push_str("</header>");
    let after = node.parts_after();
    if let Some(after) = &after {
        out.push_str("<div class=\"after\"><div class=\"part\">under the plan</div>");
        for each in after {
            part(each, out);
        }
        out.push_str("</div><div class=\"part\">before</div>");
    }
    if matches!(node.kind, EntryKind::Unknown | EntryKind::Scalar | EntryKind::Custom) {
        pre(&crate::js::stringify(&node.value), out);
    } else {
        for each in node.parts() {
            part(&each, out);
        }
    }
    out.push_str("</article>\n");
}

fn part(part: &TextPart, out: &mut String) {
    let class = match part.kind {
        PartKind::Thinking => " thinking",
        PartKind::Error => " error",
        _ => "",
    };
    if let Some(head) = head(part) {
        let _ = write!(out, "<div class=\"part{class}\">{}</div>", escaped(&head));
    }
    if !part.text.is_empty() {
        pre(&part.text, out);
    }
}

/// Renders a text unchanged; a long one is folded after its beginning and laid out in pieces.
fn pre(text: &str, out: &mut String) {
    let text = sanitized(text);
    let chars = text.encode_utf16().count();
    let lines = text.bytes().filter(|byte| *byte == b'\n').count();
    if chars <= FOLD_CHARS && lines <= FOLD_LINES {
        let _ = write!(out, "<pre>{}</pre>", escape(&text));
        return;
    }
    let start: String =
        text.chars().take(PREVIEW_CHARS).map(|char| if char == '\n' { ' ' } else { char }).collect();
    let _ = write!(
        out,
        "<details><summary>{} chars, {} lines: {}…</summary><pre>",
        format_number(chars as u64),
        format_number(lines as u64 + 1),
        escape(&start)
    );
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let mut end = rest.len().min(CHUNK_CHARS);
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let _ = write!(out, "<span>{}</span>", escape(&rest[..end]));
        rest = &rest[end..];
    }
    out.push_str("</pre></details>");
}

/// Sanitizes and escapes one line.
fn escaped(text: &str) -> String {
    escape(&sanitized(text))
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(char),
        }
    }
    out
}
