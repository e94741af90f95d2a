//! The pruning algorithm over sizes (pruning 5): a soft pass over all candidates, then clearing oldest
//! first until the ratio is met. Comparisons are `<` with "equal goes on"; totals move by differences.

use crate::gateway::pruning::PruneSettings;
use crate::gateway::ruleset::ImageResults;
use crate::gateway::tools::ToolFilter;
use crate::js::{Throws, Value};
use crate::policy::fate::{Fate, MessageFate};
use crate::policy::list::List;
use crate::policy::prune::soft_trim::{Trimming, is_covered, soft_trimmed_message, trim_chars};
use crate::policy::reason::Reason;
use crate::store::entry::{MessageSize, Role, Size};
use crate::store::intern::Words;
use crate::store::measure::prune_chars;

/// Chars per token of the window (pruning 5.1).
const CHARS_PER_TOKEN: f64 = 4.0;

/// What the algorithm looks at.
#[derive(Debug, Clone, Copy)]
pub struct PruneInput<'a> {
    /// The messages.
    pub list: &'a List<'a>,
    /// The words that tool names are kept as.
    pub words: &'a Words,
    /// The settings in force.
    pub settings: &'a PruneSettings,
    /// Window in tokens; anything but a number above 0 leaves everything as it is.
    pub window: f64,
}

/// What pruning does to every message, and the numbers it decided by.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// One for each message of the context.
    pub fates: Vec<MessageFate>,
    /// A message was replaced, be it by the same bytes (pruning 0.6, 5.13).
    pub changed: bool,
    /// Chars of all messages against those of the window, before anything was done.
    pub ratio_before: f64,
    /// The same after soft trimming; what the hard gate looked at.
    pub ratio_trimmed: f64,
    /// The same at the end.
    pub ratio_after: f64,
    /// Chars in candidates after soft trimming (pruning 5.9).
    pub prunable_chars: f64,
    /// First candidate position: the first user message (pruning 5.3).
    pub start: usize,
    /// First protected position: the k-th last assistant message (pruning 5.2).
    pub cutoff: usize,
}

impl Outcome {
    /// The numbers of pruning that takes no part, over this many messages.
    pub fn none(messages: usize) -> Self {
        Self {
            fates: Vec::new(),
            changed: false,
            ratio_before: f64::NAN,
            ratio_trimmed: f64::NAN,
            ratio_after: f64::NAN,
            prunable_chars: f64::NAN,
            start: messages,
            cutoff: messages,
        }
    }

    /// What a shut gate leaves: every message as it is, every tool result told why.
    pub fn shut(input: &PruneInput, reason: Reason) -> Self {
        let mut run = Run::new(input);
        let cutoff = cutoff(input.list, input.settings.keep_last_assistants);
        run.outcome.cutoff = cutoff.unwrap_or(input.list.len());
        run.outcome.start = input.list.first_user().unwrap_or(input.list.len());
        run.unchanged(reason)
    }
}

/// Decides the fate of every message. Throws where the real pruner does; nothing is pruned then
/// (pruning 4.7).
pub fn prune(input: &PruneInput) -> Result<Outcome, Throws> {
    let mut run = Run::new(input);
    if input.window.is_nan() || input.window <= 0.0 {
        return Ok(run.unchanged(Reason::NoWindow));
    }
    let Some(cutoff) = cutoff(input.list, input.settings.keep_last_assistants) else {
        return Ok(run.unchanged(Reason::TooFewAssistants));
    };
    run.outcome.cutoff = cutoff;
    run.outcome.start = input.list.first_user().unwrap_or(input.list.len());
    run.total = run.outcome.fates.iter().try_fold(0.0, |sum, fate| Ok(sum + fate.before.get()?))?;
    run.outcome.ratio_before = run.ratio();
    (run.outcome.ratio_trimmed, run.outcome.ratio_after) = (run.ratio(), run.ratio());
    if run.ratio() < input.settings.soft_trim_ratio {
        return Ok(run.unchanged(Reason::RatioBelowSoft));
    }
    run.soft_pass()?;
    run.hard_pass()?;
    run.outcome.ratio_after = run.ratio();
    Ok(run.outcome)
}

/// The position of the k-th last assistant message; the end for k = 0; none when there are fewer.
fn cutoff(list: &List, keep: f64) -> Option<usize> {
    let replies = list.sizes().enumerate().rev().filter(|(_, size)| size.role == Role::Assistant);
    kth_last(replies.map(|(at, _)| at), list.len(), keep)
}

