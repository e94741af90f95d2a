//! Every state with a separate screen, by name.

use clawscope::app::App;
use clawscope::app::event::{Event, StoreListing, SummaryUpdate};
use clawscope::app::screens::compare::SweepUpdate;
use clawscope::app::state::{Loading, Options, Overlay, WriteStage};
use clawscope::config::{SummarizerConfig, SummarizerKind};
use clawscope::context::rows::RowKind;
use clawscope::diagnostic::{Diagnostic, Severity};
use clawscope::gateway::window::{WindowInfo, WindowSource};
use clawscope::ids::SessionKey;
use clawscope::policy::compact::SummaryPurpose;
use clawscope::session::LoadedSession;
use clawscope::summarize::SummaryProgress;
use clawscope::units::{Bytes, Millis, Moment, Tokens};

use super::driver::Driver;
use super::store::refused_for_two_images;

/// Opens the build session that overflowed, in a store with the usual path.
pub(crate) fn opened(width: u16, height: u16) -> Driver {
    let mut driver = Driver::demo(width, height);
    named(&mut driver);
    driver.go_to("telegram:direct:8812");
    driver
}

fn named(driver: &mut Driver) {
    if let Some(listing) = &mut driver.app.store.listing {
        listing.store_label = "~/.openclaw".into();
    }
}

/// Waits until the flash of the last key is over.
pub(crate) fn settled(mut driver: Driver) -> Driver {
    driver.now_ms += Millis(10_000.0);
    driver.event(Event::Timer);
    driver
}

pub(crate) fn at_rest(width: u16, height: u16) -> Driver {
    opened(width, height)
}

pub(crate) fn gate_shut(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("4 plan i 2");
    driver
}

/// Shows the preview under the rules of 2026.9, on a setting that these have built in.
pub(crate) fn newest(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("plan 4 j j : text:release space text:2026.9.6 enter l");
    named(&mut driver);
    driver
}

/// Shows the preview with an open gate, and the hard ratio low enough to clear results.
pub(crate) fn preview(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("plan 4 j j j H H H 2");
    driver
}

pub(crate) fn asking(width: u16, height: u16) -> Driver {
    let mut driver = settled(preview(width, height));
    driver.press("c");
    driver
}

/// Shows only a compaction, its cut at the configured place.
fn compacting(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("4 , , , , , x a 2");
    settled(driver)
}

fn by_program(width: u16, height: u16) -> Driver {
    let mut driver = compacting(width, height);
    driver.summarize_by(SummarizerConfig {
        kind: SummarizerKind::Command,
        command: ["ollama", "run", "qwen3:8b"].map(String::from).to_vec(),
        ..SummarizerConfig::default()
    });
    driver
}

/// Shows the calls of a summary by a program, before the first.
pub(crate) fn offering(width: u16, height: u16) -> Driver {
    let mut driver = by_program(width, height);
    driver.press("c");
    driver
}

/// Shows the second call of a summary.
pub(crate) fn summarising(width: u16, height: u16) -> Driver {
    let mut driver = offering(width, height);
    let epoch = driver.app.displayed_session().expect("a session").epoch;
    let progress = SummaryProgress {
        call: 2,
        total_calls: 5,
        purpose: SummaryPurpose::History,
        tokens: 57_129,
        attempt: 1,
        wait_ms: Millis::ZERO,
    };
    drop(driver.key_effects("y"));
    driver.event(Event::Summary { epoch, update: SummaryUpdate::Calling(progress) });
    driver
}

pub(crate) fn unsummarised(width: u16, height: u16) -> Driver {
    let mut driver = summarising(width, height);
    let epoch = driver.app.displayed_session().expect("a session").epoch;
    let why = "no summary: ollama: failed with exit status: 1. Its last output: model 'qwen3:8b' not found (3 attempts)";
    driver.event(Event::Summary { epoch, update: SummaryUpdate::Failed(why.into()) });
    driver
}

