//! A session file opened as the program opens it, planned for and written to through the questions module.

use std::path::Path;

use clawscope::commit::SystemClock;
use clawscope::gateway::env::Environment;
use clawscope::gateway::pruning::{PruneSettings, SoftTrim};
use clawscope::gateway::registry::Provenance;
use clawscope::gateway::ruleset::RulesetChoice;
use clawscope::js::{self, Object, Value};
use clawscope::plan::{CompactionSummary, Plan, messages_after};
use clawscope::policy::prune::Gate;
use clawscope::policy::{Policy, PolicySet, PolicySettings};
use clawscope::session::LoadedSession;
use clawscope::session::list::list_sessions_with;
use clawscope::session::loading::open;
use clawscope::session::store_location::{StoreLocation, StoreRequest};
use clawscope::units::{Chars, Millis, Tokens};
use clawscope::write::request::{
    CheckStatus, WriteAction, WriteError, WriteOutcome, WriteRequest, prepare, preview, write,
};

use super::session::NOW;

/// Loads the session of a transcript with the data of all policies, always under the reference rules.
pub(crate) fn inspected(path: &Path) -> LoadedSession {
    let reference = RulesetChoice::from_version("2026.3.2", Provenance::Flag).expect("a version");
    inspected_under(path, Some(&reference))
}

/// Loads it under these rules, or those that it shows.
pub(crate) fn inspected_under(path: &Path, requested: Option<&RulesetChoice>) -> LoadedSession {
    let place =
        StoreLocation::new(&StoreRequest::Path(path.to_path_buf()), Environment::default()).expect("a place");
    let listed = list_sessions_with(&place, requested, NOW);
    let [item] = &listed.items[..] else { panic!("{:?}", listed.items) };
    let session = open(&listed.store, &item.key, None, NOW, &mut |_, _| true).expect("it opens");
    session.load_details().expect("its texts")
}

/// Plans these policies under settings with an effect on a short session.
pub(crate) fn planned(session: &LoadedSession, steps: &[Policy], keep_tokens: f64) -> Plan {
    let mut settings = PolicySettings::pruning_only(PruneSettings {
        keep_last_assistants: 1.0,
        soft_trim_ratio: 0.0,
        hard_clear_ratio: 1.0,
        soft_trim: SoftTrim {
            max_chars: Chars(60.0),
            head_chars: Chars(10.0),
            tail_chars: Chars(10.0),
            ..PruneSettings::default().soft_trim
        },
        ..PruneSettings::default()
    });
    settings.enabled = PolicySet::of(steps);
    settings.compaction.keep_recent_tokens = Tokens(keep_tokens);
    settings.history_limit = 1.0;
    session.plan(&settings, Gate::Open { idle_ms: Millis(1.0) }).expect("it is planned")
}

/// Returns a finished summary.
pub(crate) fn summary() -> CompactionSummary {
    CompactionSummary { text: "## Goal\nRead it \u{1F600}.".into(), details: None, from_hook: true }
}

fn request<'a>(session: &'a LoadedSession, ask: WriteAction<'a>) -> WriteRequest<'a> {
    WriteRequest { session, action: ask, allow_orphan: true, now_ms: NOW }
}

/// Writes a plan; returns the new leaf.
pub(crate) fn committed(
    session: &LoadedSession,
    plan: &Plan,
    summary: Option<&CompactionSummary>,
) -> Result<String, WriteError> {
    let request = request(session, WriteAction::Commit { plan, summary });
    let prepared = prepare(&request)?;
    let written = clawscope::commit::write(&prepared, Millis::ZERO, &SystemClock)?;
    assert_eq!(written.leaf, prepared.leaf);
    Ok(prepared.leaf)
}

/// Returns the checks that a person sees before a plan is written.
pub(crate) fn checks(
    session: &LoadedSession,
    plan: &Plan,
    summary: Option<&CompactionSummary>,
) -> Vec<(CheckStatus, String)> {
    let request = request(session, WriteAction::Commit { plan, summary });
    preview(&request, NOW).expect("it is prepared").checks
}

/// Undoes the last commit.
pub(crate) fn undone(session: &LoadedSession) -> WriteOutcome {
    let ask = WriteAction::Undo(clawscope::commit::UndoTarget::LastCommit);
    write(&request(session, ask), None, &SystemClock, &Environment::default()).expect("it is taken back")
}

/// Returns the preview: every message under the plan, in plain terms.
pub(crate) fn previewed(
    session: &LoadedSession,
    plan: &Plan,
    summary: Option<&CompactionSummary>,
) -> Vec<String> {
    let tokens = plan.compaction.as_ref().map_or(f64::NAN, |preparation| preparation.tokens_before.get());
    let made = Object::from([
        ("role", Value::from("compactionSummary")),
        ("summary", summary.map_or(Value::Null, |made| made.text.clone().into())),
        ("tokensBefore", Value::Number(tokens)),
    ]);
    let LoadedSession { source, index, context, .. } = session;
    let messages = messages_after(source, index, context, plan, &Value::Object(made), NOW);
    messages.expect("its texts").iter().map(|message| plain(&js::stringify(message))).collect()
}

/// Without the timestamps of messages that are built from entries, and ids they name: those of a copy differ.
pub(crate) fn plain(json: &str) -> String {
    let mut value = js::parse(json).expect("JSON");
    let built = ["custom", "branchSummary", "compactionSummary"];
    if built.iter().any(|role| value.get("role").is_some_and(|value| value.str_is(role)))
        && let Some(object) = value.as_object_mut()
    {
        object.remove("timestamp");
        object.remove("fromId");
    }
    js::stringify(&value)
}

/// Undoes the last undo.
pub(crate) fn redone(session: &LoadedSession) -> WriteOutcome {
    let ask = WriteAction::Undo(clawscope::commit::UndoTarget::LastUndo);
    write(&request(session, ask), None, &SystemClock, &Environment::default()).expect("it is taken back")
}
