//! One pruning round as gateways of 2026.9 take it, over the texts themselves: what was pruned before stays so, sizes are
//! weighted, and results with images are pruned like others (pruning 8.1).

use std::collections::{BTreeMap, BTreeSet};

use crate::context::tokens::weighted::{NORMAL, weighted_length};
use crate::gateway::pruning::PruneSettings;
use crate::js::{Value, stringify};
use crate::policy::prune::projections::{Projection, Snapshot};
use crate::policy::prune::soft_trim::{cleared_message, soft_trimmed_message};
use crate::store::entry::Role;
use crate::store::measure::role_of;

/// Chars of an image.
const IMAGE_CHARS: f64 = 8000.0;
/// Chars of a message of any other role.
const OTHER_CHARS: f64 = 256.0;

/// What a call sends.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// The messages that differ from the transcript, by position, each with what was done to it.
    pub changed: BTreeMap<usize, (Projection, Value)>,
    /// Which of them this round changed; the others were so before.
    pub new: BTreeSet<usize>,
    /// This round changed something that was not so before: the touch is now.
    pub is_new: bool,
    /// Chars of all messages against those of the window, before this round; NaN where it was not looked at.
    pub ratio_before: f64,
    /// The same after trimming.
    pub ratio_trimmed: f64,
    /// The same after it.
    pub ratio_after: f64,
    /// Chars in the results that may be cleared, after trimming; NaN where it did not come to that.
    pub prunable_chars: f64,
}

/// A message as a round looks at it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighed<'a> {
    /// Who speaks.
    pub(super) role: Role,
    /// Its weighted chars.
    pub(super) chars: f64,
    /// The message itself; asked for of tool results alone.
    pub(super) body: Option<&'a Value>,
}

/// Applies what is remembered, and prunes anew where the gate is open. `window` is in tokens.
pub fn prune_round(
    messages: &[Value],
    remembered: &Snapshot,
    settings: &PruneSettings,
    window: f64,
    gate_open: bool,
) -> Round {
    let weighed = |message| Weighed { role: role_of(message), chars: chars_of(message), body: Some(message) };
    let messages: Vec<Weighed<'_>> = messages.iter().map(weighed).collect();
    round(&messages, remembered, settings, window, gate_open)
}

/// The same over messages that were weighed before.
pub(super) fn round(
    messages: &[Weighed<'_>],
    remembered: &Snapshot,
    settings: &PruneSettings,
    window: f64,
    gate_open: bool,
) -> Round {
    let results = messages.iter().enumerate().filter(|(_, message)| message.role == Role::ToolResult);
    let results: Vec<(usize, &Value)> =
        results.filter_map(|(at, message)| Some((at, message.body?))).collect();
    let changed = remembered.replay_results(&results, settings);
    let mut round = Round {
        changed,
        new: BTreeSet::new(),
        is_new: false,
        ratio_before: f64::NAN,
        ratio_trimmed: f64::NAN,
        ratio_after: f64::NAN,
        prunable_chars: f64::NAN,
    };
    let start = messages.iter().position(|message| message.role == Role::User);
    let cutoff = cutoff(messages, settings.keep_last_assistants);
    let (Some(start), Some(cutoff)) = (start, cutoff) else { return round };
    if !gate_open || window.is_nan() || window <= 0.0 {
        return round;
    }
    let chars_now = |(at, message): (usize, &Weighed<'_>)| {
        round.changed.get(&at).map_or(message.chars, |(_, new)| chars_of(new))
    };
    let chars: Vec<f64> = messages.iter().enumerate().map(chars_now).collect();
    let total = chars.iter().sum();
    let mut run = Running { messages, settings, round: &mut round, chars, total, window: window * 4.0 };
    run.round.ratio_before = run.ratio();
    run.round.ratio_trimmed = run.ratio();
    run.round.ratio_after = run.ratio();
    if run.ratio() >= settings.soft_trim_ratio {
        run.prune(start..cutoff);
    }
    round
}

struct Running<'a> {
    messages: &'a [Weighed<'a>],
    settings: &'a PruneSettings,
    round: &'a mut Round,
    chars: Vec<f64>,
    total: f64,
    /// Chars of the window.
    window: f64,
}