/// Shows a compaction with its summary, scrolled by two lines.
pub(crate) fn appending(width: u16, height: u16) -> Driver {
    let mut driver = compacting(width, height);
    driver.press("c j j");
    driver
}

pub(crate) fn refused(width: u16, height: u16) -> Driver {
    let mut driver = asking(width, height);
    if let Some(Overlay::Write(dialog)) = driver.app.views.top_mut() {
        dialog.stage = WriteStage::Refused(
            "2 entries arrived at 14:06:40 while you looked. Read it again and look at the new plan. Nothing was written."
                .into(),
        );
    }
    driver
}

pub(crate) fn undoing(width: u16, height: u16) -> Driver {
    let mut driver = asking(width, height);
    driver.press("y");
    named(&mut driver);
    driver.press("u");
    driver
}

pub(crate) fn helping(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("?");
    driver
}

pub(crate) fn choosing(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press(": text:fold down");
    driver
}

pub(crate) fn finding(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    let path = "/home/pi/.openclaw/agents/main/sessions/9f2c41d7.jsonl";
    let next = "clawscope skips the line, as the runtime does; the tree is complete without it.";
    let listing = driver.app.store.listing.as_mut().expect("a list");
    listing.diagnostics = vec![
        Diagnostic::new(path, Severity::Warning, "not JSON, 312 bytes", next).at_line(2_041),
        Diagnostic::new(
            path,
            Severity::Error,
            "no session header",
            "Copy the file before anything opens it.",
        )
        .at_line(1),
        Diagnostic::new(
            "/home/pi/.openclaw/openclaw.json",
            Severity::Note,
            "session.mainKey is ignored",
            "Remove the key.",
        )
        .about("session.mainKey"),
    ];
    driver.press("v ! j");
    driver
}

pub(crate) fn no_match(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("1 / text:zzzz");
    driver
}

pub(crate) fn searching(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("/ text:ninja enter");
    settled(driver)
}

/// Every session is searched; the cursor is on the third hit.
pub(crate) fn searching_everywhere(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("ctrl-f text:libatomic enter j j");
    settled(driver)
}

/// Shows a search without a hit, while typing.
pub(crate) fn searching_in_vain(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("ctrl-f text:no space text:such space text:words");
    settled(driver)
}

pub(crate) fn typing(width: u16, height: u16) -> Driver {
    let mut driver = preview(width, height);
    driver.press("4 enter text:x enter");
    driver
}

pub(crate) fn empty_store(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.app = App::new(Options::default(), (width, height));
    let listing = StoreListing { store_label: "~/.openclaw".into(), ..StoreListing::default() };
    driver.event(Event::Listed(Box::new(listing)));
    driver
}

pub(crate) fn no_store(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.app = App::new(Options::default(), (width, height));
    let error = "~/.openclaw: cannot read the folder: permission denied. Check that you may read it.";
    driver.event(Event::ListFailed(error.into()));
    driver
}

pub(crate) fn loading(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    let key = driver.app.displayed_session().expect("a session").item.key.clone();
    driver.app.opening.loading = Some(Loading {
        key,
        bytes_read: Bytes(43_000_000),
        bytes_total: Bytes(102_000_000),
        started_ms: driver.now_ms - Millis(200.0),
    });
    driver
}

pub(crate) fn failed_to_open(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    let key = SessionKey("agent:main:cron:nightly".into());
    driver.app.transcript = None;
    let error = "9f2c41d7.jsonl: cannot read the file: permission denied. Check that it exists and that you may read it.";
    driver.app.opening.error = Some((key, error.into()));
    driver
}

/// Shows a session without usage of a model that no list has.
pub(crate) fn unmeasured(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.rewrite(without_counts);
    let mut session: LoadedSession = driver.app.displayed_session().expect("a session").as_ref().clone();
    session.measured = Err(clawscope::session::UnmeasuredReason::NoUsage);
    session.model = "llama-4-local".into();
    session.window = WindowInfo::of_model(Tokens(200_000.0), WindowSource::Default);
    driver.event(Event::Opened(Box::new(session)));
    driver
}

