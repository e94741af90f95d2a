//! The header line (program, store, live state) and the line of the open session.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::action::{Action, ScreenKind};
use crate::app::keymap::KeyContext;
use crate::app::layout::{Pane, WidthClass};
use crate::app::state::{Overlay, UpdateMode};
use crate::app::target::Target;
use crate::diagnostic::Severity;
use crate::format::{display_zone_note, format_number, format_short, quantity, time_of_day};
use crate::gateway::ruleset::Ruleset;
use crate::session::overflow::CallState;
use crate::session::title::shown_name;
use crate::session::{LoadedSession, Mark};
use crate::ui::session_columns;
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::{apply_style, put_facts, put_facts_right, spans_width};
use crate::units::Tokens;

type Fact<'a> = Vec<Span<'a>>;

pub(super) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    apply_style(buf, area, theme.background(BackgroundRole::Surface));
    let page = app.page().and_then(Overlay::page_title);
    let (left, right) = match app.layout().width_class {
        breadth if page.is_some() => on_page(page.unwrap_or_default(), app, theme, breadth),
        breadth if app.zoom && app.focus == Pane::Message => breadcrumbs(app, theme, breadth),
        WidthClass::Medium | WidthClass::Wide => (program(app, theme), store(app, theme)),
        breadth => (short_session(app, theme, breadth), short_state(app, theme)),
    };
    let end = area.right().saturating_sub(1);
    let start = put_facts_right(buf, area.y, area.x + 20, end, &right);
    put_facts(buf, (area.x + 1, area.y), start.saturating_sub(2), &left);
}

/// Returns the header of a screen that hides the session line, with its breadcrumb.
fn on_page<'a>(
    page: &'a str,
    app: &'a App,
    theme: &Theme,
    breadth: WidthClass,
) -> (Vec<Fact<'a>>, Vec<Fact<'a>>) {
    let roomy = breadth >= WidthClass::Medium;
    let store = app.store.listing.as_ref().map(|listing| listing.store_label.as_str().into());
    let session = || app.displayed_session().map(|session| shown_name(&session.item, app.secrets));
    let name = store.filter(|_| matches!(app.page(), Some(Overlay::Search))).or_else(session);
    let mut way = Vec::new();
    if roomy {
        way.extend([Span::styled("clawscope", theme.bold(Role::Bright)), Span::raw("   ")]);
    }
    way.extend([
        Span::styled(name.unwrap_or_default(), theme.style(Role::Text)),
        Span::styled(if roomy { "  ›  " } else { " › " }, theme.style(Role::Muted)),
        Span::styled(page, theme.bold(Role::Bright)),
    ]);
    let mut right = vec![live_state(app, theme)];
    // The session of the page may have another ruleset than the store.
    let rules = app.displayed_session().map(|open| open.ruleset.id);
    let rules = rules.or_else(|| Some(app.store.listing.as_ref()?.ruleset.id));
    if let Some(rules) = rules.filter(|_| roomy) {
        right.push(vec![Span::styled(rules.display_name(), theme.style(Role::Muted))]);
    }
    right.push(help(app, theme, if roomy { " help" } else { "" }));
    (vec![way], right)
}

/// Returns the header of a message on the full screen: breadcrumb and position.
fn breadcrumbs<'a>(app: &'a App, theme: &Theme, breadth: WidthClass) -> (Vec<Fact<'a>>, Vec<Fact<'a>>) {
    let roomy = breadth >= WidthClass::Medium;
    let Some(session) = app.displayed_session() else { return (program(app, theme), store(app, theme)) };
    let mut way = Vec::new();
    if roomy {
        way.extend([Span::styled("clawscope", theme.bold(Role::Bright)), Span::raw("   ")]);
    }
    way.push(Span::styled(shown_name(&session.item, app.secrets), theme.style(Role::Text)));
    if let Some(message) = app.message.visible_text() {
        let (tool, words) = &message.title;
        way.push(Span::styled(if roomy { "  ›  " } else { " › " }, theme.style(Role::Muted)));
        way.extend(tool.as_ref().map(|tool| Span::styled(format!("{tool} "), theme.bold(Role::Bright))));
        way.push(Span::styled(words.as_str(), theme.bold(Role::Bright)));
    }
    let mut right: Vec<Fact<'a>> =
        ranks(app, session).into_iter().map(|rank| rank.spans(theme, roomy)).collect();
    right.push(help(app, theme, if roomy { " help" } else { "" }));
    (vec![way], right)
}

