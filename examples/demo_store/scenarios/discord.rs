//! An operations channel with a heartbeat every 20 to 40 minutes: the cache mark never gets an hour old, so pruning
//! never runs, while every heartbeat pays for the whole prompt again.
use super::super::content::{infra, shell};
use super::super::model::OPUS;
use super::super::prompt::FULL;
use super::super::session::{DemoSession, shared_chat_fields, shared_chat_message};
use super::super::tool::{exec, read};
use super::super::transcript_writer::TranscriptWriter;
use super::at;

const CWD: &str = "/home/mei/ops";
const HEARTBEAT: &str =
    "Heartbeat: go through the boards named in HEARTBEAT.md and report what changed.\nCurrent time: ";

const NEWS: [&str; 8] = [
    "Nothing broke. The disk of n-fra-03 grew by 1 %, mostly journals; it has 11 days left at this rate.",
    "n-ams-02 restarted one pod of search (readiness probe). It came back by itself after 40 seconds.",
    "Load is where it was. The certificate of edge-cache has 9 days left; the renewal job is scheduled for tomorrow.",
    "Backups of the ledger finished at the usual time and size.",
    "The Pi in the attic is at 71 degrees. Higher than last night, below the limit you gave me.",
    "One retry storm between ingest and notify, over after two minutes. I kept the trace ids.",
    "All five nodes answer. The oldest kernel is on n-hel-02, due for Sunday's window.",
    "Queue depth is back to normal after the batch at the full hour.",
];

pub(in super::super) fn sessions() -> Vec<DemoSession> {
    let mut s = TranscriptWriter::begin("discord ops", &OPUS, &FULL, at(13, 31) - 24 * 3_600_000);
    for beat in 0..49 {
        if beat % 16 == 9 {
            let text = shared_chat_message(
                &mut s,
                "g/ops",
                "aisha",
                "anything I should know before the window on Sunday?",
            );
            s.user(&text);
            s.answer("Two things: n-hel-02 still runs the old kernel, and the journal partition of n-fra-03 should be cleaned first.");
            s.wait_s(95);
        }
        heartbeat(&mut s, beat);
        let pause = s.rng.range(20 * 60, 38 * 60) as i64;
        s.wait_s(pause.min((at(13, 58) - s.now_ms) / 1000 / (49 - beat)).max(60));
    }
    let chat = shared_chat_fields("discord", "channel", "118204471002", "g/ops");
    vec![DemoSession::new("main", "agent:main:discord:channel:118204471002", &s, &chat)]
}

fn heartbeat(s: &mut TranscriptWriter, beat: i64) {
    let time = super::super::json::iso(s.now_ms);
    s.user(&format!("{HEARTBEAT}{time}"));
    let health = infra::health(&mut s.rng);
    let log =
        if beat % 3 == 0 { infra::events(&mut s.rng, 3_700) } else { shell::journal(&mut s.rng, 3_050) };
    let uses = vec![
        exec("ops/health.sh --all", CWD, &health, 0, 2_800),
        read(&format!("{CWD}/boards/{:02}.log", beat % 24), &log),
    ];
    s.tool_step("", uses);
    let news = s.rng.pick(&NEWS);
    s.answer(news);
}
