//! The attempts, one after the other (compaction 8.9–8.15, 8.20).

use crate::policy::compact::max_summary_tokens;
use crate::policy::overflow::{gateway, pi};
use crate::policy::recovery::{
    Asked, Attempt, Branch, Compacted, Ending, ErrorKind, ErrorSource, Facts, Recovery, Step, is_transient,
    loop_limit,
};

/// Compactions of one run that are followed; the runtime has no limit (compaction 2.15).
const IN_RUN_MOST: usize = 4;

/// What would be tried after this refusal.
pub fn recovery(facts: &Facts<'_>) -> Recovery {
    Loop::new(facts).run()
}

/// The state of the gateway's loop.
struct Loop<'a> {
    facts: &'a Facts<'a>,
    branch: Branch,
    /// Real tokens to an estimated one, so that the refused prompt does not fit.
    density: f64,
    /// Compactions and runs again so far.
    tries: u32,
    truncated: bool,
    attempts: Vec<Attempt>,
}

impl<'a> Loop<'a> {
    fn new(facts: &'a Facts<'a>) -> Self {
        let branch = facts.branch.clone();
        let estimate = (facts.fixed_tokens + branch.tokens()).max(1.0);
        let refused = facts.refused_tokens.unwrap_or(0.0).max(facts.runtime_window + 1.0);
        Self {
            facts,
            branch,
            density: (refused / estimate).max(1.0),
            tries: 0,
            truncated: false,
            attempts: Vec::new(),
        }
    }

    fn run(mut self) -> Recovery {
        for _ in 0..loop_limit(1) {
            self.attempts.push(Attempt::default());
            let Some(had) = self.run_once() else { return self.end(Ending::Answered) };
            if !self.facts.gateway {
                return self.end(Ending::LeftToPerson);
            }
            if !gateway::is_likely_overflow(self.facts.error) {
                return self.end(Ending::RawError);
            }
            if !self.compact_or_again(had) && !self.cut_results() {
                break;
            }
            self.branch.push_prompt();
        }
        let failed = gateway::is_compaction_failure(self.facts.error);
        let kind = if failed { ErrorKind::CompactionFailure } else { ErrorKind::ContextOverflow };
        let reset = self.facts.chat && gateway::is_overflow(self.facts.error);
        self.end(Ending::GaveUp { kind, reset })
    }

    fn end(self, ending: Ending) -> Recovery {
        Recovery { attempts: self.attempts, ending }
    }

    fn step(&mut self, step: Step) {
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.steps.push(step);
        }
    }

    /// Tokens of the prompt as it stands, scaled.
    fn prompt_tokens(&self) -> f64 {
        ((self.facts.fixed_tokens + self.branch.tokens()) * self.density).round()
    }

    /// One run with the runtime's own compactions. None when the prompt is answered, else whether a compaction of
    /// the run counts (compaction 8.11).
    fn run_once(&mut self) -> Option<bool> {
        for _ in 0..=IN_RUN_MOST {
            let tokens = self.prompt_tokens();
            if tokens <= self.facts.runtime_window {
                self.step(Step::Answered { tokens });
                return None;
            }
            self.step(Step::Refused { tokens });
            if self.facts.source == ErrorSource::Prompt {
                return Some(false);
            }
            self.branch.push_error();
            if !self.is_seen_by_runtime() && is_transient(self.facts.error) {
                self.step(Step::Retried);
            }
            let outcome = self.in_run();
            self.step(Step::Compaction { by: Asked::InRun, outcome });
            if !outcome.is_done() {
                return Some(outcome.was_begun());
            }
        }
        Some(false)
    }

    fn is_seen_by_runtime(&self) -> bool {
        self.facts.source == ErrorSource::Silent || pi::is_overflow(self.facts.error)
    }

    /// The runtime's compaction after a refusal (compaction 2.11).
    fn in_run(&mut self) -> Compacted {
        let first = self.attempts.len() == 1;
        match self.facts {
            facts if !facts.settings.enabled => Compacted::Off,
            facts if !facts.same_model => Compacted::OtherModel,
            facts if facts.before_compaction && first => Compacted::TooOld,
            _ if !self.is_seen_by_runtime() => Compacted::NotSeen,
            _ => self.compact(),
        }
    }

    fn compact(&mut self) -> Compacted {
        let Facts { settings, mode, runtime_window, .. } = self.facts;
        let summary = max_summary_tokens(settings.reserve_tokens).max(0.0) / self.density;
        let one_call = runtime_window / self.density;
        self.branch.compact(settings.keep_recent_tokens, *mode, summary, one_call)
    }

    /// Branch A or B: whether the prompt is run again (compaction 8.12, 8.13).
    fn compact_or_again(&mut self, had: bool) -> bool {
        if gateway::is_compaction_failure(self.facts.error) || self.tries >= self.facts.max_attempts {
            return false;
        }
        self.tries += 1;
        if had {
            self.step(Step::RunAgain);
            return true;
        }
        let outcome = self.compact();
        self.step(Step::Compaction { by: Asked::Explicitly, outcome });
        outcome.is_done()
    }

    /// The fallback: whether results were cut (compaction 8.14).
    fn cut_results(&mut self) -> bool {
        let limit = self.facts.result_limit;
        let largest = self.branch.largest_result();
        if self.truncated {
            return false;
        }
        if largest <= limit {
            self.step(Step::NothingOversized { limit, largest });
            return false;
        }
        self.truncated = true;
        if self.facts.truncation_restarts {
            self.tries = 0;
        }
        let (cut, loses_kept) = self.branch.truncate(limit);
        self.step(Step::Truncation { limit, cut, loses_kept });
        true
    }
}

#[cfg(test)]
#[path = "attempts_tests.rs"]
mod tests;
