//! `clawscope search TEXT`: searches every transcript of a store and prints the hits, ranked by session.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::{Invocation, Workspace};
use super::failure::Failure;
use super::output::Output;
use super::session_output::{SessionJson, session_json};
use crate::cli::{SearchArgs, StoreArgs, secrets};
use crate::doc::Tone;
use crate::export::json::JsonOutput;
use crate::format::{format_age, format_number, format_size, quantity};
use crate::ids::SessionKey;
use crate::redact::SecretDisplay;
use crate::session::SessionItem;
use crate::session::search::{
    SearchHit, SearchQuery, SearchTotals, SessionHits, UnreadTranscript, search_store,
};
use crate::session::title::{shown_name, shown_title};
use crate::text::{pad, truncate, visible};
use crate::units::Moment;

/// Chars of a line of text where the width of the output is unknown.
const LINE_CHARS: usize = 160;
/// Columns before the text of a hit, and the least that the text gets.
const LEAD_COLUMNS: usize = 46;
/// Columns of a time, and of a date alone, which a narrow output has.
const TIME_COLUMNS: usize = 20;
const DATE_COLUMNS: usize = 11;
/// Columns of an output from which it has times.
const MIN_WIDTH_OF_TIMES: usize = 110;
const MIN_TEXT_CHARS: usize = 24;

pub(super) fn run(
    args: &SearchArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let query = SearchQuery::new(&args.text);
    if query.is_empty() {
        return Err(Failure::usage("TEXT is empty: type at least one word to search for."));
    }
    let workspace = Workspace::from_path(args.list.path.as_deref(), place, invocation)?;
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let (sessions, totals) = search_all(&workspace, &query, limit);
    let secrets = secrets(args.no_redact);
    let titled = if args.list.json { Vec::new() } else { read_titles(&workspace, &sessions) };
    let items = workspace.listed.items.iter().chain(&titled).map(|item| (&item.key, item)).collect();
    let now_ms = workspace.now_ms;
    let found = Found { items, limit, now_ms, query: &query, sessions, totals, secrets };
    if args.list.json {
        output.json(&found.json())?;
    } else {
        found.print(output)?;
    }
    workspace.require_databases()?;
    if found.sessions.is_empty() { Err(Failure::CheckFailed) } else { Ok(()) }
}

/// Reads the sessions with hits that have no record: their first words are their title, and their last message their time.
fn read_titles(workspace: &Workspace, found: &[SessionHits]) -> Vec<SessionItem> {
    let sessions = workspace.store().sessions_by_key();
    let is_shown: HashSet<_> = found.iter().filter(|it| !it.hits.is_empty()).map(|it| &it.key).collect();
    let has_record = |key: &SessionKey| sessions.get(key).is_some_and(|session| session.record.is_some());
    let untitled = workspace.listed.items.iter();
    let untitled = untitled.filter(|item| is_shown.contains(&item.key) && !has_record(&item.key));
    untitled.filter_map(|item| workspace.count_item(item, &sessions).ok()).collect()
}

/// Hits beyond the limit that are kept in memory before they are dropped.
const SPARE_HITS: usize = 50_000;

/// Returns the sessions with hits in their order, and the totals. Hits beyond the limit are counted, not kept.
fn search_all(workspace: &Workspace, query: &SearchQuery, limit: usize) -> (Vec<SessionHits>, SearchTotals) {
    let found = Mutex::new(RankedSessions::default());
    let add = |hits| found.lock().unwrap_or_else(PoisonError::into_inner).add(hits, limit);
    let totals = search_store(workspace.store(), query, &|| true, &add).unwrap_or_default();
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.drop_beyond(limit);
    (found.sessions, totals)
}

#[derive(Default)]
struct RankedSessions {
    sessions: Vec<SessionHits>,
    /// Hits that the sessions hold.
    kept: usize,
}

impl RankedSessions {
    fn add(&mut self, hits: SessionHits, limit: usize) {
        self.kept += hits.hits.len();
        self.sessions.push(hits);
        if self.kept > limit.saturating_add(SPARE_HITS) {
            self.drop_beyond(limit);
        }
    }

