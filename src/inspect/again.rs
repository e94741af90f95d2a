//! What a replay asks of a session beyond sizes: textures, texts of refusals, touches, factors of its own usage, prices.
//! Read once; any number of replays under other settings follow from it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use crate::gateway::catalog::Price;
use crate::gateway::eligible::{Route, eligible_under};
use crate::gateway::retention::Retention;
use crate::gateway::ruleset::Rules;
use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::inspect::learnt_window::learnt_windows;
use crate::inspect::overflow::Sign;
use crate::inspect::path_texts::{PathTexts, Textures, Wanted};
use crate::inspect::price::prices;
use crate::inspect::simulated::simulated;
use crate::inspect::weights::grown_weights;
use crate::policy::compact::{BranchEntry, branch};
use crate::policy::prune::touches_under;
use crate::policy::{StepSet, StepSettings};
use crate::replay::{
    Assumed, Calibrated, Call, ModelLimits, RecordedLane, Refused, Replay, Session, Settings, contradicted,
    recorded_lane, simulated_lane,
};
use crate::store::body::{self, BodyError};
use crate::store::intern::WordIx;

/// How much heavier than estimated messages may be, for a refusal behind them to be right.
const MOST_HEAVIER: f64 = 1.5;

/// What is read for replays of one session.
#[derive(Debug, Clone)]
pub struct Material {
    /// What the last reset left of the path: calls before it are another context's.
    path: Vec<EntryIx>,
    branch: Vec<BranchEntry>,
    /// What was read of the path as a whole.
    texts: Arc<PathTexts>,
    /// Of the entries of `path`.
    textures: Option<Textures>,
    refused: Vec<Refused>,
    /// Calls that were answered, but cut short.
    cut: HashSet<EntryIx>,
    touches: Vec<(EntryIx, f64)>,
    /// Tokens before the messages, and of each message of the path.
    calibrated: Option<(f64, Vec<f64>)>,
    eligible: bool,
    prices: HashMap<(WordIx, WordIx), Option<Price>>,
    /// How long prompts are cached.
    pub retention: Retention,
    /// What the provider takes, in tokens: less than the runtime believes where a refusal says so, more where it answered
    /// larger prompts and no refusal names a limit.
    pub provider_window: f64,
    /// The windows of the other models of the path.
    pub windows: HashMap<(WordIx, WordIx), ModelLimits>,
    /// By how much the fitted tokens are off at the calls they were fitted from, on average, as a share.
    pub fit_error: Option<f64>,
    /// The settings in force, without the steps that the provider's counts speak against.
    pub recorded: Settings,
    /// Those steps.
    pub doubted: StepSet,
    record: OnceLock<Recorded>,
}

/// The lane of the record, and the windows it was made for.
#[derive(Debug, Clone)]
struct Recorded {
    windows: [u64; 2],
    lane: Arc<RecordedLane>,
}

/// What may be changed of a session after it was read, by the bits of the numbers.
fn windows(session: &Session<'_>) -> [u64; 2] {
    [session.provider_window, session.runtime_window].map(f64::to_bits)
}