/// The position of a message within a group.
struct Rank {
    group: &'static str,
    position: usize,
    count: usize,
}

impl Rank {
    fn spans<'a>(self, theme: &Theme, words: bool) -> Fact<'a> {
        let muted = |text: String| Span::styled(text, theme.style(Role::Muted));
        let (at, count) = (format_number(self.position as i64), format_number(self.count as i64));
        if !words {
            return vec![muted(format!("{at}/{count}"))];
        }
        let of = if self.group.is_empty() { String::new() } else { format!("{} ", self.group) };
        vec![muted(of), Span::styled(at, theme.style(Role::Text)), muted(format!(" of {count}"))]
    }
}

/// Returns the position of the message on the path, and among the messages with the same fate.
fn ranks(app: &App, session: &LoadedSession) -> Vec<Rank> {
    let Some(entry) = app.selected_entry() else { return Vec::new() };
    let path = &session.context.path;
    let on_path = path.iter().position(|ix| *ix == entry);
    let mut ranks: Vec<Rank> =
        on_path.map(|at| Rank { group: "entry", position: at + 1, count: path.len() }).into_iter().collect();
    let fated = app.preview.plan.as_ref().and_then(|plan| {
        let at = session.context.position(entry)?;
        let fate = plan.fates().get(at).map(|message| message.fate).filter(|fate| fate.is_change())?;
        let before = plan.fates()[..=at].iter().filter(|message| message.fate == fate).count();
        Some(Rank { group: fate.word(), position: before, count: plan.count(fate) })
    });
    ranks.extend(fated);
    ranks
}

fn program<'a>(app: &'a App, theme: &Theme) -> Vec<Fact<'a>> {
    let mut facts = vec![vec![Span::styled("clawscope", theme.bold(Role::Bright))]];
    if let Some(listing) = &app.store.listing {
        let missing = listing.missing_store.as_ref().map(|path| format!(" (no store at {path})"));
        facts.push(vec![
            Span::styled(listing.store_label.as_str(), theme.style(Role::Text)),
            Span::styled(missing.unwrap_or_default(), theme.style(Role::Warn)),
        ]);
        let (role, chosen) =
            if app.has_chosen_release() { (Role::Plan, " (chosen)") } else { (Role::Muted, "") };
        let rules = format!("{}{chosen}", rules_name(app, listing.ruleset.id));
        facts.push(vec![Span::styled(rules, theme.style(role))]);
    }
    facts
}

/// Returns the ruleset of the open session, otherwise the one of all listed sessions. A pi transcript names its version
/// only when read; until then, and for mixed versions, the label is just `pi`.
fn rules_name(app: &App, store: Ruleset) -> &'static str {
    if let Some(open) = app.displayed_session() {
        return open.ruleset.id.display_name();
    }
    let mut items = app.sessions.items.iter();
    match items.next() {
        Some(first) if items.any(|item| item.ruleset != first.ruleset) || first.entries.is_none() => {
            if store.is_pi() { "pi" } else { store.display_name() }
        }
        Some(first) => first.ruleset.display_name(),
        None => store.display_name(),
    }
}

fn store<'a>(app: &App, theme: &Theme) -> Vec<Fact<'a>> {
    let muted = |text: String| vec![Span::styled(text, theme.style(Role::Muted))];
    let mut facts = vec![live_state(app, theme)];
    if let Some(listing) = &app.store.listing {
        // A transcript opened as a store has no agents.
        if listing.agent_count > 0 {
            facts.push(muted(quantity(listing.agent_count as u64, "agent")));
        }
        facts.push(muted(quantity(app.sessions.items.len() as u64, "session")));
    }
    facts.push(help(app, theme, " help"));
    facts
}

