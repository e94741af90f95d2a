//! Turns one session into the rows of every table. Each row wraps the JSON that a command prints; the list of columns
//! selects from it.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::replays::{NamedReplay, RECORDED};
use crate::cli::secrets;
use crate::command::cache_json::CacheJson;
use crate::command::environment::{SessionsByKey, Workspace};
use crate::command::failure::Failure;
use crate::command::regret_json::lost_json;
use crate::command::replay_json::{call_json, policy_event_json};
use crate::command::replay_report::{ReplayReport, read_inputs, replay_changes};
use crate::command::ruleset::refuse_unsupported;
use crate::command::session_output::rounded;
use crate::command::{context, explain_json, sessions, settings, tree};
use crate::config::FiringLimits;
use crate::dataset::Table;
use crate::dataset::rows::{RowError, Rows};
use crate::policy::PolicySet;
use crate::redact::masked;
use crate::replay::{RecordedTrace, firing_log};
use crate::report::cache_ledger::cache_ledger_from;
use crate::report::explain::explain_from;
use crate::report::regret::{LostMessage, NeedKind, Regret, RegretFinder};
use crate::session::family::Rollup;
use crate::session::message::excerpt::read_context_excerpt;
use crate::session::message_texts::MaskedQuotes;
use crate::session::replay_inputs::ReplayInputs;
use crate::session::simulated_settings::{default_replay_policies, simulate_settings};
use crate::session::title::shown_title;
use crate::session::{LoadedSession, Mark, SessionItem};
use crate::store::body::BodyError;
use crate::units::Moment;

/// Inputs from the run that every session's tables need.
#[derive(Debug)]
pub(super) struct TableRequest<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) by_key: &'a SessionsByKey<'a>,
    pub(super) replays: &'a [NamedReplay],
    /// Whether to fill the columns that hold words of the conversation.
    pub(super) with_text: bool,
}

/// The rows of a session.
#[derive(Debug)]
pub(super) struct SessionTables {
    /// One element for each table.
    pub(super) tables: Vec<Rows>,
    /// The reason that the transcript could not be read at all.
    pub(super) unread: Option<String>,
    /// Parts that the tables lack, each with the reason.
    pub(super) gaps: Vec<String>,
}

/// A part of the session that cannot be answered, or a row that does not fit its table.
#[derive(Debug)]
enum Gap {
    /// The other parts are complete.
    Part(String),
    Row(RowError),
}

impl From<RowError> for Gap {
    fn from(error: RowError) -> Self {
        Self::Row(error)
    }
}

impl From<Failure> for Gap {
    fn from(failure: Failure) -> Self {
        Self::Part(message(failure))
    }
}

fn message(failure: Failure) -> String {
    match failure {
        Failure::Reported { message, .. } => message,
        Failure::OutputClosed | Failure::CheckFailed => "it cannot be opened".to_owned(),
    }
}

/// Reads a session and collects its rows. `digest` identifies it in every table.
///
/// # Errors
/// When a value does not have the type of its column.
pub(super) fn read_tables(
    request: &TableRequest<'_>,
    item: &SessionItem,
    digest: &str,
) -> Result<SessionTables, RowError> {
    let mut builder = Builder::new(request, item, digest);
    let has_transcript = item.path.is_some() && !item.has(Mark::Missing);
    let opened = if has_transcript { Some(request.workspace.open_item(item)) } else { None };
    match opened {
        None => builder.add_session(item, None, None)?,
        Some(Err(failure)) => {
            let reason = message(failure);
            builder.add_session(item, None, Some(&reason))?;
            builder.done.unread = Some(reason);
        }
        Some(Ok(session)) => builder.add_all(&session)?,
    }
    Ok(builder.done)
}

struct Builder<'a> {
    /// Time of the first entry, else of the last change.
    started_ms: Option<Moment>,
    request: &'a TableRequest<'a>,
    /// The members of `/of` in every row.
    of: Value,
    done: SessionTables,
}

