//! A plan for one session, built from the command line: `simulate` shows it and `commit` writes it. Both use the same
//! code, so that a commit writes exactly the preview.

use std::cmp::Ordering;

use super::context_json::next_call;
use super::environment::{Invocation, Workspace, at_leaf, require_context};
use super::failure::Failure;
use super::learned_window::with_learned_window;
use super::output::Output;
use super::ruleset::refuse_unsupported;
use crate::cli::{PlanArgs, StoreArgs};
use crate::doc::{Align, Cell, Table, Tone};
use crate::format::{
    format_count, format_duration, format_estimate, format_number, format_percent, format_short_estimate,
    format_short_tokens,
};
use crate::gateway::registry::Provenance;
use crate::gateway::setting_value::{Control, Unit, display_text};
use crate::js::Value;
use crate::plan::Plan;
use crate::policy::prune::Gate;
use crate::policy::settings::SettingId;
use crate::policy::{Fate, Policy, PolicySet};
use crate::redact::{masked, masked_value};
use crate::report::cost::describe_cache_cost;
use crate::session::assumed_summary::EARLIER_SUMMARIES;
use crate::session::setting_change::{SettingChange, read_changes};
use crate::session::simulated_settings::{SimulatedSettings, simulate_settings};
use crate::session::{CountSource, LoadedSession};
use crate::units::{Millis, Moment};
use crate::write::rewrite_loss::{RewriteLoss, find_rewrite_loss};

#[derive(Debug)]
pub(super) struct Preview {
    /// The session at the selected leaf.
    pub session: LoadedSession,
    pub simulated: SimulatedSettings,
    /// The gateway's decision at `now_ms`.
    pub gate: Gate,
    /// The plan ignores the closed gate.
    pub gate_ignored: bool,
    /// Time of the next call.
    pub now_ms: Moment,
    pub plan: Plan,
    /// Origin of the assumed summary length.
    pub summary_length: SummaryLength,
    /// Keeps the demo store's folder alive.
    pub workspace: Workspace,
}

/// Origin of the length of a compaction's summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SummaryLength {
    /// The fixed assumption (compaction 5.21).
    Assumed,
    /// The average of earlier summaries on the branch (compaction 5.21).
    EarlierAverage,
    /// Set with `--set` or `--settings`.
    Configured,
    /// The length of a generated summary; holds the name of its writer.
    Generated(String),
}

impl SummaryLength {
    /// Name of the origin in JSON.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Assumed => "assumed",
            Self::EarlierAverage => "earlier",
            Self::Configured => "set",
            Self::Generated(_) => "made",
        }
    }

    /// Describes the origin for the settings table, whose row already names a configured value.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Assumed | Self::Configured => "assumed until a summary exists".to_owned(),
            Self::EarlierAverage => EARLIER_SUMMARIES.to_owned(),
            Self::Generated(writer) => format!("length of the generated summary: {writer}"),
        }
    }
}

/// Builds the plan for the arguments.
pub(super) fn build_preview(
    session: &str,
    leaf: Option<&str>,
    args: &PlanArgs,
    (place, invocation): (&StoreArgs, &Invocation),
    output: &mut Output,
) -> Result<Preview, Failure> {
    let workspace = Workspace::for_session(session, place, invocation)?;
    let loaded = workspace.open_session(session, output)?;
    preview_session(workspace, loaded, leaf, args, output)
}