    /// Sorts the sessions and drops the hits that come after `limit` others.
    fn drop_beyond(&mut self, limit: usize) {
        self.sessions.sort_by_cached_key(SessionHits::rank);
        self.kept = 0;
        for session in &mut self.sessions {
            session.hits.truncate(limit - self.kept);
            session.hits.shrink_to_fit();
            self.kept += session.hits.len();
        }
    }
}

/// The result of a search, to be printed.
struct Found<'a> {
    items: HashMap<&'a SessionKey, &'a SessionItem>,
    /// Hits that are shown at most.
    limit: usize,
    /// The time, for ages.
    now_ms: Moment,
    query: &'a SearchQuery,
    sessions: Vec<SessionHits>,
    totals: SearchTotals,
    secrets: SecretDisplay,
}

/// The hits of a search.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SearchJson {
    query: String,
    /// All hits, also those that `--limit` leaves out.
    hits: usize,
    /// Transcripts that were read.
    searched: usize,
    /// Their size.
    bytes: u64,
    /// The sessions with hits: most hits on the active branch first, then most recent.
    sessions: Vec<SessionHitsJson>,
    /// Transcripts that could not be read.
    unread: Vec<UnreadTranscript>,
}

impl JsonOutput for SearchJson {}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SessionHitsJson {
    session: Option<SessionJson>,
    title: String,
    /// ms since 1970.
    updated_at: Option<i64>,
    /// Entries that hold every word.
    count: usize,
    /// Those on the active branch.
    on_branch: usize,
    /// Newest first, as many as `--limit` allows.
    hits: Vec<HitJson>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct HitJson {
    entry: String,
    /// Line of the transcript, from 1.
    line: u64,
    /// ms since 1970.
    time: Option<i64>,
    /// Role of the message, or type of any other entry.
    role: &'static str,
    /// text, thinking, call or error.
    part: &'static str,
    /// The tool of a call or a result.
    tool: Option<String>,
    on_branch: bool,
    /// The text around the first match.
    text: String,
}

impl Found<'_> {
    fn item(&self, session: &SessionHits) -> Option<&SessionItem> {
        self.items.get(&session.key).copied()
    }

    fn count(&self) -> usize {
        self.sessions.iter().map(|session| session.count).sum()
    }

    fn json(&self) -> SearchJson {
        SearchJson {
            query: self.query.text().to_owned(),
            hits: self.count(),
            searched: self.totals.sessions,
            bytes: self.totals.bytes.get(),
            sessions: self.sessions.iter().map(|session| self.session_json(session)).collect(),
            unread: self.totals.unread.clone(),
        }
    }

    fn session_json(&self, session: &SessionHits) -> SessionHitsJson {
        let item = self.item(session);
        SessionHitsJson {
            session: item.map(session_json),
            title: item.map(|item| shown_title(item, self.secrets).into_owned()).unwrap_or_default(),
            updated_at: session.updated_ms.map(Moment::whole),
            count: session.count,
            on_branch: session.branch_count,
            hits: session.hits.iter().map(|hit| self.hit_json(hit)).collect(),
        }
    }

