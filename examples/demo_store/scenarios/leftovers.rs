//! Leftovers of a store: a transcript without a row, two archives, a file that a crash damaged, and a row whose first
//! reply was never written.
use super::super::content::{infra, shell, source, web};
use super::super::model::{HAIKU, OPUS, SONNET};
use super::super::prompt::{FULL, MINIMAL, RESEARCH};
use super::super::session::{DemoSession, direct_chat_fields};
use super::super::tool::{exec, read};
use super::super::transcript_writer::TranscriptWriter;
use super::super::web_tool::web_fetch;
use super::{DAY, at};
use serde_json::json;

const CWD: &str = "/home/mei/.openclaw/workspace";

pub(in super::super) fn sessions() -> Vec<DemoSession> {
    vec![damaged(), unwritten(), orphan(), reset(), deleted()]
}

/// A hook's session after a power cut: one line in the middle is torn, the last one is cut off.
fn damaged() -> DemoSession {
    let mut s = TranscriptWriter::begin("hook triage", &HAIKU, &MINIMAL, at(10, 15));
    for mail in ["Invoice 2291 is overdue", "Your domain expires in 14 days", "Minutes of Tuesday"] {
        s.user(&format!(
            "[hook mail] New message, subject: {mail}. File it and say whether it needs an answer."
        ));
        let listing = shell::mails(&mut s.rng, 1_900);
        s.tool_step("", vec![exec("mail/file.sh --dry-run", CWD, &listing, 0, 380)]);
        s.answer("Filed. It needs an answer by Friday; a draft is in the outbox.");
        s.wait_s(900);
    }
    let mut session = DemoSession::new(
        "main",
        "agent:main:hook:9c2d7a64-0b1e-4f0a-8a55-6d2f4f6c1b23",
        &s,
        &json!({"label": "Hook: mail"}),
    );
    session.bytes = tear(&session.bytes);
    session
}

/// Cuts two lines to three fifths: a tool result in the middle of the file, whose child becomes an orphan, and the last
/// line, which also loses its line feed.
fn tear(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let rows: Vec<&str> = text.lines().collect();
    let middle = rows.iter().enumerate().skip(rows.len() / 3).find(|(_, row)| row.contains("\"toolResult\""));
    let torn = middle.map_or(rows.len() / 2, |(at, _)| at);
    let mut out = String::new();
    for (at, row) in rows.iter().enumerate() {
        let last = at + 1 == rows.len();
        out.push_str(if at == torn || last {
            row.split_at(row.floor_char_boundary(row.len() * 3 / 5)).0
        } else {
            row
        });
        if !last {
            out.push('\n');
        }
    }
    out.into_bytes()
}

/// A chat without its first reply: a row, no file (store E7).
fn unwritten() -> DemoSession {
    let s = TranscriptWriter::begin("telegram 9020", &OPUS, &FULL, at(14, 5));
    let mut row = json!({"sessionId": s.id, "updatedAt": at(14, 5) + 48_000, "systemSent": true,
        "abortedLastRun": false, "sessionFile": format!("{}.jsonl", s.id)});
    if let (Some(row), Some(chat)) =
        (row.as_object_mut(), direct_chat_fields("telegram", "9020", "Jun").as_object())
    {
        row.extend(chat.clone());
    }
    DemoSession {
        agent: "main",
        file: None,
        bytes: Vec::new(),
        rows: vec![("agent:main:telegram:direct:9020".to_owned(), row)],
    }
}

/// A transcript without a row: the daily reset gave its key a new session (store G).
fn orphan() -> DemoSession {
    let mut s = TranscriptWriter::begin("research orphan", &SONNET, &RESEARCH, at(18, 2) - 3 * DAY);
    s.user("Collect what is known about the size of a cache line on our boards.");
    for number in 1..4 {
        let title = format!("Cache lines, part {number}");
        let body = web::page(&mut s.rng, &title, 7_400);
        let tool = web_fetch(&mut s, &format!("https://wiki.example/cache-lines/{number}"), &title, &body);
        s.tool_step("", vec![tool]);
    }
    s.answer("64 bytes on every board we have; one vendor's newer core prefetches pairs, so 128 is the safer padding.");
    let file = format!("{}.jsonl", s.id);
    DemoSession::unlisted("research", file, &s)
}

/// Archived by `/new` (store F2).
fn reset() -> DemoSession {
    let mut s = TranscriptWriter::begin("main before reset", &OPUS, &FULL, at(7, 58) - DAY);
    s.user("What did the build machine do last night?");
    let log = infra::service_log(&mut s.rng, 6_200);
    s.tool_step("", vec![exec("ops/last-night.sh", CWD, &log, 0, 1_200)]);
    s.answer("Two nightly builds, both green. The second took nine minutes longer because of a cold cache.");
    DemoSession::unlisted("main", format!("{}.jsonl.reset.2026-03-04T08-12-44.918Z", s.id), &s)
}

/// Archived because its session was deleted (store F2).
fn deleted() -> DemoSession {
    let mut s = TranscriptWriter::begin("research deleted", &SONNET, &RESEARCH, at(11, 20) - 6 * DAY);
    s.user("Read the draft and tell me what is unclear.");
    let text = source::cpp(&mut s.rng, "schema", 5_600);
    s.tool_step("", vec![read(&format!("{CWD}-research/draft.cpp"), &text)]);
    s.answer("Two things: who owns the buffer after `seal`, and what a retry does with a torn slot.");
    DemoSession::unlisted("research", format!("{}.jsonl.deleted.2026-03-02T09-30-05.204Z", s.id), &s)
}
