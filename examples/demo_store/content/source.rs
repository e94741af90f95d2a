//! Source files of the invented C++ project `agent`: a telemetry daemon with lock-free queues.
use super::super::rng::Rng;
use super::super::template::{Pools, fill};
use std::fmt::Write as _;

/// Folders of the project.
pub(in super::super) const DIRS: [&str; 12] =
    ["net", "codec", "store", "sched", "util", "proto", "probe", "sink", "cfg", "http", "ring", "trace"];
/// File stems; combined with the folders they give every translation unit.
pub(in super::super) const STEMS: [&str; 35] = [
    "poller", "frame", "segment", "timer", "arena", "packet", "gauge", "writer", "schema", "client", "slot",
    "span", "socket", "varint", "index", "worker", "string", "header", "thermal", "batch", "parser",
    "server", "cursor", "clock", "buffer", "router", "journal", "task", "hash", "field", "disk", "flush",
    "layer", "session", "queue",
];

const POOLS: &Pools = &[
    ("stem", &STEMS),
    ("dir", &DIRS),
    ("Type", &["Frame", "Slot", "Segment", "Cursor", "Packet", "Span", "Batch", "Worker", "Gauge", "Lease"]),
    ("var", &["head", "tail", "seq", "depth", "budget", "epoch", "offset", "count", "mask", "ticket"]),
    ("order", &["std::memory_order_acquire", "std::memory_order_relaxed", "std::memory_order_acq_rel"]),
    ("verb", &["drain", "publish", "claim", "advance", "flush", "seal", "rotate", "merge", "retry", "probe"]),
    (
        "why",
        &[
            "the producer may run ahead by one lap",
            "a torn slot is retried by the next reader",
            "callers hold the shard lock",
            "keeps the hot line out of the consumer's cache",
            "the kernel may hand back a short write",
            "sequence numbers never wrap within a boot",
            "measured on the board: 40 ns less per push",
            "an empty batch is a heartbeat",
        ],
    ),
];

const BODY: &[&str] = &[
    "  // {why}\n  const auto {var} = {var}_.load({order});\n",
    "  if ({var} - {var}_cache_ > kDepth) {\n    return Status::kFull;\n  }\n",
    "  for (std::size_t i = 0; i < {var}; ++i) {\n    auto& item = slots_[({var} + i) & kMask];\n    item.{verb}({var}, i);\n  }\n",
    "  while (!slots_[{var} & kMask].try_{verb}({var})) {\n    backoff_.pause();\n  }\n",
    "  {Type} next{{var}, clock_.now_ns(), flags_ & 0x{x4}u};\n  sink_->{verb}(next);\n",
    "  AGENT_TRACE(\"{verb} {var}=%llu\", static_cast<unsigned long long>({var}));\n",
    "  stats_.{verb}_total.fetch_add({#1-64}, std::memory_order_relaxed);\n",
    "  auto expected = Tagged{{var}, generation_};\n  if (!top_.compare_exchange_strong(expected, Tagged{next, generation_ + 1})) {\n    return Status::kRetry;\n  }\n",
];

/// A C++ file of about `size` chars.
pub(in super::super) fn cpp(rng: &mut Rng, stem: &str, size: usize) -> String {
    let mut out =
        format!("#include \"{stem}.hpp\"\n\n#include <array>\n#include <atomic>\n#include <cstdint>\n");
    fill(
        &mut out,
        rng,
        POOLS,
        "#include \"util/{stem}.hpp\"\n#include \"{dir}/{stem}.hpp\"\n\nnamespace agent {\n\n",
    );
    while out.len() < size {
        let head =
            "// {why}\nStatus {Type}Queue::{verb}_{var}(std::uint64_t {var}, {Type}* out) noexcept {\n";
        fill(&mut out, rng, POOLS, head);
        for _ in 0..rng.range(3, 7) {
            let row = rng.pick(BODY);
            fill(&mut out, rng, POOLS, row);
        }
        out.push_str("  return Status::kOk;\n}\n\n");
    }
    out.push_str("}  // namespace agent\n");
    out
}

/// The project's `CMakeLists.txt`, about `size` chars: it lists every file by name.
pub(in super::super) fn cmake(rng: &mut Rng, size: usize) -> String {
    let mut out = String::from(
        "cmake_minimum_required(VERSION 3.22)\nproject(agent VERSION 0.9.3 LANGUAGES CXX)\n\n\
         set(CMAKE_CXX_STANDARD 20)\nset(CMAKE_CXX_EXTENSIONS OFF)\nset(CMAKE_EXPORT_COMPILE_COMMANDS ON)\n\n\
         option(AGENT_WITH_TLS \"Link the TLS sink\" ON)\noption(AGENT_LTO \"Link-time optimisation\" OFF)\n\n\
         find_package(Threads REQUIRED)\nfind_package(ZLIB REQUIRED)\n\n",
    );
    for dir in DIRS.iter().cycle() {
        if out.len() >= size {
            break;
        }
        let _ = writeln!(out, "add_library(agent_{dir} OBJECT");
        for stem in STEMS.iter().take(rng.range(18, 35) as usize) {
            let _ = write!(out, "  src/{dir}/{stem}.cpp\n  src/{dir}/{stem}.hpp\n");
        }
        let _ = write!(
            out,
            ")\ntarget_include_directories(agent_{dir} PUBLIC src ${{CMAKE_BINARY_DIR}}/gen)\n\
             target_compile_options(agent_{dir} PRIVATE -Wall -Wextra -mcpu=cortex-a72)\n\n"
        );
    }
    out.push_str("add_executable(agent src/main.cpp)\ntarget_link_libraries(agent PRIVATE Threads::Threads ZLIB::ZLIB)\n");
    out
}