fn live_state<'a>(app: &App, theme: &Theme) -> Fact<'a> {
    match app.update_mode {
        UpdateMode::Live => vec![
            Span::styled(session_columns::ON, theme.style(Role::User)),
            Span::styled(" Live", theme.bold(Role::Text)),
            Span::styled(
                if app.store.polling_reason.is_some() { ", polling" } else { "" },
                theme.style(Role::Warn),
            ),
        ],
        UpdateMode::Paused { changes } => {
            let waiting = if changes > 0 {
                format!(", {} waiting", quantity(changes, "change"))
            } else {
                String::new()
            };
            vec![
                Span::styled(session_columns::OFF, theme.style(Role::Warn)),
                Span::styled(format!(" Paused{waiting}"), theme.style(Role::Warn)),
            ]
        }
    }
}

fn help<'a>(app: &App, theme: &Theme, words: &'a str) -> Fact<'a> {
    let key = app.key_words(KeyContext::Global, Action::Show(ScreenKind::Help));
    vec![Span::styled(key, theme.bold(Role::Text)), Span::styled(words, theme.style(Role::Muted))]
}

/// Returns the facts of narrow layouts, whose header replaces the session line.
fn short_session<'a>(app: &'a App, theme: &Theme, breadth: WidthClass) -> Vec<Fact<'a>> {
    let Some(session) = app.displayed_session() else { return program(app, theme) };
    let mut facts =
        vec![vec![Span::styled(shown_name(&session.item, app.secrets), theme.bold(Role::Bright))]];
    // Narrow layouts have no other line for the selected prompt, and a preview is of one of them.
    if app.target != Target::NextCall || app.tuning.preview {
        let key = app.key_words(KeyContext::Transcript, Action::NextTarget);
        facts.push(vec![
            Span::styled(app.target.label(), theme.style(Role::Plan)),
            Span::raw(" "),
            Span::styled(key, theme.bold(Role::Text)),
        ]);
        return facts;
    }
    if breadth == WidthClass::Narrow {
        facts.push(vec![Span::styled(session.model.as_str(), theme.style(Role::Muted))]);
        let window = Span::styled(window_text(session), theme.style(Role::Muted));
        facts.push(vec![window, window_guard(session, theme)]);
    }
    facts
}

fn short_state<'a>(app: &App, theme: &Theme) -> Vec<Fact<'a>> {
    let failed =
        app.displayed_session().map(|session| failures(app, session, theme, true)).unwrap_or_default();
    let gone =
        app.source_status().map(|_| Span::styled("stale", theme.style(Role::Warn))).into_iter().collect();
    vec![gone, failed, live_state(app, theme), help(app, theme, "")]
}

pub(super) fn session_line(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let Some(session) = app.displayed_session() else { return };
    let end = area.right().saturating_sub(1);
    let about = about(session, theme);
    let mut right = vec![
        source_status(app, theme),
        diagnostics(app, session, theme),
        failures(app, session, theme, false),
        last_call(app, session, theme),
    ];
    // The window matters more than the time of the last call.
    let width = |facts: &[Fact]| {
        let message = facts.iter().filter(|fact| !fact.is_empty());
        message.map(|fact| spans_width(fact) + 3).sum::<u16>().saturating_sub(3)
    };
    if width(&about[..3]) + width(&right) + 4 > area.width {
        right.pop();
    }
    let start = put_facts_right(buf, area.y, area.x + 30, end, &right);
    put_facts(buf, (area.x + 1, area.y), start.saturating_sub(2), &about);
}

fn about<'a>(session: &'a LoadedSession, theme: &Theme) -> Vec<Fact<'a>> {
    let muted = |text: String| Span::styled(text, theme.style(Role::Muted));
    let assumed = session.is_window_assumed();
    let source_style = theme.style(if assumed { Role::Warn } else { Role::Muted });
    let source = session.window.origin();
    let refused = session
        .smallest_refused_window()
        .map(|tokens| format!(" · provider refused at {}", format_number(tokens as i64)));
    let compactions = session.item.compactions.unwrap_or(0);
    vec![
        vec![Span::styled(session.item.key.0.as_str(), theme.bold(Role::Bright))],
        vec![muted(session.model.clone())],
        vec![
            muted(format!("window {} ", window_text(session))),
            Span::styled(format!("({source})"), source_style),
            Span::styled(refused.unwrap_or_default(), theme.style(Role::Warn)),
            window_guard(session, theme),
        ],
        if compactions > 0 { vec![muted(quantity(compactions, "compaction"))] } else { Vec::new() },
    ]
}

