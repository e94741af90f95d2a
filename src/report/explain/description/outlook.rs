//! The outlook in words.

use crate::format::{
    format_number, format_ratio, format_short, format_short_estimate, format_tokens, quantity,
};
use crate::report::explain::description::grounds::{Described, Evidence};
use crate::report::explain::outlook::{DueCount, NextPrompt, Outlook, RefilledCompaction};

/// Compactions of a treadmill to name.
const MAX_ROUNDS: usize = 3;

impl Described for Outlook {
    fn headline(&self) -> String {
        match self {
            Self::ImpossibleBudget { fixed_tokens, trigger, .. } => format!(
                "system prompt, tools and files take {}, above the trigger {}: lower the reserve",
                format_short_estimate(*fixed_tokens),
                format_trigger(*trigger)
            ),
            Self::Treadmill { rounds, max_turns, .. } => format!(
                "after each of the last {} the session hit the trigger again within {max_turns} turns",
                quantity(rounds.len(), "compaction")
            ),
            Self::AtRisk { prompt, turn_tokens, window } => format!(
                "the next turn needs {} and the window is {}; no compaction comes first",
                format_short_estimate(prompt.tokens + turn_tokens),
                format_number(window.whole())
            ),
            Self::CompactionDue { check, count, .. } => {
                let total = format_number(check.total.tokens.whole());
                let count = match count {
                    DueCount::Stored(stored) if *stored == check.total.tokens => {
                        format!("the stored counter is {total}")
                    }
                    DueCount::Stored(stored) => {
                        let stored = format_number(stored.whole());
                        format!("the stored counter is {stored}, with the last answer {total}")
                    }
                    DueCount::Transcript => format!("the gateway counts {total}"),
                    DueCount::LastAnswer => format!("the last answer counts {total}"),
                };
                let trigger = format_number(check.threshold.whole());
                format!("the next message compacts first: {count}, trigger {trigger}")
            }
            Self::FixedOverhead { fixed_tokens, trigger, left: Some(_) } => format!(
                "system prompt, tools and files take {} of {}: every run ends in a compaction",
                format_short_estimate(*fixed_tokens),
                format_trigger(*trigger)
            ),
            Self::FixedOverhead { fixed_tokens, trigger, left: None } => format!(
                "system prompt, tools and files take {}; compaction starts at {}",
                format_short_estimate(*fixed_tokens),
                format_trigger(*trigger)
            ),
            Self::Healthy { prompt, window, trigger } => {
                describe_room(prompt, *window, trigger.map(|trigger| trigger.tokens.get()))
            }
        }
    }

    fn evidence(&self) -> Vec<Evidence> {
        match self {
            Self::ImpossibleBudget { reserve, window, .. } => {
                let reserve = format!(
                    "the reserve is {} of a window of {}",
                    format_number(reserve.whole()),
                    format_number(window.whole())
                );
                vec![Evidence::new(reserve).with_rule("compaction 2.2")]
            }
            Self::Treadmill { rounds, result_share, .. } => {
                let share = format_ratio(*result_share);
                let results = Evidence::new(format!("tool results make up to {share} of the new tokens"));
                rounds.iter().take(MAX_ROUNDS).map(describe_round).chain([results]).collect()
            }
            Self::AtRisk { prompt, turn_tokens, .. } => {
                let turn = format_short_estimate(*turn_tokens);
                let size = format!("{} now; a typical turn adds {turn}", format_prompt(prompt));
                vec![Evidence::new(size).with_entries(prompt.last_call)]
            }
            Self::CompactionDue { check, count, prompt } => {
                let (who, rule) = match count {
                    DueCount::LastAnswer => ("each turn the runtime", "compaction 2.7"),
                    _ => ("each chat turn the gateway", "releases R67"),
                };
                let size = format!("{} of {}", format_prompt(prompt), format_number(check.window.whole()));
                let trigger = format!(
                    "before {who} compacts from {} tokens on: {} of the window stay free",
                    format_number(check.threshold.whole()),
                    format_number((check.window - check.threshold).whole())
                );
                vec![
                    Evidence::new(size).with_entries(prompt.last_call),
                    Evidence::new(trigger).with_rule(rule),
                ]
            }
            Self::FixedOverhead { left: None, .. } => Vec::new(),
            Self::FixedOverhead { left: Some(left), trigger, .. } => vec![
                Evidence::new(format!(
                    "the last compaction left {}, above the trigger {}",
                    format_number(*left),
                    format_trigger(*trigger)
                ))
                .with_rule("compaction 2.7"),
            ],
            Self::Healthy { prompt, window, trigger } => {
                let source = if prompt.is_measured { "counted by the provider" } else { "estimated" };
                let size = format!("{} of {}, {source}", format_prompt(prompt), format_number(*window));
                let trigger = trigger.map_or_else(
                    || Evidence::new("compaction is off"),
                    |trigger| {
                        let from = if trigger.before_chat_turn { "at" } else { "above" };
                        let tokens = format_trigger(trigger.tokens.get());
                        Evidence::new(format!("compaction starts {from} {tokens}")).with_rule(trigger.rule())
                    },
                );
                vec![Evidence::new(size).with_entries(prompt.last_call), trigger]
            }
        }
    }

    fn step(&self) -> Option<String> {
        let step = match self {
            Self::Treadmill { .. } => {
                "Lower compaction.keepRecentTokens, keep large results out, or use a model with a larger window."
            }
            Self::AtRisk { .. } => {
                "Compact before the next message, with /compact or `commit --policy compact`."
            }
            Self::FixedOverhead { .. } => {
                "Raise the window, or lower the reserve or the size of workspace files."
            }
            Self::ImpossibleBudget { .. } | Self::CompactionDue { .. } | Self::Healthy { .. } => return None,
        };
        Some(step.to_owned())
    }
}

fn describe_round(round: &RefilledCompaction) -> Evidence {
    let (left, is_measured) = round.left;
    let left = if is_measured { format_number(left) } else { format_short_estimate(left) };
    let refilled = format_number(round.refilled_to);
    let flush = if round.is_flushed { "a" } else { "no" };
    let line = format!(
        "compaction left {left}; the session grew back to {refilled}; {flush} memory flush before it"
    );
    Evidence::new(line).with_entries([round.entry]).with_rule("compaction 2.7")
}

/// Describes the room of a session that fits, until the trigger or the end of the window.
fn describe_room(prompt: &NextPrompt, window: u64, trigger: Option<f64>) -> String {
    let spare = format_short(window.saturating_sub(prompt.tokens));
    let tokens = prompt.tokens as f64;
    let trigger = trigger.unwrap_or_default();
    if window == 0 {
        format!("No overflow: {} tokens; the window is unknown", format_prompt(prompt))
    } else if prompt.tokens > window {
        let (prompt, window) = (format_prompt(prompt), format_number(window));
        format!("No overflow yet, but the prompt has {prompt} tokens; the window is {window}")
    } else if trigger > 0.0 && tokens > trigger {
        format!("Fits: {spare} to spare; the next turn compacts first")
    } else if trigger > 0.0 && trigger < window as f64 {
        format!("Fits: {spare} to spare, {} until compaction", format_short((trigger - tokens) as u64))
    } else {
        format!("Fits: {spare} to spare")
    }
}

fn format_prompt(prompt: &NextPrompt) -> String {
    format_tokens(prompt.tokens, prompt.is_measured)
}

/// Formats a trigger; a reserve larger than the window makes it negative.
fn format_trigger(trigger: f64) -> String {
    format_number(trigger.max(0.0) as u64)
}