impl Running<'_> {
    fn ratio(&self) -> f64 {
        self.total / self.window
    }

    fn replace(&mut self, at: usize, projection: Projection, new: Value) {
        let chars = chars_of(&new);
        self.total += chars - self.chars[at];
        self.chars[at] = chars;
        self.round.changed.insert(at, (projection, new));
        self.round.new.insert(at);
        self.round.is_new = true;
    }

    fn prune(&mut self, range: std::ops::Range<usize>) {
        let eligible = self.trim(range);
        self.round.ratio_trimmed = self.ratio();
        self.round.prunable_chars = eligible.iter().map(|at| self.chars[*at]).sum();
        let (hard, ratio) = (&self.settings.hard_clear, self.settings.hard_clear_ratio);
        if hard.enabled && self.round.prunable_chars >= self.settings.min_prunable_tool_chars {
            for at in eligible {
                if self.ratio() < ratio {
                    break;
                }
                let Some(body) = self.messages[at].body else { continue };
                let placeholder = hard.placeholder.clone();
                let new = cleared_message(body, &placeholder);
                self.replace(at, Projection::Hard { placeholder }, new);
            }
        }
        self.round.ratio_after = self.ratio();
    }

    /// Trims what is not trimmed yet; answers what may be cleared.
    fn trim(&mut self, range: std::ops::Range<usize>) -> Vec<usize> {
        let filter = self.settings.tool_filter();
        let mut eligible = Vec::new();
        for at in range {
            let Some(message) = self.messages[at].body.filter(|_| self.messages[at].role == Role::ToolResult)
            else {
                continue;
            };
            // A name that is no text counts as the empty name.
            let name = message.get("toolName").filter(|name| name.as_str().is_some());
            let done = self.round.changed.get(&at).map(|(projection, _)| projection);
            if matches!(done, Some(Projection::Hard { .. })) || !filter.prunable(name) {
                continue;
            }
            eligible.push(at);
            if done != Some(&Projection::Soft)
                && let Ok(Some(new)) = soft_trimmed_message(message, &self.settings.soft_trim)
            {
                self.replace(at, Projection::Soft, new);
            }
        }
        eligible
    }
}

