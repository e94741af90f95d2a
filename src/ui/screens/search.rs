//! The search over every session: the words, the hits of each session, and the text around the selected hit.

mod preview;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Span;

use crate::app::App;
use crate::app::action::{Action, ScreenKind};
use crate::app::keymap::KeyContext;
use crate::app::screens::search::{MIN_LIVE_BYTES, SearchRow, SearchScreen, VISIBLE_HITS, WIDE};
use crate::app::state::InputPurpose;
use crate::format::{format_duration, format_number, format_short_age, format_size, quantity};
use crate::session::search::{SearchHit, SearchQuery, SessionHits};
use crate::session::title::shown_name;
use crate::session::{Mark, SessionItem};
use crate::text;
use crate::ui::status::draw_input;
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::{
    clear, on_title, put, put_facts_right, put_right, put_spans, row_at, scrollbar, title,
};
use crate::ui::{frame_box, session_columns};
use crate::units::Millis;
use preview::{marked, speaker};

/// Columns of the age and of the speaker of a hit.
const AGE_COLUMNS: u16 = 5;
const SPEAKER_COLUMNS: u16 = 11;

/// Draws the screen; returns the cursor position while words are typed.
pub(in crate::ui) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) -> Option<Position> {
    clear(theme, buf, area);
    let screen = &app.search_screen;
    let cursor = query_line(app, theme, row_at(area, area.y), buf);
    let (list, message) = screen.areas(area);
    let pane = Rect { y: list.y - 1, height: list.height + 1, ..list };
    let from = title(theme, buf, pane, "Hits", app.input.is_none());
    position(app, theme, pane, from, buf);
    if screen.rows.is_empty() {
        put(buf, (list.x + 3, list.y + 1), list.right(), &empty_text(screen), theme.style(Role::Text));
    }
    let top = screen.scroll.top.min(screen.rows.len().saturating_sub(usize::from(list.height)));
    for (y, (at, row)) in (list.y..list.bottom()).zip(screen.rows.iter().enumerate().skip(top)) {
        let line = row_at(list, y);
        if at == screen.scroll.cursor {
            frame_box::selected(theme, buf, line, theme.background(BackgroundRole::Selected));
        }
        HitLine { app, theme, area: line }.draw(*row, at == screen.scroll.cursor, buf);
    }
    preview::draw(app, theme, message, buf);
    scrollbar(theme, buf, list, top, screen.rows.len());
    unread_note(theme, screen, area, buf);
    cursor
}

/// Draws the words, and how much was found and read.
fn query_line(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) -> Option<Position> {
    let key = app.key_words(KeyContext::List, Action::Show(ScreenKind::Search));
    let end = area.right().saturating_sub(1);
    let facts = facts(app, theme, area.width >= WIDE);
    let start = put_facts_right(buf, area.y, area.x + area.width / 3, end, &facts);
    let x = put(buf, (area.x + 1, area.y), start, &format!("{key} "), theme.bold(Role::Text));
    let end = start.saturating_sub(2);
    if let Some(input) = app.input.as_ref().filter(|input| input.purpose == InputPurpose::StoreSearch) {
        return Some(draw_input(&input.line, theme, (x, area.y), end, buf));
    }
    put(buf, (x, area.y), end, app.search_screen.query.text(), theme.bold(Role::Bright));
    None
}

fn facts<'a>(app: &App, theme: &Theme, is_wide: bool) -> Vec<Vec<Span<'a>>> {
    let screen = &app.search_screen;
    if screen.query.is_empty() {
        return Vec::new();
    }
    let muted = |text: String| vec![Span::styled(text, theme.style(Role::Muted))];
    let hits = vec![Span::styled(quantity(screen.hit_count() as u64, "hit"), theme.bold(Role::Bright))];
    let found = format_number(screen.sessions.len() as u64);
    let Some(totals) = &screen.totals else {
        return vec![
            hits,
            muted(format!("in {}", quantity(screen.sessions.len() as u64, "session"))),
            muted("searching…".into()),
        ];
    };
    let mut facts =
        vec![hits, muted(format!("{found} of {}", quantity(totals.sessions as u64, "transcript")))];
    if let Some(elapsed) = screen.elapsed_ms.filter(|_| is_wide) {
        let time = format_duration(elapsed.max(Millis::ZERO));
        facts.push(muted(format!("{} in {time}", format_size(totals.bytes))));
    }
    facts
}

