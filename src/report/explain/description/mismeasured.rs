//! Wrong measurements in words.

use crate::format::{format_estimate, format_number, format_short_estimate, format_tokens, quantity};
use crate::ids::EntryIx;
use crate::report::explain::counts::{Counter, PromptCount};
use crate::report::explain::description::grounds::{Described, Evidence};
use crate::report::explain::estimator::{EstimatorError, TwiceCounted};
use crate::report::explain::failure::PromptSize;
use crate::report::explain::mismeasured::{ImplausibleUsage, LimitProof, Mismeasured};
use crate::report::explain::stored_counter::StoredCounter;
use crate::units::Tokens;

impl Described for Mismeasured {
    fn headline(&self) -> String {
        match self {
            Self::Window { believed, served, proof: LimitProof::Truncated { .. }, .. } => format!(
                "the server silently cuts prompts to {} tokens; the gateway assumes {}",
                format_number(*served),
                format_number(believed.whole())
            ),
            Self::Window {
                believed,
                proof: LimitProof::Accepted { refused, is_measured: false, .. },
                ..
            } => {
                format!(
                    "the provider refused {} tokens, but the gateway assumes {}",
                    format_short_estimate(*refused),
                    format_number(believed.whole())
                )
            }
            Self::Implausible(usage) => format!(
                "a count of {} tokens for {} of text is impossible",
                format_number(usage.counted),
                format_short_estimate(usage.likely)
            ),
            Self::Window { believed, served, .. } => format!(
                "the provider accepts {} tokens, but the gateway assumes {}",
                format_number(*served),
                format_number(believed.whole())
            ),
            Self::Reply { reply, limit, .. } => format!(
                "the prompt fits, but {} more are reserved for the reply (limit {})",
                format_number(*reply),
                format_number(*limit)
            ),
            Self::Usage { uncounted, is_partial, last_counted, .. } => {
                let missing = if *is_partial { "far too few tokens" } else { "no usage" };
                let calls = quantity(uncounted.len(), "call");
                let consequence = match last_counted {
                    Some((_, tokens)) => format!("; its last count is {}", format_number(*tokens)),
                    None => ", so compaction had nothing to compare".to_owned(),
                };
                format!("the provider reported {missing} for {calls}{consequence}")
            }
        }
    }

    fn evidence(&self) -> Vec<Evidence> {
        match self {
            Self::Window { served, proof: LimitProof::Truncated { calls, .. }, refusal, .. } => {
                truncation_evidence(*served, *calls, *refusal)
            }
            Self::Implausible(usage) => implausible_evidence(usage),
            Self::Window { is_default, proof, refusal, served, smallest, .. } => [
                Evidence::new(proof.description()).with_entries([*refusal]),
                Evidence::new(describe_window_source(*is_default)).with_rule("compaction 7.1"),
            ]
            .into_iter()
            .chain(smallest.map(|smallest| too_small_evidence(*served, smallest)))
            .collect(),
            Self::Reply { prompt, reply, limit, configured, refusal } => {
                let sum = format!(
                    "{} tokens of prompt and {} for the reply are more than {}",
                    format_number(*prompt),
                    format_number(*reply),
                    format_number(*limit)
                );
                let set = configured.map(|tokens| {
                    Evidence::new(format!("maxTokens of the model is {}", format_number(tokens)))
                });
                [Evidence::new(sum).with_entries([*refusal])].into_iter().chain(set).collect()
            }
            Self::Usage { uncounted, last_counted, stored, .. } => {
                usage_evidence(uncounted, *last_counted, *stored)
            }
        }
    }

