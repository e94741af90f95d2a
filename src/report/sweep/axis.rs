//! One varied setting: `KEY=A..B:STEP` or `KEY=a,b,c`. The gateway's own checks validate every value, and the current
//! value is always a point of the axis.

use crate::config::parse_share;
use crate::format::format_number;
use crate::format::number::parse_count;
use crate::gateway::setting_value::{Control, Unit, duration_text, input_text, parse_duration, ttl_text};
use crate::js::{Value, number_text};
use crate::policy::settings::{PolicySetting, SettingId, SettingOwner, SettingSpec};
use crate::policy::{Policy, PolicySet};
use crate::session::LoadedSession;
use crate::session::session_settings::{current_value, session_setting};
use crate::session::setting_change::{
    ChangeError, SettingChange, describe_missing, named_setting, parse_change,
};
use crate::session::simulated_settings::simulate_settings;
use crate::units::{Millis, Tokens};

/// The option that sets axes.
const OPTION: &str = "--vary";
/// The maximum number of values of one axis.
pub const MAX_VALUES: usize = 200;

/// The reason that an axis is invalid: the key, the input and the expected form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AxisError(pub String);

impl From<ChangeError> for AxisError {
    fn from(error: ChangeError) -> Self {
        Self(error.0)
    }
}

/// One value of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisPoint {
    /// The configuration value; `None` leaves the setting unset because its policy is off without the axes.
    pub value: Option<Value>,
    /// The value as a number, a duration in ms; `None` for words.
    pub number: Option<f64>,
    /// The value as a person writes it.
    pub text: String,
}

/// A setting and its values, sorted by number.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    pub id: SettingId,
    /// The policy of the setting; `None` for the window.
    pub policy: Option<Policy>,
    /// The unit of numbers.
    pub unit: Option<Unit>,
    pub points: Vec<AxisPoint>,
    /// Index of the current value.
    pub current: usize,
}

#[derive(Debug, Clone, Copy)]
pub struct AxisContext<'a> {
    pub session: &'a LoadedSession,
    /// Changes that hold in every cell.
    pub base: &'a [SettingChange],
    /// Policies that are on for any value of the axes.
    pub policies: PolicySet,
}

impl Axis {
    /// Returns the key as `--set` takes it.
    pub fn key(&self) -> &'static str {
        self.id.spec().key
    }

    /// Returns the text of a point on a map; 0 as its meaning where it is no amount.
    pub fn shown_text<'a>(&self, point: &'a AxisPoint) -> &'a str {
        let word = point.value.as_ref().and_then(|value| self.id.spec().zero_word(value));
        word.unwrap_or(&point.text)
    }

    /// Returns the policy that the axis affects: its own, or compaction for the window, because the model's window
    /// decides its trigger.
    pub fn affected_policy(&self) -> Option<Policy> {
        self.policy.or((self.id == SettingId::ContextWindow).then_some(Policy::Compact))
    }

    /// Reads `KEY=A..B:STEP` or `KEY=a,b,c`.
    ///
    /// # Errors
    /// When the key does not exist, the version lacks it, no configuration key sets it, or the gateway would reject a
    /// value.
    pub fn parse(axis_context: &AxisContext<'_>, text: &str) -> Result<Self, AxisError> {
        let Some((key, values)) = text.split_once('=') else {
            return Err(AxisError(format!(
                "{OPTION} {text:?}: expected KEY=A..B:STEP or KEY=a,b,c, such as contextPruning.softTrimRatio=0.1..0.4:0.1"
            )));
        };
        let setting = named_setting(OPTION, key)?;
        let row = settable_row(axis_context, setting.id)?;
        let unit = row.map_or(Some(Unit::Tokens), |row| row.setting.control.unit());
        let values = values.trim();
        let texts = if values.contains("..") {
            let window = axis_context.session.window.tokens;
            expand_range(setting.key, &shares_as_tokens(setting, values, window), unit)?
        } else {
            values.split(',').map(|value| value.trim().to_owned()).collect()
        };
        Self::from_texts(axis_context, setting.id, &texts)
    }

    /// Builds an axis from values as the command line gives them.
    ///
    /// # Errors
    /// Like [`Self::parse`].
    pub fn from_texts(
        axis_context: &AxisContext<'_>,
        id: SettingId,
        texts: &[impl AsRef<str>],
    ) -> Result<Self, AxisError> {
        let key = id.spec().key;
        let row = settable_row(axis_context, id)?;
        if texts.len() > MAX_VALUES {
            let count = texts.len();
            return Err(AxisError(format!(
                "{OPTION} {key}: {count} values; expected {MAX_VALUES} at most. Use a larger step."
            )));
        }
        let unit = row.map_or(Some(Unit::Tokens), |row| row.setting.control.unit());
        let mut points = vec![current_point(axis_context, id, row)];
        for text in texts {
            let change = parse_change(OPTION, &format!("{key}={}", text.as_ref()))?;
            let point = new_point(unit, change.value_in(axis_context.session.window.tokens));
            refuse_too_small_window(axis_context.session, id, &point)?;
            if !points.iter().any(|known| known.is_same(&point)) {
                points.push(point);
            }
        }
        let now = points[0].clone();
        // The unset value comes first, then numbers by size; words keep their order.
        points.sort_by(|a, b| {
            let order = |point: &AxisPoint| point.value.is_some().then_some(point.number.unwrap_or(f64::MAX));
            order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal)
        });
        let current = points.iter().position(|point| *point == now).unwrap_or(0);
        Ok(Self { id, policy: row.map(|row| row.policy), unit, points, current })
    }

    /// Returns the change at a point; `None` for the current value.
    pub fn change(&self, at: usize) -> Option<SettingChange> {
        let value = self.points.get(at).filter(|_| at != self.current)?.value.clone()?;
        let origin = crate::gateway::registry::Provenance::Tuned;
        Some(SettingChange { id: self.id, value, origin, model: None })
    }

    /// Returns the distance of a point from the current value as a share of the axis's range of numbers; 1 to or from a
    /// word. A setting that is unset counts with its default.
    pub fn distance(&self, at: usize) -> f64 {
        let (Some(point), Some(now)) = (self.points.get(at), self.points.get(self.current)) else {
            return 0.0;
        };
        if at == self.current {
            return 0.0;
        }
        let numbers = self.points.iter().filter_map(|point| point.number);
        let (least, most) = numbers.fold((f64::MAX, f64::MIN), |(a, b), n| (a.min(n), b.max(n)));
        match (point.number, now.number) {
            (Some(there), Some(here)) if most > least => (there - here).abs() / (most - least),
            (Some(_), Some(_)) => 0.0,
            _ => 1.0,
        }
    }

    /// Returns the key without its first part, as a column head.
    pub fn name(&self) -> &'static str {
        self.id.spec().name()
    }
}