impl Material {
    /// Reads it for replays under any of these steps.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn read(inspection: &Inspection, steps: StepSet) -> Result<Self, BodyError> {
        let texts = PathTexts::read(inspection, asks_for_textures(inspection, steps), None, &|| true)?;
        Self::of_texts(inspection, texts)
    }

    /// The same as long as somebody waits for it; `known` is what was read before entries were added, and only theirs is read.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn read_on(
        inspection: &Inspection,
        steps: StepSet,
        known: Option<&Self>,
        wanted: Wanted<'_>,
    ) -> Result<Option<Self>, BodyError> {
        let known = known.map(|known| &*known.texts);
        let texts = PathTexts::read(inspection, asks_for_textures(inspection, steps), known, wanted)?;
        wanted().then(|| Self::of_texts(inspection, texts)).transpose()
    }

    fn of_texts(inspection: &Inspection, texts: PathTexts) -> Result<Self, BodyError> {
        let fit = inspection.calibrated_by(&texts.spoken);
        let fit_error = fit.as_ref().map(|(fit, _)| fit.deviation.mean);
        let fitted = fit.map(|(fit, weights)| (fit.fixed, weights));
        let calibrated = grown_weights(&inspection.counts(), fitted);
        let read = Self::weighed(inspection, inspection.gateway_steps(), texts, calibrated)?;
        Ok(Self { fit_error, ..read }.without_doubted(inspection))
    }

    /// Reads no more than sizes tell, for quick replays: the steps that ask for more of a message are left out of both
    /// lanes. `fixed` are tokens before the messages, `weights` those of the message of each entry of the path.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn of_sizes(inspection: &Inspection, fixed: f64, weights: Vec<f64>) -> Result<Self, BodyError> {
        let rules = inspection.ruleset.ruleset.rules();
        let plain = inspection.gateway_steps().iter().filter(|step| !step.needs_texture(rules));
        let steps = plain.fold(StepSet::NONE, |steps, step| steps.with(step, true));
        let texts = PathTexts::none(inspection);
        Ok(Self::weighed(inspection, steps, texts, Some((fixed, weights)))?.without_doubted(inspection))
    }

    /// Everything but texts and the fit: `in_force` are the steps of the record.
    fn weighed(
        inspection: &Inspection,
        in_force: StepSet,
        texts: PathTexts,
        calibrated: Option<(f64, Vec<f64>)>,
    ) -> Result<Self, BodyError> {
        let Inspection { index, context, source, .. } = inspection;
        let config = &inspection.config.js;
        let in_force = simulated(inspection, &[], in_force);
        let read = |ix: EntryIx| body::entry(source, index, ix);
        let rules = inspection.ruleset.ruleset.rules();
        let model = (inspection.provider.as_str(), inspection.model.as_str());
        let refused = refused(inspection);
        let path = context.since_reset(index);
        let calibrated = calibrated.map(|(fixed, weights)| (fixed, those_of(&path, &context.path, weights)));
        let all_textures = texts.textures.clone().filter(|_| path.len() != context.path.len());
        let those = all_textures.map(|all| Arc::new(those_of(&path, &context.path, all.to_vec())));
        let read = Self {
            recorded: inspection.replay_settings(in_force.steps, in_force.on),
            doubted: StepSet::NONE,
            record: OnceLock::new(),
            branch: branch(index, &path, read)?,
            textures: those.or_else(|| texts.textures.clone()),
            texts: Arc::new(texts),
            provider_window: inspection.upkeep.runtime_window,
            windows: HashMap::new(),
            refused,
            cut: cut_short(inspection),
            touches: touches_under(rules, index, model, read),
            eligible: eligible_under(rules, model.0, model.1, &inspection.route),
            prices: prices(inspection, context.path.iter().copied()),
            retention: Retention::of(
                config,
                &inspection.session.agent,
                model.0,
                model.1,
                &Route::of(config, model.0, model.1),
            ),
            fit_error: None,
            calibrated,
            path,
        };
        Ok(read.with_learnt_windows(inspection))
    }

    /// The windows that the record teaches: what refusals name, and what was accepted beside those that name nothing.
    fn with_learnt_windows(mut self, inspection: &Inspection) -> Self {
        let record = self.record(inspection);
        let learnt = learnt_windows(inspection, &record);
        let own = learnt.own.map_or(self.provider_window, |limits| limits.provider);
        self.provider_window = own;
        self.windows = learnt.others;
        self.at_least_the_window(inspection);
        self.weigh_up_to_refusals(&record);
        Self { record: OnceLock::new(), ..self }
    }

    /// The record without the steps that, going by what the provider counted, did nothing.
    fn without_doubted(mut self, inspection: &Inspection) -> Self {
        self.doubted = contradicted(&self.record(inspection));
        if self.doubted.is_empty() {
            return self;
        }
        self.recorded.steps.steps = self.recorded.steps.steps.without(self.doubted);
        Self { record: OnceLock::new(), ..self }
    }

    /// A refusal without a number was above the window that is known to fit.
    fn at_least_the_window(&mut self, inspection: &Inspection) {
        let (own, windows) = (self.provider_window, &self.windows);
        for refused in self.refused.iter_mut().filter(|refused| refused.requested.is_none()) {
            let model = inspection.index.entry(refused.entry).model;
            let other = model.and_then(|model| windows.get(&model)).map(|limits| limits.provider);
            let window = other.unwrap_or(own);
            refused.least = if window.is_finite() && !refused.bytes { window + 1.0 } else { 0.0 };
        }
    }

    /// Messages that nobody counted weigh at least what a refusal behind them says: its prompt was above the window.
    fn weigh_up_to_refusals(&mut self, record: &RecordedLane) {
        let Some((_, weights)) = &mut self.calibrated else { return };
        for refused in
            self.refused.iter().filter(|refused| refused.requested.is_none() && refused.least > 0.0)
        {
            let Some(at) = record.calls.iter().position(|call| call.entry == refused.entry) else { continue };
            let Some(last) = (0..at).rev().find(|at| record.calls[*at].measured().is_some()) else {
                continue;
            };
            let estimated = record.lane[at].tokens - record.lane[last].tokens;
            let needed = refused.least - record.calls[last].measured().unwrap_or(f64::NAN);
            let factor = (needed / estimated).min(MOST_HEAVIER);
            if estimated > 0.0 && factor > 1.0 {
                let between = record.calls[last].place..record.calls[at].place;
                weights[between].iter_mut().for_each(|weight| *weight *= factor);
            }
        }
    }

    /// Whether pruning can act in this session at all.
    pub fn prunes(&self, inspection: &Inspection) -> bool {
        self.eligible && inspection.ruleset.ruleset.rules().pruner.is_active()
    }

    /// What the provider of a call takes, in tokens; NaN where nobody knows.
    pub fn window_of(&self, call: &Call) -> f64 {
        let other = call.mind.model.and_then(|model| self.windows.get(&model));
        other.map_or(self.provider_window, |limits| limits.provider)
    }

    /// Whether what was read tells replays under these steps too.
    pub fn tells(&self, steps: StepSet, rules: &Rules) -> bool {
        self.textures.is_some() || !steps.needs_texture(rules)
    }

    /// Tokens before the messages, and of the message of each entry of the path, by the provider's count.
    pub fn weights(&self, inspection: &Inspection) -> (f64, HashMap<EntryIx, f64>) {
        let Some((fixed, weights)) = &self.calibrated else {
            return (inspection.fixed_tokens() as f64, HashMap::new());
        };
        (*fixed, self.path.iter().copied().zip(weights.iter().copied()).collect())
    }

    /// What is replayed: for lanes one by one (see [`crate::replay::recorded_lane`]).
    pub fn session<'a>(&'a self, inspection: &'a Inspection) -> Session<'a> {
        let calibrated = self.calibrated.as_ref();
        Session {
            index: &inspection.index,
            path: &self.path,
            branch: &self.branch,
            textures: self.textures.as_ref().map(|textures| textures.as_slice()),
            refused: &self.refused,
            cut: &self.cut,
            doubted: &inspection.doubted,
            touches: &self.touches,
            eligible: self.eligible,
            fixed_tokens: inspection.fixed_tokens(),
            system_tokens: inspection.system_prompt_tokens(),
            drops_thinking: inspection.drops_thinking(),
            calibrated: calibrated.map(|(fixed, weights)| Calibrated { fixed: *fixed, weights }),
            provider_window: self.provider_window,
            runtime_window: inspection.upkeep.runtime_window,
            windows: &self.windows,
            mode: inspection.upkeep.mode,
            retention: self.retention,
            price: inspection.price,
            prices: &self.prices,
        }
    }

    /// The lane of the record, kept when it is first made: every simulated one is held against it.
    pub fn record(&self, inspection: &Inspection) -> Arc<RecordedLane> {
        let session = self.session(inspection);
        let kept = self.kept_record(&session);
        kept.unwrap_or_else(|| self.keep_record(&session, RecordedLane::new(&session, &self.recorded)))
    }

    /// The same, as long as `wanted` says that somebody waits for it.
    pub fn record_while(
        &self,
        inspection: &Inspection,
        wanted: &dyn Fn() -> bool,
    ) -> Option<Arc<RecordedLane>> {
        let session = self.session(inspection);
        let kept = self.kept_record(&session);
        kept.or_else(|| Some(self.keep_record(&session, recorded_lane(&session, &self.recorded, wanted)?)))
    }

    fn kept_record(&self, session: &Session<'_>) -> Option<Arc<RecordedLane>> {
        let kept = self.record.get().filter(|kept| kept.windows == windows(session))?;
        Some(Arc::clone(&kept.lane))
    }

    fn keep_record(&self, session: &Session<'_>, lane: RecordedLane) -> Arc<RecordedLane> {
        let lane = Arc::new(lane);
        // One that was kept for other windows stays: replays under these are few.
        let _ = self.record.set(Recorded { windows: windows(session), lane: Arc::clone(&lane) });
        lane
    }

    /// Replays the session under the settings in force and under others.
    pub fn replay(&self, inspection: &Inspection, simulated: &Settings) -> Replay {
        let session = self.session(inspection);
        let record = self.record(inspection);
        let lane = simulated_lane(&session, simulated, &record, &|| true).unwrap_or_default();
        RecordedLane::clone(&record).beside(&session, lane)
    }

    /// Replays the session beside a record that another version wrote: `own` is what was read by its rules, with its weights
    /// and windows in both lanes, so that the rules alone make the difference.
    pub fn replay_beside(
        &mut self,
        own: &(Inspection, Self),
        inspection: &Inspection,
        other: &Settings,
    ) -> Replay {
        let (own_inspection, own) = own;
        self.calibrated.clone_from(&own.calibrated);
        self.fit_error = own.fit_error;
        self.provider_window = own.provider_window;
        self.windows.clone_from(&own.windows);
        let record = own.record(own_inspection);
        let session = self.session(inspection);
        let lane = simulated_lane(&session, other, &record, &|| true).unwrap_or_default();
        RecordedLane::clone(&record).beside(&session, lane)
    }

    /// The same with a record that other settings were in force for.
    #[must_use]
    pub fn recorded_under(self, recorded: Settings) -> Self {
        Self { recorded, doubted: StepSet::NONE, record: OnceLock::new(), ..self }
    }

    /// The same without factors of the session's own usage: every message counts by its chars.
    #[must_use]
    pub fn uncalibrated(self) -> Self {
        Self { calibrated: None, fit_error: None, record: OnceLock::new(), ..self }
    }
}

