//! Web pages: manuals, wikis and papers as a reader extracts them, and browser snapshots.
use super::super::rng::Rng;
use super::super::template::{Pools, fill, fill_to_string, lines, sentence_case};

/// Words of technical pages.
pub(in super::super) const POOLS: &Pools = &[
    (
        "thing",
        &[
            "the linker",
            "the code generator",
            "an atomic object",
            "the runtime library",
            "the register allocator",
            "a wide compare-and-swap",
            "the build graph",
            "the inliner",
            "a memory barrier",
            "the scheduler",
            "the vectoriser",
            "the loop optimiser",
            "a translation unit",
            "the dependency file",
            "the cache line",
        ],
    ),
    (
        "does",
        &[
            "falls back to a lock table",
            "emits a call instead of an instruction",
            "keeps the older form for compatibility",
            "is chosen at configure time",
            "must be linked explicitly",
            "inlines the fast path",
            "orders the store before later loads",
            "reads the response file first",
            "splits the live range",
            "rewrites the phi nodes",
            "is rebuilt when its command line changes",
            "needs alignment to its size",
        ],
    ),
    (
        "when",
        &[
            "when the operand is wider than a register",
            "if the target has no such instruction",
            "unless the architecture level is raised",
            "on boards with an older core",
            "for every object in the group",
            "after the second pass",
            "when link-time optimisation is on",
            "as soon as one input is newer",
            "if profile data is present",
            "when the loop count is known",
        ],
    ),
    (
        "note",
        &[
            "This costs about {#3-40} cycles on an in-order core.",
            "Version {#9-15}.{#0-3} changed the default.",
            "Measured over {#20-900} runs, the difference was {#1-9}.{#0-9} %.",
            "Distributions usually ship it as a separate package.",
            "The flag has no effect on 32-bit targets.",
            "Earlier releases printed a warning here; now it is silent.",
            "See section {#2-12}.{#1-9} for the exceptions.",
        ],
    ),
    (
        "flag",
        &[
            "-latomic",
            "-moutline-atomics",
            "-march=armv8-a+lse",
            "-fuse-ld=lld",
            "-d keepdepfile",
            "-flto=thin",
            "-j{#2-8}",
            "-fno-plt",
        ],
    ),
    (
        "head",
        &[
            "Background",
            "Options",
            "Behaviour by target",
            "Caveats",
            "Worked example",
            "Diagnostics",
            "History",
            "Interaction with other passes",
            "Frequently met errors",
            "Measuring it",
        ],
    ),
    (
        "code",
        &[
            "$ c++ -O2 -std=c++20 queue.cpp {flag} -o queue\n$ nm queue | grep atomic\n0000000000{x6} T __atomic_load_16\n",
            "rule link\n  command = c++ $in {flag} -o $out\n  description = LINK $out\n",
            "%{#1-90} = cmpxchg ptr %slot, i128 %old, i128 %new acq_rel acquire\n%{#1-90} = extractvalue { i128, i1 } %{#1-90}, 1\n",
            "ldaxp x{#0-9}, x{#10-19}, [x{#20-28}]\ncmp x{#0-9}, x{#10-19}\nb.ne .Lretry\n",
        ],
    ),
];

const SENTENCES: &[&str] = &[
    "{thing} {does} {when}. ",
    "In practice {thing} {does}, and {thing} {does} {when}. ",
    "{note} ",
    "With `{flag}` {thing} {does}. ",
    "Note that {thing} {does} only {when}; otherwise {thing} {does}. ",
];

/// A page in Markdown, about `size` chars.
pub(in super::super) fn page(rng: &mut Rng, title: &str, size: usize) -> String {
    let mut out = format!("# {title}\n\n");
    let mut section = 0;
    while out.len() < size {
        section += 1;
        fill(&mut out, rng, POOLS, &format!("## {section}. {{head}}\n\n"));
        for _ in 0..rng.range(2, 5) {
            paragraph(&mut out, rng);
        }
        if rng.one_in(2) {
            fill(&mut out, rng, POOLS, "```\n{code}```\n\n");
        } else {
            table(&mut out, rng);
        }
    }
    out.truncate(size);
    out
}

fn paragraph(out: &mut String, rng: &mut Rng) {
    for _ in 0..rng.range(3, 7) {
        let sentence = rng.pick(SENTENCES);
        sentence_case(out, &fill_to_string(rng, POOLS, sentence));
    }
    out.push_str("\n\n");
}

fn table(out: &mut String, rng: &mut Rng) {
    out.push_str("| option | effect | since |\n| --- | --- | --- |\n");
    for _ in 0..rng.range(3, 8) {
        fill(out, rng, POOLS, "| `{flag}` | {thing} {does} | {#4-15}.{#0-9} |\n");
    }
    out.push('\n');
}

/// A browser snapshot of a page: an outline of roles and names.
pub(in super::super) fn snapshot(rng: &mut Rng, title: &str, size: usize) -> String {
    let rows: &[&str] = &[
        "  - link \"{head}\" [ref=e{#10-900}] [cursor=pointer]",
        "  - heading \"{head}\" [level=2] [ref=e{#10-900}]",
        "  - paragraph [ref=e{#10-900}]: {thing} {does} {when}.",
        "  - list [ref=e{#10-900}]:\n    - listitem [ref=e{#10-900}]: {note}\n    - listitem [ref=e{#10-900}]: {thing} {does}.",
        "  - code [ref=e{#10-900}]: {flag}",
    ];
    format!("- document \"{title}\":\n{}", lines(rng, POOLS, rows, size))
}
