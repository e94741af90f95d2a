//! A C++ build that fails on a Raspberry Pi: a long morning, one compaction, an abandoned branch, and a build of 38
//! minutes after which the prompt is too long. The cache mark was 53 minutes old then, so pruning did not run.
use super::super::content::{build, shell, source, thought, web};
use super::super::model::OPUS;
use super::super::prompt::FULL;
use super::super::session::{DemoSession, direct_chat_fields};
use super::super::tool::{ToolUse, edit, exec, exec_background, process_poll, read, write};
use super::super::transcript_writer::TranscriptWriter;
use super::super::web_tool::{browser, web_fetch};
use super::at;
use serde_json::json;

/// Folder of the project on the board.
const HOME: &str = "/home/pi/agent";

/// One run: message, steps (see [`work`]), reply.
type Run = (&'static str, &'static str, &'static str);

const MORNING: [Run; 21] = [
    (
        "早。agent 项目要在树莓派 4 上跑，先帮我看看现在的代码结构",
        "srrgr",
        "结构清楚：十二个目录，每个目录一个 OBJECT 库，最后链接成 `bin/agent`。无锁队列在 `src/ring` 和 `src/queue.hpp`，这是移植时最需要小心的地方。",
    ),
    ("build 目录可以随便删吗", "", "可以，都是生成的。`notes/` 和 `third_party/` 不要动。"),
    (
        "What does the board look like? Is it 64-bit userland?",
        "bbjr",
        "Yes: aarch64 kernel and userland, Cortex-A72, 4 GB. No LSE atomics on this core (ARMv8.0), so wide compare-and-swap will go through library calls.",
    ),
    (
        "gcc 版本够吗？需要 C++20",
        "swrg",
        "系统自带 gcc 12.2，C++20 够用。唯一的问题是 `std::atomic_ref` 的宽操作，要看链接时有没有 libatomic。",
    ),
    (
        "先配置一下 cmake 看看缺什么",
        "crnrg",
        "Configured. Two packages were missing (zlib1g-dev and libssl-dev); both installed. The generator is still Make.",
    ),
    (
        "How long will a full build take on this thing?",
        "",
        "Half an hour with four jobs, judging by the core and the number of units. I will know after the first one.",
    ),
    (
        "Start a build and tell me about the warnings, not the noise",
        "nnrgrr",
        "128 units compiled, three kinds of warnings: narrowing in `ring.hpp:88`, an alignment cast in `pool.cpp:12`, unused parameters in the probes. None of them explains a crash.",
    ),
    (
        "pool.cpp 那个 cast-align 是真问题吗",
        "rgwrr",
        "是。`Arena` 要求 64 字节对齐，而 `raw` 来自只保证 16 字节的 `malloc`。在 A72 上普通访问没事，但 `stp`/`ldp` 的 16 字节原子访问会变成未定义行为。",
    ),
    ("可以先修这个吗，不影响别的吧", "", "不影响。只改 `pool.cpp` 里的分配，接口不变。"),
    (
        "fix it please",
        "ern",
        "Replaced the cast with `std::assume_aligned` over an `aligned_alloc` block. The warning is gone.",
    ),
    (
        "上次线上的崩溃日志还在吗？对一下",
        "jjrglr",
        "对上了：三次崩溃都在 `ring::Queue::publish`，地址不是 16 字节对齐。和 `pool.cpp` 的问题是同一个原因。",
    ),
    (
        "Who touched the queue lately?",
        "llrrr",
        "Jun Park in February: `queue: tag slots with a generation`. That commit made the slot 16 bytes wide, which is when the wide atomics came in.",
    ),
    (
        "那个提交能不能单独回退",
        "lrgrrr",
        "不建议。之后有四个提交依赖带代号的槽位，回退会牵动 `store` 和 `sched`。更简单的是保留代号，把它压到 48 位指针里。",
    ),
    (
        "How would packing it look?",
        "rrwrgr",
        "A 48-bit pointer and a 16-bit generation fit in one word on this board. The cost is a wrap after 65,536 reuses of one slot; with 4,096 slots that is far beyond any reader's lag.",
    ),
    (
        "ok, not now then. keep the generation as it is",
        "",
        "Agreed. I note it as plan B and leave the slot at 16 bytes for now.",
    ),
    (
        "温度和降频也看一下，编译的时候风扇很响",
        "bbjbj",
        "编译时最高 78 度，没有触发降频（throttled=0x0）。四线程可以，但内存会用到 2.2 GB，不要再加并行。",
    ),
    (
        "look at what the docs of the toolchain say about atomics",
        "wwrBr",
        "The documentation agrees: without LSE every 16-byte operation is a call into libatomic, and CMake does not add it on its own.",
    ),
    (
        "测试呢？先跑 ring 的单元测试",
        "nrjrgr",
        "ring 的 41 个测试通过 40 个，`wraps_at_capacity` 偶发失败，十次里一次。失败时的序号差正好是一个 lap。",
    ),
    (
        "keep notes of what we decided, we will need them",
        "Trg",
        "Written to `notes/pi4-port.md`: the alignment fix, the plan to pack the generation, the flaky test, and the four-thread limit.",
    ),
    ("中午之前能链接上吗", "", "如果只缺一个库就能。代码层面的问题已经定位，剩下的是链接。"),
    (
        "好，继续，把 sched 目录也过一遍",
        "rrrgrgrg",
        "sched 没有 16 字节原子操作，只有两个 `std::atomic<bool>`。可以放心，问题集中在 ring 和 queue。",
    ),
];

const TAIL: [Run; 2] = [
    ("net 目录呢", "rrgnr", "net 里 `poller` 用到了 `Tagged<Frame>`，也是 16 字节。需要和 ring 一起改。"),
    (
        "ok. summarise where we are and then I compact",
        "r",
        "Where we are: the crash is an alignment bug (fixed); the link problem is 16-byte atomics in ring, queue and poller; libatomic or packed generations will solve it. Nothing is pushed yet.",
    ),
];

const SUMMARY: &str = include_str!("../telegram-summary.md");

/// Builds one tool call: `r`ead, `g`rep, git `l`og, `j`ournal, `b`oard, `n`inja, li`s`ting, `w`eb page, `B`rowser,
/// `c`make, `e`dit, no`T`es.
fn work(s: &mut TranscriptWriter, step: char) -> ToolUse {
    let size = s.rng.range(1_900, 6_600) as usize;
    let stem = s.rng.pick(&source::STEMS);
    let dir = s.rng.pick(&source::DIRS);
    match step {
        'r' => read(&format!("{HOME}/src/{dir}/{stem}.cpp"), &source::cpp(&mut s.rng, stem, size + 1_200)),
        'g' => exec("grep -rn 'atomic' src/ | sort", HOME, &shell::grep(&mut s.rng, size), 0, 210),
        'l' => exec("git log --stat -12", HOME, &shell::git_log(&mut s.rng, size / 2), 0, 95),
        'j' => exec("journalctl -u agent -n 80 --no-pager", HOME, &shell::journal(&mut s.rng, size), 0, 340),
        'b' => exec("uname -a; cat /proc/cpuinfo; free -m", HOME, &shell::board(&mut s.rng), 0, 60),
        'n' => {
            exec("cmake --build build -j4", HOME, &build::short(&mut s.rng, size / 200, 60, false), 0, 96_000)
        }
        's' => exec("ls -la", HOME, &shell::listing(&mut s.rng, size / 2), 0, 40),
        'w' => page(s, "https://toolchain.example/docs/atomics", "Atomics and the toolchain", size + 3_000),
        'B' => sight(s, "https://forum.example/t/rpi4-16-byte-atomics", "16-byte atomics on the Pi 4", size),
        'c' => exec("cmake -B build", HOME, &shell::configure(&mut s.rng, 1_400), 0, 8_800),
        'e' => edit(&format!("{HOME}/src/pool.cpp"), OLD_CAST, NEW_CAST, 12),
        _ => write(&format!("{HOME}/notes/pi4-port.md"), SUMMARY),
    }
}

const OLD_CAST: &str = "  static_cast<Arena*>(raw)->reset(bytes);";
const NEW_CAST: &str = "  auto* arena = std::assume_aligned<64>(static_cast<Arena*>(aligned_alloc(64, bytes)));\n  arena->reset(bytes);";
const OLD_LINK: &str = "target_link_libraries(agent PRIVATE Threads::Threads ZLIB::ZLIB)";
const NEW_LINK: &str = "target_link_libraries(agent PRIVATE Threads::Threads ZLIB::ZLIB atomic)";

fn page(s: &mut TranscriptWriter, url: &str, title: &str, size: usize) -> ToolUse {
    let body = web::page(&mut s.rng, title, size);
    web_fetch(s, url, title, &body)
}

fn sight(s: &mut TranscriptWriter, url: &str, title: &str, size: usize) -> ToolUse {
    let snapshot = web::snapshot(&mut s.rng, title, size);
    browser(s, url, &snapshot)
}

fn run(s: &mut TranscriptWriter, (requested, steps, answer): Run) {
    s.user(requested);
    for (at, step) in steps.chars().enumerate() {
        let size = s.rng.range(160, 900) as usize;
        let words = thought::aloud(&mut s.rng, size);
        let tool = work(s, step);
        if at == 0 {
            s.think(&words);
        }
        s.tool_step(if at == 0 { "" } else { &words }, vec![tool]);
    }
    s.answer(answer);
}

pub(in super::super) fn sessions() -> Vec<DemoSession> {
    let mut s = TranscriptWriter::begin("telegram 8812", &OPUS, &FULL, at(8, 29));
    for morning in MORNING.into_iter().chain(TAIL) {
        run(&mut s, morning);
        s.wait_s(470);
    }
    s.now_ms = at(11, 48);
    let details = json!({"readFiles": [format!("{HOME}/src/net/poller.cpp"), format!("{HOME}/src/ring/slot.cpp")],
        "modifiedFiles": [format!("{HOME}/notes/pi4-port.md"), format!("{HOME}/src/pool.cpp")]});
    s.compact(SUMMARY, 20_000, &details);
    pages(&mut s);
    ninja(&mut s);
    let here = failing_build(&mut s);
    clang(&mut s, here);
    search(&mut s);
    last_run(&mut s);
    vec![DemoSession::new(
        "main",
        "agent:main:telegram:direct:8812",
        &s,
        &direct_chat_fields("telegram", "8812", "Mei"),
    )]
}

fn pages(s: &mut TranscriptWriter) {
    s.now_ms = at(11, 52);
    s.user("有没有现成的交叉编译方案？在板子上编太慢了，查一下官方文档");
    let tool = sight(s, "https://www.raspberrypi.com/documentation", "Raspberry Pi documentation", 16_300);
    s.tool_step("Looking at the board's own documentation first.", vec![tool]);
    let tool = sight(s, "https://github.com/raspberrypi/tools", "raspberrypi/tools", 22_400);
    s.tool_step("", vec![tool]);
    let tool = sight(s, "https://forum.example/t/cross-or-native", "Cross or native?", 17_600);
    s.tool_step("", vec![tool]);
    s.think("The tools repository is the old 32-bit toolchain. The board runs a 64-bit userland, so Debian's own cross packages fit better, but the sysroot has to match libstdc++ 12.2.");
    s.answer("The board is a Pi 4 with a 64-bit userland, so the old `tools` repository does not apply. Debian's `crossbuild-essential-arm64` with a copied sysroot works, and CMake needs one toolchain file. For a project of 412 steps the native build with Ninja is slower but has fewer ways to go wrong.");
    s.now_ms = at(12, 10);
    s.user("用 ninja，不要用 make");
    let configure = shell::configure(&mut s.rng, 18_000);
    s.tool_step(
        "Understood, switching generators.",
        vec![exec("cmake -G Ninja -B build -DCMAKE_BUILD_TYPE=RelWithDebInfo", HOME, &configure, 0, 14_200)],
    );
    let board = shell::board(&mut s.rng) + &shell::journal(&mut s.rng, 4_100);
    s.tool_step("", vec![exec("cat /proc/cpuinfo; journalctl -b -p warning", HOME, &board, 0, 130)]);
    s.answer("Ninja is set up in `build/`. Four jobs, as the memory allows no more.");
}

fn ninja(s: &mut TranscriptWriter) {
    s.now_ms = at(12, 21);
    s.user("后台开始编译吧");
    let started = s.now_ms;
    s.tool_step("", vec![exec_background("ninja -C build", HOME, "quiet-heron", 21_877, started)]);
    for (first, steps) in [(1, 74), (75, 92)] {
        let log = build::short(&mut s.rng, first, steps, false);
        s.tool_step("", vec![process_poll("quiet-heron", "ninja -C build", &log, None)]);
    }
    let log = build::short(&mut s.rng, 167, 40, true);
    s.tool_step("", vec![process_poll("quiet-heron", "ninja -C build", &log, Some(1))]);
    s.answer("It compiled and then stopped in the link step; the objects that were built are kept.");
}

fn failing_build(s: &mut TranscriptWriter) -> usize {
    s.now_ms = at(12, 34);
    s.user("树莓派上又编译失败了，能看看吗？");
    let lists = source::cmake(&mut s.rng, 16_800);
    s.tool_step("", vec![read(&format!("{HOME}/CMakeLists.txt"), &lists)]);
    s.think("The link line has Threads and ZLIB only. On this core every 16-byte atomic becomes a libatomic call. I want the full command lines before I claim that, since a stale object from the make build could look the same.");
    let log = build::verbose(&mut s.rng);
    s.tool_step("The toolchain file points at gcc 12.2, which is fine. I will build once with full command lines to see what the linker is given.", vec![exec("ninja -C build -v", HOME, &log, 1, 411_000)]);
    let tool = page(s, "https://gcc.gnu.org/wiki/Atomic", "Atomic", 43_000);
    s.tool_step("", vec![tool]);
    let tool = page(s, "https://ninja-build.org/manual.html", "The Ninja build system", 41_800);
    s.tool_step("16-byte atomics live in libatomic on a core without LSE. Checking that Ninja rebuilds when only the link flags change.", vec![tool]);
    let listing = shell::listing(&mut s.rng, 26_000)
        + &build::short(&mut s.rng, 1, 104, false)
        + &build::failure(&mut s.rng, 1_400);
    s.tool_step("", vec![exec("ls -la build/ && ninja -v", HOME, &listing, 1, 9_300)]);
    s.answer("找到了：`ring`、`queue`、`poller` 用到 16 字节原子操作，A72 没有对应指令，链接时缺 `libatomic`。两个方案：\n1. 在 `CMakeLists.txt` 里链接 `atomic`，改一行；\n2. 把代号压进指针，去掉 16 字节操作，改动大一些，但更快。\n先试哪个？")
}

fn clang(s: &mut TranscriptWriter, here: usize) {
    s.wait_s(45);
    s.user("try with clang instead");
    let configure = shell::configure(&mut s.rng, 5_200);
    s.tool_step(
        "Configuring a second build folder with clang 14.",
        vec![exec("CXX=clang++-14 cmake -G Ninja -B build-clang", HOME, &configure, 0, 12_900)],
    );
    let log = build::short(&mut s.rng, 1, 52, true);
    s.tool_step("", vec![exec("ninja -C build-clang 2>&1 | tail -120", HOME, &log, 1, 118_000)]);
    s.answer("clang fails in the same place: it emits the same `__atomic_*_16` calls. The compiler is not the problem.");
    s.wait_s(40);
    s.go_to(here);
}

fn search(s: &mut TranscriptWriter) {
    s.now_ms = at(13, 8);
    s.user("不用 clang 了。源码里到底有多少地方用到？最近是谁改的");
    let hits = shell::grep(&mut s.rng, 34_000);
    s.tool_step("", vec![exec("grep -rn __atomic src/ | sort", HOME, &hits, 0, 260)]);
    let log = shell::git_log(&mut s.rng, 29_800);
    s.tool_step("", vec![exec("git log --stat -20", HOME, &log, 0, 120)]);
    s.calibrate_prompt(176_020);
    s.answer("一共三百多处，集中在 ring 和 queue，都是二月那次提交带进来的。第一个方案（链接 libatomic）不碰这些代码。");
}

fn last_run(s: &mut TranscriptWriter) {
    s.now_ms = at(13, 21);
    s.user("好，先试第一个方案");
    let change = edit(&format!("{HOME}/CMakeLists.txt"), OLD_LINK, NEW_LINK, 388);
    s.tool_step("Linking now needs -latomic; patching the link line.", vec![change]);
    let log = build::failure(&mut s.rng, 50_900);
    let took = at(14, 2) + 16_400 - s.now_ms - 6_000;
    s.tool_step("", vec![exec("ninja -C build 2>&1 | tail -200", HOME, &log, 0, took).dense(1.9)]);
    s.calibrate_prompt(203_412);
    s.refused("prompt is too long: 203412 tokens > 200000 maximum");
}
