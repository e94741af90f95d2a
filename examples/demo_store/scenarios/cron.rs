//! A nightly job in its own session: short, cheap, far from any threshold. It has two rows, one under the job's key and
//! one under the run's (store D4).
use super::super::content::{infra, shell};
use super::super::model::HAIKU;
use super::super::prompt::MINIMAL;
use super::super::session::DemoSession;
use super::super::tool::exec;
use super::super::transcript_writer::TranscriptWriter;
use super::at;
use serde_json::json;

const CWD: &str = "/home/mei/.openclaw/workspace";

pub(in super::super) fn sessions() -> Vec<DemoSession> {
    let mut s = TranscriptWriter::begin("cron nightly", &HAIKU, &MINIMAL, at(3, 30));
    s.user("[cron nightly] Check that the three backups of last night exist and are larger than the night before. Report only problems.\nCurrent time: Thursday, March 5th, 2026 — 3:30 AM (UTC)");
    let listing = shell::backups(&mut s.rng);
    s.tool_step("", vec![exec("ls -la /srv/backup/2026-03-05 /srv/backup/2026-03-04", CWD, &listing, 0, 41)]);
    let health = infra::health(&mut s.rng);
    let sums = shell::check(&mut s.rng, 5_400);
    s.tool_step(
        "",
        vec![
            exec("ops/health.sh --disk", CWD, &health, 0, 2_100),
            exec("restic check --read-data-subset=1%", CWD, &sums, 0, 61_000),
        ],
    );
    let journal = shell::journal(&mut s.rng, 4_900);
    s.tool_step("", vec![exec("journalctl -u backup --since yesterday", CWD, &journal, 0, 300)]);
    s.answer("All three backups are there, each 0.4 to 1.1 % larger than the night before. The integrity check of one percent found no errors. Nothing to do.");
    let job = "5b0e6c1e-77a2-4a43-9c52-1f2d8a6b9e10";
    let key = format!("agent:main:cron:{job}");
    let mut session =
        DemoSession::new("main", &key, &s, &json!({"label": "Cron: nightly", "displayName": "cron nightly"}));
    let twin = session.rows[0].1.clone();
    session.rows.push((format!("{key}:run:{}", s.id), twin));
    vec![session]
}
