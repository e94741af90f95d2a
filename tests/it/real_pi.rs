//! Opens clawscope's commits with the real pi: its context is the planned one, after a commit and after an undo, and pi
//! continues from there. Says `skipped: …` where the real program is not installed.

use std::path::PathBuf;
use std::process::Command;

use clawscope::commit::{PreparedCommit, Refusal, SystemClock, UndoTarget, write};
use clawscope::gateway::ruleset::Ruleset;
use clawscope::ids::LineIds;
use clawscope::js;
use clawscope::plan::EntryChange;
use clawscope::policy::Policy;
use clawscope::policy::truncate::{CutOptions, max_result_chars, session as gateway, truncated_message};
use clawscope::store::body;
use clawscope::write::request::WriteError;
use clawscope::write::rewrite_loss::find_rewrite_loss;

use crate::support::generate::{Options, transcript};
use crate::support::inspected::{committed, inspected, plain, planned, previewed, redone, summary, undone};
use crate::support::large;
use crate::support::pi::{Opened, Pi};
use crate::support::session::{self, Session};
use clawscope::units::{Millis, Tokens};

const SEEDS: u64 = 24;

/// Sessions whose active branch holds tool results, by seed.
fn sessions() -> Vec<(u64, Session)> {
    let made = (0..SEEDS).map(|seed| (seed, Session::new(&transcript(seed, &Options::default()))));
    let sessions: Vec<_> = made.filter(|(_, session)| !session.results().is_empty()).collect();
    assert!(sessions.len() as u64 > SEEDS / 2, "too few transcripts with results: {}", sessions.len());
    sessions
}

/// Writes a prepared commit; returns the planned context, the new leaf and the session read again.
fn written(session: Session, prepared: &PreparedCommit) -> (Vec<String>, String, Session) {
    let (planned, old) = (session.planned(prepared), session.bytes());
    write(prepared, Millis::ZERO, &SystemClock).expect("it is written");
    let session = session.reload();
    assert!(session.bytes().starts_with(&old), "the old bytes changed");
    (planned, prepared.leaf.clone(), session)
}

fn paths(sessions: &[(u64, Session)]) -> Vec<PathBuf> {
    sessions.iter().map(|(_, session)| session.path.clone()).collect()
}

/// Compares pi's contexts with the planned ones, seed by seed.
fn agree(opened: &[Opened], planned: &[(u64, Vec<String>, String)]) {
    assert_eq!(opened.len(), planned.len());
    for (opened, (seed, context, leaf)) in opened.iter().zip(planned) {
        assert_eq!(&opened.context, context, "seed {seed}");
        assert_eq!(&opened.leaf, leaf, "seed {seed}");
    }
}

#[test]
fn the_real_pi_reads_commits_and_undos_as_planned() {
    let Some(pi) = Pi::find() else { return };
    let sessions = sessions();
    let old: Vec<Vec<String>> =
        pi.open(&paths(&sessions), false).into_iter().map(|opened| opened.context).collect();
    let (mut committed, mut planned) = (Vec::new(), Vec::new());
    for (seed, session) in sessions {
        let changes = session.results().into_iter().step_by(2).map(|ix| session.clear(ix)).collect();
        let prepared = session.prepare(changes).expect("a branch");
        let (context, leaf, session) = written(session, &prepared);
        planned.push((seed, context, leaf));
        committed.push((seed, session));
    }
    agree(&pi.open(&paths(&committed), false), &planned);
    let (mut undone, mut back) = (Vec::new(), Vec::new());
    for (seed, session) in committed {
        let prepared = session.prepare_undo(UndoTarget::LastCommit).expect("an undo");
        let (context, leaf, session) = written(session, &prepared);
        back.push((seed, context, leaf));
        undone.push((seed, session));
    }
    let opened = pi.open(&paths(&undone), false);
    agree(&opened, &back);
    assert_eq!(opened.into_iter().map(|opened| opened.context).collect::<Vec<_>>(), old);
}

#[test]
fn the_real_pi_continues_after_a_commit() {
    let Some(pi) = Pi::find() else { return };
    let mut committed = Vec::new();
    for (seed, session) in sessions().into_iter().take(6) {
        let prepared = session.prepare(vec![session.clear(session.results()[0])]).expect("a branch");
        committed.push((seed, written(session, &prepared).2));
    }
    for (opened, (seed, session)) in pi.open(&paths(&committed), true).into_iter().zip(&committed) {
        let turn = [
            r#"{"role":"user","content":"and now?","timestamp":1}"#,
            r#"{"role":"assistant","content":[],"stopReason":"stop","timestamp":2}"#,
        ];
        let next: Vec<String> = session.context().into_iter().chain(turn.map(str::to_owned)).collect();
        assert_eq!(opened.next, next, "seed {seed}");
    }
}

