//! Predicts the gateway's recovery loop after a refused prompt, one attempt at a time (compaction 8.9–8.15, 8.20).
//!
//! Nothing is sent: every prompt and every compaction is simulated on a [`Branch`] of sizes.

use crate::gateway::ruleset::Rewrite;
use crate::policy::recovery::branch::cut_results;
use crate::policy::recovery::{
    Attempt, Branch, CompactionCaller, CompactionOutcome, ErrorSource, Recovery, RecoveryInput, RecoveryStep,
    loop_limit,
};
use crate::units::Tokens;

/// Compactions that are simulated in one run. The runtime of older releases has no limit (compaction 2.15).
const MAX_IN_RUN_COMPACTIONS: u32 = 4;

/// Predicts the recovery that follows a refused prompt.
pub fn predict_recovery(facts: &RecoveryInput<'_>) -> Recovery {
    RecoveryLoop::new(facts).run()
}

/// The end of a run, as the gateway sees it.
enum RunEnd {
    Answered,
    /// The answer before the refused one (releases R79).
    EarlierAnswer,
    Refused {
        /// Whether a compaction of the run counts (compaction 8.11).
        had_compaction: bool,
    },
}

struct RecoveryLoop<'a> {
    input: &'a RecoveryInput<'a>,
    branch: Branch,
    /// Provider tokens per token of the branch: at least 1, and high enough that the refused prompt does not fit.
    tokens_per_estimate: f64,
    /// Compactions and reruns so far; the rules limit them.
    attempts_used: u32,
    has_truncated: bool,
    attempts: Vec<Attempt>,
}

impl<'a> RecoveryLoop<'a> {
    fn new(input: &'a RecoveryInput<'a>) -> Self {
        let branch = input.branch.clone();
        let estimate = (input.fixed_tokens + branch.tokens()).max(Tokens(1.0));
        let refused = input.refused_tokens.unwrap_or(Tokens::ZERO).max(input.runtime_window + Tokens(1.0));
        Self {
            input,
            branch,
            tokens_per_estimate: (refused / estimate).max(1.0),
            attempts_used: 0,
            has_truncated: false,
            attempts: Vec::new(),
        }
    }

    fn run(mut self) -> Recovery {
        for _ in 0..loop_limit(1) {
            self.attempts.push(Attempt::default());
            let had = match self.run_once() {
                RunEnd::Answered => return self.finish(Ending::Answered),
                _ if !self.input.has_gateway => return self.finish(Ending::LeftToPerson),
                RunEnd::EarlierAnswer => return self.finish(Ending::EarlierAnswer),
                RunEnd::Refused { had_compaction } => had_compaction,
            };
            if !self.input.detection.likely {
                return self.finish(Ending::RawError);
            }
            if !self.compact_or_rerun(had) && !self.truncate_results() {
                break;
            }
            self.branch.push_prompt();
        }
        let failed = self.input.detection.compaction_failure;
        let kind = if failed { GiveUpReason::CompactionFailure } else { GiveUpReason::ContextOverflow };
        let reset = self.input.is_chat && self.input.detection.overflow;
        self.finish(Ending::GaveUp { kind, reset })
    }

    fn finish(self, ending: Ending) -> Recovery {
        Recovery { attempts: self.attempts, ending }
    }