/// Builds the plan for a session that is already open.
pub(super) fn preview_session(
    workspace: Workspace,
    loaded: LoadedSession,
    leaf: Option<&str>,
    args: &PlanArgs,
    output: &mut Output,
) -> Result<Preview, Failure> {
    let changes: Vec<SettingChange> = read_changes(args.settings.as_deref(), &args.set)?;
    let now_ms = parse_time(args.now.as_deref().unwrap_or("now"), workspace.now_ms)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let loaded = require_context(at_leaf(&workspace, loaded, leaf)?)?;
    let changes = with_learned_window(args.window, changes, &loaded, output)?;
    refuse_unsupported(&changes, &loaded)?;
    let policies = requested_policies(&args.policy, &changes, &loaded)?;
    let mut simulated = simulate_settings(&loaded, &changes, policies);
    let session = load_details(LoadedSession { window: simulated.window, ..loaded }, policies)?;
    let summary_length = assume_summary_length(&mut simulated, &session, &changes);
    let gate = session.gate(simulated.prune_on, &simulated.prune_settings, now_ms);
    // The user wants the effect of a threshold, not whether this moment allows it, so a closed gate is only reported.
    // `Gate::Off` is a setting and stays closed.
    let respected = args.gates || args.now.is_some() || gate == Gate::Off;
    let ignored = !respected && !gate.is_open();
    let used = if ignored { Gate::Open { idle_ms: Millis(f64::NAN) } } else { gate };
    let plan = session.plan(&simulated.policies, used).map_err(|error| {
        Failure::unreadable(format!(
            "{}: {error}, so the gateway changes nothing in it. `clawscope doctor` lists the faults of the file.",
            session.source.path().display()
        ))
    })?;
    Ok(Preview { session, simulated, gate, gate_ignored: ignored, now_ms, plan, summary_length, workspace })
}

/// Loads the message details where a policy needs more than sizes.
fn load_details(session: LoadedSession, policies: PolicySet) -> Result<LoadedSession, Failure> {
    if !policies.uses_features(session.ruleset.id.rules()) && !policies.has(Policy::Compact) {
        return Ok(session);
    }
    session.load_details().map_err(|error| Failure::unreadable(error.to_string()))
}

/// Uses the average of earlier summaries as the next summary's length, unless the length is set.
fn assume_summary_length(
    simulated: &mut SimulatedSettings,
    session: &LoadedSession,
    changes: &[SettingChange],
) -> SummaryLength {
    if changes.iter().any(|change| change.id == SettingId::SummaryTokens) {
        return SummaryLength::Configured;
    }
    let assumed = session.assumed_summary_with(simulated.policies.compaction.reserve_tokens);
    simulated.set_summary_tokens(assumed.tokens.whole());
    if assumed.is_average { SummaryLength::EarlierAverage } else { SummaryLength::Assumed }
}

impl Preview {
    pub(super) fn set_summary_length(&mut self, from: SummaryLength, tokens: u64) {
        self.simulated.set_summary_tokens(tokens);
        self.summary_length = from;
    }

    pub(super) fn print_settings(&self, output: &mut Output) -> Result<(), Failure> {
        output.line(Tone::Strong, "settings")?;
        let mut table =
            Table::new(&[("contextPruning", Align::Left), ("value", Align::Right), ("from", Align::Left)]);
        let configured = &self.session.setting_rows;
        for row in &self.simulated.prune_rows {
            let control = configured
                .iter()
                .find(|own| own.policy == Policy::Prune && own.setting.name() == row.key)
                .map(|own| own.setting.control);
            let unit = match control {
                Some(Control::Slider { unit, .. }) => Some(unit).filter(|unit| *unit != Unit::Milliseconds),
                _ => None,
            };
            let value = match row.value.as_str() {
                Some(text) => masked(&text.to_string_lossy()).into_owned(),
                None => format_value(unit, &row.value),
            };
            let tone = match row.provenance {
                Provenance::Flag => Tone::Warning,
                Provenance::Default => Tone::Dim,
                _ => Tone::Plain,
            };
            table.push(vec![
                row.key.into(),
                Cell::new(&value, tone),
                Cell::new(&row.provenance.to_string(), Tone::Dim),
            ]);
        }
        Ok(table.print(output, "  ")?)
    }

    /// Prints the state of the gate, and how to preview without it.
    pub(super) fn print_gate(&self, output: &mut Output) -> Result<(), Failure> {
        self.print_gate_state(output)?;
        if self.gate.is_open() {
            return Ok(());
        }
        let hint = if self.session.ruleset.id.is_pi() {
            "      pi sends everything unchanged; this shows what editing the context would cut the results to"
        } else if self.gate_ignored {
            "      the rows below show what pruning does once it runs"
        } else if self.gate == Gate::Off {
            "      --set contextPruning.mode=cache-ttl shows what pruning would do"
        } else {
            "      the gateway sends everything unchanged"
        };
        Ok(output.line(Tone::Dim, hint)?)
    }

