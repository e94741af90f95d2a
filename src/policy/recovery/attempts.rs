//! Predicts the gateway's recovery loop after a refused prompt, one attempt at a time (compaction 8.9–8.15, 8.20).
//!
//! Nothing is sent: every prompt and every compaction is simulated on a [`Branch`] of sizes.

use crate::gateway::ruleset::Rewrite;
use crate::policy::recovery::cut_results::cut_results;
use crate::policy::recovery::{
    Attempt, Branch, CompactionCaller, CompactionOutcome, Ending, ErrorSource, GiveUpReason, Recovery,
    RecoveryInput, RecoveryStep, is_transient, loop_limit,
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

#[cfg(test)]
#[path = "attempts_tests.rs"]
mod tests;