/// The position of the k-th last assistant message; none when there are fewer.
fn cutoff(messages: &[Weighed<'_>], keep: f64) -> Option<usize> {
    let assistants = messages.iter().enumerate().rev().filter(|(_, message)| message.role == Role::Assistant);
    if keep <= 0.0 { Some(messages.len()) } else { assistants.map(|(at, _)| at).nth(keep as usize - 1) }
}

/// Chars of a message as this version counts them for pruning: weighted, with the signatures of thinking.
pub fn chars_of(message: &Value) -> f64 {
    let content = message.get("content");
    let block: fn(&Value) -> f64 = match role_of(message) {
        Role::User | Role::ToolResult => block_chars,
        Role::Assistant => assistant_block_chars,
        _ => return OTHER_CHARS,
    };
    match content {
        Some(Value::Array(blocks)) => blocks.iter().map(block).sum(),
        Some(Value::String(text)) if role_of(message) == Role::User => weighted_length(text, NORMAL),
        _ => 0.0,
    }
}

fn is(block: &Value, kind: &str) -> bool {
    block.get("type").is_some_and(|value| value.str_is(kind))
}

fn json_chars(value: &Value) -> f64 {
    weighted_length(&stringify(value).into(), NORMAL)
}

fn block_chars(block: &Value) -> f64 {
    if is(block, "image") {
        return IMAGE_CHARS;
    }
    match block.get("text").and_then(Value::as_str) {
        Some(text) if is(block, "text") => weighted_length(text, NORMAL),
        _ if is(block, "text") => json_chars(block),
        _ => 0.0,
    }
}

fn assistant_block_chars(block: &Value) -> f64 {
    if is(block, "thinking") || is(block, "redacted_thinking") {
        let parts = ["thinking", "thinkingSignature", "signature", "data"];
        let text =
            |key: &&str| block.get(key).and_then(Value::as_str).map(|text| weighted_length(text, NORMAL));
        return parts.iter().filter_map(text).sum();
    }
    if is(block, "toolCall") {
        return match block.get("arguments") {
            None | Some(Value::Null) => 2.0,
            Some(arguments) => json_chars(arguments),
        };
    }
    if is(block, "image") { 0.0 } else { block_chars(block) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::js::parse;

    /// Messages by a word each: `u`, `a`, or a result of so many chars, `+` for one with an image.
    fn list(words: &str) -> Vec<Value> {
        let message = |(at, word): (usize, &str)| {
            let chars = word.trim_end_matches('+');
            let image = if word.ends_with('+') { r#",{"type":"image"}"# } else { "" };
            let json = match word {
                "u" => r#"{"role":"user","content":"hi"}"#.to_owned(),
                "a" => r#"{"role":"assistant","content":[]}"#.to_owned(),
                _ => format!(
                    r#"{{"role":"toolResult","toolName":"exec","toolCallId":"c{at}","content":[{{"type":"text","text":"{}"}}{image}]}}"#,
                    "x".repeat(chars.parse().unwrap())
                ),
            };
            parse(&json).unwrap()
        };
        words.split_whitespace().enumerate().map(message).collect()
    }

    fn settings() -> PruneSettings {
        PruneSettings::built_in(Ruleset::V2026_9.rules())
    }

    fn sizes(words: &str, window: f64) -> Vec<f64> {
        let messages = list(words);
        let round = prune_round(&messages, &Snapshot::default(), &settings(), window, true);
        let result = |at: &usize| role_of(&messages[*at]) == Role::ToolResult;
        (0..messages.len())
            .filter(result)
            .map(|at| chars_of(round.changed.get(&at).map_or(&messages[at], |(_, new)| new)))
            .collect()
    }

    #[test]
    fn results_are_trimmed_from_three_tenths_on_and_images_go_too() {
        assert_eq!(sizes("u 5000 100+ a 5000 a a", 2000.0), [3086.0, 139.0, 5000.0]);
        assert_eq!(sizes("u 5000 a a a", 1e6), [5000.0]);
        assert_eq!(sizes("5000 u a a a", 1000.0), [5000.0]);
        assert_eq!(sizes("u 5000 a a", 1000.0), [5000.0]);
    }

    #[test]
    fn from_half_the_window_on_the_oldest_are_cleared() {
        let words = format!("u {} a a a", vec!["6000"; 20].join(" "));
        assert_eq!(sizes(&words, 25_000.0), [vec![33.0; 4], vec![3086.0; 16]].concat());
    }

    #[test]
    fn chinese_fills_the_window_four_times_as_fast() {
        let text = "字".repeat(3000);
        let chinese =
            parse(&format!(r#"{{"role":"toolResult","content":[{{"type":"text","text":"{text}"}}]}}"#))
                .unwrap();
        assert_eq!(chars_of(&chinese), 12_000.0);
        let odd =
            parse(r#"{"role":"toolResult","content":[null,{"type":"text","text":5},{"type":"image"}]}"#)
                .unwrap();
        assert_eq!(chars_of(&odd), 8000.0 + 24.0);
        let thinking = parse(
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"ab","thinkingSignature":"cde"}]}"#,
        );
        assert_eq!(chars_of(&thinking.unwrap()), 5.0);
    }

    #[test]
    fn what_is_remembered_is_applied_behind_a_shut_gate_and_counts_as_done_behind_an_open_one() {
        let messages = list("u 5000 5000 a a a");
        let data = r#"{"prunedToolResults":[{"key":"tool:c1","mode":"hard","placeholder":"gone"},{"key":"tool:c2","mode":"soft"}]}"#;
        let remembered = Snapshot::of_data(&parse(data).unwrap()).unwrap();
        let shut = prune_round(&messages, &remembered, &settings(), 1000.0, false);
        assert_eq!(shut.changed.keys().copied().collect::<Vec<_>>(), [1, 2]);
        assert!(!shut.is_new && shut.ratio_before.is_nan());
        let open = prune_round(&messages, &remembered, &settings(), 1000.0, true);
        assert_eq!((open.is_new, &open.changed), (false, &shut.changed));
        assert_eq!(open.ratio_before, f64::from(2 + 4 + 3086) / 4000.0);
    }
}
