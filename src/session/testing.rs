//! Builds sessions from a few lines in memory, for tests.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::context::build_context;
use crate::gateway::config::GatewayConfig;
use crate::gateway::pruning::PruneSettings;
use crate::gateway::window::{WindowInfo, WindowSource};
use crate::ids::{EntryIx, Epoch, LineIds, SessionKey};
use crate::js;
use crate::plan::Plan;
use crate::policy::PolicySettings;
use crate::policy::prune::{Gate, touches};
use crate::session::lineage::Lineage;
use crate::session::next_prompt::NextPrompt;
use crate::session::overflow::{CallFailures, find_failures};
use crate::session::{LoadedSession, SessionItem};
use crate::store::load::load;
use crate::store::source::Source;
use crate::transcript::{Leaf, Tree};
use crate::units::{Bytes, Millis, Tokens};

/// Builds a transcript of a header and these entries, each the child of the previous one unless it names a parent. Ids
/// are `e0`, `e1`, … by position.
pub(crate) fn transcript(entries: &[String]) -> String {
    let mut text = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-11-19T13:00:00.000Z\"}\n",
    );
    for (at, entry) in entries.iter().enumerate() {
        let parent = at.checked_sub(1).map_or("null".to_owned(), |at| format!("\"e{at}\""));
        let time = format!("2026-11-19T13:{:02}:07.000Z", at % 60);
        let rest = entry.trim_start_matches('{');
        let _ = writeln!(text, "{{\"id\":\"e{at}\",\"parentId\":{parent},\"timestamp\":\"{time}\",{rest}");
    }
    text
}

/// Wraps a message in a message entry.
pub(crate) fn message(message: &str) -> String {
    format!(r#"{{"type":"message","message":{message}}}"#)
}

pub(crate) fn user(text: &str) -> String {
    message(&format!(r#"{{"role":"user","content":{}}}"#, quoted(text)))
}

/// An assistant message that calls one tool.
pub(crate) fn call(id: &str, tool: &str, arguments: &str) -> String {
    message(&format!(
        r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"{id}","name":"{tool}","arguments":{arguments}}}],"stopReason":"toolUse"}}"#
    ))
}

/// A tool result; `rest` is further members, each with a comma before it.
pub(crate) fn result(id: &str, tool: &str, text: &str, rest: &str) -> String {
    message(&format!(
        r#"{{"role":"toolResult","toolCallId":"{id}","toolName":"{tool}","content":[{{"type":"text","text":{}}}]{rest}}}"#,
        quoted(text)
    ))
}

pub(crate) fn quoted(text: &str) -> String {
    js::stringify_str(&text.into())
}

/// Loads a session from memory, on a model that may be pruned and with this window.
pub(crate) fn loaded_session(text: &str, window: f64) -> LoadedSession {
    let source = Source::from_memory("memory.jsonl", text.as_bytes());
    let index = load(&source, &mut LineIds, &mut |_, _| true).expect("memory is readable");
    let tree = Tree::new(&index);
    let context = build_context(&index, &tree, &Leaf::Own);
    let context_throws = context.is_err();
    let lineage = Lineage::within_file(&index, &tree);
    let context = context.unwrap_or_default();
    let last_touch = touches(&index).next().map(|(_, time)| time);
    let session = LoadedSession {
        item: item(),
        store_options: "".into(),
        source,
        context_throws,
        context: Arc::new(context),
        tree: Arc::new(tree),
        leaf: Leaf::Own,
        provider: "anthropic".into(),
        model: "claude-opus-4-6".into(),
        ruleset: crate::gateway::ruleset::RulesetChoice::default(),
        route: crate::gateway::eligibility::ModelRoute::default(),
        window: WindowInfo::of_model(Tokens(window), WindowSource::Default),
        price: None,
        fixed_chars: None,
        prompt_report: None,
        measured: Err(crate::session::UnmeasuredReason::NoUsage),
        last_call_ms: None,
        last_cache_touch_ms: last_touch,
        unfinished_commit: None,
        overflows: Arc::default(),
        errors: Arc::default(),
        unreliable_counts: Arc::default(),
        next_prompt: Arc::default(),
        index: Arc::new(index),
        limits: crate::session::context_limits::ContextLimits::default(),
        config: Arc::new(GatewayConfig::empty()),
        setting_rows: Vec::new(),
        configured_settings: PolicySettings::default(),
        details: None,
        pruning_configured: true,
        epoch: Epoch::default(),
        successor: None,
        lineage: Arc::new(lineage),
        extends_epoch: None,
    };
    let CallFailures { overflows, errors } = find_failures(&session.overflow_scope());
    let mut counted = LoadedSession { overflows, errors, ..session };
    counted.next_prompt = Arc::new(NextPrompt::from_counts(&counted.prompt_counts(), None));
    counted
}

/// Plans pruning under these settings with the gate open.
pub(crate) fn prune_plan(session: &LoadedSession, settings: &PruneSettings) -> Plan {
    session
        .plan(&PolicySettings::pruning_only(settings.clone()), Gate::Open { idle_ms: Millis(1e9) })
        .expect("these messages can be measured")
}

/// Returns the index of the entry `e<number>`.
pub(crate) fn entry_ix(number: usize) -> EntryIx {
    EntryIx(number as u32)
}

/// A list item of a session whose transcript was not read.
pub(crate) fn item() -> SessionItem {
    SessionItem {
        key: SessionKey("agent:main:main".into()),
        agent: "main".into(),
        kind: "main".into(),
        channel: None,
        parent: None,
        title: "telegram 8812".into(),
        id: "s".into(),
        path: None,
        provider: "anthropic".into(),
        model: "claude-opus-4-6".into(),
        ruleset: crate::gateway::ruleset::Ruleset::default(),
        window: 200_000,
        run_window: 200_000,
        tokens: None,
        entries: None,
        overflows: None,
        state: None,
        usage: None,
        compactions: None,
        updated_ms: None,
        bytes: Bytes(0),
        marks: Vec::new(),
    }
}