    /// Prints whether the next call would prune, and why.
    pub(super) fn print_gate_state(&self, output: &mut Output) -> Result<(), Failure> {
        if self.simulated.prune_switched_on {
            output.line(Tone::Warning, "pruning is off in the config; previewing with mode cache-ttl")?;
        }
        if let Gate::Open { idle_ms } = self.gate {
            let idle = format_duration(idle_ms);
            let line = format!("would prune now: {idle} since the last call, longer than the ttl");
            return Ok(output.line(Tone::Good, &line)?);
        }
        let words = self.session.describe_closed_gate(self.gate).unwrap_or_default();
        let ignored = if self.gate_ignored { ", ignored in this preview" } else { "" };
        Ok(output.line(Tone::Warning, &format!("not pruning now: {words}{ignored}"))?)
    }

    /// Prints tokens before and after, with their share of the window.
    pub(super) fn print_effect(&self, output: &mut Output) -> Result<(), Failure> {
        let (before, after) = (self.plan.total_before(), self.plan.total_after());
        let saved = match before.cmp(&after) {
            Ordering::Greater => format!("-{}", format_percent(before - after, before)),
            Ordering::Equal => "no change".to_owned(),
            Ordering::Less => "grows".to_owned(),
        };
        let window = self.session.window.model_tokens.whole();
        let line = format!(
            "messages by chars/4: {} → {} tokens ({saved})",
            format_estimate(before),
            format_estimate(after)
        );
        output.line(Tone::Strong, &line)?;
        let [now, planned] = [None, Some(&self.plan)].map(|plan| next_call(&self.session, plan).0);
        let [size, planned_size] = [now, planned]
            .map(|count| format_short_tokens(count.tokens, count.source == CountSource::Measured));
        let [share, planned_share] = [now, planned].map(|count| format_percent(count.tokens, window));
        let unit = if planned.source == CountSource::Estimated { "" } else { " as the provider counts" };
        let line =
            format!("prompt{unit}: {size} → {planned_size} tokens, {share} → {planned_share} of the window");
        output.line(Tone::Strong, &line)?;
        if window > 0 && planned.tokens > window {
            let excess = format_short_estimate(planned.tokens - window);
            output.line(
                Tone::Warning,
                &format!("the prompt is still {excess} tokens larger than the window"),
            )?;
        }
        if self.plan.is_empty() {
            output.line(Tone::Dim, "nothing changes")?;
        }
        if let Some(cost) = self.session.cache_cost(&self.plan, self.now_ms) {
            let (next, later) = describe_cache_cost(&cost);
            output.line(Tone::Plain, &format!("cost: {next}; {later}"))?;
        }
        Ok(())
    }

    /// Returns the losses of the gateway's own rewrite, if the plan truncates results in the transcript.
    pub(super) fn rewrite_loss(&self) -> Result<Option<RewriteLoss>, Failure> {
        if !self.plan.settings.enabled.has(Policy::Truncate) {
            return Ok(None);
        }
        find_rewrite_loss(&self.session).map_err(|error| Failure::unreadable(error.to_string()))
    }

    pub(super) fn describe_changes(&self) -> String {
        let changes = Fate::ALL.into_iter().filter(|fate| fate.is_change());
        let counts = changes.map(|fate| (fate, self.plan.count(fate))).filter(|(_, count)| *count > 0);
        let parts: Vec<String> = counts
            .map(|(fate, count)| format!("{} {} {}", fate.sign(), format_number(count), fate.word()))
            .collect();
        let changed = self.plan.fates().iter().filter(|fate| fate.fate.is_change()).count();
        let changed = format_count(changed as u64, "message changes", "messages change");
        if parts.is_empty() { changed } else { format!("{changed}: {}", parts.join("   ")) }
    }
}