/// Returns a line of a transcript without a provider's counts.
fn without_counts(mut entry: serde_json::Value) -> serde_json::Value {
    if let Some(message) = entry.get_mut("message").and_then(serde_json::Value::as_object_mut) {
        message.remove("usage");
        message.retain(|key, value| key != "errorMessage" || !value.to_string().contains("203412"));
    }
    entry
}

pub(crate) fn zoomed(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("2 z g");
    driver
}

/// The list of sessions on the whole screen, by cost.
pub(crate) fn sorted_sessions(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("1 z o o");
    driver
}

/// Shows a filter of words and conditions while typing.
pub(crate) fn filtering(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("1 / text:telegram space text:age:<1d");
    driver
}

/// The record of a session with a sub-agent.
pub(crate) fn recorded(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.go_to("research:main");
    driver.press("1 v d");
    driver
}

/// Shows only the history limit, moved to three turns.
pub(crate) fn limited(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("4 , , x a enter ctrl-u text:3 enter 2");
    driver
}

/// Shows only a compaction, at the line of its cut.
pub(crate) fn compacted(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("4 , , , , , x a 2");
    let rows = &driver.app.transcript.as_ref().expect("a transcript").rows;
    let cut = rows.iter().position(|row| row.kind == RowKind::Cut).expect("a cut");
    driver.press("g");
    driver.press(&"j ".repeat(cut));
    driver
}

/// Shows the guard together with pruning.
pub(crate) fn guarded(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("plan 4 . x");
    driver
}

/// Shows every policy and its effect, with compaction and pruning on.
pub(crate) fn stepping(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press(":policies x a i , , , , , x");
    driver
}

/// Shows the Chinese session, for which chars/4 is a bad estimate.
pub(crate) fn estimating(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.go_to("feishu:direct:ou_3f7c21ab");
    driver.press("e G enter G k k");
    settled(driver)
}

/// Shows the same while its messages are being read.
pub(crate) fn reading_estimates(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("e G");
    driver.key_effects("enter");
    let epoch = driver.app.displayed_session().expect("a session").epoch;
    driver.effects(Event::EstimateProgress { epoch, done: Bytes(43_000_000), total: Bytes(102_000_000) });
    driver
}

/// Shows the parts of the window for a file that was truncated while open.
pub(crate) fn taken_apart(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("v w j j l j");
    driver
}

/// Shows the same under a preview, with the heaviest messages visible.
pub(crate) fn taken_apart_under_a_plan(width: u16, height: u16) -> Driver {
    let mut driver = settled(preview(width, height));
    driver.press("v w G");
    driver
}

/// Shows a session without a report and without usage.
pub(crate) fn taken_apart_without_report(width: u16, height: u16) -> Driver {
    let mut driver = unmeasured(width, height);
    let mut session: LoadedSession = driver.app.displayed_session().expect("a session").as_ref().clone();
    (session.prompt_report, session.fixed_chars) = (None, None);
    session.recount_prompt();
    driver.event(Event::Opened(Box::new(session)));
    driver.press("v w");
    driver
}

pub(crate) fn recovering(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("e G k enter j j");
    driver
}

pub(crate) fn next_overflow(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.go_to("discord:channel:118204471002");
    driver.press("e G k enter");
    driver
}

/// Shows the explanation of the build session, on the first change that would have helped.
pub(crate) fn explaining(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("e");
    driver
}

/// Shows the first change that explain advises, in tuning.
pub(crate) fn advised(width: u16, height: u16) -> Driver {
    let mut driver = explaining(130, 36);
    driver.press("enter");
    driver.event(Event::Resize { width, height });
    settled(driver)
}

pub(crate) fn advised_in_all(width: u16, height: u16) -> Driver {
    let mut driver = advised(width, height);
    driver.press("a a");
    settled(driver)
}

pub(crate) fn explaining_in_vain(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.go_to("slack:channel:c07infra");
    driver.press("e");
    driver
}