impl<'a> Builder<'a> {
    fn new(request: &'a TableRequest<'a>, item: &SessionItem, digest: &str) -> Self {
        Self {
            started_ms: item.updated_ms,
            request,
            of: json!({ "session": digest, "key": item.key.0 }),
            done: SessionTables {
                tables: Table::ALL.into_iter().map(Rows::new).collect(),
                unread: None,
                gaps: Vec::new(),
            },
        }
    }

    /// Adds a row: `of` extends the members that every row has.
    fn add(&mut self, table: Table, of: &Value, parts: &[(&str, &Value)]) -> Result<(), RowError> {
        let own = [("of", &self.of), ("of", of)];
        let parts: Vec<(&str, &Value)> = own.into_iter().chain(parts.iter().copied()).collect();
        self.done.tables[table as usize].push(&parts)
    }

    fn add_all(&mut self, session: &LoadedSession) -> Result<(), RowError> {
        let times = session.index.iter().map(|(_, entry)| entry.time_ms);
        let first = times.into_iter().find(|time| time.is_finite()).map(Moment::to_whole);
        self.started_ms = first.or(session.item.updated_ms);
        let explained = self.add_answers(session)?;
        self.part("tree", |builder| builder.add_entries(session))?;
        self.part("settings", |builder| builder.add_settings(session))?;
        let gaps = self.done.gaps.join("; ");
        self.add_session(
            &session.item,
            explained.as_ref(),
            Some(gaps.as_str()).filter(|gaps| !gaps.is_empty()),
        )
    }

    /// Adds the results of explanation, ledger and replays; they share the texts that were read. Returns the explanation.
    ///
    /// The replays come first, and the texts are dropped before any other rows, because both grow with the transcript.
    fn add_answers(&mut self, session: &LoadedSession) -> Result<Option<Value>, RowError> {
        let inputs = self.part("replay", |builder| builder.read_inputs(session))?.flatten();
        let inputs = inputs.as_ref();
        if let Some(inputs) = inputs {
            self.part("replay", |builder| builder.add_traces(session, inputs))?;
        }
        let explained = self.part("explain", |builder| builder.add_findings(session, inputs))?;
        self.part("cache", |builder| builder.add_cache(session, inputs))?;
        Ok(explained)
    }

    /// Runs one part; a part that has no answer is noted and leaves the others complete.
    fn part<T>(
        &mut self,
        name: &str,
        add: impl FnOnce(&mut Self) -> Result<T, Gap>,
    ) -> Result<Option<T>, RowError> {
        match add(self) {
            Ok(answer) => Ok(Some(answer)),
            Err(Gap::Row(error)) => Err(error),
            Err(Gap::Part(reason)) => {
                self.done.gaps.push(format!("{name}: {reason}"));
                Ok(None)
            }
        }
    }

    fn add_session(
        &mut self,
        item: &SessionItem,
        explained: Option<&Value>,
        problem: Option<&str>,
    ) -> Result<(), RowError> {
        let workspace = self.request.workspace;
        let listed = value(&sessions::item_json(workspace, (item, &Rollup::default()), self.request.by_key));
        let words = self.words(&[("title", Some(shown_title(item, secrets(false)).as_ref()))]);
        let of = json!({
            "place": workspace.listed.name,
            "startedAt": self.started_ms,
            "problem": problem,
        });
        let explained = explained.unwrap_or(&Value::Null);
        self.add(Table::Sessions, &of, &[("listed", &listed), ("explained", explained), ("words", &words)])
    }

    /// Returns words of the conversation with secrets masked, if they are wanted.
    fn words(&self, texts: &[(&str, Option<&str>)]) -> Value {
        if !self.request.with_text {
            return Value::Null;
        }
        let shown = texts.iter().map(|(name, text)| ((*name).to_owned(), json!(text.map(masked))));
        Value::Object(shown.collect())
    }

