//! Build logs: ninja with and without command lines, compiler warnings, a failed link.
use super::super::rng::Rng;
use super::super::template::{Pools, fill};
use super::source::{DIRS, STEMS};
use std::fmt::Write as _;

/// Steps of a full build.
const STEPS: usize = 412;

const WARNINGS: &[&str] = &[
    "../src/ring.hpp:88:17: warning: implicit conversion loses integer precision: 'unsigned long' to 'std::uint32_t' [-Wconversion]\n   88 |   return head_.load(std::memory_order_acquire) & kMask;\n      |          ~~~~~~^~~~\n",
    "../src/queue.hpp:41:9: note: 'Slot::Tagged' is 16 bytes; lock-free operations may need libatomic\n   41 |   CHECK(slot.is_lock_free());\n      |         ^~~~~~~~~~~~~~~~~\n",
    "../src/pool.cpp:12:3: warning: 'static_cast' from 'void *' to 'agent::Arena *' increases required alignment from 1 to 64 [-Wcast-align]\n   12 |   static_cast<Arena*>(raw)->reset(bytes);\n      |   ^~~~~~~~~~~~~~~~~~~~~~~~\n",
    "../src/{dir}/{stem}.cpp:{#40-380}:{#5-60}: warning: unused parameter 'deadline' [-Wunused-parameter]\n  {#40-380} | Status drain(std::uint64_t deadline) noexcept {\n      |              ~~~~~~~~~~~~~~^~~~~~~~\n",
];

const POOLS: &Pools = &[
    ("dir", &DIRS),
    ("stem", &STEMS),
    ("Type", &["5FrameE", "4SlotE", "7SegmentE", "6PacketE", "5BatchE", "6WorkerE"]),
    ("op", &["load_16", "store_16", "compare_exchange_16", "exchange_16"]),
    ("fn", &["publish", "claim", "advance", "seal", "steal", "drain"]),
];

const LINK: &[&str] = &[
    "/usr/bin/ld: CMakeFiles/agent.dir/src/{dir}/{stem}.cpp.o: in function `std::atomic<agent::ring::Tagged<agent::{dir}::{stem}> >::compare_exchange_strong(agent::ring::Tagged<agent::{dir}::{stem}>&, agent::ring::Tagged<agent::{dir}::{stem}>, std::memory_order)':\n{stem}.cpp:(.text._ZNSt6atomicIN5agent4ring6TaggedINS0_3net{Type}EEEE23compare_exchange_strongERS4_S4_St12memory_order[_ZNSt6atomicIN5agent4ring6TaggedINS0_3net{Type}EEEE23compare_exchange_strongERS4_S4_St12memory_order]+0x{x2}): undefined reference to `__atomic_{op}'\n",
    "/usr/bin/ld: CMakeFiles/agent.dir/src/{dir}/{stem}.cpp.o: in function `_ZN5agent4ring5QueueINS_{Type}Lm4096EE{#4-9}{fn}ERKS1_St12memory_orderb.constprop.{#0-3}':\n{stem}.cpp:(.text+0x{x4}): undefined reference to `__atomic_{op}'\n",
];

/// Returns the source and the object of `step`, as ninja names them.
fn unit(step: usize) -> (String, String) {
    let dir = DIRS[step / STEMS.len() % DIRS.len()];
    let stem = STEMS[step % STEMS.len()];
    (format!("src/{dir}/{stem}.cpp"), format!("CMakeFiles/agent.dir/src/{dir}/{stem}.cpp.o"))
}

/// `ninja -v`: every command line in full, warnings in between, and a failed link at the end.
pub(in super::super) fn verbose(rng: &mut Rng) -> String {
    let mut out = String::with_capacity(140_000);
    for step in 1..STEPS - 1 {
        let (source, object) = unit(step);
        let _ = writeln!(
            out,
            "[{step}/{STEPS}] /usr/bin/c++ -DAGENT_VERSION=0.9.3 -I../src -Igen -isystem ../third_party/fmt/include \
             -mcpu=cortex-a72 -O2 -std=c++20 -Wall -Wextra -MD -MT {object} -MF {object}.d -o {object} -c ../{source}"
        );
        if rng.one_in(9) {
            warn(&mut out, rng);
        }
    }
    out.push_str(&failure(rng, 700));
    out
}

/// `ninja`: one short line per step from `first` on, warnings, and a failure when `fails`.
pub(in super::super) fn short(rng: &mut Rng, first: usize, steps: usize, fails: bool) -> String {
    let mut out = String::new();
    for step in first..first + steps {
        let _ = writeln!(out, "[{step}/{STEPS}] Building CXX object {}", unit(step).1);
        if rng.one_in(7) {
            warn(&mut out, rng);
        }
    }
    if fails {
        out.push_str(&failure(rng, 1_500));
    }
    out
}

/// Linker errors of about `chars` bytes between ninja's lines, as `tail -200` of a failed link shows them.
pub(in super::super) fn failure(rng: &mut Rng, chars: usize) -> String {
    let mut out = format!("[{}/{STEPS}] Linking CXX executable bin/agent\nFAILED: bin/agent\n", STEPS - 1);
    let floor = out.len() + chars;
    while out.len() < floor {
        let row = rng.pick(LINK);
        fill(&mut out, rng, POOLS, row);
    }
    out.push_str("collect2: error: ld returned 1 exit status\nninja: build stopped: subcommand failed.\n");
    out
}

fn warn(out: &mut String, rng: &mut Rng) {
    let row = rng.pick(WARNINGS);
    fill(out, rng, POOLS, row);
}