/// Shows a healthy session.
pub(crate) fn explaining_nothing(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.go_to("whatsapp:group:120363041188");
    driver.press("e");
    driver
}

/// Shows a session that images stopped, with the branches that go on without it.
pub(crate) fn offering_ways_out(width: u16, height: u16) -> Driver {
    let mut driver = Driver::on(refused_for_two_images(2).into_dir(), width, height);
    named(&mut driver);
    driver.press("e");
    driver
}

/// Asks whether to drop those images.
pub(crate) fn dropping(width: u16, height: u16) -> Driver {
    let mut driver = offering_ways_out(width, height);
    driver.press("enter");
    driver
}

/// Asks whether to go on from the answer before it.
pub(crate) fn switching(width: u16, height: u16) -> Driver {
    let mut driver = offering_ways_out(width, height);
    driver.press("j enter");
    driver
}

/// Shows an explanation that is still being read.
pub(crate) fn explaining_yet(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.key_effects("e");
    driver
}

/// Shows the history of commits: a commit, its undo, and another one.
pub(crate) fn committed(width: u16, height: u16) -> Driver {
    let mut driver = asking(width, height);
    driver.press("y u y plan c y b");
    named(&mut driver);
    driver
}

/// Compares the branch before the commit with the one it made.
pub(crate) fn comparing_branches(width: u16, height: u16) -> Driver {
    let mut driver = asking(width, height);
    driver.press("y b enter");
    named(&mut driver);
    driver
}

/// The build session under other settings, side by side: those that matter most for it.
pub(crate) fn comparing(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("w");
    driver
}

/// The same under typed settings: a third one besides the two of the map, the cursor on a change.
pub(crate) fn comparing_typed(width: u16, height: u16) -> Driver {
    let mut driver = comparing(width, height);
    driver.press("v a ctrl-u text:contextPruning.ttl=15m..75m:15m space");
    driver.press("text:contextPruning.hardClearRatio=0.05,0.1,0.2,0.3,0.4,0.5 space");
    driver.press("text:contextPruning.keepLastAssistants=1,3 enter");
    driver.press("backspace k k h h -");
    driver
}

/// Shows cells that are still being replayed.
pub(crate) fn comparing_yet(width: u16, height: u16) -> Driver {
    let sweep = comparing(width, height).app.compare_screen.sweep_state.sweep.expect("a sweep");
    let mut driver = opened(width, height);
    driver.pause_sweeps();
    driver.press("w");
    let request = driver.last_sweep();
    driver.event(Event::Sweep { request_id: request, update: SweepUpdate::Axes(sweep.axes.clone()) });
    let cells = sweep.cells.iter().cloned().enumerate().take(11).collect();
    driver.now_ms += Millis(1000.0);
    driver.event(Event::Sweep { request_id: request, update: SweepUpdate::Cells(cells) });
    driver
}

/// Shows a session that overflows under every setting.
pub(crate) fn comparing_in_vain(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.go_to("slack:channel:c07infra");
    driver.press("w o");
    driver
}

/// Shows every recorded call, with the cursor on the failed one.
pub(crate) fn timing(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("t");
    driver
}

/// The same under a shorter ttl and a lower threshold, the cursor in the middle.
pub(crate) fn timing_tuned(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("t 5 - H H H h");
    settled(driver)
}

/// Shows a compaction instead, zoomed in, with the tokens that the cache missed.
pub(crate) fn timing_compacted(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.press("t , , , , , x 2 0 - z v b h h h");
    settled(driver)
}

/// The timeline in sentences.
pub(crate) fn timing_in_words(width: u16, height: u16) -> Driver {
    let mut driver = timing_tuned(width, height);
    driver.press("v x");
    driver
}

/// Shows a timeline that is still being read.
pub(crate) fn timing_yet(width: u16, height: u16) -> Driver {
    let mut driver = opened(width, height);
    driver.key_effects("t");
    driver
}