/// Draws the position of the hit in its session.
fn position(app: &App, theme: &Theme, pane: Rect, from: u16, buf: &mut Buffer) {
    let Some((session, hit)) = app.search_screen.selected() else { return };
    let name = session_name(app, session);
    let count = format!("{}/{}", format_number(hit as u64 + 1), format_number(session.count as u64));
    let room = usize::from(pane.right().saturating_sub(from)).saturating_sub(count.len() + 10);
    let name = text::truncate_middle(&name, room);
    let spans = [
        Span::styled(count, theme.bold(Role::Bright)),
        Span::styled(format!(" in {name}"), theme.style(Role::Muted)),
    ];
    on_title(buf, pane.y, from, pane.right().saturating_sub(1), &spans);
}

fn empty_text(screen: &SearchScreen) -> String {
    if screen.is_running {
        return "Searching…".to_owned();
    }
    match &screen.totals {
        Some(totals) => {
            let transcripts = quantity(totals.sessions as u64, "transcript");
            format!("No message of {transcripts} contains {}.", quoted(&screen.query))
        }
        None => format!("Type at least {MIN_LIVE_BYTES} letters. A hit has every word; a capital matters."),
    }
}

fn quoted(query: &SearchQuery) -> String {
    let words: Vec<String> = query.text().split_whitespace().map(|word| format!("“{word}”")).collect();
    words.join(" and ")
}

/// Reports transcripts that could not be read, in the last row.
fn unread_note(theme: &Theme, screen: &SearchScreen, area: Rect, buf: &mut Buffer) {
    let Some(first) = screen.totals.as_ref().and_then(|totals| totals.unread.first()) else { return };
    let count = quantity(screen.unread_count() as u64, "transcript");
    let y = area.bottom().saturating_sub(1);
    let x = put(buf, (area.x + 1, y), area.right(), session_columns::ALERT, theme.style(Role::Warn));
    let words = format!("{count} could not be read");
    let x = put(buf, (x + 1, y), area.right(), &words, theme.style(Role::Warn));
    let room = usize::from(area.right().saturating_sub(x + 4));
    let (error, _) = text::truncate(&text::visible(&first.error), room);
    put(buf, (x + 2, y), area.right().saturating_sub(1), &error, theme.style(Role::Muted));
}

fn item<'a>(app: &'a App, session: &SessionHits) -> Option<&'a SessionItem> {
    app.sessions.items.iter().find(|item| item.key == session.key)
}

fn session_name(app: &App, session: &SessionHits) -> String {
    let name = item(app, session).map(|item| shown_name(item, app.secrets).into_owned());
    name.unwrap_or_else(|| session.key.0.clone())
}

struct HitLine<'a> {
    app: &'a App,
    theme: &'a Theme,
    area: Rect,
}

