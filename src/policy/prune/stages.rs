//! The pruning algorithm over sizes (pruning 5): trims all candidates, then clears the oldest until the ratio is low
//! enough. Comparisons are `<`, so that equal values and NaN continue. The total is updated by
//! differences and never summed again.

use crate::context::PruneColumns;
use crate::gateway::pruning::PruneSettings;
use crate::gateway::ruleset::ImageResults;
use crate::gateway::tools::ToolFilter;
use crate::js::{JsException, Value};
use crate::policy::fate::{Fate, MessageFate};
use crate::policy::message_list::MessageList;
use crate::policy::prune::soft_trim::{SoftTrimmer, is_covered, soft_trimmed_message, trimmable_chars};
use crate::policy::reason::Reason;
use crate::store::entry::{CharCount, ToolResultSize};
use crate::store::intern::ValueTable;
use crate::store::measure::prune_chars;
use crate::units::{Chars, Tokens};

/// Chars per token of the window (pruning 5.1).
pub const CHARS_PER_TOKEN: f64 = 4.0;

#[derive(Debug, Clone, Copy)]
pub struct PruneInput<'a> {
    pub list: &'a MessageList<'a>,
    /// Table of the tool names.
    pub words: &'a ValueTable,
    pub settings: &'a PruneSettings,
    /// In tokens; nothing is pruned unless it is above 0.
    pub window: Tokens,
    /// Whether a result without a tool name makes the tool filter fail (releases R10).
    pub needs_names: bool,
}

/// Fates of all messages, and the numbers that decided them.
#[derive(Debug, Clone, PartialEq)]
pub struct PruneOutcome {
    /// One per message of the list.
    pub fates: Vec<MessageFate>,
    /// Chars of all messages divided by those of the window, before pruning.
    pub ratio_before: f64,
    /// The same after soft trimming; decides whether results are cleared.
    pub ratio_trimmed: f64,
    /// The same at the end.
    pub ratio_after: f64,
    /// Chars in candidates after soft trimming (pruning 5.9).
    pub prunable_chars: Chars,
    /// First candidate position: the first user message (pruning 5.3).
    pub start: usize,
    /// First protected position: the k-th last assistant message (pruning 5.2).
    pub cutoff: usize,
    /// Positions of replaced messages, ascending; includes those that were replaced with the same bytes (pruning 0.6,
    /// 5.13).
    pub replaced: Vec<usize>,
}

impl PruneOutcome {
    /// Builds the outcome of a disabled pruner over `messages` messages; the ratios are NaN.
    pub fn not_run(messages: usize) -> Self {
        Self {
            fates: Vec::new(),
            ratio_before: f64::NAN,
            ratio_trimmed: f64::NAN,
            ratio_after: f64::NAN,
            prunable_chars: Chars::NAN,
            start: messages,
            cutoff: messages,
            replaced: Vec::new(),
        }
    }

    pub fn has_changes(&self) -> bool {
        !self.replaced.is_empty()
    }

    /// Builds the outcome at a closed gate: no change, and a reason for every tool result.
    pub fn gate_closed(input: &PruneInput, reason: Reason) -> Self {
        let columns = input.list.columns();
        let mut run = PruneRun::new(input, &columns);
        run.outcome.cutoff = run.cutoff().unwrap_or(input.list.len());
        run.outcome.start = columns.first_user.unwrap_or(input.list.len());
        run.unchanged(reason)
    }
}

/// Decides the fate of every message.
///
/// # Errors
/// If the real pruner fails; nothing is pruned then (pruning 4.7).
pub fn prune(input: &PruneInput) -> Result<PruneOutcome, JsException> {
    let columns = input.list.columns();
    let mut run = PruneRun::new(input, &columns);
    if input.window.is_nan() || input.window <= Tokens::ZERO {
        return Ok(run.unchanged(Reason::NoWindow));
    }
    let Some(cutoff) = run.cutoff() else {
        return Ok(run.unchanged(Reason::TooFewAssistants));
    };
    run.outcome.cutoff = cutoff;
    run.outcome.start = columns.first_user.unwrap_or(input.list.len());
    run.total = columns.total?;
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

/// Returns the k-th last of the assistant positions `replies`, which ascend; `end` for k = 0, `None` if there are
/// fewer.
pub fn cutoff_among(replies: &[usize], end: usize, keep: f64) -> Option<usize> {
    if keep <= 0.0 {
        return Some(end);
    }
    let mut left = keep;
    let kth = replies.iter().rev().find(|_| {
        left -= 1.0;
        left <= 0.0
    });
    kth.copied()
}

/// Whether the images of a result protect it (pruning 5.12).
#[inline]
pub fn keeps_images(settings: &PruneSettings, images: u32) -> bool {
    images > 0 && settings.soft_trim.images == ImageResults::Skipped
}

/// Decides how many results are cleared, and keeps the total.
#[derive(Debug, Clone, Copy)]
pub struct HardClearer<'a> {
    settings: &'a PruneSettings,
    window: Tokens,
    /// Chars of all messages.
    pub total_chars: Chars,
}