/// A session of today's pi: system prompt and tools in the transcript, large results, model work outside the conversation.
pub(crate) fn todays_pi(width: u16, height: u16) -> Driver {
    let mut driver = Driver::on(todays_store(), width, height);
    driver.now_ms = TODAY_MS;
    if let Some(listing) = &mut driver.app.store.listing {
        listing.store_label = "~/.pi/agent".into();
    }
    driver
}

/// Shows a plan that becomes context edits on the same branch.
pub(crate) fn editing(width: u16, height: u16) -> Driver {
    let mut driver = todays_pi(width, height);
    driver.press("plan c");
    driver
}

/// Shows the recovery from the next overflow of a pi that compacts once in a run.
pub(crate) fn recovering_pi(width: u16, height: u16) -> Driver {
    let mut driver = todays_pi(width, height);
    driver.press("e G k enter");
    driver
}

/// 2026-10-20T09:30:00Z, half an hour after the last entry of the pi session.
const TODAY_MS: Moment = Moment(1_792_488_600_000.0);

fn todays_store() -> tempfile::TempDir {
    use serde_json::json;
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("sessions/--home-pi-roof--");
    std::fs::create_dir_all(&folder).expect("a folder");
    let id = "019a0041-5a80-7a11-8c2d-5d0c8b1f4e77";
    let tool = |name: &str| json!({ "name": name, "description": "Works on files. ".repeat(20), "parameters": { "type": "object" } });
    let usage = |input: u32, cost: f64| json!({ "input": input, "output": 900, "cacheRead": 0, "cacheWrite": 0, "totalTokens": input + 900, "cost": { "total": cost } });
    let answer = |content: serde_json::Value, stop: &str, input: u32| {
        json!({ "role": "assistant", "content": content, "provider": "anthropic", "model": "claude-opus-4-5", "api": "anthropic-messages",
            "usage": usage(input, f64::from(input) * 5e-6), "stopReason": stop, "timestamp": 1 })
    };
    let mut messages = vec![
        json!({ "role": "system", "content": "", "timestamp": 1, "toolsAdded": [tool("read"), tool("bash")],
            "sections": { "preamble": "You help with a house. ".repeat(200), "rules": "Be brief. ".repeat(80) } }),
        json!({ "role": "user", "content": "Which beams of the roof carry the load?", "timestamp": 1 }),
    ];
    for round in 1..=6_u32 {
        let call = format!("call_{round}");
        let path = json!([{ "type": "toolCall", "id": call, "name": "read", "arguments": { "path": format!("plans/{round}.txt") } }]);
        messages.push(answer(path, "toolUse", 3_000 + (round - 1) * 21_000));
        let text = format!("Plan {round}: beam, span, load.\n").repeat(2_800);
        messages.push(json!({ "role": "toolResult", "toolCallId": call, "toolName": "read",
            "content": [{ "type": "text", "text": text }], "isError": false, "timestamp": 1 }));
    }
    messages.push(answer(json!([{ "type": "text", "text": "The two outer ones." }]), "stop", 129_000));
    messages.push(json!({ "role": "user", "content": "And over the porch?", "timestamp": 1 }));
    for more in ["The ridge beam alone.", "Its span is 4.2 m.", "It may carry 3 kN."] {
        messages.push(answer(json!([{ "type": "text", "text": more }]), "stop", 130_000));
    }
    let start = TODAY_MS.whole() - 30 * 60_000;
    let mut lines = vec![
        json!({ "type": "session", "version": 3, "id": id, "timestamp": "2026-10-20T08:00:00.000Z", "cwd": "/home/pi/roof" }),
    ];
    let mut parent = serde_json::Value::Null;
    for (at, mut message) in messages.into_iter().enumerate() {
        message["timestamp"] = json!(start - (30 - at as i64) * 60_000);
        let own = format!("{:08x}", 0x00c0_ffee + at);
        let time = format!("2026-10-20T08:{:02}:00.000Z", 30 + at);
        lines.push(json!({ "type": "message", "id": own, "parentId": parent, "timestamp": time, "message": message }));
        parent = json!(own);
    }
    lines.push(json!({ "type": "usage", "id": "0badcafe", "parentId": parent, "timestamp": "2026-10-20T09:00:00.000Z",
        "usage": usage(130_000, 0.065) }));
    let text = lines.iter().fold(String::new(), |text, line| text + &line.to_string() + "\n");
    let path = folder.join(format!("2026-10-20T08-00-00-000Z_{id}.jsonl"));
    let mut file = std::fs::File::create(path).expect("a file");
    std::io::Write::write_all(&mut file, text.as_bytes()).expect("written");
    let modified = std::time::UNIX_EPOCH + std::time::Duration::from_millis(start as u64);
    file.set_modified(modified).expect("a time");
    dir
}