    fn add_entries(&mut self, session: &LoadedSession) -> Result<(), Gap> {
        let tree = tree::tree_json(session, secrets(false));
        let sent = if session.context_throws {
            self.done.gaps.push("context: the runtime cannot build a context".to_owned());
            Vec::new()
        } else {
            context::sent_messages(session)?
        };
        let mut positions: HashMap<&str, usize> = HashMap::new();
        for (at, message) in sent.iter().enumerate() {
            positions.entry(message.entry.as_str()).or_insert(at);
        }
        for node in &tree.nodes {
            let message = positions.get(node.entry.as_str()).map(|at| value(&sent[*at])).unwrap_or_default();
            let text = self.excerpt(session, &node.entry);
            let words = self.words(&[("label", node.label.as_deref()), ("text", text.as_deref())]);
            let parts = [("node", &value(node)), ("sent", &message), ("words", &words)];
            self.add(Table::Entries, &Value::Null, &parts)?;
        }
        Ok(())
    }

    /// Reads the text of an entry as lists show it, if words are wanted.
    fn excerpt(&self, session: &LoadedSession, entry: &str) -> Option<String> {
        let entry =
            if self.request.with_text { session.tree.find_by_text(&session.index, entry) } else { None };
        Some(read_context_excerpt(session, entry?).ok()?.with_secrets(secrets(false)).line())
    }

    fn add_cache(&mut self, session: &LoadedSession, inputs: Option<&ReplayInputs>) -> Result<(), Gap> {
        let ledger = cache_ledger_from(session, inputs).map_err(|error| Gap::Part(error.to_string()))?;
        let json = CacheJson::new(session, &ledger);
        for (call, billed) in json.calls.iter().zip(&ledger.calls) {
            let model = session.index.entry(billed.entry).model.and_then(|(provider, model)| {
                let words = &session.index.values;
                Some(format!("{}/{}", words.text(provider)?, words.text(model)?))
            });
            self.add(Table::Cache, &json!({ "model": model }), &[("call", &value(call))])?;
        }
        Ok(())
    }

    fn add_settings(&mut self, session: &LoadedSession) -> Result<(), Gap> {
        let answer = value(&settings::session_settings_json(session));
        for setting in list(&answer, "settings") {
            self.add(
                Table::Settings,
                &Value::Null,
                &[("setting", setting), ("ruleset", &answer["ruleset"])],
            )?;
        }
        Ok(())
    }

    /// Adds findings, guards, advice and the recorded overflows; returns the whole answer.
    fn add_findings(&mut self, session: &LoadedSession, inputs: Option<&ReplayInputs>) -> Result<Value, Gap> {
        let explanation = explain_from(session, inputs).map_err(|error| Gap::Part(error.to_string()))?;
        let answer = value(&explain_json::report_json(session, &explanation));
        for (part, members, sentence) in
            [("finding", "findings", "text"), ("guard", "guards", "why"), ("advice", "advice", "note")]
        {
            for (at, found) in list(&answer, members).iter().enumerate() {
                let of = json!({ "part": part, "rank": at + 1, "sentence": found[sentence] });
                self.add(Table::Findings, &of, &[("found", found)])?;
            }
        }
        for event in list(&answer, "events") {
            let of = json!({ "trace": RECORDED, "overflow": true, "entry": event["entry"] });
            let words = self.words(&[("text", event["text"].as_str())]);
            self.add(Table::Events, &of, &[("event", event), ("words", &words)])?;
        }
        Ok(answer)
    }

    /// Reads the inputs of a session's replays; `None` if the runtime cannot build its context.
    fn read_inputs(&mut self, session: &LoadedSession) -> Result<Option<ReplayInputs>, Gap> {
        if session.context_throws {
            return Ok(None);
        }
        let replays = self.request.replays.iter();
        let steps = replays.map(|replay| default_replay_policies(session, &replay.changes));
        let all = steps
            .chain([default_replay_policies(session, &[])])
            .fold(PolicySet::NONE, |all, steps| steps.iter().fold(all, |all, policy| all.with(policy, true)));
        Ok(Some(read_inputs(session, all)?))
    }

