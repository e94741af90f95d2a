//! What we write, opened by the real pi: its context is the planned one, after a commit, after an undo,
//! and it goes on from there. Says `skipped: …` where the real program is not here.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failing test stops there")]

#[path = "support/generate.rs"]
mod generate;
#[path = "support/pi.rs"]
mod pi;
#[path = "support/session.rs"]
mod session;

use std::path::PathBuf;

use clawscope::commit::{Prepared, SystemClock, UndoTarget, write};

use generate::{Options, transcript};
use pi::{Opened, Pi};
use session::Session;

const SEEDS: u64 = 24;

/// Sessions whose active branch holds tool results, by seed.
fn sessions() -> Vec<(u64, Session)> {
    let made = (0..SEEDS).map(|seed| (seed, Session::new(&transcript(seed, &Options::default()))));
    let sessions: Vec<_> = made.filter(|(_, session)| !session.results().is_empty()).collect();
    assert!(sessions.len() as u64 > SEEDS / 2, "too few transcripts with results: {}", sessions.len());
    sessions
}

/// Writes what was prepared; answers the planned context, the new leaf and the session read again.
fn written(session: Session, prepared: &Prepared) -> (Vec<String>, String, Session) {
    let (planned, old) = (session.planned(prepared), session.bytes());
    write(prepared, 0, &SystemClock).expect("it is written");
    let session = session.reload();
    assert!(session.bytes().starts_with(&old), "the old bytes changed");
    (planned, prepared.leaf.clone(), session)
}

fn paths(sessions: &[(u64, Session)]) -> Vec<PathBuf> {
    sessions.iter().map(|(_, session)| session.path.clone()).collect()
}

/// Compares what pi reads with what was planned, seed by seed.
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
fn the_real_pi_goes_on_from_a_commit() {
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
