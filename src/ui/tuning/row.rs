//! One setting, and the profile of the focused one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::meaning::{meaning, origin, shown_value, value_text};
use crate::app::App;
use crate::app::action::{Action, ScreenKind};
use crate::app::keymap::KeyContext;
use crate::app::layout::{Layout, WidthClass};
use crate::app::target::Target;
use crate::format::format_short_estimate;
use crate::gateway::setting_value::{Control, slider_value};
use crate::js::Value;
use crate::policy::Policy;
use crate::ui::changed_value::changed_style;
use crate::ui::session_columns;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{apply_style, put, put_facts, put_right, put_spans, spans_width};

/// Largest width of the words next to a track: meaning, `was`, origin.
const MEANING_WIDTH: u16 = 19;

/// The position of a setting's row.
pub(super) struct SettingLine<'a> {
    pub(super) app: &'a App,
    pub(super) theme: &'a Theme,
    pub(super) layout: &'a Layout,
    pub(super) area: Rect,
}

impl SettingLine<'_> {
    fn is_narrow(&self) -> bool {
        self.layout.width_class < WidthClass::Medium
    }

    /// Returns the first column of the name, the column after the value, and the track.
    fn columns(&self) -> (u16, u16, std::ops::Range<u16>) {
        let track = self.layout.slider_track();
        (if self.is_narrow() { 1 } else { 3 }, track.start.saturating_sub(2), track)
    }

    pub(super) fn setting(&self, at: usize, buf: &mut Buffer) {
        let (app, theme, y) = (self.app, self.theme, self.area.y);
        let Some(row) = app.tuning.setting(at) else { return };
        let selected = at == app.tuning.cursor;
        self.cursor(selected, buf);
        let (name, value_end, track) = self.columns();
        let changed = app.tuning.is_changed(at);
        let slides = matches!(row.control, Control::Slider { .. });
        let fixed = row.control.fixed_reason().is_some();
        let style = match (selected, fixed) {
            (true, _) => theme.bold(Role::Bright),
            (_, true) => theme.style(Role::Faint),
            _ => theme.style(Role::Text),
        };
        let numbered = slides || fixed;
        let value = if numbered { value_text(app, at) } else { String::new() };
        let room = value_end.saturating_sub(crate::text::width(&value) as u16 + u16::from(numbered));
        let whole = name + row.name().len() as u16 <= room;
        let name_text = if whole { row.name() } else { row.name().rsplit('.').next().unwrap_or_default() };
        let used = put(buf, (name, y), room, name_text, style);
        let style = match (changed, selected) {
            (true, _) => theme.bold(Role::Plan),
            (_, true) => theme.style(Role::Bright),
            _ if fixed => theme.style(Role::Faint),
            _ => theme.style(Role::Text),
        };
        if app.is_flashing() && app.flash.setting == Some(at) {
            let from = value_end.saturating_sub(6).max(used);
            let area = Rect { x: from, width: (value_end + 1).saturating_sub(from), ..self.area };
            apply_style(buf, area, changed_style(app, theme));
        }
        if numbered {
            put_right(buf, y, used + 1, value_end, &[Span::styled(value, style)]);
        }
        if slides {
            self.slider(at, changed, buf);
        } else if let Some(why) = row.control.fixed_reason() {
            let end = if self.is_narrow() { self.area.right().saturating_sub(1) } else { track.end };
            put(buf, (track.start, y), end, why, theme.style(Role::Faint));
        } else {
            self.plain(at, style, track, buf);
        }
        self.annotations(at, changed, buf);
    }

    fn cursor(&self, selected: bool, buf: &mut Buffer) {
        if !selected {
            return;
        }
        let focused = self.app.is_tuning_focused();
        apply_style(buf, self.area, self.theme.selection(focused));
        let role = if focused { Role::Focus } else { Role::Ghost };
        put(
            buf,
            (self.area.x, self.area.y),
            self.area.right(),
            session_columns::CURSOR,
            self.theme.style(role),
        );
    }

    fn slider(&self, at: usize, changed: bool, buf: &mut Buffer) {
        let track = self.layout.slider_track();
        let cells = track.end - track.start;
        let place = |share: Option<f64>| share.map(|share| (share * f64::from(cells - 1)).round() as u16);
        let (Some(here), was) = (place(self.app.tuning.share(at)), place(self.app.tuning.config_share(at)))
        else {
            return;
        };
        let theme = self.theme;
        let (line, knob) = if changed { (Role::Plan, Role::Plan) } else { (Role::Ghost, Role::Text) };
        for cell in 0..cells {
            let (sign, style) = match cell {
                _ if cell == here => (session_columns::ON, theme.style(knob)),
                _ if changed && was == Some(cell) => (session_columns::OFF, theme.style(Role::Ghost)),
                _ if cell < here => (session_columns::HEAVY, theme.style(line)),
                _ => (session_columns::LIGHT, theme.style(Role::Faint)),
            };
            put(buf, (track.start + cell, self.area.y), track.end, sign, style);
        }
    }

    /// Draws a switch with both ends, a list or a text.
    fn plain(&self, at: usize, style: Style, track: std::ops::Range<u16>, buf: &mut Buffer) {
        let (app, theme) = (self.app, self.theme);
        let from = (track.start, self.area.y);
        match (app.tuning.setting(at).map(|row| row.control), app.tuning.values.get(at)) {
            (Some(Control::Switch), Some(value)) => {
                let on = value.as_bool().unwrap_or(false);
                let end = |named: bool, word: &'static str| {
                    let sign = if named == on { session_columns::ON } else { session_columns::OFF };
                    let style = if named == on { style } else { theme.style(Role::Muted) };
                    [Span::styled(sign, style), Span::styled(format!(" {word}   "), style)]
                };
                put_spans(buf, from, track.end, &[end(true, "on"), end(false, "off")].concat());
            }
            (Some(Control::List), Some(Value::Array(items))) if items.is_empty() => {
                put(buf, from, track.end, "none", theme.style(Role::Muted));
            }
            (Some(_), Some(_)) => {
                put(buf, from, track.end, &value_text(app, at), style);
            }
            _ => {}
        }
    }

    /// Draws meaning, former value and origin.
    fn annotations(&self, at: usize, changed: bool, buf: &mut Buffer) {
        let (app, theme, y) = (self.app, self.theme, self.area.y);
        let Some(row) = app.tuning.setting(at) else { return };
        let track = self.layout.slider_track();
        let end = self.area.right().saturating_sub(1).max(track.end);
        let muted = theme.style(Role::Muted);
        let was = changed.then(|| shown_value(app, at, &row.value));
        let was_spans =
            |was: String| [Span::styled("was ", muted), Span::styled(was, theme.style(Role::Text))];
        if self.is_narrow() && row.control.fixed_reason().is_some() {
            return;
        }
        if self.is_narrow() {
            let spans = was.map_or_else(
                || {
                    let (whole, room) = (origin(app, at), usize::from(end.saturating_sub(track.end + 2)));
                    // The line in the file matters more than the file's name.
                    let line = whole.rsplit_once(':').map(|(_, line)| format!("config:{line}"));
                    let is_cut = crate::text::width(&whole) > room;
                    vec![Span::styled(line.filter(|_| is_cut).unwrap_or(whole), muted)]
                },
                |was| was_spans(was).to_vec(),
            );
            put_right(buf, y, track.end + 2, end, &spans);
            return;
        }
        let from = track.end + 3;
        // The former value takes precedence over the origin.
        let origin = [Span::styled(origin(app, at), muted)];
        let was_width = was.as_ref().map_or(0, |was| crate::text::width(was) as u16 + 6);
        let room = end.saturating_sub(from + MEANING_WIDTH + was_width);
        let origin_fits = was.is_none() || spans_width(&origin) <= room;
        let origin_at = if origin_fits { put_right(buf, y, from, end, &origin) } else { end + 2 };
        let words = app.displayed_session().map(|session| meaning(app, session, at)).unwrap_or_default();
        let meaning_end = if was.is_some() { from + MEANING_WIDTH } else { origin_at }.min(origin_at);
        let role = if at == app.tuning.cursor { Role::Text } else { Role::Muted };
        let room = usize::from(meaning_end.saturating_sub(from + 2));
        let fits = crate::text::width(&words) <= room;
        let words = if fits { words.as_str() } else { leading_amount(&words) };
        let used = put(buf, (from, y), meaning_end.saturating_sub(2), words, theme.style(role));
        if let Some(was) = was {
            let x = (from + MEANING_WIDTH).max(used + 2);
            put_spans(buf, (x, y), origin_at.saturating_sub(2), &was_spans(was));
        }
    }

    /// Draws the total after the plan for each position of the focused slider, to show which moves pay off.
    pub(super) fn profile(&self, buf: &mut Buffer) {
        let (app, theme, y) = (self.app, self.theme, self.area.y);
        let profile = app.tuning.profile();
        let (_, value_end, track) = self.columns();
        let (Some(least), Some(most)) = (profile.iter().min(), profile.iter().max()) else {
            return self.no_profile(track.start, buf);
        };
        let label = [Span::styled("total after", theme.style(Role::Muted))];
        put_right(buf, y, 3.min(value_end), value_end, &label);
        let cells = usize::from(track.end - track.start);
        // A difference of a few tokens must not look like a cliff.
        let span = (most - least).max(most / 10).max(1);
        let base = least.saturating_sub((span - (most - least)) / 2);
        let here =
            app.tuning.share(app.tuning.cursor).map(|share| (share * (cells - 1) as f64).round() as usize);
        for cell in 0..cells {
            let total = profile[cell * (profile.len() - 1) / (cells - 1).max(1)];
            let height = 1 + ((total - base) * 7 / span).min(7) as usize;
            let role = if here == Some(cell) { Role::Plan } else { Role::Faint };
            let at = (track.start + cell as u16, y);
            put(buf, at, track.end, session_columns::EIGHTHS_UP[height - 1], theme.style(role));
        }
        let end = self.area.right().saturating_sub(1);
        let muted = |words: String| vec![Span::styled(words, theme.style(Role::Muted))];
        let words = match (least == most, self.is_narrow()) {
            (true, is_narrow) => muted(self.flat_reason(is_narrow)),
            (false, true) => {
                muted(format!("{}…{}", format_short_estimate(*least), format_short_estimate(*most)))
            }
            (false, false) => {
                muted(format!("{} … {}", format_short_estimate(*least), format_short_estimate(*most)))
            }
        };
        let flat = self.flat_note().map(muted).unwrap_or_default();
        let gap = if self.is_narrow() { 1 } else { 3 };
        put_facts(buf, (track.end + gap, y), end, &[words, flat]);
    }

    /// Says where to see the effect of the slider while the bars show every call, and a curve has one total per position.
    fn no_profile(&self, x: u16, buf: &mut Buffer) {
        let (app, theme) = (self.app, self.theme);
        if app.target != Target::WholeSession || !app.tuning.preview {
            return;
        }
        let key = app.key_words(KeyContext::Main, Action::Show(ScreenKind::Compare));
        let spans = [
            Span::styled(key, theme.bold(Role::Text)),
            Span::styled(" replays the session under other values", theme.style(Role::Muted)),
        ];
        put_spans(buf, (x, self.area.y), self.area.right().saturating_sub(1), &spans);
    }

    /// Returns why the total is the same at every position.
    fn flat_reason(&self, is_narrow: bool) -> String {
        let policy = self.app.tuning.policy;
        match (self.app.tuning.is_policy_on(policy), is_narrow) {
            (false, true) => format!("{} is off", policy.word()),
            (false, false) => format!("no effect: {} is off", policy.word()),
            (true, true) => "no difference".to_owned(),
            (true, false) if policy == Policy::Compact => "decides when, not how much".to_owned(),
            (true, false) => "same total at every value".to_owned(),
        }
    }

    /// Returns the range in which moving the slider has no effect.
    fn flat_note(&self) -> Option<String> {
        let (tuning, profile) = (&self.app.tuning, self.app.tuning.profile());
        let control = tuning.focused_setting()?.control;
        let last = profile.len() - 1;
        let below = profile.iter().position(|total| *total != profile[0])?.saturating_sub(1);
        let above = profile.iter().rposition(|total| *total != profile[last])? + 1;
        let at = |step: usize| {
            let value = slider_value(control, step as f64 / last as f64);
            value
                .map_or_else(String::new, |value| shown_value(self.app, tuning.cursor, &Value::Number(value)))
        };
        // Only report a range of several positions.
        match (below, last - above) {
            (left, right) if left >= 3 && left >= right => Some(format!("same below {}", at(below))),
            (_, right) if right >= 3 => Some(format!("same above {}", at(above))),
            _ => None,
        }
    }
}

/// Returns the amount that a hint begins with, such as `150k` of `150k of all`: half of another hint would mislead.
fn leading_amount(words: &str) -> &str {
    let first = words.split(' ').next().unwrap_or_default();
    if first.starts_with(|sign: char| sign == '~' || sign.is_ascii_digit()) { first } else { "" }
}