impl HitLine<'_> {
    fn draw(&self, row: SearchRow, is_selected: bool, buf: &mut Buffer) {
        let sessions = &self.app.search_screen.sessions;
        match row {
            SearchRow::Session(at) => {
                if let Some(session) = sessions.get(at) {
                    self.session(session, buf);
                }
            }
            SearchRow::Hit(at, hit) => {
                if let Some(hit) = sessions.get(at).and_then(|session| session.hits.get(hit)) {
                    self.hit(hit, is_selected, buf);
                }
            }
            SearchRow::More(at) => {
                if let Some(session) = sessions.get(at) {
                    self.more(session, buf);
                }
            }
            SearchRow::Gap => {}
        }
    }

    fn session(&self, session: &SessionHits, buf: &mut Buffer) {
        let (theme, area) = (self.theme, self.area);
        let item = item(self.app, session);
        if item.is_some_and(|item| item.has(Mark::Overflow)) {
            put(buf, (area.x + 1, area.y), area.right(), session_columns::ALERT, theme.style(Role::Danger));
        }
        let agent = item.map(|item| item.agent.as_str()).unwrap_or_default();
        let agent = [Span::styled(agent.to_owned(), theme.style(Role::Muted))];
        let end = put_right(buf, area.y, area.x + area.width / 2, area.right().saturating_sub(2), &agent);
        let mut facts = vec![quantity(session.count as u64, "hit")];
        let aside = session.count - session.branch_count;
        if aside > 0 && session.branch_count > 0 {
            facts.push(format!("{} on other branches", format_number(aside as u64)));
        } else if aside > 0 {
            facts.push("on other branches".to_owned());
        }
        facts.extend(session.updated_ms.map(|ms| format_short_age(ms, self.app.now_ms)));
        facts.extend(
            item.and_then(|item| item.marks.iter().find(|mark| mark.is_archive()))
                .map(|mark| mark.as_str().to_owned()),
        );
        let facts = format!(" · {}", facts.join(" · "));
        let room = usize::from(end.saturating_sub(area.x + 4)).saturating_sub(text::width(&facts) + 1);
        let name = text::truncate_middle(&session_name(self.app, session), room.max(12));
        let spans =
            [Span::styled(name, theme.bold(Role::Bright)), Span::styled(facts, theme.style(Role::Muted))];
        put_spans(buf, (area.x + 3, area.y), end.saturating_sub(1), &spans);
    }

    fn hit(&self, hit: &SearchHit, is_selected: bool, buf: &mut Buffer) {
        let (theme, area) = (self.theme, self.area);
        let end = area.right().saturating_sub(1);
        let mut x = area.x + 4;
        let age = hit.time_ms.map(|at| format_short_age(at, self.app.now_ms));
        put(buf, (x, area.y), x + AGE_COLUMNS - 1, &age.unwrap_or_default(), theme.style(Role::Muted));
        x += AGE_COLUMNS;
        let (name, role) = speaker(hit);
        put(buf, (x, area.y), x + SPEAKER_COLUMNS - 1, name, theme.style(role));
        x += SPEAKER_COLUMNS;
        let style = match (is_selected, hit.is_on_branch) {
            (true, _) => theme.style(Role::Bright),
            (false, true) => theme.style(Role::Text),
            (false, false) => theme.style(Role::Muted),
        };
        let query = &self.app.search_screen.query;
        let line = hit.text.line(query, self.app.secrets, usize::from(end.saturating_sub(x)));
        put_spans(buf, (x, area.y), end, &marked(theme, query, &text::visible(&line), style));
    }

    fn more(&self, session: &SessionHits, buf: &mut Buffer) {
        let (theme, area) = (self.theme, self.area);
        let screen = &self.app.search_screen;
        let shown = if screen.is_expanded(session) {
            session.hits.len()
        } else {
            session.hits.len().min(VISIBLE_HITS)
        };
        let rest = format_number((session.count - shown) as u64);
        let (key, words) = if shown < session.hits.len() {
            (self.app.key_words(KeyContext::List, Action::Fold), " shows them")
        } else {
            (self.app.key_words(KeyContext::List, Action::Open), " opens the session; n continues there")
        };
        let spans = [
            Span::styled(format!("…  {rest} more   "), theme.style(Role::Muted)),
            Span::styled(key, theme.bold(Role::Text)),
            Span::styled(words, theme.style(Role::Muted)),
        ];
        put_spans(buf, (area.x + 4, area.y), area.right().saturating_sub(1), &spans);
    }
}