impl<'a> HardClearer<'a> {
    /// Starts at a total of `total_chars`, for a window in tokens.
    pub fn new(settings: &'a PruneSettings, window: Tokens, total_chars: Chars) -> Self {
        Self { settings, window, total_chars }
    }

    /// Returns the chars of all messages divided by those of the window.
    pub fn ratio(&self) -> f64 {
        self.total_chars / self.window.to_chars(CHARS_PER_TOKEN)
    }

    /// Returns how many candidates are cleared, oldest first, until the ratio is below the threshold (pruning
    /// 5.8–5.10). `together` is the sum of `candidates`.
    ///
    /// # Errors
    /// With the reason why no candidate is cleared, unless the ratio is already low enough.
    pub fn count_cleared(&mut self, candidates: &[Chars], together: Chars) -> Result<usize, Reason> {
        let hard = &self.settings.hard_clear;
        if self.ratio() < self.settings.hard_clear_ratio {
            return Ok(0);
        }
        if !hard.enabled {
            return Err(Reason::HardClearOff);
        }
        if together < self.settings.min_prunable_tool_chars {
            return Err(Reason::TooFewPrunableChars);
        }
        let placeholder = Chars::from_len(hard.placeholder.len());
        for (nth, chars) in candidates.iter().enumerate() {
            if self.ratio() < self.settings.hard_clear_ratio {
                return Ok(nth);
            }
            self.total_chars += placeholder - *chars;
        }
        Ok(candidates.len())
    }
}

struct PruneRun<'a> {
    input: &'a PruneInput<'a>,
    columns: &'a PruneColumns,
    total: Chars,
    /// Positions of candidates, oldest first.
    prunable: Vec<usize>,
    /// Chars of each candidate after trimming.
    prunable_chars: Vec<Chars>,
    outcome: PruneOutcome,
}

impl<'a> PruneRun<'a> {
    fn new(input: &'a PruneInput<'a>, columns: &'a PruneColumns) -> Self {
        let mut outcome = PruneOutcome::not_run(input.list.len());
        let kept = |chars: &CharCount| MessageFate::kept_with_chars(*chars, Reason::NotAToolResult);
        outcome.fates = columns.chars.iter().map(kept).collect();
        Self { input, columns, total: Chars::ZERO, prunable: Vec::new(), prunable_chars: Vec::new(), outcome }
    }

    fn cutoff(&self) -> Option<usize> {
        cutoff_among(&self.columns.replies, self.input.list.len(), self.input.settings.keep_last_assistants)
    }

    fn ratio(&self) -> f64 {
        HardClearer::new(self.input.settings, self.input.window, self.total).ratio()
    }

    /// Leaves all messages unchanged. A tool result gets its own protection as reason, otherwise `reason`.
    fn unchanged(mut self, reason: Reason) -> PruneOutcome {
        let filter = self.input.settings.tool_filter();
        let knows_zone = !matches!(reason, Reason::NoWindow | Reason::TooFewAssistants);
        for &(at, ref size) in &self.columns.results {
            let shield = knows_zone.then(|| self.protection_reason(at, size, &filter)).flatten();
            let fate = if shield.is_some() { Fate::Protected } else { Fate::Kept };
            self.set_fate(at, fate, shield.unwrap_or(reason));
        }
        self.outcome
    }

    fn set_fate(&mut self, at: usize, fate: Fate, reason: Reason) {
        self.outcome.fates[at].fate = fate;
        self.outcome.fates[at].reason = reason;
    }

    /// Returns the reason that protects a tool result at every ratio (pruning 5.12).
    #[inline]
    fn protection_reason(&self, at: usize, size: &ToolResultSize, filter: &ToolFilter) -> Option<Reason> {
        if at < self.outcome.start {
            Some(Reason::BeforeFirstUser)
        } else if at >= self.outcome.cutoff {
            Some(Reason::WithinLastAssistants)
        } else if !filter.allows_all() && self.is_denied(at, filter) {
            Some(Reason::ToolDenied)
        } else if keeps_images(self.input.settings, size.images) {
            Some(Reason::Image)
        } else {
            None
        }
    }

    /// Whether the tool filter excludes the tool of a result. Not inlined, because few results need it.
    #[inline(never)]
    fn is_denied(&self, at: usize, filter: &ToolFilter) -> bool {
        !filter.is_prunable(self.input.list.tool_name(at, self.input.words).as_deref())
    }