/// Returns the gateway's verdict on a small window (compaction 7.2).
fn window_guard<'a>(session: &LoadedSession, theme: &Theme) -> Span<'a> {
    let guard = session.window_guard();
    let role = if guard.should_block { Role::Danger } else { Role::Warn };
    let word = guard.label().map(|word| format!(" {word}"));
    Span::styled(word.unwrap_or_default(), theme.style(role))
}

fn window_text(session: &LoadedSession) -> String {
    format_short(session.window.model_tokens.whole())
}

/// Returns the change of a transcript that is no longer where it was read.
fn source_status<'a>(app: &App, theme: &Theme) -> Fact<'a> {
    let words = app.source_status().map(|left| Span::styled(left.description(), theme.style(Role::Warn)));
    words.into_iter().collect()
}

/// Returns the overflow mark and the number of failed calls on this path.
fn failures<'a>(app: &App, session: &LoadedSession, theme: &Theme, short: bool) -> Fact<'a> {
    if app.opening.awaits_write {
        return vec![Span::styled("reading…", theme.style(Role::Muted))];
    }
    let count = app.preview.totals.failed_calls;
    let overflow = session.item.has(Mark::Overflow);
    let unanswered =
        session.item.state.filter(|state| matches!(state, CallState::Refused | CallState::Failing));
    if let Some(state) = unanswered {
        let role = if state == CallState::Refused { Role::Danger } else { Role::Warn };
        let failed = session.last_calls().failed.len();
        let words = if short { state.as_str().to_owned() } else { format!("{} {failed}x", state.as_str()) };
        return vec![Span::styled(format!("{} {words}", session_columns::ALERT), theme.style(role))];
    }
    if session.fits_since_commit().is_some() {
        return vec![Span::styled(format!("{} fits now", session_columns::PASSED), theme.style(Role::User))];
    }
    let words = match (overflow, count, short) {
        (false, 0, false) if is_past_trigger(session) => "compaction due".to_owned(),
        (false, 0, _) => return Vec::new(),
        (true, 0 | 1, _) => "overflow".to_owned(),
        (_, count, true) => count.to_string(),
        (true, count, false) => format!("overflow, {}", quantity(count, "failed call")),
        (false, count, false) => quantity(count, "failed call"),
    };
    let role = if overflow { Role::Danger } else { Role::Warn };
    vec![Span::styled(format!("{} {words}", session_columns::ALERT), theme.style(role))]
}

/// Whether the next prompt is larger than what makes the session compact.
fn is_past_trigger(session: &LoadedSession) -> bool {
    let tokens = Tokens(session.next_prompt.total.tokens as f64);
    session.configured_settings.compaction.enabled && session.trigger_point().is_reached(tokens)
}

/// Counts the diagnostics above the severity `Note`.
fn diagnostics<'a>(app: &App, session: &LoadedSession, theme: &Theme) -> Fact<'a> {
    let serious = |finding: &&crate::diagnostic::Diagnostic| finding.severity > Severity::Note;
    let found = app.transcript.iter().flat_map(|pane| &pane.diagnostics);
    let count = found.filter(serious).count() as u64;
    let broken = app.store.listing.as_ref().is_some_and(|listing| listing.config_error.is_some());
    let words = match session.index.bad_lines {
        _ if broken => "config error: using defaults".to_owned(),
        _ if session.context_throws => "cannot build the context".to_owned(),
        _ if count == 0 => return Vec::new(),
        0 => quantity(count, "problem"),
        lines => format!("{} unreadable", quantity(lines, "line")),
    };
    let key = app.key_words(KeyContext::Global, Action::Show(ScreenKind::Problems));
    vec![
        Span::styled(key, theme.bold(Role::Text)),
        Span::styled(format!(" {words}"), theme.style(Role::Warn)),
    ]
}

fn last_call<'a>(app: &App, session: &LoadedSession, theme: &Theme) -> Fact<'a> {
    let at = session.last_call_ms.and_then(|at| time_of_day(at, app.now_ms));
    let words =
        at.map_or_else(|| "no call yet".to_owned(), |at| format!("last call {at}{}", display_zone_note()));
    vec![Span::styled(words, theme.style(Role::Muted))]
}
