//! Dead branches that the importer of 2026.9 leaves out on purpose: a prompt that the gateway sent again without the
//! context it had injected. The live branch needs nothing from them.

use std::collections::{HashMap, HashSet};
use std::io;

use super::line_record::{LineRecord, entry_id, for_each_line};
use crate::js::{JsString, Value};
use crate::store::source::Source;

/// Marks of context that the gateway injected into a prompt.
const INJECTED_CONTEXT_MARKS: [&str; 3] = [
    "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>",
    "OpenClaw runtime context (internal):",
    "This context is runtime-generated, not user-authored. Keep internal details private.",
];

/// Returns the lost lines of dead branches, from which no imported entry descends; empty when no prompt was rewritten.
pub(super) fn find_dead_branch(
    source: &Source,
    lines: &[LineRecord],
    lost: &[usize],
    present: &[usize],
) -> io::Result<HashSet<usize>> {
    if lost.is_empty() || !has_rewritten_prompt(source, lines, lost)? {
        return Ok(HashSet::new());
    }
    let by_id: HashMap<&str, usize> =
        lines.iter().enumerate().filter_map(|(at, line)| Some((line.id.as_deref()?, at))).collect();
    let mut needed: HashSet<usize> = HashSet::new();
    for start in present {
        let mut at = Some(*start);
        while let Some(line) = at.filter(|line| needed.insert(*line)) {
            at = lines[line].parent.as_deref().and_then(|parent| by_id.get(parent)).copied();
        }
    }
    Ok(lost.iter().copied().filter(|line| !needed.contains(line) && lines[*line].id.is_some()).collect())
}

/// Whether a lost prompt with context has a sibling with the same text and without the context.
fn has_rewritten_prompt(source: &Source, lines: &[LineRecord], lost: &[usize]) -> io::Result<bool> {
    let lost_ids: HashSet<&str> = lost.iter().filter_map(|at| lines[*at].id.as_deref()).collect();
    let parents: HashSet<Option<&str>> = lost.iter().map(|at| lines[*at].parent.as_deref()).collect();
    let (mut with_context, mut plain) = (Vec::new(), Vec::new());
    for_each_line(source, |line| {
        let Some(value) = line.value() else { return true };
        let (Some(id), Some(text)) = (entry_id(&value), prompt_text(&value)) else { return true };
        let parent = value.get("parentId").and_then(Value::as_str).map(JsString::to_string_lossy);
        if lost_ids.contains(id.as_str()) {
            if INJECTED_CONTEXT_MARKS.iter().any(|sign| text.contains(sign)) {
                with_context.push((parent, text));
            }
        } else if parents.contains(&parent.as_deref()) {
            plain.push((parent, text.trim().to_owned()));
        }
        true
    })?;
    let repeats = |(parent, text): &(Option<String>, String)| {
        let mut plain = plain.iter().filter(|(own, visible)| own == parent && !visible.is_empty());
        plain.any(|(_, visible)| text.contains(visible.as_str()))
    };
    Ok(with_context.iter().any(repeats))
}

/// Returns the text of a user message.
fn prompt_text(entry: &Value) -> Option<String> {
    let message = entry.get("message").filter(|it| it.get("role").is_some_and(|role| role.str_is("user")))?;
    match message.get("content")? {
        Value::String(text) => Some(text.to_string_lossy()),
        Value::Array(blocks) => {
            let texts =
                blocks.iter().filter_map(|block| Some(block.get("text")?.as_str()?.to_string_lossy()));
            Some(texts.collect())
        }
        _ => None,
    }
}