    fn push_step(&mut self, policy: RecoveryStep) {
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.steps.push(policy);
        }
    }

    /// Tokens of the current prompt: those of the branch, scaled by `tokens_per_estimate`.
    fn prompt_tokens(&self) -> Tokens {
        Tokens(((self.input.fixed_tokens + self.branch.tokens()) * self.tokens_per_estimate).get().round())
    }

    /// Simulates one run with the runtime's own compactions.
    fn run_once(&mut self) -> RunEnd {
        let counts_completed = self.input.rules.recovery.in_run.counts_completed;
        let refused = |had_compaction| RunEnd::Refused { had_compaction };
        for compacted in 0..=MAX_IN_RUN_COMPACTIONS {
            let tokens = self.prompt_tokens();
            if tokens <= self.input.runtime_window {
                self.push_step(RecoveryStep::Answered { tokens });
                return RunEnd::Answered;
            }
            self.push_step(RecoveryStep::Refused { tokens });
            if self.input.source == ErrorSource::Prompt {
                return refused(false);
            }
            self.branch.push_error();
            if !self.is_recognised_by_runtime() && is_transient(self.input.error) {
                self.push_step(RecoveryStep::Retried);
            }
            let outcome = self.compact_in_run(compacted);
            self.push_step(RecoveryStep::Compaction { caller: CompactionCaller::InRun, outcome });
            if !outcome.is_done() && outcome.has_started() && !self.branch.leaves_refusal() {
                return RunEnd::EarlierAnswer;
            }
            if !outcome.is_done() {
                return refused(if counts_completed { compacted > 0 } else { outcome.has_started() });
            }
        }
        refused(counts_completed)
    }

    fn is_recognised_by_runtime(&self) -> bool {
        self.input.source == ErrorSource::Silent || self.input.detection.in_run
    }

    /// Simulates the runtime's compaction after a refusal, with the number of its compactions so far in the run
    /// (compaction 2.11, releases R68).
    fn compact_in_run(&mut self, compacted: u32) -> CompactionOutcome {
        let first = self.attempts.len() == 1;
        let most = self.input.rules.recovery.in_run.compactions;
        match self.input {
            facts if !facts.settings.enabled => CompactionOutcome::Off,
            facts if !facts.same_model => CompactionOutcome::OtherModel,
            facts if facts.predates_compaction && first => CompactionOutcome::TooOld,
            _ if !self.is_recognised_by_runtime() => CompactionOutcome::NotRecognised,
            _ if most == 0 => CompactionOutcome::LeftToGateway,
            _ if compacted >= most => CompactionOutcome::Repeated,
            _ => self.compact(),
        }
    }

    fn compact(&mut self) -> CompactionOutcome {
        let RecoveryInput { settings, mode, runtime_window, summary_tokens, .. } = self.input;
        let summary = *summary_tokens / self.tokens_per_estimate;
        let one_call = *runtime_window / self.tokens_per_estimate;
        self.branch.compact(self.input.rules, settings.keep_recent_tokens, *mode, summary, one_call.get())
    }

    /// Takes branch A or B of the loop and returns whether the prompt runs again (compaction 8.12, 8.13).
    fn compact_or_rerun(&mut self, had: bool) -> bool {
        if self.input.detection.compaction_failure || self.attempts_used >= self.input.rules.recovery.attempts
        {
            return false;
        }
        self.attempts_used += 1;
        if had {
            self.push_step(RecoveryStep::RunAgain);
            return true;
        }
        let outcome = self.compact();
        self.push_step(RecoveryStep::Compaction { caller: CompactionCaller::AfterRun, outcome });
        outcome.is_done()
    }

    /// Takes the fallback and returns whether it cut tool results (compaction 8.14).
    fn truncate_results(&mut self) -> bool {
        let RecoveryInput { rules, runtime_window, result_limit: limit, .. } = *self.input;
        if self.has_truncated || rules.rewrite == Rewrite::None {
            return false;
        }
        let mut sent = self.branch.sent_entries();
        if cut_results(&mut sent, rules, runtime_window, limit).is_empty() {
            let largest = self.branch.largest_result();
            self.push_step(RecoveryStep::NothingOversized { limit, largest });
            return false;
        }
        self.has_truncated = true;
        if rules.recovery.truncation_restarts {
            self.attempts_used = 0;
        }
        let cut = cut_results(&mut self.branch.entries, rules, runtime_window, limit);
        let entries = cut.iter().map(|at| self.branch.entries[*at].entry).collect();
        let first = cut.first().filter(|_| rules.rewrite == Rewrite::Lossy);
        let loses_kept = first.is_some_and(|first| self.branch.rewrite_from(*first));
        self.push_step(RecoveryStep::Truncation { limit, cut: entries, loses_kept });
        true
    }
}

/// Substrings of transient errors, matched without case.
const TRANSIENT_TEXTS: [&str; 14] = [
    "overloaded",
    "too many requests",
    "429",
    "500",
    "502",
    "503",
    "504",
    "server error",
    "internal error",
    "other side closed",
    "fetch failed",
    "reset before headers",
    "terminated",
    "retry delay",
];