/// A session of a gateway of 2026.9, in the database that its own package wrote.
pub(crate) fn in_a_database(width: u16, height: u16) -> Driver {
    let dir = tempfile::tempdir().expect("a folder");
    let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sqlite-2026.9.6");
    let agent = dir.path().join("agents/main/agent");
    std::fs::create_dir_all(&agent).expect("a folder");
    let name = "openclaw-agent.sqlite";
    std::fs::copy(from.join(name), agent.join(name)).expect("a copy");
    let mut driver = Driver::on(dir, width, height);
    driver.now_ms = Moment(1_795_200_000_000.0);
    named(&mut driver);
    driver.go_to("cron:job-1");
    driver
}

/// Two of its branches, whose ids are long.
pub(crate) fn database_branches(width: u16, height: u16) -> Driver {
    let mut driver = in_a_database(width, height);
    driver.press("b");
    driver
}

/// A state by its name.
pub(crate) type Named = (&'static str, fn(u16, u16) -> Driver);

pub(crate) const STATES: [Named; 64] = [
    ("rest", at_rest),
    ("gate shut", gate_shut),
    ("preview", preview),
    ("newest", newest),
    ("commit", asking),
    ("refused", refused),
    ("undo", undoing),
    ("help", helping),
    ("palette", choosing),
    ("problems", finding),
    ("no match", no_match),
    ("search", searching),
    ("search all", searching_everywhere),
    ("search all none", searching_in_vain),
    ("typing", typing),
    ("empty store", empty_store),
    ("no store", no_store),
    ("loading", loading),
    ("open error", failed_to_open),
    ("no usage", unmeasured),
    ("zoom", zoomed),
    ("sessions by cost", sorted_sessions),
    ("sessions filter", filtering),
    ("session record", recorded),
    ("history", limited),
    ("compaction", compacted),
    ("guard", guarded),
    ("steps", stepping),
    ("estimators", estimating),
    ("estimators reading", reading_estimates),
    ("breakdown", taken_apart),
    ("breakdown plan", taken_apart_under_a_plan),
    ("breakdown no report", taken_apart_without_report),
    ("recovery", recovering),
    ("next overflow", next_overflow),
    ("summary offered", offering),
    ("summary call", summarising),
    ("summary failed", unsummarised),
    ("append", appending),
    ("explain", explaining),
    ("failed call", advised),
    ("whole session", advised_in_all),
    ("explain none helps", explaining_in_vain),
    ("explain well", explaining_nothing),
    ("explain reading", explaining_yet),
    ("ways out", offering_ways_out),
    ("drop", dropping),
    ("switch", switching),
    ("commits", committed),
    ("branches", comparing_branches),
    ("compare", comparing),
    ("compare typed", comparing_typed),
    ("compare filling", comparing_yet),
    ("compare none helps", comparing_in_vain),
    ("timeline", timing),
    ("timeline tuned", timing_tuned),
    ("timeline compaction", timing_compacted),
    ("timeline in words", timing_in_words),
    ("timeline reading", timing_yet),
    ("pi today", todays_pi),
    ("pi edits", editing),
    ("pi recovery", recovering_pi),
    ("database", in_a_database),
    ("database branches", database_branches),
];