/// Generated sessions with results of up to some ten thousand chars.
fn long_sessions() -> Vec<(u64, Session)> {
    let options = Options { result_pieces: 3000, ..Options::default() };
    let made = (0..SEEDS).map(|seed| (seed, Session::new(&transcript(seed, &options))));
    made.filter(|(_, session)| !session.results().is_empty()).collect()
}

fn plain_all(context: &[String]) -> Vec<String> {
    context.iter().map(|json| plain(json)).collect()
}

#[test]
fn the_real_pi_reads_a_compaction_as_previewed_and_does_not_compact_again() {
    let Some(pi) = Pi::find() else { return };
    for steps in [&[Policy::Compact][..], &[Policy::Compact, Policy::Prune]] {
        let (mut compacted, mut previews, mut old) = (Vec::new(), Vec::new(), Vec::new());
        for (seed, session) in sessions() {
            let loaded = inspected(&session.path);
            let plan = planned(&loaded, steps, 150.0);
            if plan.compaction.is_none() {
                continue;
            }
            let leaf = match committed(&loaded, &plan, Some(&summary())) {
                Ok(leaf) => leaf,
                Err(WriteError::Refused(Refusal::Unpaired { .. })) => continue,
                Err(error) => panic!("seed {seed}: {error}"),
            };
            old.push(plain_all(&session.context()));
            previews.push((seed, leaf, previewed(&loaded, &plan, Some(&summary()))));
            compacted.push((seed, session));
        }
        assert!(compacted.len() > 8, "{steps:?}: only {} sessions were compacted", compacted.len());
        for (opened, (seed, leaf, preview)) in pi.open(&paths(&compacted), false).iter().zip(&previews) {
            assert_eq!(&plain_all(&opened.context), preview, "seed {seed}");
            assert_eq!(&opened.leaf, leaf, "seed {seed}");
            assert!(!opened.compacts, "seed {seed}: it would compact again, and keep nothing");
        }
        for (opened, (seed, _, preview)) in pi.open(&paths(&compacted), true).iter().zip(&previews) {
            assert_eq!(opened.next.len(), preview.len() + 2, "seed {seed}: it goes on behind the summary");
        }
        for (_, session) in &compacted {
            undone(&inspected(&session.path));
        }
        let opened = pi.open(&paths(&compacted), false);
        assert_eq!(opened.iter().map(|opened| plain_all(&opened.context)).collect::<Vec<_>>(), old);
        for (_, session) in &compacted {
            redone(&inspected(&session.path));
        }
        for (opened, (seed, _, preview)) in pi.open(&paths(&compacted), false).iter().zip(&previews) {
            assert_eq!((&plain_all(&opened.context), opened.compacts), (preview, false), "seed {seed}: redo");
        }
    }
}

/// Runs the program on a transcript; returns its exit code, and its output as JSON or as an error.
fn reported(words: &[&str], session: &Session) -> (i32, js::Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clawscope"));
    command
        .env_clear()
        .env("HOME", "/nonexistent/clawscope-test")
        .env("CLAWSCOPE_RULESET", "2026.3.2")
        .arg(words[0])
        .arg(&session.path);
    let output = command.args(&words[1..]).arg("--json").output().expect("it runs");
    let text = if output.status.success() { output.stdout } else { output.stderr };
    let text = String::from_utf8(text).expect("UTF-8");
    (
        output.status.code().expect("a code"),
        js::parse(&text).unwrap_or_else(|error| panic!("{error:?}: {text}")),
    )
}

#[test]
fn the_real_pi_reads_a_manually_committed_compaction_as_simulated() {
    let Some(pi) = Pi::find() else { return };
    let plan = ["--policy", "compact", "--set", "compaction.keepRecentTokens=150", "--with", "extractive"];
    let (mut compacted, mut simulated, mut headed) = (Vec::new(), Vec::new(), 0);
    for (seed, session) in sessions() {
        let (code, answer) = reported(&[&["simulate"], &plan[..], &["--messages"]].concat(), &session);
        if code != 0 || answer.get("summary").is_none() {
            continue;
        }
        let before = session.bytes();
        let (code, _) = reported(&[&["commit"], &plan[..], &["--allow-orphan"]].concat(), &session);
        assert_eq!(session.bytes(), before, "seed {seed}: a dry run");
        if code != 0 {
            continue;
        }
        let (code, done) =
            reported(&[&["commit"], &plan[..], &["--allow-orphan", "--apply"]].concat(), &session);
        assert!(code == 0 && session.bytes().starts_with(&before), "seed {seed}: {done:?}");
        let messages = answer.get("messages").and_then(js::Value::as_array).expect("messages");
        let text = |value: &js::Value, key: &str| {
            value.get(key).and_then(js::Value::as_str).expect("a summary").to_string_lossy()
        };
        let made = text(answer.get("summary").expect("a summary"), "text");
        assert_eq!(text(&messages[0], "summary"), made, "seed {seed}");
        assert!(!made.trim().is_empty(), "seed {seed}");
        headed += usize::from(made.contains("## Goal"));
        simulated
            .push((seed, messages.iter().map(|message| plain(&js::stringify(message))).collect::<Vec<_>>()));
        compacted.push((seed, session));
    }
    let counts = (compacted.len(), headed);
    assert!(counts.0 > 8 && counts.1 > 4, "sessions, histories among them: {counts:?}");
    for (opened, (seed, messages)) in pi.open(&paths(&compacted), false).iter().zip(&simulated) {
        assert_eq!(&plain_all(&opened.context), messages, "seed {seed}");
        assert!(!opened.compacts, "seed {seed}: it would compact again, and keep nothing");
    }
}