    /// Adds the recorded trace and one for each replay.
    fn add_traces(&mut self, session: &LoadedSession, inputs: &ReplayInputs) -> Result<(), Gap> {
        let replays = self.request.replays;
        let steps = |replay: &NamedReplay| default_replay_policies(session, &replay.changes);
        let finder = RegretFinder::new(session, inputs);
        let recorded = finder.recorded();
        // The texts of a finder that has no more traces to answer are large.
        let finder = (!replays.is_empty()).then_some(finder);
        self.add_trace(RECORDED, &recorded_report(session, inputs))?;
        self.add_losses(session, RECORDED, recorded)?;
        let Some(finder) = finder else { return Ok(()) };
        for replay in replays {
            if let Err(failure) = refuse_unsupported(&replay.changes, session) {
                self.done.gaps.push(format!("replay {}: {}", replay.name, message(failure)));
                continue;
            }
            let report = replay_changes(session, inputs, &replay.changes, steps(replay));
            self.add_trace(&replay.name, &report)?;
            self.add_losses(session, &replay.name, finder.simulated(&report.simulated.replay_settings()))?;
        }
        Ok(())
    }

    /// Adds the losses of a trace's prompts.
    fn add_losses(
        &mut self,
        session: &LoadedSession,
        trace: &str,
        regret: Result<Regret, BodyError>,
    ) -> Result<(), Gap> {
        let regret = regret.map_err(|error| Gap::Part(error.to_string()))?;
        let quotes = MaskedQuotes::new(session);
        for lost in &regret.lost {
            let json = value(&lost_json(session, &quotes, lost));
            self.add(Table::Losses, &losses_of(trace, lost), &[("lost", &json)])?;
        }
        Ok(())
    }

    fn add_trace(&mut self, name: &str, report: &ReplayReport) -> Result<(), RowError> {
        let is_recorded = name == RECORDED;
        for (at, call) in report.replay.calls.iter().enumerate() {
            let json = call_json(report, at, call);
            let trace = value(&json.simulated);
            let of = json!({
                "trace": name,
                "window": report.inputs.provider_window_of(call),
                "measured": json.recorded.measured.filter(|_| is_recorded),
            });
            let mut call = value(&json);
            // The traces are next to the call, not in it.
            if let Some(members) = call.as_object_mut() {
                members.retain(|name, _| name != "recorded" && name != "simulated");
            }
            self.add(Table::Calls, &of, &[("call", &call), ("trace", &trace)])?;
        }
        for event in &report.policy_log.events {
            let json = policy_event_json(report, event);
            let of = json!({ "trace": name, "overflow": false, "entry": json.first });
            self.add(Table::Events, &of, &[("event", &value(&json))])?;
        }
        Ok(())
    }
}

/// Counts the needs of a lost message.
fn losses_of(trace: &str, lost: &LostMessage) -> Value {
    let count = |kind| lost.needs.iter().filter(|need| need.kind == kind).count();
    let costs: Vec<f64> = lost.needs.iter().filter_map(|need| need.cost).collect();
    json!({
        "trace": trace,
        "fromCall": lost.loss.from_call,
        "untilCall": lost.loss.until_call,
        "fetchedAgain": count(NeedKind::FetchedAgain),
        "quoted": count(NeedKind::Quoted),
        "askedAgain": count(NeedKind::AskedAgain),
        "tokens": rounded(lost.needs.iter().map(|need| need.tokens).sum()),
        "cost": (!costs.is_empty()).then(|| costs.iter().sum::<f64>()),
    })
}

/// Returns the record in the place of a simulation, so that both are read in the same way.
fn recorded_report(session: &LoadedSession, inputs: &ReplayInputs) -> ReplayReport {
    let record = inputs.recorded_trace(session);
    let trace = Arc::clone(&record.trace);
    let replay = RecordedTrace::clone(&record).into_replay(&inputs.replay_session(session), trace);
    ReplayReport {
        policy_log: firing_log(&replay, inputs.provider_window),
        writer_ruleset: None,
        shared_rules: None,
        session: session.clone(),
        firing_limits: FiringLimits::default(),
        simulated: simulate_settings(session, &[], default_replay_policies(session, &[])),
        inputs: inputs.clone(),
        replay,
    }
}

/// Returns the JSON of a report. Every report is an object of plain values, which cannot fail.
fn value(report: &impl Serialize) -> Value {
    serde_json::to_value(report).unwrap_or_default()
}

fn list<'a>(answer: &'a Value, name: &str) -> &'a [Value] {
    answer[name].as_array().map(Vec::as_slice).unwrap_or_default()
}