impl AxisPoint {
    fn is_same(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Some(one), Some(another)) if self.number.is_none() => one == another,
            (Some(_), Some(_)) => self.number == other.number,
            _ => false,
        }
    }
}

/// Refuses a window with which the runtime would run no call: a replay under it says nothing.
fn refuse_too_small_window(
    session: &LoadedSession,
    id: SettingId,
    point: &AxisPoint,
) -> Result<(), AxisError> {
    let is_window = matches!(id, SettingId::ContextWindow | SettingId::ContextTokens);
    let small = point.number.map(Tokens).filter(|tokens| is_window && !session.runs_with(id, *tokens));
    let Some(tokens) = small else { return Ok(()) };
    Err(AxisError(format!(
        "{OPTION} {}: {} runs no model with a window of {} tokens. Leave it out; the smallest is {}.",
        id.spec().key,
        session.ruleset.id.display_name(),
        format_number(tokens.whole()),
        format_number(session.smallest_window().whole())
    )))
}

/// Returns the row of a key that can be varied; `None` for the window.
fn settable_row<'a>(
    axis_context: &AxisContext<'a>,
    id: SettingId,
) -> Result<Option<&'a PolicySetting>, AxisError> {
    let key = id.spec().key;
    let refuse = |why: &str| Err(AxisError(format!("{OPTION} {key}: {why}")));
    let name = axis_context.session.ruleset.id.display_name();
    if let Some(why) = describe_missing(axis_context.session, id) {
        return refuse(&format!(
            "cannot be set: {name} does not read it ({why}). Remove it, or choose another release with --ruleset."
        ));
    }
    if axis_context.base.iter().any(|change| change.id == id) {
        return refuse("is also set with --set. Use only one of the two.");
    }
    if session_setting(id.spec()).is_some() {
        return Ok(None);
    }
    let Some(row) = axis_context.session.setting_rows.iter().find(|row| row.setting.id == id) else {
        return refuse(&format!("{name} has no such setting. `clawscope doctor` lists those it has."));
    };
    match (row.setting.control, &row.owner) {
        (Control::List | Control::Text, _) => {
            refuse("is text, not a number, a duration or a switch. Use --set.")
        }
        (_, SettingOwner::BuiltIn) => {
            refuse(&format!("cannot be set: it is built into {name}, and no key sets it."))
        }
        (_, SettingOwner::Server) => {
            refuse(&format!("cannot be set: {name} computes what it requests from the provider's server."))
        }
        (_, SettingOwner::Preview) => {
            refuse("cannot be set for this session: no gateway key sets it. Use --set.")
        }
        (_, SettingOwner::Gateway(_) | SettingOwner::Runtime { .. } | SettingOwner::Client) => Ok(Some(row)),
    }
}

