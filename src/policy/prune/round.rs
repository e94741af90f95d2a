//! One pruning round over texts, as gateways since 2026.3.7 run it. The sizes of the index are not enough there:
//! remembered changes apply first, characters may be weighted, and results with images may be pruned (pruning 8.1,
//! releases R11–R14).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::gateway::pruning::PruneSettings;
use crate::gateway::ruleset::{ImageResults, PruneSize, PruneWeight};
use crate::js::{JsException, Value};
use crate::policy::features::MessageBody;
use crate::policy::prune::projections::{Projection, ProjectionSnapshot};
use crate::policy::prune::soft_trim::{cleared_message, soft_trimmed_message};
use crate::store::entry::{CharCount, Role};
use crate::units::{Chars, Tokens};

/// The outcome of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct PruneRound {
    /// Messages that differ from the transcript, by position.
    pub changed: BTreeMap<usize, (Projection, Value)>,
    /// Positions that this round changed; earlier calls changed the others.
    pub new_changes: BTreeSet<usize>,
    /// Set if this round changed a message, which makes now the time of the last touch.
    pub has_new_changes: bool,
    /// Chars of all messages divided by those of the window, before this round; NaN if the round did not start.
    pub ratio_before: f64,
    /// The same after trimming.
    pub ratio_trimmed: f64,
    /// The same at the end.
    pub ratio_after: f64,
    /// Chars in the results that may be cleared, after trimming; NaN if the round ended before.
    pub prunable_chars: Chars,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct MeasuredMessage<'a> {
    pub(super) role: Role,
    /// As the version's pruner counts them.
    pub(super) chars: CharCount,
    /// Part of `chars` that is thinking.
    pub(super) thinking_chars: Chars,
    pub(super) has_images: bool,
    /// Used only for tool results.
    pub(super) body: Option<&'a MessageBody>,
}

#[derive(Debug, Clone, Copy)]
pub struct RoundOptions<'a> {
    pub settings: &'a PruneSettings,
    /// The version's way to count the chars of a message.
    pub size: PruneSize,
    /// In tokens.
    pub window: Tokens,
    /// Whether the round may prune more than the remembered changes.
    pub gate_open: bool,
    /// The model receives only the thinking of its last answer (releases R13).
    pub drops_thinking: bool,
}

