//! Measures the time of a replay: `cargo bench --bench replay`.
//!
//! The sessions have no compaction, so that every list grows with the session: the worst case of a replay. Once the
//! window is full the guard acts on each call, and each idle time lets the pruner act on everything before it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench that cannot begin stops there")]

use std::fmt::Write as _;
use std::path::PathBuf;

use clawscope::gateway::env::Environment;
use clawscope::policy::{Policy, PolicySet};
use clawscope::replay::{
    RecordedTrace, ReplaySession, Settings, recorded_trace, simulated_totals, simulated_trace,
};
use clawscope::session::LoadedSession;
use clawscope::session::list::list_sessions;
use clawscope::session::loading::open;
use clawscope::session::replay_inputs::ReplayInputs;
use clawscope::session::store_location::{StoreLocation, StoreRequest};
use clawscope::units::Moment;
use divan::Bencher;

const CALLS: [usize; 2] = [1_000, 10_000];
const EVERY: [Policy; 5] = [Policy::Repair, Policy::History, Policy::Images, Policy::Prune, Policy::Guard];

fn main() {
    divan::main();
}

/// A transcript with this many calls, each with a result of 20 to 40,000 chars, most of them short. Someone speaks
/// before every eighth call, after six minutes each fifth time; one result in 500 is missing.
fn transcript(calls: usize) -> String {
    let mut text = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
    let (mut entries, mut clock, mut dice) = (0_usize, 1_771_650_000_u64, 1_u64);
    let mut entry = |text: &mut String, message: &str, clock: u64| {
        let parent = entries.checked_sub(1).map_or("null".to_owned(), |at| format!("\"e{at}\""));
        let time = clawscope::js::iso_text(Moment::from_whole(clock as i64 * 1000));
        let _ = writeln!(
            text,
            "{{\"type\":\"message\",\"id\":\"e{entries}\",\"parentId\":{parent},\"timestamp\":\"{time}\",\"message\":{message}}}"
        );
        entries += 1;
    };
    for call in 0..calls {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        clock += 5;
        if call % 8 == 0 {
            clock += if call % 40 == 0 { 360 } else { 20 };
            entry(&mut text, r#"{"role":"user","content":"go on, and look at the next file"}"#, clock);
        }
        let usage =
            r#""usage":{"input":900,"output":60,"cacheRead":40000,"cacheWrite":0,"totalTokens":40960}"#;
        entry(
            &mut text,
            &format!(
                r#"{{"role":"assistant","provider":"anthropic","model":"claude-opus-4-6","stopReason":"toolUse",{usage},"content":[{{"type":"toolCall","id":"c{call}","name":"exec","arguments":{{"command":"cat src/{call}.rs"}}}}]}}"#
            ),
            clock,
        );
        if call % 500 != 499 {
            let chars = 20 + (40_000 >> (dice >> 60).min(10));
            let lines = "let answer = 42; // of it all\\n".repeat(chars / 30 + 1);
            entry(
                &mut text,
                &format!(
                    r#"{{"role":"toolResult","toolCallId":"c{call}","toolName":"exec","content":[{{"type":"text","text":"{lines}"}}],"details":{{"exitCode":0}}}}"#
                ),
                clock + 2,
            );
        }
    }
    text
}

/// A session on disk, opened.
struct Opened {
    folder: PathBuf,
    loaded: LoadedSession,
}

impl Opened {
    fn new(calls: usize) -> Self {
        let folder = std::env::temp_dir().join(format!("clawscope-bench-{}-{calls}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("session.jsonl");
        let mut file = std::fs::File::create(&path).expect("a file");
        std::io::Write::write_all(&mut file, transcript(calls).as_ref()).expect("room");
        let place = StoreLocation::new(&StoreRequest::Path(path), Environment::default()).expect("a place");
        let listed = list_sessions(&place, Moment::ZERO);
        let loaded = open(&listed.store, &listed.items[0].key, None, Moment::ZERO, &mut |_, _| true)
            .expect("it opens");
        Self { folder, loaded }
    }

    fn inputs(&self) -> ReplayInputs {
        ReplayInputs::read(&self.loaded, every()).expect("its texts")
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn every() -> PolicySet {
    PolicySet::of(&EVERY)
}

fn settings(session: &LoadedSession, policies: PolicySet) -> Settings {
    let mut settings = session.replay_settings(session.configured_settings.clone(), true);
    settings.policies.enabled = policies;
    settings
}

/// Runs a bench with a session, its recorded trace without policies, and settings under which every policy acts.
fn with_lanes(calls: usize, ask: impl FnOnce(&ReplaySession<'_>, &RecordedTrace, &Settings)) {
    let opened = Opened::new(calls);
    let inputs = opened.inputs();
    let session = ReplaySession { prune_eligible: true, ..inputs.replay_session(&opened.loaded) };
    let record = RecordedTrace::new(&session, &settings(&opened.loaded, PolicySet::NONE));
    ask(&session, &record, &settings(&opened.loaded, every()));
}

#[divan::bench(args = CALLS, sample_count = 10)]
fn reading_what_a_replay_asks_of_the_texts(bencher: Bencher<'_, '_>, calls: usize) {
    let opened = Opened::new(calls);
    bencher.bench_local(|| opened.inputs());
}

#[divan::bench(args = CALLS, sample_count = 20)]
fn the_recorded_lane(bencher: Bencher<'_, '_>, calls: usize) {
    with_lanes(calls, |session, _, settings| {
        bencher.bench_local(|| recorded_trace(session, settings, &|| true));
    });
}

#[divan::bench(args = CALLS, sample_count = 20)]
fn a_simulated_lane(bencher: Bencher<'_, '_>, calls: usize) {
    with_lanes(calls, |session, record, settings| {
        bencher.bench_local(|| simulated_trace(session, settings, record, &|| true));
    });
}

#[divan::bench(args = CALLS, sample_count = 20)]
fn a_cell_of_a_grid(bencher: Bencher<'_, '_>, calls: usize) {
    with_lanes(calls, |session, record, settings| {
        let mut settings = settings.clone();
        settings.policies.enabled = settings.policies.enabled.with(Policy::Compact, true);
        bencher.bench_local(|| simulated_totals(session, &settings, record, &|| true));
    });
}
