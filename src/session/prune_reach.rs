//! Which prompts pruning may change, by sizes alone: finding out for each call of a run with its texts would take time that
//! grows with the square of the run.

use crate::context::{Context, ContextMessage};
use crate::gateway::pruning::PruneSettings;
use crate::gateway::ruleset::{PruneWeight, Rules};
use crate::policy::features::ContentFeatures;
use crate::policy::prune::CHARS_PER_TOKEN;
use crate::session::ContextDetails;
use crate::store::entry::Role;
use crate::store::index::Index;
use crate::store::measure::PRUNE_IMAGE_CHARS;
use crate::units::{Chars, Tokens};

/// Chars that a byte of an entry counts at most for pruning: 3 bytes of a Chinese character count 4 chars.
const MOST_CHARS_PER_BYTE: f64 = 4.0 / 3.0;

/// Upper bounds of what pruning counts in the first messages of a context.
pub(super) struct PruneReach<'a> {
    settings: &'a PruneSettings,
    /// Chars of the window.
    window: Chars,
    /// At each position, the chars of all messages before it.
    total: Vec<Chars>,
    /// At each position, the chars of the results before it.
    results: Vec<Chars>,
    /// The first result that may be trimmed.
    first_trimmed: Option<usize>,
    /// Positions of the answers.
    answers: Vec<usize>,
}

impl<'a> PruneReach<'a> {
    /// `window` is the session's, in tokens; `details` make the bounds exact where sizes are not.
    pub(super) fn new(
        (rules, settings, window): (&Rules, &'a PruneSettings, Tokens),
        index: &Index,
        context: &Context,
        details: Option<&ContextDetails>,
    ) -> Self {
        let mut reach = Self {
            settings,
            window: window.to_chars(CHARS_PER_TOKEN),
            total: vec![Chars::ZERO],
            results: vec![Chars::ZERO],
            first_trimmed: None,
            answers: Vec::new(),
        };
        for (at, message) in context.messages.iter().enumerate() {
            let features = details.and_then(|details| details.features.get(at));
            reach.add(at, message.size.role, most_chars(rules, index, message, features));
        }
        reach
    }

    fn add(&mut self, at: usize, role: Role, chars: Chars) {
        let is_result = role == Role::ToolResult;
        self.total.push(self.total[at] + chars);
        self.results.push(self.results[at] + if is_result { chars } else { Chars::ZERO });
        if is_result && self.first_trimmed.is_none() && chars > self.settings.soft_trim.max_chars {
            self.first_trimmed = Some(at);
        }
        if role == Role::Assistant {
            self.answers.push(at);
        }
    }

    /// Whether pruning may change a prompt of the first `sent` messages.
    pub(super) fn may_prune(&self, sent: usize) -> bool {
        let Self { settings, .. } = self;
        let Some(cutoff) = self.cutoff(sent) else { return false };
        let is_below = |share: f64| self.total[sent] / self.window < share;
        let is_trimmed = self.first_trimmed.is_some_and(|at| at < cutoff);
        let too_few = self.results[cutoff] < settings.min_prunable_tool_chars;
        let is_cleared = settings.hard_clear.enabled
            && self.results[cutoff] > Chars::ZERO
            && !is_below(settings.hard_clear_ratio)
            && !too_few;
        !is_below(settings.soft_trim_ratio) && (is_trimmed || is_cleared)
    }

    /// Returns the position of the first answer that is kept whole with all behind it.
    fn cutoff(&self, sent: usize) -> Option<usize> {
        let answers = self.answers.partition_point(|at| *at < sent);
        match self.settings.keep_last_assistants as usize {
            0 => Some(sent),
            keep => answers.checked_sub(keep).map(|at| self.answers[at]),
        }
    }
}

/// Returns the chars that pruning counts of a message at most; infinity where counting throws.
fn most_chars(
    rules: &Rules,
    index: &Index,
    message: &ContextMessage,
    features: Option<&ContentFeatures>,
) -> Chars {
    let size = &message.size;
    let measured = match rules.prune_size.weight {
        PruneWeight::Units => Some(size.prune_chars),
        _ => features.and_then(ContentFeatures::prune_chars),
    };
    let bytes = index.entry(message.entry).bytes();
    let most =
        || Chars(bytes.get() as f64) * MOST_CHARS_PER_BYTE + PRUNE_IMAGE_CHARS * f64::from(size.images);
    let chars = measured.map_or_else(most, |chars| chars.value().unwrap_or(Chars(f64::INFINITY)));
    chars.max(size.joined_chars)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::session::testing::{call, loaded_session, result, transcript, user};

    /// Whether pruning may change the prompts of a run whose calls get results of these lengths, in a window of 10,000
    /// tokens.
    fn reached(settings: &PruneSettings, lengths: &[usize]) -> Vec<bool> {
        let mut entries = vec![user("go")];
        for (at, length) in lengths.iter().enumerate() {
            let id = format!("c{at}");
            entries.extend([call(&id, "exec", "{}"), result(&id, "exec", &"x".repeat(*length), "")]);
        }
        let session = loaded_session(&transcript(&entries), 10_000.0);
        let reach = PruneReach::new(
            (Ruleset::V2026_3_2.rules(), settings, Tokens(10_000.0)),
            &session.index,
            &session.context,
            None,
        );
        (0..=lengths.len()).map(|calls| reach.may_prune(1 + 2 * calls)).collect()
    }

    #[test]
    fn a_long_result_is_reached_once_three_answers_follow_and_the_prompt_fills_its_share() {
        let settings = PruneSettings::default();
        assert_eq!(reached(&settings, &[6_000, 10, 10, 10, 10]), [false; 6], "below 30 %");
        let found = reached(&settings, &[12_000, 10, 10, 10, 10]);
        assert_eq!(found, [false, false, false, false, true, true]);
    }

    #[test]
    fn many_short_results_are_reached_when_they_may_be_cleared() {
        let few = PruneSettings { min_prunable_tool_chars: Chars(9_000.0), ..PruneSettings::default() };
        let found = reached(&few, &[1_500; 16]);
        let first = found.iter().position(|may| *may);
        assert_eq!(first, Some(14), "20,000 chars are half of the window: {found:?}");
        let found = reached(&PruneSettings::default(), &[1_500; 16]);
        assert_eq!(found, [false; 17], "24,000 chars are fewer than 50,000");
    }
}