impl Inspection {
    /// Settings of a lane under this session's windows.
    pub fn replay_settings(&self, steps: StepSettings, prune_on: bool) -> Settings {
        let (window, guard_window) = (self.window.tokens, self.window.own);
        Settings { steps, prune_on, window, guard_window, assumed: Assumed::default() }
    }
}

/// The calls of the path that did not fit. A reply that was cut short was given, so it is not among them.
fn refused(inspection: &Inspection) -> Vec<Refused> {
    let number = |tokens: Option<u64>| tokens.map(|tokens| tokens as f64);
    let on_path: HashSet<EntryIx> = inspection.context.path.iter().copied().collect();
    let calls = inspection.overflows.iter().filter(|overflow| overflow.sign != Sign::CutShort);
    let mut found: Vec<Refused> = calls
        .flat_map(|overflow| {
            let records = std::iter::once(overflow.entry).chain(overflow.again.iter().copied());
            records.filter(|ix| on_path.contains(ix)).take(1).map(|entry| Refused {
                entry,
                requested: number(overflow.prompt()),
                limit: number(overflow.room()).filter(|_| overflow.sign == Sign::Refused),
                least: 0.0,
                bytes: overflow.sign == Sign::Bytes,
            })
        })
        .collect();
    found.sort_by_key(|refused| refused.entry);
    found
}

/// The calls that were answered, but cut short.
fn cut_short(inspection: &Inspection) -> HashSet<EntryIx> {
    let cut = inspection.overflows.iter().filter(|overflow| overflow.sign == Sign::CutShort);
    cut.map(|overflow| overflow.entry).collect()
}

/// What is known of some entries of a path, out of what is known of every one.
fn those_of<T: Default>(some: &[EntryIx], path: &[EntryIx], known: Vec<T>) -> Vec<T> {
    if some.len() == path.len() {
        return known;
    }
    let mut known: HashMap<EntryIx, T> = path.iter().copied().zip(known).collect();
    some.iter().map(|ix| known.remove(ix).unwrap_or_default()).collect()
}

/// Whether the steps in force, or these, ask for textures.
fn asks_for_textures(inspection: &Inspection, steps: StepSet) -> bool {
    let steps = inspection.gateway_steps().iter().fold(steps, |steps, step| steps.with(step, true));
    steps.needs_texture(inspection.ruleset.ruleset.rules())
}