/// Word pairs that match with at most one character between them.
const WORD_PAIRS: [(&str, &str); 5] = [
    ("rate", "limit"),
    ("service", "unavailable"),
    ("connection", "error"),
    ("connection", "refused"),
    ("upstream", "connect"),
];

/// Whether an error text is transient. The caller has to rule out an overflow first (compaction 2.16).
pub fn is_transient(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    TRANSIENT_TEXTS.iter().any(|part| text.contains(part))
        || WORD_PAIRS.iter().any(|(first, second)| contains_near(&text, first, second))
}

fn contains_near(text: &str, first: &str, second: &str) -> bool {
    let line_end = ['\n', '\r', '\u{2028}', '\u{2029}'];
    text.match_indices(first).any(|(at, _)| {
        let rest = &text[at + first.len()..];
        let mut chars = rest.chars();
        let one_on = chars.next().filter(|char| !line_end.contains(char)).map(|_| chars.as_str());
        rest.starts_with(second) || one_on.is_some_and(|rest| rest.starts_with(second))
    })
}

#[cfg(test)]
#[path = "attempts_tests.rs"]
mod tests;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GiveUpReason {
    /// The error came from a compaction (compaction 8.6).
    CompactionFailure,
    ContextOverflow,
}

impl GiveUpReason {
    /// The gateway's identifier of the reason.
    pub fn name(self) -> &'static str {
        match self {
            Self::CompactionFailure => "compaction_failure",
            Self::ContextOverflow => "context_overflow",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The prompt fits in the end, by estimate.
    Answered,
    /// The gateway does not recognise an overflow and shows the provider's error unchanged (compaction 8.5, 8.10).
    RawError,
    /// A compaction in the run failed and took the refusal out of the run: the gateway finds the answer before it.
    EarlierAnswer,
    /// pi leaves the error in the session and waits for a user.
    LeftToPerson,
    /// Every attempt was used up.
    GaveUp {
        kind: GiveUpReason,
        /// The chat continues in a fresh session; the old transcript stays (compaction 8.19).
        reset: bool,
    },
}

/// Reply after a run that gave up (compaction 8.15).
const TOO_LARGE_REPLY: &str = "Context overflow: prompt too large for the model. Try /reset (or /new) to start a fresh session, or use a larger-context model.";
/// Reply in a chat that was moved to a fresh session (compaction 8.19).
const RESET_REPLY: &str = "⚠️ Context limit exceeded. I've reset our conversation to start fresh - please try again.\n\nTo prevent this, increase your compaction buffer by setting `agents.defaults.compaction.reserveTokensFloor` to 20000 or higher in your config.";

impl Ending {
    /// Returns the gateway's reply; `None` when it has no text for this ending.
    pub fn reply(self) -> Option<&'static str> {
        match self {
            Self::GaveUp { reset: true, .. } => Some(RESET_REPLY),
            Self::GaveUp { reset: false, .. } => Some(TOO_LARGE_REPLY),
            Self::Answered | Self::RawError | Self::EarlierAnswer | Self::LeftToPerson => None,
        }
    }

    /// The rule behind the ending.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Answered => "compaction 2.15",
            Self::RawError => "compaction 8.5",
            Self::EarlierAnswer => "releases R79",
            Self::LeftToPerson => "compaction 2.11",
            Self::GaveUp { reset: true, .. } => "compaction 8.19",
            Self::GaveUp { reset: false, .. } => "compaction 8.15",
        }
    }

    /// The identifier in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::RawError => "rawError",
            Self::EarlierAnswer => "earlierAnswer",
            Self::LeftToPerson => "leftToPerson",
            Self::GaveUp { .. } => "gaveUp",
        }
    }
}

#[cfg(test)]
mod transient_tests {
    use super::*;

    #[test]
    fn transient_errors_are_recognised_by_their_text() {
        for text in [
            "Overloaded",
            "rate_limit_error",
            "ratelimit",
            "HTTP 503",
            "Connection refused",
            "upstream connect",
        ] {
            assert!(is_transient(text), "{text}");
        }
        for text in ["prompt is too long", "rate--limit", "rate\nlimit", "connection was refused"] {
            assert!(!is_transient(text), "{text}");
        }
    }
}