/// The same where the positions of the assistant messages are known, ascending; `end` is that of the list.
pub fn cutoff_among(replies: &[usize], end: usize, keep: f64) -> Option<usize> {
    kth_last(replies.iter().rev().copied(), end, keep)
}

fn kth_last(mut replies: impl Iterator<Item = usize>, end: usize, keep: f64) -> Option<usize> {
    if keep <= 0.0 {
        return Some(end);
    }
    let mut left = keep;
    replies.find(|_| {
        left -= 1.0;
        left <= 0.0
    })
}

/// Whether a result is left alone for the images it holds (pruning 5.12).
#[inline]
pub fn keeps_images(settings: &PruneSettings, size: &MessageSize) -> bool {
    size.images > 0 && settings.soft_trim.images == ImageResults::Skipped
}

/// The numbers that clearing goes by.
#[derive(Debug, Clone, Copy)]
pub struct Clearing<'a> {
    settings: &'a PruneSettings,
    window: f64,
    /// Chars of all messages.
    pub total: f64,
}

impl<'a> Clearing<'a> {
    /// For a window in tokens, before anything is done to messages of so many chars.
    pub fn new(settings: &'a PruneSettings, window: f64, total: f64) -> Self {
        Self { settings, window, total }
    }

    /// Chars of all messages against those of the window.
    pub fn ratio(&self) -> f64 {
        self.total / (self.window * CHARS_PER_TOKEN)
    }

    /// How many candidates of so many chars are cleared, oldest first, until the ratio is below the threshold
    /// (pruning 5.8–5.10).
    ///
    /// # Errors
    /// With the reason why none is looked at, where it is not that the ratio is low enough.
    pub fn cleared(&mut self, candidates: &[f64]) -> Result<usize, Reason> {
        let hard = &self.settings.hard_clear;
        if self.ratio() < self.settings.hard_clear_ratio {
            return Ok(0);
        }
        if !hard.enabled {
            return Err(Reason::HardClearOff);
        }
        if candidates.iter().sum::<f64>() < self.settings.min_prunable_tool_chars {
            return Err(Reason::TooFewPrunableChars);
        }
        let placeholder = hard.placeholder.len() as f64;
        for (nth, chars) in candidates.iter().enumerate() {
            if self.ratio() < self.settings.hard_clear_ratio {
                return Ok(nth);
            }
            self.total += placeholder - chars;
        }
        Ok(candidates.len())
    }
}

struct Run<'a> {
    input: &'a PruneInput<'a>,
    total: f64,
    /// Positions of tool results.
    results: Vec<usize>,
    /// Positions of candidates, oldest first.
    prunable: Vec<usize>,
    outcome: Outcome,
}

impl<'a> Run<'a> {
    fn new(input: &'a PruneInput<'a>) -> Self {
        let mut outcome = Outcome::none(input.list.len());
        // Whether the next is a result nobody can foretell: it is written down without asking, and kept if it is one.
        let (mut results, mut count) = (vec![0; input.list.len()], 0);
        let kept = |(at, size): (usize, MessageSize)| {
            results[count] = at;
            count += usize::from(size.role == Role::ToolResult);
            MessageFate::kept(&size, Reason::NotAToolResult)
        };
        outcome.fates = input.list.sizes().enumerate().map(kept).collect();
        results.truncate(count);
        Self { input, total: 0.0, prunable: Vec::with_capacity(results.len()), results, outcome }
    }

    fn ratio(&self) -> f64 {
        Clearing::new(self.input.settings, self.input.window, self.total).ratio()
    }

    /// Nothing happens; every tool result is told why, its own shield first.
    fn unchanged(mut self, reason: Reason) -> Outcome {
        let filter = self.input.settings.tool_filter();
        let knows_zone = !matches!(reason, Reason::NoWindow | Reason::TooFewAssistants);
        for at in std::mem::take(&mut self.results) {
            let size = self.input.list.size(at);
            let shield = knows_zone.then(|| self.shield(at, &size, &filter)).flatten();
            let fate = if shield.is_some() { Fate::Protected } else { Fate::Kept };
            self.set(at, fate, shield.unwrap_or(reason));
        }
        self.outcome
    }

    fn set(&mut self, at: usize, fate: Fate, reason: Reason) {
        self.outcome.fates[at].fate = fate;
        self.outcome.fates[at].reason = reason;
    }