    fn hit_json(&self, hit: &SearchHit) -> HitJson {
        HitJson {
            entry: hit.id.clone(),
            line: hit.line,
            time: hit.time_ms.map(Moment::whole),
            role: hit.role,
            part: hit.part,
            tool: hit.tool.clone(),
            on_branch: hit.is_on_branch,
            text: hit.text.with_secrets(self.query, self.secrets).into_owned(),
        }
    }

    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        let (hits, sessions) = (self.count() as u64, self.sessions.len() as u64);
        let read = format!(
            "{} in {} of {} · {}",
            quantity(hits, "hit"),
            format_number(sessions),
            quantity(self.totals.sessions as u64, "transcript"),
            format_size(self.totals.bytes)
        );
        output.line(Tone::Strong, &read)?;
        let mut shown = 0;
        for session in self.sessions.iter().filter(|session| !session.hits.is_empty()) {
            self.print_session(session, output)?;
            for hit in &session.hits {
                self.print_hit(hit, output)?;
            }
            shown += session.hits.len() as u64;
        }
        if shown < hits {
            let advice = if shown < self.limit as u64 {
                "a session lists its newest hits only".to_owned()
            } else {
                format!("--limit {hits} shows more")
            };
            let line = format!("{} of {} shown; {advice}", format_number(shown), quantity(hits, "hit"));
            output.line(Tone::Dim, &line)?;
        }
        Ok(self.print_unread(output)?)
    }

    fn print_unread(&self, output: &mut Output) -> std::io::Result<()> {
        let unread = &self.totals.unread;
        if unread.is_empty() {
            return Ok(());
        }
        output.note(&format!("{} could not be read:", quantity(unread.len() as u64, "transcript")))?;
        unread.iter().try_for_each(|unread| output.note(&format!("  {}", unread.error)))
    }

    fn print_session(&self, session: &SessionHits, output: &mut Output) -> std::io::Result<()> {
        let item = self.item(session);
        let name = item.map(|item| shown_name(item, self.secrets).into_owned());
        let name = name.filter(|name| *name != session.key.0).unwrap_or_default();
        let mut facts = vec![quantity(session.count as u64, "hit")];
        let aside = session.count - session.branch_count;
        if aside > 0 {
            facts.push(format!("{} on other branches", format_number(aside as u64)));
        }
        let updated_ms = item.and_then(|item| item.updated_ms).or(session.updated_ms);
        facts.extend(updated_ms.map(|ms| format_age(ms, self.now_ms)));
        let key = output.paint(Tone::Strong, &visible(&session.key.0));
        let facts = output.paint(Tone::Dim, &visible(&format!("  {name} · {}", facts.join(" · "))));
        writeln!(output, "\n{key}{facts}")
    }

    fn print_hit(&self, hit: &SearchHit, output: &mut Output) -> std::io::Result<()> {
        let has_times = output.width().is_none_or(|width| width >= MIN_WIDTH_OF_TIMES);
        let columns = if has_times { TIME_COLUMNS } else { DATE_COLUMNS };
        let lead = LEAD_COLUMNS - TIME_COLUMNS + columns;
        let room = output.width().map_or(LINE_CHARS, |width| width.saturating_sub(lead));
        let line = hit.text.line(self.query, self.secrets, room.max(MIN_TEXT_CHARS));
        let line = truncate(&visible(&line), room.max(MIN_TEXT_CHARS)).0;
        let age = hit.time_ms.map(|time| format_age(time, self.now_ms)).unwrap_or_default();
        let age = if age.len() > columns { age.split(' ').next().unwrap_or_default() } else { &age };
        let lead = format!("  {}  {}  ", pad(&visible(&hit.id), 8), pad(age, columns));
        let who = pad(&visible(hit.tool.as_deref().unwrap_or(hit.role)), 10);
        let mut text = String::new();
        let mut at = 0;
        for range in self.query.ranges(&line) {
            text.push_str(&line[at..range.start]);
            text.push_str(&output.paint(Tone::Strong, &line[range.clone()]));
            at = range.end;
        }
        text.push_str(&line[at..]);
        let lead = output.paint(Tone::Dim, &lead);
        writeln!(output, "{lead}{who}  {text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::search::SearchHit;

    fn hits(key: &str, count: usize) -> SessionHits {
        let hits = (0..count).map(|_| SearchHit::default()).collect();
        SessionHits { key: SessionKey(key.to_owned()), updated_ms: None, branch_count: count, count, hits }
    }

    #[test]
    fn the_best_sessions_keep_their_hits_and_every_hit_is_counted() {
        let mut found = RankedSessions::default();
        for (key, count) in [("few", 2), ("many", SPARE_HITS), ("some", 3)] {
            found.add(hits(key, count), 4);
        }
        found.drop_beyond(4);
        let kept: Vec<(&str, usize, usize)> =
            found.sessions.iter().map(|it| (it.key.0.as_str(), it.hits.len(), it.count)).collect();
        assert_eq!(kept, [("many", 4, SPARE_HITS), ("some", 0, 3), ("few", 0, 2)]);
    }
}