/// Formats a setting's value for a table without secrets, a switch as the configuration writes it, whole numbers in groups of three.
pub(super) fn format_value(unit: Option<Unit>, value: &Value) -> String {
    match value {
        Value::Array(items) if items.is_empty() => "(none)".to_owned(),
        Value::Bool(on) => on.to_string(),
        Value::Number(number) if !number.is_finite() => "–".to_owned(),
        _ => display_text(unit, &masked_value(value)),
    }
}

/// Parses `now`, ISO text (local time without a zone) or milliseconds since 1970.
pub(super) fn parse_time(text: &str, now_ms: Moment) -> Result<Moment, TimeError> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("now") {
        return Ok(now_ms);
    }
    if let Ok(ms) = text.parse::<i64>() {
        return Ok(Moment::from_whole(ms));
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Ok(Moment::from_whole(time.as_millisecond()));
    }
    let local =
        text.parse::<jiff::civil::DateTime>().and_then(|time| time.to_zoned(jiff::tz::TimeZone::system()));
    local
        .map(|time| Moment::from_whole(time.timestamp().as_millisecond()))
        .map_err(|_| TimeError(text.to_owned()))
}

/// A text that is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--now {0:?}: expected `now`, a time such as 2026-03-05T14:06:41Z, or milliseconds since 1970")]
pub(super) struct TimeError(String);

/// Resolves `--policy`. Without it, pruning is on, and every policy with a changed setting.
fn requested_policies(
    policy: &[String],
    changes: &[SettingChange],
    session: &LoadedSession,
) -> Result<PolicySet, Failure> {
    let changed = changes.iter().filter_map(|change| Some((change.policy()?, change)));
    if policy.is_empty() {
        return Ok(changed
            .fold(PolicySet::of(&[Policy::Prune]), |policies, (policy, _)| policies.with(policy, true)));
    }
    let requested = policy.iter().fold(PolicySet::NONE, |policies, word| match word.as_str() {
        "all" => {
            let all = Policy::visible_for(session.ruleset.id.rules());
            all.into_iter().fold(policies, |policies, policy| policies.with(policy, true))
        }
        "gateway" => {
            session.gateway_policies().iter().fold(policies, |policies, policy| policies.with(policy, true))
        }
        word => Policy::from_word(word).map_or(policies, |policy| policies.with(policy, true)),
    });
    for (policy, change) in changed.filter(|(policy, _)| !requested.has(*policy)) {
        // A settings file may hold settings of policies that are off; a `--set` for one is a mistake.
        if change.origin == Provenance::Flag {
            let (key, policy) = (change.key(), policy.word());
            return Err(Failure::usage(format!(
                "--set {key}: belongs to the policy `{policy}`, which --policy leaves out. Add {policy} to --policy."
            )));
        }
    }
    Ok(requested)
}

/// Resolves `--policy` for a replay. Without it, the gateway's policies are on, and every policy with a changed
/// setting.
pub(super) fn replay_policies(
    policy: &[String],
    changes: &[SettingChange],
    session: &LoadedSession,
) -> Result<PolicySet, Failure> {
    if !policy.is_empty() {
        return requested_policies(policy, changes, session);
    }
    Ok(crate::session::simulated_settings::default_replay_policies(session, changes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_text_or_number() {
        assert_eq!(parse_time("2026-03-05T14:06:41Z", Moment::ZERO), Ok(Moment(1_772_719_601_000.0)));
        assert_eq!(parse_time("2026-03-05 14:06:41Z", Moment::ZERO), Ok(Moment(1_772_719_601_000.0)));
        assert_eq!(parse_time("1772719601000", Moment::ZERO), Ok(Moment(1_772_719_601_000.0)));
        assert_eq!(parse_time("now", Moment(5.0)), Ok(Moment(5.0)));
        assert!(parse_time("tomorrow", Moment::ZERO).unwrap_err().to_string().contains("expected"));
    }
}