    /// What shields a tool result from pruning, whatever the ratios (pruning 5.12).
    #[inline]
    fn shield(&self, at: usize, size: &MessageSize, filter: &ToolFilter) -> Option<Reason> {
        let tool = || self.input.list.tool(at, self.input.words);
        if at < self.outcome.start {
            Some(Reason::BeforeFirstUser)
        } else if at >= self.outcome.cutoff {
            Some(Reason::WithinLastAssistants)
        } else if !filter.is_open() && !filter.prunable(tool().as_deref()) {
            Some(Reason::ToolDenied)
        } else if keeps_images(self.input.settings, size) {
            Some(Reason::Image)
        } else {
            None
        }
    }

    /// Trims every candidate; the scan does not stop when a threshold is met (pruning 5.6).
    fn soft_pass(&mut self) -> Result<(), Throws> {
        let filter = self.input.settings.tool_filter();
        let trimming = Trimming::new(&self.input.settings.soft_trim);
        for at in std::mem::take(&mut self.results) {
            let size = self.input.list.size(at);
            match self.shield(at, &size, &filter) {
                Some(reason) => self.set(at, Fate::Protected, reason),
                None => self.soft_trim(at, &size, trimming)?,
            }
        }
        self.outcome.ratio_trimmed = self.ratio();
        Ok(())
    }

    #[inline]
    fn soft_trim(&mut self, at: usize, size: &MessageSize, trimming: Trimming<'_>) -> Result<(), Throws> {
        self.prunable.push(at);
        let settings = &self.input.settings.soft_trim;
        let trimmed = match size.odd.then(|| self.input.list.odd(at)).flatten() {
            Some(body) => self.soft_trim_odd(&body)?,
            None => trimming.chars(size),
        };
        match trimmed {
            Some(chars) => self.replace(at, chars, Fate::SoftTrimmed, Reason::SoftTrim),
            None if is_covered(settings, trim_chars(settings, size)) => {
                self.set(at, Fate::Kept, Reason::HeadAndTailCover);
                Ok(())
            }
            None => {
                self.set(at, Fate::Kept, Reason::BelowMaxChars);
                Ok(())
            }
        }
    }

    /// Sizes do not tell what trimming makes of texts that are no strings: ask the texts.
    fn soft_trim_odd(&self, body: &Value) -> Result<Option<f64>, Throws> {
        let trimmed = soft_trimmed_message(body, &self.input.settings.soft_trim)?;
        trimmed.map(|message| prune_chars(&message)).transpose()
    }

    fn replace(&mut self, at: usize, chars: f64, fate: Fate, reason: Reason) -> Result<(), Throws> {
        let before = self.outcome.fates[at].after.get()?;
        self.total += chars - before;
        self.outcome.fates[at].after = Size::new(Ok(chars));
        self.outcome.changed = true;
        self.set(at, fate, reason);
        Ok(())
    }

    /// Clears candidates oldest first until the ratio is below the threshold (pruning 5.8–5.10).
    fn hard_pass(&mut self) -> Result<(), Throws> {
        let settings = self.input.settings;
        let chars = self.prunable.iter().map(|at| self.outcome.fates[*at].after.get());
        let chars: Vec<f64> = chars.collect::<Result<_, _>>()?;
        self.outcome.prunable_chars = chars.iter().sum();
        if self.ratio() < settings.hard_clear_ratio {
            return Ok(());
        }
        let mut clearing = Clearing::new(settings, self.input.window, self.total);
        match clearing.cleared(&chars) {
            Err(reason) => self.not_cleared(reason),
            Ok(count) => {
                let placeholder = settings.hard_clear.placeholder.len() as f64;
                for at in self.prunable.iter().copied().take(count).collect::<Vec<usize>>() {
                    self.replace(at, placeholder, Fate::Cleared, Reason::HardClear)?;
                }
                self.not_cleared(Reason::ClearedEnough);
            }
        }
        Ok(())
    }

    /// Candidates neither trimmed nor cleared are told what kept them from being cleared.
    fn not_cleared(&mut self, reason: Reason) {
        for at in self.prunable.clone() {
            let fate = self.outcome.fates[at];
            if fate.fate == Fate::Kept && fate.reason == Reason::BelowMaxChars {
                self.outcome.fates[at].reason = reason;
            }
        }
    }
}