/// Every result of the path cut as the gateway cuts it for this window, those before a compaction included.
fn cuts(session: &Session, window: f64) -> Vec<EntryChange> {
    let cut = |entry| {
        let message =
            body::read_message(&session.source, &session.index, entry).expect("reads").expect("a message");
        let message = truncated_message(&message, max_result_chars(Tokens(window)), &CutOptions::default())?;
        Some(EntryChange { entry, message })
    };
    session.results().into_iter().filter_map(cut).collect()
}

/// The gateway's own rewrite of a session, appended to a copy of it.
fn rewritten(session: &Session, window: f64) -> Session {
    let requested = gateway::RewriteInput {
        index: &session.index,
        tree: &session.tree,
        window: Tokens(window),
        now_ms: session::NOW,
    };
    let read = |ix| body::read_entry(&session.source, &session.index, ix);
    let rewrite = gateway::rewrite(&requested, &mut LineIds, read).expect("reads");
    Session::new(&[session.bytes(), rewrite.lines().into_bytes()].concat())
}

#[test]
fn the_real_pi_reads_every_message_after_our_truncation_but_not_after_the_gateways() {
    let Some(pi) = Pi::find() else { return };
    let window = 1000.0;
    let (mut ours, mut theirs, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    let (mut lost, mut seen) = (0, 0);
    for (seed, session) in long_sessions() {
        let changes = cuts(&session, window);
        if changes.is_empty() {
            continue;
        }
        let mut loaded = inspected(&session.path);
        loaded.ruleset.id = Ruleset::V2026_3_2;
        loaded.window.tokens = Tokens(window);
        let loss = find_rewrite_loss(&loaded).expect("reads").expect("a result is oversized");
        let vanished = loss.dangling_compaction.as_ref().map_or(0, |dangling| dangling.messages);
        lost += vanished + loss.labels + loss.branch_summaries;
        let rewritten = rewritten(&session, window);
        let prepared = session.prepare(changes.clone()).expect("a branch");
        let (context, leaf, session) = written(session, &prepared);
        let cut = |json: &String| changes.iter().any(|change| js::stringify(&change.message) == *json);
        seen += usize::from(context.iter().any(cut));
        expected.push((seed, context, leaf, vanished + loss.branch_summaries, loss.labels));
        ours.push((seed, session));
        theirs.push((seed, rewritten));
    }
    let counts = (expected.len(), lost, seen);
    assert!(counts.0 > 8 && counts.1 > 8 && counts.2 > 8, "sessions, losses, cuts in context: {counts:?}");
    let (ours, theirs) = (pi.open(&paths(&ours), false), pi.open(&paths(&theirs), false));
    for ((ours, theirs), (seed, context, leaf, messages, labels)) in ours.iter().zip(&theirs).zip(&expected) {
        assert_eq!((&ours.context, &ours.leaf), (context, leaf), "seed {seed}");
        assert_eq!(theirs.context.len() + messages, context.len(), "seed {seed}: what vanishes is foretold");
        assert_eq!(theirs.labels.len() + labels, ours.labels.len(), "seed {seed}: labels on copies");
    }
}

/// Returns the tokens in `context --json` for a file, under the rules of the requested version.
fn session_tokens(file: &PathBuf) -> u64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clawscope"));
    command.args(["context", "--json", "--ruleset", "2026.3.2"]).arg(file).env("HOME", "/nonexistent");
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer = js::parse(&String::from_utf8(output.stdout).expect("UTF-8")).expect("JSON");
    answer.get("sessionTokens").and_then(js::Value::as_f64).expect("a sum") as u64
}

#[test]
fn the_sum_over_a_whole_session_equals_the_real_pis() {
    let Some(pi) = Pi::find() else { return };
    let small = (0..SEEDS).map(|seed| transcript(seed, &Options::default()));
    let large = (0..4).map(|seed| large::bytes(large::Recipe::of(600_000, seed)));
    let sessions: Vec<Session> = small.chain(large).map(|bytes| Session::new(&bytes)).collect();
    let files: Vec<PathBuf> = sessions.iter().map(|session| session.path.clone()).collect();
    let ours: Vec<u64> = files.iter().map(session_tokens).collect();
    assert_eq!(ours, pi.sums(&files));
}