/// Applies the remembered changes, and prunes more results if the gate is open.
///
/// # Errors
/// If the real pruner fails on a message; nothing is pruned then.
pub(super) fn prune_measured(
    messages: &[MeasuredMessage<'_>],
    remembered: &ProjectionSnapshot,
    by: RoundOptions<'_>,
) -> Result<PruneRound, JsException> {
    let RoundOptions { settings, size, window, .. } = by;
    let changed = remembered_changes(messages, remembered, settings);
    let mut round = PruneRound {
        changed,
        new_changes: BTreeSet::new(),
        has_new_changes: false,
        ratio_before: f64::NAN,
        ratio_trimmed: f64::NAN,
        ratio_after: f64::NAN,
        prunable_chars: Chars::NAN,
    };
    // Up to 2026.7, a list without a user message is measured, but has no candidate.
    let nobody = (size.weight != PruneWeight::Table).then_some(messages.len());
    let start = messages.iter().position(|message| message.role == Role::User).or(nobody);
    let cutoff = cutoff(messages, settings.keep_last_assistants);
    let (Some(start), Some(cutoff)) = (start, cutoff) else { return Ok(round) };
    // Since 2026.8.1 the pruner does not check the window: without one, every context is too large.
    let has_window = window > Tokens::ZERO || size.weight == PruneWeight::Table;
    if !by.gate_open || !has_window {
        return Ok(round);
    }
    let chars_now = |(at, message): (usize, &MeasuredMessage<'_>)| match round.changed.get(&at) {
        Some((_, new)) => size.chars(new),
        None => message.chars.value(),
    };
    let chars = messages.iter().enumerate().map(chars_now).collect::<Result<Vec<Chars>, JsException>>()?;
    let total = chars.iter().sum::<Chars>() - dropped_thinking_chars(messages, by.drops_thinking);
    let mut run = RoundState {
        messages,
        settings,
        size,
        round: &mut round,
        chars,
        total,
        window: window.to_chars(4.0),
    };
    run.round.ratio_before = run.ratio();
    run.round.ratio_trimmed = run.ratio();
    run.round.ratio_after = run.ratio();
    // A NaN ratio continues, as it does upstream.
    let is_low = run.ratio() < settings.soft_trim_ratio;
    if !is_low {
        run.prune(start..cutoff)?;
    }
    Ok(round)
}

/// Returns the changes of earlier calls. Without any, no body is read.
fn remembered_changes(
    messages: &[MeasuredMessage<'_>],
    remembered: &ProjectionSnapshot,
    settings: &PruneSettings,
) -> BTreeMap<usize, (Projection, Value)> {
    if remembered.is_empty() {
        return BTreeMap::new();
    }
    let results = messages.iter().enumerate().filter(|(_, message)| message.role == Role::ToolResult);
    let bodies: Vec<(usize, Arc<Value>)> =
        results.filter_map(|(at, message)| Some((at, message.body?.value()))).collect();
    let results: Vec<(usize, &Value)> = bodies.iter().map(|(at, body)| (*at, &**body)).collect();
    remembered.apply_to_results(&results, run_start(messages), settings)
}

/// Returns the position from which messages belong to the run in progress; after an answer, the next run begins.
fn run_start(messages: &[MeasuredMessage<'_>]) -> usize {
    let is_user = |message: &MeasuredMessage<'_>| message.role == Role::User;
    match messages.last() {
        Some(last) if last.role != Role::Assistant => messages.iter().rposition(is_user).unwrap_or(0),
        _ => messages.len(),
    }
}

/// Returns the chars of thinking that the model does not receive again: that of every answer but the last.
fn dropped_thinking_chars(messages: &[MeasuredMessage<'_>], drops: bool) -> Chars {
    let answers = messages.iter().rev().filter(|message| drops && message.role == Role::Assistant);
    answers.skip(1).map(|message| message.thinking_chars).sum()
}

struct RoundState<'a> {
    messages: &'a [MeasuredMessage<'a>],
    settings: &'a PruneSettings,
    size: PruneSize,
    round: &'a mut PruneRound,
    chars: Vec<Chars>,
    total: Chars,
    window: Chars,
}

impl RoundState<'_> {
    fn ratio(&self) -> f64 {
        self.total / self.window
    }

    fn replace(&mut self, at: usize, projection: Projection, new: Value) -> Result<(), JsException> {
        let chars = self.size.chars(&new)?;
        self.total += chars - self.chars[at];
        self.chars[at] = chars;
        self.round.changed.insert(at, (projection, new));
        self.round.new_changes.insert(at);
        self.round.has_new_changes = true;
        Ok(())
    }

    fn prune(&mut self, range: std::ops::Range<usize>) -> Result<(), JsException> {
        let eligible = self.trim(range)?;
        self.round.ratio_trimmed = self.ratio();
        self.round.prunable_chars = eligible.iter().map(|at| self.chars[*at]).sum();
        let (hard, ratio) = (&self.settings.hard_clear, self.settings.hard_clear_ratio);
        let is_low = self.ratio() < ratio;
        let too_few = self.round.prunable_chars < self.settings.min_prunable_tool_chars;
        if hard.enabled && !is_low && !too_few {
            for at in eligible {
                if self.ratio() < ratio {
                    break;
                }
                let Some(body) = self.messages[at].body else { continue };
                let placeholder = hard.placeholder.clone();
                let new = cleared_message(&body.value(), &placeholder);
                self.replace(at, Projection::Hard { placeholder }, new)?;
            }
        }
        self.round.ratio_after = self.ratio();
        Ok(())
    }

    /// Trims the results that are not trimmed yet. Returns the positions that may be cleared.
    fn trim(&mut self, range: std::ops::Range<usize>) -> Result<Vec<usize>, JsException> {
        let filter = self.settings.tool_filter();
        let mut eligible = Vec::new();
        for at in range {
            let MeasuredMessage { role, body, has_images, .. } = self.messages[at];
            let Some(message) = body.filter(|_| role == Role::ToolResult) else { continue };
            let message = &*message.value();
            let done = self.round.changed.get(&at).map(|(projection, _)| projection);
            let spared = has_images && self.settings.soft_trim.images == ImageResults::Skipped;
            if matches!(done, Some(Projection::Hard { .. }))
                || spared
                || !filter.is_prunable(self.tool_name(message))
            {
                continue;
            }
            eligible.push(at);
            if done == Some(&Projection::Soft) {
                continue;
            }
            match soft_trimmed_message(message, &self.settings.soft_trim) {
                Ok(Some(new)) => self.replace(at, Projection::Soft, new)?,
                Err(JsException) if self.size.weight != PruneWeight::Table => return Err(JsException),
                _ => {}
            }
        }
        Ok(eligible)
    }

    /// Returns the tool name of a result; since 2026.8.1 a name that is not a string counts as empty.
    fn tool_name<'m>(&self, message: &'m Value) -> Option<&'m Value> {
        let any = self.size.weight != PruneWeight::Table;
        message.get("toolName").filter(|name| any || name.as_str().is_some())
    }
}

