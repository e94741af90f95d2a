//! A spawned crawler: a loop of page fetches up to 88% of the window. Its cache mark is hours old, so the next call
//! would prune most of those pages.
use super::super::content::web;
use super::super::model::SONNET;
use super::super::prompt::RESEARCH;
use super::super::session::DemoSession;
use super::super::tool::read;
use super::super::transcript_writer::TranscriptWriter;
use super::super::web_tool::web_fetch;
use super::at;
use serde_json::json;

const KEY: &str = "agent:research:subagent:0d6f4b52-8a1c-4c55-9e0b-2b7f0f3ad914";

/// Folder with pages that an earlier fetch saved.
const SAVED: &str = "/home/mei/.openclaw/workspace-research/pages";

const PAGES: [(&str, &str); 12] = [
    ("https://release-notes.example/linker/17", "Linker 17 release notes"),
    ("https://release-notes.example/linker/18", "Linker 18 release notes"),
    ("https://manual.example/linker/options", "Options of the linker"),
    ("https://manual.example/linker/relocations", "Relocations by target"),
    ("https://wiki.example/atomics/aarch64", "Atomics on AArch64"),
    ("https://wiki.example/atomics/libatomic", "What libatomic does"),
    ("https://blog.example/outline-atomics", "Outline atomics, measured"),
    ("https://blog.example/lock-free-on-small-cores", "Lock-free on small cores"),
    ("https://bugs.example/1184", "Bug 1184: missing 16-byte helpers"),
    ("https://bugs.example/1207", "Bug 1207: wrong order of archives"),
    ("https://forum.example/t/static-or-shared", "Static or shared runtime?"),
    ("https://papers.example/wide-cas", "Wide compare-and-swap in practice"),
];

pub(in super::super) fn sessions() -> Vec<DemoSession> {
    let mut s = TranscriptWriter::begin("research crawl", &SONNET, &RESEARCH, at(9, 48));
    s.user("[Subagent Task]: Read everything linked from the two release notes that concerns 16-byte atomics on AArch64. Come back with a table: source, claim, evidence, date.");
    rounds(&mut s, 0, 4);
    s.answer(
        "First pass done: twelve sources, of which five carry measurements. Going deeper into those next.",
    );
    s.wait_s(700);
    s.user("Continue with the linked pages of those five, then finish.");
    rounds(&mut s, 4, 11);
    s.answer("Done. 33 pages read. Of nineteen claims about 16-byte atomics eleven are measured, six are repeated from one another and two contradict the manual. The table is in the announcement.");
    let chat = json!({"spawnedBy": "agent:research:main", "spawnDepth": 1, "label": "web crawl",
        "displayName": "web crawl", "channel": "webchat"});
    vec![DemoSession::new("research", KEY, &s, &chat)]
}

/// Fetches three pages per round: one alone, then two in one step, of which an earlier fetch saved the second.
fn rounds(s: &mut TranscriptWriter, first: usize, end: usize) {
    for round in first..end {
        let mut pages = (0..3).map(|i| PAGES[(round * 3 + i) % PAGES.len()]).map(|(url, title)| {
            let size = s.rng.range(11_000, 23_500) as usize;
            let body = web::page(&mut s.rng, title, size);
            let page = if round < PAGES.len() / 3 { String::new() } else { format!("?page={round}") };
            (format!("{url}{page}"), title, body)
        });
        let (Some(alone), Some(fetched), Some(saved)) = (pages.next(), pages.next(), pages.next()) else {
            return;
        };
        drop(pages);
        let tool = web_fetch(s, &alone.0, alone.1, &alone.2);
        s.tool_step("", vec![tool]);
        let tool = web_fetch(s, &fetched.0, fetched.1, &fetched.2);
        s.tool_step("", vec![tool, read(&format!("{SAVED}/{round:02}-linked.md"), &saved.2)]);
    }
}