    /// Trims every candidate; a ratio below the threshold does not stop the scan (pruning 5.6).
    fn soft_pass(&mut self) -> Result<(), JsException> {
        let filter = self.input.settings.tool_filter();
        if self.input.needs_names {
            self.check_names()?;
        }
        let trimming = SoftTrimmer::new(&self.input.settings.soft_trim);
        self.prunable.reserve(self.columns.results.len());
        self.prunable_chars.reserve(self.columns.results.len());
        for (at, size) in &self.columns.results {
            match self.protection_reason(*at, size, &filter) {
                Some(reason) => self.set_fate(*at, Fate::Protected, reason),
                None => self.soft_trim(*at, size, trimming)?,
            }
        }
        self.outcome.ratio_trimmed = self.ratio();
        Ok(())
    }

    /// Fails if a candidate's tool name is missing or no string.
    fn check_names(&self) -> Result<(), JsException> {
        let (start, cutoff) = (self.outcome.start, self.outcome.cutoff);
        let mut candidates = self.columns.results.iter().filter(|(at, _)| (start..cutoff).contains(at));
        let named = |at: usize| {
            let name = self.input.list.tool_name(at, self.input.words);
            name.is_some_and(|name| name.as_str().is_some())
        };
        if candidates.all(|(at, _)| named(*at)) { Ok(()) } else { Err(JsException) }
    }

    #[inline]
    fn soft_trim(
        &mut self,
        at: usize,
        size: &ToolResultSize,
        trimming: SoftTrimmer<'_>,
    ) -> Result<(), JsException> {
        let settings = &self.input.settings.soft_trim;
        let trimmed = match size.needs_body.then(|| self.input.list.odd_body(at)).flatten() {
            Some(body) => self.soft_trim_odd(&body)?,
            None => trimming.chars_after(size),
        };
        match trimmed {
            Some(chars) => {
                self.outcome.replaced.push(at);
                self.replace(at, chars, Fate::SoftTrimmed, Reason::SoftTrim)?;
            }
            None if is_covered(settings, trimmable_chars(settings, size)) => {
                self.set_fate(at, Fate::Kept, Reason::HeadAndTailCover);
            }
            None => self.set_fate(at, Fate::Kept, Reason::BelowMaxChars),
        }
        self.prunable.push(at);
        self.prunable_chars.push(self.outcome.fates[at].after.value()?);
        Ok(())
    }

    /// Trims the body itself, because sizes do not determine the result for texts that are not strings.
    fn soft_trim_odd(&self, body: &Value) -> Result<Option<Chars>, JsException> {
        let trimmed = soft_trimmed_message(body, &self.input.settings.soft_trim)?;
        trimmed.map(|message| prune_chars(&message)).transpose()
    }

    fn replace(&mut self, at: usize, chars: Chars, fate: Fate, reason: Reason) -> Result<(), JsException> {
        let before = self.outcome.fates[at].after.value()?;
        self.total += chars - before;
        self.outcome.fates[at].after = CharCount::new(Ok(chars));
        self.set_fate(at, fate, reason);
        Ok(())
    }

    /// Clears candidates, oldest first, until the ratio is below the threshold (pruning 5.8–5.10).
    fn hard_pass(&mut self) -> Result<(), JsException> {
        let settings = self.input.settings;
        self.outcome.prunable_chars = self.prunable_chars.iter().sum();
        if self.ratio() < settings.hard_clear_ratio {
            return Ok(());
        }
        let mut clearing = HardClearer::new(settings, self.input.window, self.total);
        match clearing.count_cleared(&self.prunable_chars, self.outcome.prunable_chars) {
            Err(reason) => self.set_uncleared_reasons(reason),
            Ok(count) => {
                let placeholder = Chars::from_len(settings.hard_clear.placeholder.len());
                let mut cleared = self.prunable[..count].to_vec();
                for at in cleared.iter().copied() {
                    self.replace(at, placeholder, Fate::Cleared, Reason::HardClear)?;
                }
                let end = cleared.last().map_or(0, |at| at + 1);
                let trimmed = &self.outcome.replaced;
                cleared.extend(&trimmed[trimmed.partition_point(|at| *at < end)..]);
                self.outcome.replaced = cleared;
                self.set_uncleared_reasons(Reason::ClearedEnough);
            }
        }
        Ok(())
    }

    /// Sets the reason of candidates that were neither trimmed nor cleared.
    fn set_uncleared_reasons(&mut self, reason: Reason) {
        for at in &self.prunable {
            let fate = &mut self.outcome.fates[*at];
            if fate.fate == Fate::Kept && fate.reason == Reason::BelowMaxChars {
                fate.reason = reason;
            }
        }
    }
}
