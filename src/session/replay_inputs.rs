//! Reads the data that a replay needs beyond sizes: features, refusals, cache touches, calibration and prices.
//!
//! Reading is far slower than replaying, so all of it is read once and then replayed under any settings.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use crate::gateway::eligibility::ModelRoute;
use crate::gateway::models::Price;
use crate::gateway::retention::Retention;
use crate::gateway::ruleset::Rules;
use crate::ids::EntryIx;
use crate::policy::compact::{BranchEntry, branch_entries};
use crate::policy::features::ContentFeatures;
use crate::policy::prune::touches_under;
use crate::policy::repair::RepairRules;
use crate::policy::{PolicySet, PolicySettings};
use crate::replay::{
    Assumptions, Calibrated, ModelCall, ModelLimits, RecordedTrace, RefusalReason, RefusedCall, Replay,
    ReplaySession, Settings, contradicted_policies, recorded_trace, simulated_trace,
};
use crate::session::LoadedSession;
use crate::session::growth_weights::weights_from_growth;
use crate::session::learned_window::learn_windows;
use crate::session::overflow::OverflowKind;
use crate::session::path_texts::{IsWanted, PathFeatures, PathTexts};
use crate::session::price::{PriceSource, list_prices};
use crate::session::prompt_counts::is_committed_branch;
use crate::session::simulated_settings::simulate_settings;
use crate::store::body::{self, BodyError};
use crate::store::intern::ValueIx;
use crate::transcript::copied_failures;
use crate::units::{Moment, Tokens};

/// Upper limit of the factor that makes messages heavy enough to explain the refusal after them.
const MAX_WEIGHT_FACTOR: f64 = 1.5;

/// Data for any number of replays of one session.
#[derive(Debug, Clone)]
pub struct ReplayInputs {
    /// The path since the last reset: earlier calls had another context.
    path: Vec<EntryIx>,
    branch: Vec<BranchEntry>,
    /// Texts of the whole path of the context.
    texts: Arc<PathTexts>,
    /// One per entry of `path`.
    features: Option<PathFeatures>,
    refused: Vec<RefusedCall>,
    /// Failed answers that a commit copied to this branch.
    copied_failures: HashSet<EntryIx>,
    /// Calls that were answered, but cut short.
    cut_short: HashSet<EntryIx>,
    touches: Vec<(EntryIx, Moment)>,
    /// Counted tokens before the messages, and of each message of `path`.
    calibration: Option<(Tokens, Vec<Tokens>)>,
    prune_eligible: bool,
    replies: HashMap<(ValueIx, ValueIx), Tokens>,
    prices: HashMap<(ValueIx, ValueIx), Option<Price>>,
    pub retention: Retention,
    /// Tokens that the provider accepts: below the runtime's window if a refusal says so, above it if the provider
    /// answered larger prompts and no refusal names a limit.
    pub provider_window: Tokens,
    /// Windows of the other models of the path.
    pub other_windows: HashMap<(ValueIx, ValueIx), ModelLimits>,
    /// Mean relative error of the fitted tokens at the calls that the fit uses.
    pub fit_error: Option<f64>,
    /// The settings in force, without the policies that the provider's counts contradict.
    pub recorded_settings: Settings,
    /// The policies that the provider's counts contradict.
    pub contradicted_policies: PolicySet,
    recorded_cache: OnceLock<CachedTrace>,
}

/// The recorded trace, and the windows it was made for.
#[derive(Debug, Clone)]
struct CachedTrace {
    windows: [u64; 2],
    trace: Arc<RecordedTrace>,
}

/// Returns the failed answers that the last commit of the path copied.
fn failures_before_commit(session: &LoadedSession) -> HashSet<EntryIx> {
    let (index, path) = (&session.index, &session.context.path);
    let Some(record) = path.iter().rposition(|ix| is_committed_branch(index, *ix)) else {
        return HashSet::new();
    };
    let before: HashSet<EntryIx> = path[..record].iter().copied().collect();
    copied_failures(index, path).intersection(&before).copied().collect()
}

/// Returns the windows, which may change after reading, as bits: they may be NaN.
fn window_bits(session: &ReplaySession<'_>) -> [u64; 2] {
    [session.provider_window, session.runtime_window].map(|window| window.get().to_bits())
}

