//! The research agent's main session: two compactions, three branches at one question, one of them summarised on
//! leaving, and labels for the forks.
use super::super::content::{source, web};
use super::super::model::SONNET;
use super::super::prompt::RESEARCH;
use super::super::session::{DemoSession, direct_chat_fields};
use super::super::tool::{ToolUse, exec, read, write};
use super::super::transcript_writer::TranscriptWriter;
use super::super::web_tool::web_fetch;
use super::at;
use serde_json::json;

const HOME: &str = "/home/mei/.openclaw/workspace-research";

const QUESTIONS: [(&str, &str); 14] = [
    (
        "How do the three big allocators differ in how they return memory to the system?",
        "They differ in the trigger: one decays by time, one trims at thresholds, one leaves it to the kernel. I put the table into notes/allocators.md.",
    ),
    (
        "Which of them behaves best with short-lived threads?",
        "The one with per-CPU caches. The per-thread designs keep a cache alive until the thread's exit handler runs.",
    ),
    (
        "Find measurements, not opinions.",
        "Three papers measure it; two of them on machines too old to matter. The third reports 11 % less resident memory with per-CPU caches.",
    ),
    (
        "Does that hold for small cores?",
        "Partly. On four cores the difference shrinks to 3 %, inside the noise of their setup.",
    ),
    (
        "What about fragmentation over days?",
        "Only one source runs longer than an hour. It shows a plateau after about nine hours.",
    ),
    (
        "Write down the open questions so far.",
        "Done: four open questions, each with the source that comes closest to an answer.",
    ),
    (
        "Compare the arena designs next.",
        "Arenas differ mainly in who owns a returned block. I drew the ownership paths for each.",
    ),
    ("Is there a formal model of any of them?", "One, for the free list only. It does not cover reclaiming."),
    (
        "Check the numbers in section 4 again.",
        "Two numbers were swapped in my notes; corrected. The conclusion stays.",
    ),
    (
        "How would huge pages change the picture?",
        "They favour the decaying design, since it returns whole spans.",
    ),
    (
        "And under memory limits of a container?",
        "There the kernel's reclaim decides. All three look alike below 80 % of the limit.",
    ),
    (
        "Collect the flags that matter for a reader.",
        "Seven flags, with defaults and units, in notes/flags.md.",
    ),
    (
        "What is missing for a fair comparison?",
        "A workload that changes its shape over time. All public ones are stationary.",
    ),
    (
        "Sketch such a workload.",
        "Sketched: phases of growth, churn and idleness, with sizes drawn from our own traces.",
    ),
];

pub(in super::super) fn sessions() -> Vec<DemoSession> {
    let mut s = TranscriptWriter::begin("research main", &SONNET, &RESEARCH, at(5, 40));
    let details = json!({"readFiles": [format!("{HOME}/notes/traces.cpp")], "modifiedFiles": [format!("{HOME}/notes/allocators.md")]});
    ask(&mut s, &QUESTIONS[..6], 7_400);
    s.compact(&summary(1), 20_000, &details);
    ask(&mut s, &QUESTIONS[6..11], 7_800);
    s.compact(&summary(2), 20_000, &details);
    ask(&mut s, &QUESTIONS[11..], 19_000);
    let fork = forks(&mut s);
    s.label(fork, "the fork: how to measure");
    s.user("Good. Go on with the trace-driven one and write the plan.");
    let text = summary(3);
    s.tool_step("", vec![write(&format!("{HOME}/notes/plan.md"), &text)]);
    s.answer("The plan is in notes/plan.md: three phases, two machines, one week of runs.");
    s.name("Allocators under churn");
    let chat = direct_chat_fields("webchat", "main", "Mei");
    vec![DemoSession::new("research", "agent:research:main", &s, &chat)]
}

fn ask(s: &mut TranscriptWriter, questions: &[(&str, &str)], size: u64) {
    for (round, (question, answer)) in questions.iter().enumerate() {
        s.user(question);
        if round % 3 == 0 {
            s.think(
                "I should separate what was measured from what is argued, and note the machine each time.",
            );
        }
        for _ in 0..3 {
            let tool = source_of(s, size);
            s.tool_step("", vec![tool]);
        }
        s.answer(answer);
        s.wait_s(410);
    }
}

fn source_of(s: &mut TranscriptWriter, size: u64) -> ToolUse {
    let size = s.rng.range(size / 2, size * 3 / 2) as usize;
    if !s.rng.one_in(3) {
        let text = source::cpp(&mut s.rng, "segment", size);
        return read(&format!("{HOME}/notes/traces.cpp"), &text);
    }
    let number = s.rng.range(1_100, 9_900);
    let title = format!("Memory allocators under churn, report {number}");
    let body = web::page(&mut s.rng, &title, size);
    web_fetch(s, &format!("https://papers.example/{number}"), &title, &body)
}

/// Tries three ways to measure from one point. Returns that point; the leaf is on the third branch.
fn forks(s: &mut TranscriptWriter) -> usize {
    let fork = s.answer(
        "Before we choose: there are three ways to drive such a workload. Shall I try each for a moment?",
    );
    s.wait_s(70);
    s.user("Yes. First: a synthetic generator.");
    let tool = source_of(s, 21_000);
    s.tool_step("", vec![tool]);
    let generator =
        s.answer("The generator is easy to reproduce but its phases are ours, not those of a program.");
    s.label(generator, "synthetic generator");
    s.wait_s(80);
    s.go_to(fork);
    s.user("Second: replaying a recorded trace under a debugger.");
    let tool = source_of(s, 14_000);
    s.tool_step("", vec![tool]);
    let log = source::cpp(&mut s.rng, "journal", 4_800);
    s.tool_step("", vec![exec("gdb -batch -x replay.gdb ./churn", HOME, &log, 124, 600_000)]);
    s.answer("Too slow: ten minutes for two seconds of trace. Not usable.");
    s.wait_s(60);
    s.go_to_with_summary(fork, "## Tried\nReplaying a recorded trace under a debugger: ten minutes for two seconds of trace, so not usable. The trace format itself is fine and can be read without the debugger (notes/traces.cpp).");
    s.user("Third: drive the allocator from the trace directly.");
    let tool = source_of(s, 21_000);
    let more = source_of(s, 18_000);
    s.tool_step("", vec![tool, more]);
    let direct = s.answer(
        "This works: 1.2 million operations a second, and the phases are those of the recorded program.",
    );
    s.label(direct, "trace-driven");
    s.wait_s(90);
    fork
}

fn summary(part: u64) -> String {
    format!(
        "## Goal\nA fair comparison of how three allocators return memory under churn, for a report of eight pages.\n\n\
         ## Done, part {part}\n- Return policies: decay by time, thresholds, or left to the kernel (notes/allocators.md).\n\
         - Short-lived threads: per-CPU caches keep 11 % less resident memory on large machines, 3 % on four cores.\n\
         - Fragmentation over days: one source only, a plateau after about nine hours.\n\
         - Section 4 had two numbers swapped; corrected, the conclusion stays.\n\n\
         ## Open\n1. No public workload changes its shape over time.\n2. Huge pages favour the decaying design; not measured yet.\n\
         3. Below 80 % of a container's limit all three look alike; above it the kernel decides.\n\n\
         ## Constraints\nMeasurements, not opinions; name the machine each time; units in every table.\n\n\
         ## Exact identifiers\nnotes/allocators.md, notes/flags.md, notes/traces.cpp, report numbers 1100 to 9900 on papers.example.\n"
    )
}