/// Returns the position of the k-th last assistant message; `None` if there are fewer.
fn cutoff(messages: &[MeasuredMessage<'_>], keep: f64) -> Option<usize> {
    let assistants = messages.iter().enumerate().rev().filter(|(_, message)| message.role == Role::Assistant);
    if keep <= 0.0 { Some(messages.len()) } else { assistants.map(|(at, _)| at).nth(keep as usize - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::{Rules, Ruleset};
    use crate::js::parse;
    use crate::store::measure::role_of;

    /// Builds messages, one word each: `u`, `a`, or the chars of a result, with `+` for an image.
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

    fn rules() -> &'static Rules {
        Ruleset::V2026_9_6.rules()
    }

    fn settings() -> PruneSettings {
        PruneSettings::built_in(rules())
    }

    fn chars_of(message: &Value) -> f64 {
        rules().prune_size.chars(message).unwrap().get()
    }

    /// Runs a round over texts, measured as the index and the features measure them.
    fn prune_round(
        messages: &[Value],
        remembered: &ProjectionSnapshot,
        window: Tokens,
        gate_open: bool,
    ) -> PruneRound {
        let (size, settings) = (rules().prune_size, settings());
        let is_image = |block: &Value| block.get("type").is_some_and(|kind| kind.str_is("image"));
        let blocks =
            |message: &Value| message.get("content").and_then(Value::as_array).map(<[Value]>::to_vec);
        let bodies: Vec<MessageBody> =
            messages.iter().map(|message| MessageBody::Held(Arc::new(message.clone()))).collect();
        let measured = messages.iter().zip(&bodies).map(|(message, body)| MeasuredMessage {
            role: role_of(message),
            chars: CharCount::new(size.chars(message)),
            thinking_chars: size.thinking_chars(message),
            has_images: blocks(message).unwrap_or_default().iter().any(is_image),
            body: Some(body),
        });
        let by = RoundOptions { settings: &settings, size, window, gate_open, drops_thinking: false };
        prune_measured(&measured.collect::<Vec<_>>(), remembered, by).unwrap()
    }

    fn sizes(words: &str, window: Tokens) -> Vec<f64> {
        let messages = list(words);
        let round = prune_round(&messages, &ProjectionSnapshot::default(), window, true);
        let result = |at: &usize| role_of(&messages[*at]) == Role::ToolResult;
        (0..messages.len())
            .filter(result)
            .map(|at| chars_of(round.changed.get(&at).map_or(&messages[at], |(_, new)| new)))
            .collect()
    }

    #[test]
    fn results_and_images_are_trimmed_above_three_tenths_of_the_window() {
        assert_eq!(sizes("u 5000 100+ a 5000 a a", Tokens(2000.0)), [3086.0, 139.0, 5000.0]);
        assert_eq!(sizes("u 5000 a a a", Tokens(1e6)), [5000.0]);
        assert_eq!(sizes("5000 u a a a", Tokens(1000.0)), [5000.0]);
        assert_eq!(sizes("u 5000 a a", Tokens(1000.0)), [5000.0]);
    }

    #[test]
    fn from_half_the_window_on_the_oldest_are_cleared() {
        let words = format!("u {} a a a", vec!["6000"; 20].join(" "));
        assert_eq!(sizes(&words, Tokens(25_000.0)), [vec![33.0; 4], vec![3086.0; 16]].concat());
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
    fn remembered_pruning_applies_at_a_closed_gate_and_counts_as_done_at_an_open_one() {
        let messages = list("u 5000 5000 a a a");
        let data = r#"{"prunedToolResults":[{"key":"tool:c1","mode":"hard","placeholder":"gone"},{"key":"tool:c2","mode":"soft"}]}"#;
        let remembered = ProjectionSnapshot::from_marker_data(&parse(data).unwrap()).unwrap();
        let shut = prune_round(&messages, &remembered, Tokens(1000.0), false);
        assert_eq!(shut.changed.keys().copied().collect::<Vec<_>>(), [1, 2]);
        assert!(!shut.has_new_changes && shut.ratio_before.is_nan());
        let open = prune_round(&messages, &remembered, Tokens(1000.0), true);
        assert_eq!((open.has_new_changes, &open.changed), (false, &shut.changed));
        assert_eq!(open.ratio_before, f64::from(2 + 4 + 3086) / 4000.0);
    }

    #[test]
    fn a_mark_under_a_rewritten_id_counts_for_results_of_the_run_only_while_it_lasts() {
        let started = Some(crate::units::Moment(5.0));
        let data = r#"{"prunedToolResults":[{"key":"tool:c_1:7","mode":"soft"}]}"#;
        let of_run = ProjectionSnapshot::from_marker_data(&parse(data).unwrap()).unwrap();
        let remembered = ProjectionSnapshot { run_started: started, ..of_run };
        let result = r#"{"role":"toolResult","toolCallId":"c_1","timestamp":7,"content":[{"type":"text","text":"TEXT"}]}"#;
        let mut messages = list("u");
        messages.push(parse(&result.replace("TEXT", &"x".repeat(5000))).unwrap());
        let changed =
            |messages: &[Value]| prune_round(messages, &remembered, Tokens(1e6), false).changed.len();
        assert_eq!(changed(&messages), 1);
        messages.extend(list("a"));
        assert_eq!(changed(&messages), 0, "the next call is one of another run");
        messages.extend(list("u"));
        assert_eq!(changed(&messages), 0);
    }
}