impl ReplayInputs {
    /// Reads the data for replays under any of these policies.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn read(session: &LoadedSession, policies: PolicySet) -> Result<Self, BodyError> {
        let texts = PathTexts::read(session, needs_features(session, policies), None, &|| true)?;
        Self::from_texts(session, texts)
    }

    /// Like [`Self::read`], but returns `None` once `wanted` returns false. `known` is the data from before entries
    /// were added; only the added ones are read.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn read_while(
        session: &LoadedSession,
        policies: PolicySet,
        known: Option<&Self>,
        wanted: IsWanted<'_>,
    ) -> Result<Option<Self>, BodyError> {
        let known = known.map(|known| &*known.texts);
        let texts = PathTexts::read(session, needs_features(session, policies), known, wanted)?;
        wanted().then(|| Self::from_texts(session, texts)).transpose()
    }

    fn from_texts(session: &LoadedSession, texts: PathTexts) -> Result<Self, BodyError> {
        let fit = session.calibrate(&texts.sent_sizes);
        let fit_error = fit.as_ref().map(|(fit, _)| fit.deviation.mean);
        let fitted =
            fit.map(|(fit, weights)| (Tokens(fit.fixed_tokens), weights.into_iter().map(Tokens).collect()));
        let calibrated = weights_from_growth(&session.prompt_counts(), fitted);
        let read = Self::from_weights(session, session.gateway_policies(), texts, calibrated)?;
        Ok(Self { fit_error, ..read }.without_contradicted(session))
    }

    /// Prepares quick replays from sizes only: both traces leave out the policies that need content features. `fixed`
    /// is the tokens before the messages, `weights` the tokens of the message of each entry of the path.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn from_sizes(
        session: &LoadedSession,
        fixed: Tokens,
        weights: Vec<Tokens>,
    ) -> Result<Self, BodyError> {
        let rules = session.ruleset.id.rules();
        let plain = session.gateway_policies().iter().filter(|policy| !policy.needs_features(rules));
        let policies = plain.fold(PolicySet::NONE, |policies, policy| policies.with(policy, true));
        let texts = PathTexts::empty(session);
        Ok(Self::from_weights(session, policies, texts, Some((fixed, weights)))?
            .without_contradicted(session))
    }

    /// Builds everything but texts and fit; `in_force` are the recorded policies.
    fn from_weights(
        session: &LoadedSession,
        in_force: PolicySet,
        texts: PathTexts,
        calibrated: Option<(Tokens, Vec<Tokens>)>,
    ) -> Result<Self, BodyError> {
        let LoadedSession { index, context, source, .. } = session;
        let in_force = simulate_settings(session, &[], in_force);
        let read = |ix: EntryIx| body::read_entry(source, index, ix);
        let rules = session.ruleset.id.rules();
        let model = (session.provider.as_str(), session.model.as_str());
        let refused = refused_calls(session);
        let path = context.entries_since_reset(index);
        let calibrated =
            calibrated.map(|(fixed, weights)| (fixed, select_entries(&path, &context.path, weights)));
        let others = texts.features.clone().filter(|_| path.len() != context.path.len());
        let selected = others.map(|all| Arc::new(select_entries(&path, &context.path, all.to_vec())));
        let read = Self {
            recorded_settings: session.replay_settings(in_force.policies, in_force.prune_on),
            contradicted_policies: PolicySet::NONE,
            recorded_cache: OnceLock::new(),
            branch: branch_entries(index, &path, read)?,
            features: selected.or_else(|| texts.features.clone()),
            texts: Arc::new(texts),
            provider_window: session.limits.runtime_window,
            other_windows: HashMap::new(),
            replies: reserved_replies(session),
            refused,
            copied_failures: HashSet::new(),
            cut_short: cut_short_calls(session),
            touches: touches_under(rules, index, model, read),
            prune_eligible: session.is_prune_eligible(),
            prices: list_prices(&PriceSource::from(session), context.path.iter().copied()),
            retention: session.cache_retention(),
            fit_error: None,
            calibration: calibrated,
            path,
        };
        Ok(read.with_learned_windows(session))
    }

    /// Learns the windows from the record: from the limits that refusals name, and from accepted prompts where none is
    /// named.
    fn with_learned_windows(mut self, session: &LoadedSession) -> Self {
        let record = self.recorded_trace(session);
        let copied = failures_before_commit(session);
        let learnt = learn_windows(session, &record, &copied);
        let own = learnt.session_model.map_or(self.provider_window, |limits| limits.provider);
        self.provider_window = own;
        self.other_windows = learnt.other_models;
        self.set_refusal_minimums(session);
        self.scale_weights_to_refusals(&record);
        // They name the provider's window, but they are no calls of this branch.
        self.copied_failures = copied;
        Self { recorded_cache: OnceLock::new(), ..self }
    }

    /// Removes the policies that had no effect, according to the provider's counts.
    fn without_contradicted(mut self, session: &LoadedSession) -> Self {
        self.contradicted_policies = contradicted_policies(&self.recorded_trace(session));
        if self.contradicted_policies.is_empty() {
            return self;
        }
        self.recorded_settings.policies.enabled =
            self.recorded_settings.policies.enabled.without(self.contradicted_policies);
        Self { recorded_cache: OnceLock::new(), ..self }
    }

    /// Sets the minimum of refusals without a number: their prompt was above the window that is known to fit.
    fn set_refusal_minimums(&mut self, session: &LoadedSession) {
        let (own, windows) = (self.provider_window, &self.other_windows);
        for refused in self.refused.iter_mut().filter(|refused| refused.requested.is_none()) {
            let model = session.index.entry(refused.entry).model;
            let other = model.and_then(|model| windows.get(&model)).map(|limits| limits.provider);
            let window = other.unwrap_or(own);
            refused.min_tokens = if window.is_finite() && refused.shows_window() {
                window + refused.excess.unwrap_or(Tokens(1.0))
            } else {
                Tokens::ZERO
            };
        }
    }

    /// Scales up uncounted messages before a refusal, whose prompt must have been above the window. Refusals that follow
    /// one another share these messages: what the first one needed counts for the next.
    fn scale_weights_to_refusals(&mut self, record: &RecordedTrace) {
        let Some((_, weights)) = &mut self.calibration else { return };
        let fitted = weights.clone();
        for refused in self
            .refused
            .iter()
            .filter(|refused| refused.requested.is_none() && refused.min_tokens > Tokens::ZERO)
        {
            let Some(at) = record.calls.iter().position(|call| call.entry == refused.entry) else { continue };
            let Some(last) = (0..at).rev().find(|at| record.calls[*at].measured_tokens().is_some()) else {
                continue;
            };
            let between = record.calls[last].path_index..record.calls[at].path_index;
            let sum = |weights: &[Tokens]| weights[between.clone()].iter().copied().sum::<Tokens>();
            let scaled_before = sum(weights) - sum(&fitted);
            let estimated = record.trace[at].tokens - record.trace[last].tokens + scaled_before;
            let needed =
                refused.min_tokens - record.calls[last].measured_tokens().unwrap_or(Tokens(f64::NAN));
            let factor = (needed / estimated).min(MAX_WEIGHT_FACTOR);
            if estimated > Tokens::ZERO && factor > 1.0 {
                weights[between].iter_mut().for_each(|weight| *weight *= factor);
            }
        }
    }

    /// Returns the features of the path's entries, if they were read.
    pub fn path_features(&self) -> Option<impl Iterator<Item = (EntryIx, &ContentFeatures)>> {
        let features = self.features.as_ref()?;
        let all = self.path.iter().zip(features.as_slice());
        Some(all.filter_map(|(entry, features)| Some((*entry, features.as_deref()?))))
    }

    /// Whether pruning can act in this session at all.
    pub fn can_prune(&self, session: &LoadedSession) -> bool {
        self.prune_eligible && session.ruleset.id.rules().pruner.is_active()
    }

    /// Returns the tokens that the provider of a call accepts; NaN if unknown.
    pub fn provider_window_of(&self, call: &ModelCall) -> Tokens {
        let other = call.cache_key.model.and_then(|model| self.other_windows.get(&model));
        other.map_or(self.provider_window, |limits| limits.provider)
    }

    /// Checks that every body that the replays needed since the last check could be read again.
    ///
    /// # Errors
    /// One could not: the replays are wrong.
    pub fn check_bodies(&self) -> Result<(), BodyError> {
        self.texts.check_bodies()
    }

    /// Whether the data suffices for replays under these policies.
    pub fn covers(&self, policies: PolicySet, rules: &Rules) -> bool {
        self.features.is_some() || !policies.needs_features(rules)
    }

    /// Returns the tokens before the messages, and those of each entry's message, on the provider's scale.
    pub fn calibrated_weights(&self, session: &LoadedSession) -> (Tokens, HashMap<EntryIx, Tokens>) {
        let Some((fixed, weights)) = &self.calibration else {
            return (Tokens(session.fixed_tokens() as f64), HashMap::new());
        };
        (*fixed, self.path.iter().copied().zip(weights.iter().copied()).collect())
    }

    /// Returns the input for single traces (see [`crate::replay::recorded_trace`]).
    pub fn replay_session<'a>(&'a self, session: &'a LoadedSession) -> ReplaySession<'a> {
        let calibrated = self.calibration.as_ref();
        ReplaySession {
            index: &session.index,
            path: &self.path,
            branch: &self.branch,
            features: self.features.as_ref().map(|all_features| all_features.as_slice()),
            refused: &self.refused,
            copied_failures: &self.copied_failures,
            cut_short: &self.cut_short,
            unreliable_answers: &session.unreliable_counts,
            cache_touches: &self.touches,
            prune_eligible: self.prune_eligible,
            fixed_tokens: session.fixed_tokens(),
            fixed_pressure: session.fixed_pressure(),
            drops_thinking: session.drops_thinking(),
            repair: RepairRules {
                rules: session.ruleset.id.rules(),
                is_responses_api: session.is_responses_api(),
            },
            calibrated: calibrated.map(|(fixed, weights)| Calibrated { fixed: *fixed, weights }),
            provider_window: self.provider_window,
            runtime_window: session.limits.runtime_window,
            replies: &self.replies,
            windows: &self.other_windows,
            mode: session.limits.compaction_mode,
            retention: self.retention,
            price: session.price,
            prices: &self.prices,
        }
    }

    /// Returns the recorded trace. It is cached, because every simulated trace is compared with it.
    pub fn recorded_trace(&self, loaded: &LoadedSession) -> Arc<RecordedTrace> {
        let session = self.replay_session(loaded);
        let kept = self.cached_trace(&session);
        kept.unwrap_or_else(|| {
            self.cache_trace(&session, RecordedTrace::new(&session, &self.recorded_settings))
        })
    }

    /// Like [`Self::recorded_trace`], but returns `None` once `wanted` returns false.
    pub fn recorded_trace_while(
        &self,
        loaded: &LoadedSession,
        wanted: &dyn Fn() -> bool,
    ) -> Option<Arc<RecordedTrace>> {
        let session = self.replay_session(loaded);
        let kept = self.cached_trace(&session);
        kept.or_else(|| {
            Some(self.cache_trace(&session, recorded_trace(&session, &self.recorded_settings, wanted)?))
        })
    }

    fn cached_trace(&self, session: &ReplaySession<'_>) -> Option<Arc<RecordedTrace>> {
        let kept = self.recorded_cache.get().filter(|kept| kept.windows == window_bits(session))?;
        Some(Arc::clone(&kept.trace))
    }

    fn cache_trace(&self, session: &ReplaySession<'_>, trace: RecordedTrace) -> Arc<RecordedTrace> {
        let trace = Arc::new(trace);
        // A trace cached for other windows stays: replays under these windows are rare.
        let _ =
            self.recorded_cache.set(CachedTrace { windows: window_bits(session), trace: Arc::clone(&trace) });
        trace
    }

    /// Replays the session under the settings in force and under `simulated`.
    pub fn replay(&self, loaded: &LoadedSession, simulated: &Settings) -> Replay {
        let session = self.replay_session(loaded);
        let record = self.recorded_trace(loaded);
        let trace = simulated_trace(&session, simulated, &record, &|| true).unwrap_or_default();
        RecordedTrace::clone(&record).into_replay(&session, Arc::new(trace))
    }

    /// Replays the session under another ruleset and the one that wrote it. `writer` is the session read under its own
    /// ruleset; its weights and windows are used in both traces, so that only the rules make a difference.
    pub fn replay_beside(
        &mut self,
        writer: &(LoadedSession, Self),
        loaded: &LoadedSession,
        other: &Settings,
    ) -> Replay {
        let (writer_session, writer_inputs) = writer;
        self.calibration.clone_from(&writer_inputs.calibration);
        self.fit_error = writer_inputs.fit_error;
        self.provider_window = writer_inputs.provider_window;
        self.other_windows.clone_from(&writer_inputs.other_windows);
        let record = writer_inputs.recorded_trace(writer_session);
        let session = self.replay_session(loaded);
        // Another release may recognise what the writer did not.
        let mut other = other.clone();
        other.assumptions.ideal_compaction = true;
        let trace = simulated_trace(&session, &other, &record, &|| true).unwrap_or_default();
        RecordedTrace::clone(&record).into_replay(&session, Arc::new(trace))
    }

    /// Replaces the recorded settings, which resets the contradicted policies.
    #[must_use]
    pub fn with_recorded_settings(self, recorded: Settings) -> Self {
        Self {
            recorded_settings: recorded,
            contradicted_policies: PolicySet::NONE,
            recorded_cache: OnceLock::new(),
            ..self
        }
    }

    /// Removes the calibration: every message counts by its chars.
    #[must_use]
    pub fn without_calibration(self) -> Self {
        Self { calibration: None, fit_error: None, recorded_cache: OnceLock::new(), ..self }
    }
}

