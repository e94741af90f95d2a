//! Opens files that clawscope read and wrote with today's pi: the context is the same before and after a commit and
//! after an undo, and pi continues from there. Says `skipped: …` where the real program is not installed.

use std::fs;
use std::path::{Path, PathBuf};

use clawscope::commit::{
    CommitMethod, CommitRequest, RandomIds, Refusal, SystemClock, TranscriptInput, TranscriptStatus, prepare,
    write,
};
use clawscope::context::{ContentSource, bodies};
use clawscope::gateway::ruleset::Ruleset;
use clawscope::ids::EntryIx;
use clawscope::js;
use clawscope::plan::Plan;
use clawscope::policy::prune::Gate;
use clawscope::policy::{Policy, PolicySet};
use clawscope::session::LoadedSession;
use clawscope::store::entry::Role;
use clawscope::store::index::OpenStatus;
use clawscope::units::Millis;
use clawscope::write::request::WriteError;

use crate::support::inspected::{self, committed, inspected_under, previewed, redone, summary, undone};
use crate::support::pi_1_5::{Opened, Pi};
use crate::support::session::Session;
use crate::support::sorted::sorted;

/// The sessions of the golden cases that today's pi wrote, in copies.
fn sessions() -> Vec<(String, Session)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden-pi-1.5/transcripts");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()).collect();
    paths.sort();
    let named = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, Session::new(&fs::read(path).unwrap()))
    };
    paths.into_iter().map(named).collect()
}

/// Loads a session under the rules that its transcript shows.
fn own(path: &Path) -> LoadedSession {
    inspected_under(path, None)
}

/// Returns those that today's rules read.
fn all_todays() -> Vec<(String, Session, LoadedSession)> {
    let with = sessions().into_iter().map(|(name, session)| {
        let loaded = own(&session.path);
        (name, session, loaded)
    });
    with.filter(|(_, _, it)| it.ruleset.id == Ruleset::Pi1_5).collect()
}

/// Returns those of them that pi opens and builds a context for.
fn todays() -> Vec<(String, Session, LoadedSession)> {
    let mut sessions = all_todays();
    sessions.retain(|(_, _, it)| it.index.open_status == OpenStatus::Opens && !it.context_throws);
    sessions
}

fn paths(sessions: &[(String, Session, LoadedSession)]) -> Vec<PathBuf> {
    sessions.iter().map(|(_, session, _)| session.path.clone()).collect()
}

/// With sorted keys, and without the times of messages that are made of entries: a preview is made before they are.
fn plain(json: &str) -> String {
    let mut value = js::parse(json).expect("JSON");
    let built = ["custom", "branchSummary", "compactionSummary", "system"];
    if built.iter().any(|role| value.get("role").is_some_and(|value| value.str_is(role)))
        && let Some(object) = value.as_object_mut()
    {
        object.remove("timestamp");
        object.remove("fromId");
    }
    sorted(&value)
}

fn plain_all(context: &[String]) -> Vec<String> {
    context.iter().map(|json| plain(json)).collect()
}

fn context_of(session: &LoadedSession) -> Vec<String> {
    let messages = bodies::read_messages(&session.source, &session.index, &session.context).expect("bodies");
    messages.iter().map(sorted).collect()
}

/// Returns `None` if the runtime fails on a message.
fn planned(session: &LoadedSession, steps: &[Policy], keep_tokens: f64) -> Option<Plan> {
    let mut settings = inspected::planned(session, &[], keep_tokens).settings;
    settings.ruleset = Ruleset::Pi1_5;
    settings.enabled = PolicySet::of(steps);
    session.plan(&settings, Gate::Open { idle_ms: Millis(1.0) }).ok()
}

fn opened(pi: &Pi, files: &[PathBuf]) -> Vec<Opened> {
    pi.open(files, false).into_iter().map(|opened| opened.expect("it opens")).collect()
}

#[test]
fn clawscope_builds_the_same_contexts_as_the_real_pi() {
    let Some(pi) = Pi::find() else { return };
    let sessions = all_todays();
    assert!(sessions.len() > 40, "only {} sessions are today's", sessions.len());
    for ((name, _, session), opened) in sessions.iter().zip(pi.open(&paths(&sessions), false)) {
        assert_eq!(opened.is_some(), session.index.open_status == OpenStatus::Opens, "{name} opens");
        let Some(opened) = opened else { continue };
        let Some(theirs) = opened.context else {
            assert!(session.context_throws, "{name} throws");
            continue;
        };
        let theirs: Vec<String> = theirs.iter().map(|json| sorted(&js::parse(json).unwrap())).collect();
        assert_eq!(context_of(session), theirs, "{name}");
    }
}

