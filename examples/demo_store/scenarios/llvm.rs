//! Notes with a model of another provider: pruning is configured but does not apply to the provider, so no cache mark
//! is ever written (pruning 3.6).
use super::super::content::{source, web};
use super::super::model::GPT;
use super::super::prompt::RESEARCH;
use super::super::session::{DemoSession, direct_chat_fields};
use super::super::tool::{edit, read};
use super::super::transcript_writer::TranscriptWriter;
use super::super::web_tool::web_fetch;
use super::{DAY, at};

const HOME: &str = "/home/mei/.openclaw/workspace-research/llvm";

const ASKS: [(&str, &str); 7] = [
    (
        "Where does the expansion of wide atomics happen?",
        "In the pass that expands atomics before instruction selection: it asks the target for the largest width and turns everything wider into a library call.",
    ),
    (
        "Which hook decides the width?",
        "A target hook gives the maximum supported size in bits; for our core it says 64 unless the feature for paired exclusives is set.",
    ),
    (
        "Summarise the tests around it.",
        "Four test files: two per width, one for outline calls, one for volatile accesses. None covers a volatile 16-byte load.",
    ),
    ("Write the notes into notes.md", "Written, with one line per test and the open question at the end."),
    (
        "What changed between 17 and 18 there?",
        "The 16-byte load became a plain pair load when the feature is present; the ordering rules were tightened for acquire.",
    ),
    (
        "Does the linker see any of this?",
        "Only the names of the helpers. It cannot tell an outlined call from one written by hand.",
    ),
    (
        "Good, list what I still have to read.",
        "Three items: the ordering paragraph of the manual, the review of the tightening, and the test that was removed.",
    ),
];

pub(in super::super) fn sessions() -> Vec<DemoSession> {
    let mut s = TranscriptWriter::begin("llvm notes", &GPT, &RESEARCH, at(16, 20) - DAY);
    for (round, (requested, answer)) in ASKS.iter().enumerate() {
        s.user(requested);
        let size = s.rng.range(9_000, 14_000) as usize;
        let title = format!("LLVM notes, chapter {}", round + 3);
        let body = web::page(&mut s.rng, &title, size);
        let page = web_fetch(&mut s, &format!("https://manual.example/llvm/{round}"), &title, &body);
        s.tool_step("", vec![page]);
        let stem = source::STEMS[round * 4];
        let text = source::cpp(&mut s.rng, stem, size + 6_500);
        s.tool_step("", vec![read(&format!("{HOME}/lib/{stem}.cpp"), &text)]);
        if round == 3 {
            s.tool_step(
                "",
                vec![edit(
                    &format!("{HOME}/notes.md"),
                    "tests: none yet",
                    "tests: two per width, one outline, one volatile",
                    41,
                )],
            );
        }
        s.answer(answer);
        s.wait_s(5_400);
    }
    let mut chat = direct_chat_fields("webchat", "mei", "Mei");
    chat["displayName"] = "llvm notes".into();
    vec![DemoSession::new("research", "agent:research:llvm-notes", &s, &chat)]
}