impl LoadedSession {
    /// Returns how long the provider keeps the prompts of the session's model, by the configuration.
    pub fn cache_retention(&self) -> Retention {
        let (config, provider, model) = (&self.config.js_root, &self.provider, &self.model);
        let route = ModelRoute::from_config(config, provider, model);
        Retention::for_model(config, &self.item.agent, provider, model, &route)
    }

    /// Returns the settings of a trace under this session's windows.
    pub fn replay_settings(&self, policies: PolicySettings, prune_on: bool) -> Settings {
        let (window, guard_window) = (self.window.tokens, self.window.model_tokens);
        Settings { policies, prune_on, window, guard_window, assumptions: Assumptions::default() }
    }
}

/// Returns the calls of the path that were refused. A reply that was cut short is an answer, not a refusal.
fn refused_calls(session: &LoadedSession) -> Vec<RefusedCall> {
    let number = |tokens: Option<u64>| tokens.map(|tokens| Tokens(tokens as f64));
    let counted = |ix: EntryIx| Some(session.index.entry(ix).message?.usage?.context_tokens);
    let on_path: HashSet<EntryIx> = session.context.path.iter().copied().collect();
    let calls = session.overflows.iter().filter(|overflow| overflow.kind != OverflowKind::CutShort);
    let mut found: Vec<RefusedCall> = calls
        .flat_map(|overflow| {
            let records = std::iter::once(overflow.entry).chain(overflow.duplicates.iter().copied());
            records.filter(|ix| on_path.contains(ix)).take(1).map(|entry| RefusedCall {
                entry,
                requested: number(overflow.prompt_tokens())
                    .filter(|_| overflow.kind != OverflowKind::Precheck),
                limit: number(overflow.prompt_limit())
                    .filter(|_| overflow.kind == OverflowKind::Refused || overflow.is_truncated()),
                excess: number(overflow.excess),
                min_tokens: number(overflow.limit)
                    .filter(|_| overflow.is_truncated())
                    .map_or(Tokens::ZERO, |served| served + Tokens(1.0)),
                reason: match overflow.kind {
                    OverflowKind::Bytes => RefusalReason::Bytes,
                    OverflowKind::Precheck => RefusalReason::Gateway { estimate: number(overflow.requested) },
                    _ => counted(entry)
                        .filter(|_| overflow.is_truncated())
                        .map_or(RefusalReason::Tokens, |counted| RefusalReason::Cut { counted }),
                },
            })
        })
        .collect();
    found.sort_by_key(|refused| refused.entry);
    found
}