#[test]
fn the_real_pi_reads_context_edits_as_previewed_and_the_old_context_after_an_undo() {
    let Some(pi) = Pi::find() else { return };
    for steps in [&[Policy::Prune][..], &[Policy::Compact], &[Policy::Compact, Policy::Prune]] {
        let sessions = todays();
        let old: Vec<_> = opened(&pi, &paths(&sessions)).into_iter().map(|opened| opened.context).collect();
        let (mut done, mut edits) = (Vec::new(), 0);
        for ((name, session, loaded), old) in sessions.into_iter().zip(old) {
            let Some(plan) = planned(&loaded, steps, 150.0) else { continue };
            let before = session.bytes();
            let leaf = match committed(&loaded, &plan, Some(&summary())) {
                Ok(leaf) => leaf,
                Err(WriteError::Refused(_) | WriteError::NotStorable { .. }) => {
                    assert_eq!(session.bytes(), before, "{name}: refused, and written");
                    continue;
                }
                Err(error) => panic!("{name}: {error}"),
            };
            let bytes = session.bytes();
            assert!(bytes.starts_with(&before), "{name}: the old bytes changed");
            let added = String::from_utf8_lossy(&bytes[before.len()..]).into_owned();
            edits += added.matches(r#"{"type":"context_edit","#).count();
            assert!(!added.contains(r#"{"type":"message","#), "{name}: a message is copied");
            let preview = previewed(&loaded, &plan, Some(&summary()));
            done.push((name, session, loaded, preview, leaf, old));
        }
        let files: Vec<PathBuf> = done.iter().map(|(_, session, ..)| session.path.clone()).collect();
        let check = |undone: bool| {
            for (opened, (name, _, _, preview, leaf, old)) in opened(&pi, &files).iter().zip(&done) {
                let theirs = plain_all(opened.context.as_ref().expect("a context"));
                let expected = if undone { old.as_ref().expect("it had one") } else { preview };
                assert_eq!(theirs, plain_all(expected), "{steps:?}: {name}");
                assert!(undone || opened.leaf.as_ref() == Some(leaf), "{steps:?}: {name}");
            }
        };
        check(false);
        let least = match steps {
            [Policy::Compact] => (15, 0),
            [Policy::Compact, _] => (15, 1),
            _ => (5, 5),
        };
        assert!(
            done.len() >= least.0 && edits >= least.1,
            "{steps:?}: {} sessions, {edits} edits",
            done.len()
        );
        for (opened, (name, _, _, preview, ..)) in pi.open(&files, true).into_iter().zip(&done) {
            let next = opened.expect("it opens").next;
            assert_eq!(next.len(), preview.len() + 2, "{steps:?}: {name} goes on");
        }
        for (_, session, ..) in &done {
            undone(&own(&session.path));
        }
        check(true);
        for (_, session, ..) in &done {
            redone(&own(&session.path));
        }
        for (opened, (name, _, _, preview, ..)) in opened(&pi, &files).iter().zip(&done) {
            let theirs = plain_all(opened.context.as_ref().expect("a context"));
            assert_eq!(theirs, plain_all(preview), "{steps:?}: {name}: redo");
        }
    }
}

/// Returns the first answer of the context that calls a tool, and the results of the calls.
fn first_use(session: &LoadedSession) -> Option<Vec<EntryIx>> {
    let messages = &session.context.messages;
    let is_own = |at: &usize| messages[*at].content_source == ContentSource::Own;
    let calls = |at: &usize| session.index.tool_calls_of(messages[*at].entry);
    let at = (0..messages.len()).filter(is_own).find(|at| !calls(at).is_empty())?;
    let wanted: Vec<_> = calls(&at).iter().map(|call| call.id).collect();
    let results = messages
        .iter()
        .filter(|message| message.size.role == Role::ToolResult && wanted.contains(&message.size.call_id));
    Some(std::iter::once(messages[at].entry).chain(results.map(|message| message.entry)).collect())
}

#[test]
fn the_real_pi_omits_a_call_with_its_results_after_an_edit() {
    let Some(pi) = Pi::find() else { return };
    let (mut files, mut expected, mut folders) = (Vec::new(), Vec::new(), Vec::new());
    for (name, session, loaded) in todays() {
        let Some(omitted) = first_use(&loaded) else { continue };
        let transcript = TranscriptInput {
            index: &loaded.index,
            tree: &loaded.tree,
            source: &loaded.source,
            status: TranscriptStatus::Referenced,
            allow_orphan: true,
        };
        let request = CommitRequest {
            transcript,
            omitted: omitted.clone(),
            method: CommitMethod::Edits,
            ..session.request(Vec::new())
        };
        let prepared = match prepare(&request, &mut RandomIds::default()) {
            Ok(prepared) => prepared,
            Err(Refusal::UnterminatedLine { .. } | Refusal::Version { .. } | Refusal::Unpaired { .. }) => {
                continue;
            }
            Err(error) => panic!("{name}: {error}"),
        };
        assert_eq!(prepared.edit_count(), omitted.len(), "{name}");
        write(&prepared, Millis::ZERO, &SystemClock).expect("it is written");
        let kept = loaded.context.messages.iter().zip(context_of(&loaded));
        let kept = kept.filter(|(message, _)| !omitted.contains(&message.entry)).map(|(_, json)| json);
        expected.push((name, kept.collect::<Vec<_>>()));
        files.push(session.path.clone());
        folders.push(session);
    }
    assert!(files.len() > 10, "only {} sessions", files.len());
    for (opened, (name, kept)) in opened(&pi, &files).into_iter().zip(expected) {
        let theirs = opened.context.expect("a context");
        let theirs: Vec<String> = theirs.iter().map(|json| sorted(&js::parse(json).unwrap())).collect();
        assert_eq!(theirs, kept, "{name}");
    }
}