/// Returns the current value with the base changes applied, or the unset value of a policy that is off.
fn current_point(axis_context: &AxisContext<'_>, id: SettingId, row: Option<&PolicySetting>) -> AxisPoint {
    let now = simulate_settings(axis_context.session, axis_context.base, PolicySet::NONE);
    let Some(row) = row else {
        let own = axis_context.base.iter().all(|change| change.id != SettingId::ContextWindow)
            || id != SettingId::ContextTokens;
        let current = session_setting(id.spec()).filter(|_| own);
        let value =
            current.map_or(now.window.tokens, |setting| Tokens(current_value(axis_context.session, setting)));
        return new_point(Some(Unit::Tokens), value.into());
    };
    if id == SettingId::PruneMode {
        return new_point(None, Value::from(if now.prune_on { "cache-ttl" } else { "off" }));
    }
    let unit = row.setting.control.unit();
    let value = if unit == Some(Unit::Milliseconds) {
        ttl_text(&row.setting.value)
    } else {
        row.setting.value.clone()
    };
    let mut point = new_point(unit, value);
    if row.policy == Policy::Prune && !now.prune_on {
        (point.value, point.text) = (None, "as is".to_owned());
    }
    // A client clears only on request, so without the axis nothing is cleared.
    if matches!(row.owner, SettingOwner::Client) && !axis_context.policies.has(row.policy) {
        (point.value, point.text) = (None, "off".to_owned());
    }
    point
}

/// Builds a point from a configuration value.
fn new_point(unit: Option<Unit>, value: Value) -> AxisPoint {
    let ms = value.as_str().filter(|_| unit == Some(Unit::Milliseconds)).and_then(parse_duration);
    let text = match ms {
        Some(ms) => duration_text(ms),
        None => input_text(unit, &value),
    };
    AxisPoint { number: ms.map(Millis::get).or_else(|| value.as_f64()), text, value: Some(value) }
}

/// Replaces shares of the window in a range, such as `50%..90%:10%`, by tokens.
fn shares_as_tokens(setting: &SettingSpec, range: &str, window: Tokens) -> String {
    let tokens = |part: &str| {
        let share = part.trim().ends_with('%').then(|| parse_share(part).ok()).flatten();
        share.map_or_else(
            || part.to_owned(),
            |share| number_text((window.max(Tokens::ZERO) * share).floor().get()),
        )
    };
    if !setting.takes_share() {
        return range.to_owned();
    }
    let (ends, step) = range.split_once(':').unwrap_or((range, ""));
    let ends: Vec<String> = ends.splitn(2, "..").map(tokens).collect();
    let step = if step.is_empty() { String::new() } else { format!(":{}", tokens(step)) };
    format!("{}{step}", ends.join(".."))
}

/// Expands `A..B:STEP` into texts.
fn expand_range(key: &str, text: &str, unit: Option<Unit>) -> Result<Vec<String>, AxisError> {
    let wrong = |what: &str| {
        let example = match unit {
            Some(Unit::Milliseconds) => "15m..2h:15m",
            Some(Unit::Share) => "0.1..0.4:0.1",
            Some(Unit::Tokens | Unit::Chars) => "10000..40000:10000",
            _ => "1..5:1",
        };
        AxisError(format!("{OPTION} {key}: {text:?} {what}; expected A..B:STEP, such as {example}, or a,b,c"))
    };
    let (ends, policy) = text.split_once(':').ok_or_else(|| wrong("has no step"))?;
    let (from, to) = ends.split_once("..").ok_or_else(|| wrong("has no ends"))?;
    if unit.is_none() {
        return Err(wrong("is a range, but this setting is a switch"));
    }
    let read = |text: &str| match unit {
        Some(Unit::Milliseconds) => parse_duration(&text.trim().into()).map(Millis::get),
        _ => parse_count(text),
    };
    let (Some(a), Some(b), Some(by)) = (read(from), read(to), read(policy)) else {
        return Err(wrong("contains a value that this setting does not accept"));
    };
    if b < a {
        return Err(wrong("ends before it begins"));
    }
    if by <= 0.0 {
        return Err(wrong("has a step of 0"));
    }
    let count = ((b - a) / by + 1e-9).floor() + 1.0;
    if count > MAX_VALUES as f64 {
        return Err(AxisError(format!(
            "{OPTION} {key}: {count} values; expected {MAX_VALUES} at most. Use a larger step."
        )));
    }
    let decimals =
        [from, policy].map(|text| text.trim().split_once('.').map_or(0, |(_, digits)| digits.len()));
    let digits = 10_f64.powi(decimals[0].max(decimals[1]).min(12) as i32);
    let at = |number: usize| {
        let value = a + by * number as f64;
        match unit {
            Some(Unit::Milliseconds) => duration_text(Millis(value)),
            _ => number_text((value * digits).round() / digits),
        }
    };
    Ok((0..count as usize).map(at).collect())
}