    fn step(&self) -> Option<String> {
        match self {
            Self::Window { served, proof: LimitProof::Truncated { largest, .. }, .. } => {
                let reach = format_short_estimate(*largest);
                let reach = if largest > served { format!(": prompts reach {reach}") } else { String::new() };
                Some(format!("Raise the server's context (num_ctx) above {}{reach}.", format_number(*served)))
            }
            Self::Implausible(usage) if usage.is_trusted => Some(
                "No setting cures a wrong count: start a new session, or update the provider or proxy."
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

impl LimitProof {
    fn description(self) -> String {
        match self {
            Self::Stated => "the refusal states the limit".to_owned(),
            Self::Truncated { calls, .. } => format!("{} cut to the limit", quantity(calls, "prompt")),
            Self::Accepted { accepted, refused, is_measured } => format!(
                "the provider accepted {} and refused {}",
                format_number(accepted),
                format_tokens(refused, is_measured)
            ),
        }
    }
}

/// A window that the gateway does not accept cannot be corrected by a setting.
fn too_small_evidence(served: u64, smallest: u64) -> Evidence {
    let [served, smallest] = [served, smallest].map(format_number);
    Evidence::new(format!(
        "the gateway refuses windows below {smallest} tokens, so contextWindow cannot be {served}, and {smallest} is not \
         enough: take a model with a larger window, or lower what is sent"
    ))
    .with_rule("compaction 7.2")
}

fn truncation_evidence(served: u64, calls: usize, first: EntryIx) -> Vec<Evidence> {
    let count = format_number(served);
    let repeated = format!("{} counted at {count} while messages were added", quantity(calls, "call"));
    let half = num_ctx_of_half(served).map(|window| {
        Evidence::new(format!("{count} is half of {} and 2: the server's num_ctx", format_number(window)))
    });
    let cure = "raise the server's context first: num_ctx of Ollama, the context length of LM Studio, -c of llama.cpp; \
                contextWindow alone only makes the gateway compact earlier";
    let evidence = [Evidence::new(repeated).with_entries([first]).with_rule("compaction 7.1")];
    evidence.into_iter().chain(half).chain([Evidence::new(cure)]).collect()
}

/// Returns the window of a server that keeps half of it and 2 tokens when it cuts a prompt.
fn num_ctx_of_half(served: u64) -> Option<u64> {
    let window = served.checked_sub(2)? * 2;
    (window.is_multiple_of(1_024) && !served.is_multiple_of(1_024)).then_some(window)
}

fn implausible_evidence(usage: &ImplausibleUsage) -> Vec<Evidence> {
    let times = usage.counted / usage.window.max(1);
    let window = format_number(usage.window);
    let count =
        format!("the provider's error: {times} times the window of {window}; neither a size nor a cost");
    let effect = if usage.is_trusted {
        "the gateway's own check trusted the count and refused the next call; no compaction or pruning helps"
    } else {
        "the next count replaces it; no compaction or pruning is needed"
    };
    vec![Evidence::new(count).with_entries(usage.entries.iter().copied()), Evidence::new(effect)]
}

fn describe_window_source(is_default: bool) -> &'static str {
    if is_default {
        "nothing configures the model's window, so the gateway assumes one"
    } else {
        "the gateway takes its window from the configuration or its list of models"
    }
}

fn usage_evidence(
    uncounted: &[EntryIx],
    last_counted: Option<(EntryIx, u64)>,
    stored: Option<Tokens>,
) -> Vec<Evidence> {
    let answers = Evidence::new("answers without a usable count").with_entries(uncounted.iter().copied());
    let last = last_counted.map(|(entry, tokens)| {
        Evidence::new(format!("the last counted call had {} tokens", format_number(tokens)))
            .with_entries([entry])
            .with_rule("compaction 1.11")
    });
    let stored = stored.map(|stored| {
        Evidence::new(format!("the stored counter still shows {}", format_number(stored.whole())))
            .with_rule("compaction 9.4")
    });
    [answers].into_iter().chain(last).chain(stored).collect()
}

impl Described for EstimatorError {
    fn headline(&self) -> String {
        match self {
            Self::Overcount { window, check: (Some(estimate), limit), .. } => format!(
                "its estimate {} is {} above its budget {}; the window is {}",
                format_number(*estimate),
                format_number(estimate.saturating_sub(*limit)),
                format_number(*limit),
                format_number(*window)
            ),
            Self::Overcount { likely, window, check: (None, limit), .. } => format!(
                "its own check allows {}; the prompt has {}, the window {}",
                format_number(*limit),
                format_short_estimate(*likely),
                format_number(*window)
            ),
            Self::Undercount { ratio, .. } => {
                format!("new messages have {ratio:.1}x the tokens that the gateway estimates")
            }
        }
    }

    fn evidence(&self) -> Vec<Evidence> {
        match self {
            Self::Overcount { peak: (entry, peak), .. } => {
                let asked = Evidence::new("the gateway's own check refused it; the provider was not asked")
                    .with_rule("releases R60");
                let peak = format_number(*peak);
                let largest = format!("the largest prompt the provider counted: {peak}");
                vec![asked, Evidence::new(largest).with_entries([*entry])]
            }
            Self::Undercount { ratio, keep_recent, failing } => {
                let kept = format!(
                    "keepRecentTokens {} keeps {}",
                    format_number(keep_recent.whole()),
                    format_estimate((*keep_recent * *ratio).whole())
                );
                let kept = Evidence::new(kept).with_rule("compaction 1.1");
                [kept].into_iter().chain(failing.as_ref().map(describe_twice_counted)).collect()
            }
        }
    }
}

impl Described for StoredCounter {
    fn headline(&self) -> String {
        let (live, is_measured) = self.live;
        let order = if self.stored > Tokens(live as f64) { "more" } else { "less" };
        let (stored, live) = (format_number(self.stored.whole()), format_tokens(live, is_measured));
        if self.compacts.is_some() {
            return format!(
                "the next message compacts: the stored counter is {stored}, the session has {live}"
            );
        }
        format!("the stored counter shows {stored}, {order} than the session's {live}")
    }

    fn evidence(&self) -> Vec<Evidence> {
        let sum = (!self.summands.is_empty())
            .then(|| Evidence::new(describe_sum(&self.summands)).with_rule("compaction 9.11"));
        let last = self.last_counted.map(|(entry, tokens)| {
            let tokens = format_number(tokens);
            Evidence::new(format!("the provider counted {tokens} for the last call")).with_entries([entry])
        });
        let check = self.compacts.map(|check| {
            let text = format!(
                "before each chat turn the gateway compacts from {} on, by the stored counter; /new resets it",
                format_number(check.threshold.whole())
            );
            Evidence::new(text).with_rule("releases R67")
        });
        check.into_iter().chain(sum).chain(last).collect()
    }
}

fn describe_twice_counted(failing: &TwiceCounted) -> Evidence {
    let text = format!(
        "the provider counted {}; chars/4 estimates ~{}",
        format_tokens(failing.tokens, failing.is_measured),
        format_number(failing.gateway_estimate)
    );
    Evidence::new(text).with_entries([failing.entry])
}

/// Names the counters that add up to the stored one.
fn describe_sum(summands: &[(&'static str, f64)]) -> String {
    let counter = |(name, tokens): &(&'static str, f64)| format!("{name} {}", format_number(*tokens as u64));
    format!("it is the sum of {}", summands.iter().map(counter).collect::<Vec<_>>().join(" + "))
}

impl PromptSize {
    /// Names the tokens: an exact number, an estimate, or what they are more than.
    pub fn description(self) -> String {
        if self.is_lower_bound {
            return more_than_limit(self.tokens);
        }
        format_tokens(self.tokens, self.is_measured)
    }
}

/// Names a prompt of which only the limit is known; `tokens` is one more than that.
fn more_than_limit(tokens: u64) -> String {
    format!("more than {}", format_number(tokens.saturating_sub(1)))
}

impl PromptCount {
    /// Names a number of which only the limit is known; `None` for others.
    pub fn lower_bound(&self) -> Option<String> {
        let is_bound = matches!(self.counter, Counter::Provider { is_lower_bound: true, .. });
        is_bound.then(|| more_than_limit(self.tokens))
    }

    /// Describes the effect of the number, or its origin.
    pub fn description(&self) -> String {
        let fixed = match self.counter {
            Counter::Provider { excess: Some(excess), .. } => {
                return format!("limit plus the {} that the refusal states", format_number(excess));
            }
            Counter::Provider { is_stated: true, overflow, .. } if overflow.is_refusal() => {
                "from the refusal; only this count can refuse"
            }
            Counter::Provider { is_stated: true, .. } => "from the usage of the answer",
            Counter::Provider { is_lower_bound: true, .. } => "the refusal states no number",
            Counter::Provider { .. } => "estimated: the refusal states no number",
            Counter::Runtime { adds_estimate: true } => {
                "against the trigger at its last check: the last usage plus chars/4 of what followed"
            }
            Counter::Runtime { adds_estimate: false } => {
                "against the trigger before this run: the last usage then"
            }
            Counter::StoredCounter { is_stale: false } => "shown in the status line",
            Counter::StoredCounter { is_stale: true } => "shown in the status line, marked stale",
            Counter::CharsByFour => "compared with the thresholds of pruning and of the context guard",
            Counter::Calibrated { counted_calls, fits_overflow } => {
                let own = fits_overflow.map(|kind| format!(" and this {}", kind.noun())).unwrap_or_default();
                return format!("clawscope: fitted to {}{own}", quantity(counted_calls, "counted call"));
            }
        };
        fixed.to_owned()
    }
}