/// Returns the largest reservation for a reply that the refusals of each model name.
fn reserved_replies(session: &LoadedSession) -> HashMap<(ValueIx, ValueIx), Tokens> {
    let named =
        session.overflows.iter().filter_map(|overflow| Some((overflow.model?, overflow.reply_reserve?)));
    let mut replies: HashMap<_, Tokens> = HashMap::new();
    for (model, reply) in named {
        let most = replies.entry(model).or_default();
        *most = most.max(Tokens(reply as f64));
    }
    replies
}

fn cut_short_calls(session: &LoadedSession) -> HashSet<EntryIx> {
    let cut = session.overflows.iter().filter(|overflow| overflow.kind == OverflowKind::CutShort);
    cut.map(|overflow| overflow.entry).collect()
}

/// Selects the values of some entries of a path from those of all its entries.
fn select_entries<T: Default>(some: &[EntryIx], path: &[EntryIx], known: Vec<T>) -> Vec<T> {
    if some.len() == path.len() {
        return known;
    }
    let mut known: HashMap<EntryIx, T> = path.iter().copied().zip(known).collect();
    some.iter().map(|ix| known.remove(ix).unwrap_or_default()).collect()
}

/// Whether these policies, or those in force, need content features.
fn needs_features(session: &LoadedSession, policies: PolicySet) -> bool {
    let policies =
        session.gateway_policies().iter().fold(policies, |policies, policy| policies.with(policy, true));
    policies.needs_features(session.ruleset.id.rules())
}
