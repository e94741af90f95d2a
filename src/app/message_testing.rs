//! An app with one open session and message, for tests of the pane and of drawing.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::app::App;
use crate::app::effect::Effect;
use crate::app::event::{Event, StoreListing};
use crate::app::layout::Pane;
use crate::app::state::Options;
use crate::session::message::read_message;
use crate::session::testing::{call, entry_ix, loaded_session, message, quoted, result, transcript, user};
use crate::units::Moment;

/// A build log, longer than a soft trim keeps.
pub(crate) fn build_log() -> String {
    let mut log = String::from(
        "total 18 204\ndrwxr-xr-x 14 pi pi    4096 Nov 19 13:30 .\n-rw-r--r--  1 pi pi  118023 Nov 19 13:30 build.ninja\n",
    );
    for step in 1..=409 {
        let _ = writeln!(log, "[{step}/412] Building CXX object src/CMakeFiles/agent.dir/ring_{step}.cpp.o");
        if step % 40 == 0 {
            log.push_str("../src/ring.hpp:88:17: warning: large atomic operation may incur a penalty\n");
        }
    }
    log.push_str("ring.cpp:(.text+0x4c): undefined reference to `__atomic_load_16'\ncollect2: error: ld returned 1 exit status\n[411/412] Linking CXX executable bin/agent\nFAILED: bin/agent\nninja: build stopped: subcommand failed.");
    log
}

/// A session with a trimmed result (entry 2), a short one (4), an answer with every kind of part (5), JSON (7) and
/// hostile text (9).
pub(crate) fn session() -> String {
    let assistant = r#"{"role":"assistant","provider":"anthropic","model":"claude-opus-4-6","stopReason":"toolUse","usage":{"input":4,"output":812,"cacheRead":180000,"cacheWrite":2100,"totalTokens":182916,"cost":{"total":0.412}},"content":[{"type":"thinking","thinking":"libatomic is missing on the link line; -latomic comes after the objects."},{"type":"text","text":"The board has no 16-byte atomics, so the linker wants libatomic:\n\n```cmake\n# after the objects\ntarget_link_libraries(agent PRIVATE atomic)\n```\n\nI will patch it."},{"type":"toolCall","id":"c3","name":"edit","arguments":{"path":"CMakeLists.txt","count":2}}]}"#;
    transcript(&[
        user("Why does the build fail on the board?"),
        call("c1", "exec", r#"{"command":"ls -la build/ && ninja -v"}"#),
        result("c1", "exec", &build_log(), r#","isError":true,"details":{"exitCode":1,"durationMs":38412}"#),
        call("c2", "read", r#"{"path":"src/ring.rs"}"#),
        result(
            "c2",
            "read",
            "// rings\npub fn load(at: usize) -> u128 {\n\tlet name = \"ring\";\n\t42\n}",
            "",
        ),
        message(assistant),
        call("c4", "exec", r#"{"command":"curl -s localhost"}"#),
        result("c4", "exec", r#"{"ok": true, "count": 12, "name": "ring"}"#, ""),
        call("c5", "exec", r#"{"command":"printf '\\e]0;owned\\a'"}"#),
        result("c5", "exec", "\u{1b}[31mred\u{1b}[0m \u{202e}drow\u{9b}2J\u{7}\nplain", ""),
        message(&format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":{}}}]}}"#,
            quoted("done")
        )),
    ])
}

/// Opens the message of an entry at a screen size; `plan` applies the default settings, as if it pruned.
pub(crate) fn open(size: (u16, u16), entry: usize, plan: bool) -> App {
    open_session(&session(), 20_000.0, size, entry, plan)
}

/// Like [`open`] for any transcript.
pub(crate) fn open_session(text: &str, window: f64, size: (u16, u16), entry: usize, plan: bool) -> App {
    let mut app = App::new(Options { motion: false, ..Options::default() }, size);
    app.focus = Pane::Message;
    app.tuning.preview = plan;
    app.tuning.respect_gates = false;
    let session = loaded_session(text, window);
    let listing = StoreListing {
        store_label: "~/.openclaw".into(),
        items: vec![session.item.clone()],
        ..StoreListing::default()
    };
    app.update(Event::Listed(Box::new(listing)), Moment::ZERO);
    let effects = app.update(Event::Opened(Box::new(session)), Moment::ZERO);
    perform_effects(&mut app, effects);
    select_entry(&mut app, entry);
    app
}

/// Selects an entry and reads its message.
pub(crate) fn select_entry(app: &mut App, entry: usize) {
    if let Some(pane) = &mut app.transcript {
        pane.reveal(entry_ix(entry), 10);
    }
    let effects = app.update(Event::Timer, Moment::ZERO);
    perform_effects(app, effects);
}

/// Answers the requests for messages.
pub(crate) fn perform_effects(app: &mut App, effects: Vec<Effect>) {
    for effect in effects {
        if let Effect::ReadMessage { session, entry, plan } = effect {
            let text = read_message(&session, entry, plan.as_deref()).map(Arc::new).map_err(Into::into);
            let event = Event::Message { epoch: session.epoch, entry, text };
            app.update(event, Moment::ZERO);
        }
    }
}
