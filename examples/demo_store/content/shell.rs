//! Output of everyday commands: listings, searches, history, board info.
use super::super::rng::Rng;
use super::super::template::{Pools, fill_to_string, lines};
use super::source::{DIRS, STEMS};

const POOLS: &Pools = &[
    ("dir", &DIRS),
    ("stem", &STEMS),
    ("who", &["Mei Lin", "Tomas Brandt", "Aisha Rahman", "Jun Park"]),
    ("day", &["Mon Mar 2", "Tue Mar 3", "Wed Mar 4", "Fri Feb 27", "Thu Feb 26", "Mon Feb 23"]),
    ("mon", &["Mar  2", "Mar  3", "Mar  4", "Feb 27"]),
    (
        "subject",
        &[
            "ring: pad the tail to its own cache line",
            "queue: tag slots with a generation",
            "cmake: list sources by directory",
            "net: retry short writes",
            "store: seal segments before rotate",
            "sched: drop the global run queue",
            "probe: read thermal zones once a second",
            "http: answer /metrics without a copy",
            "codec: varint decode without branches",
            "cfg: refuse unknown keys",
            "trace: make spans cheap when off",
            "util: arena reset in O(1)",
        ],
    ),
    ("op", &["load", "store", "exchange", "compare_exchange_strong", "fetch_add", "is_lock_free"]),
    ("var", &["head_", "tail_", "top_", "slot.tag", "seq_", "epoch_", "claims_"]),
    ("header", &["pthread", "sys/epoll", "linux/perf_event", "sys/mman", "zlib", "arm_neon"]),
    ("call", &["clock_gettime", "epoll_create1", "shm_open", "timer_create", "__atomic_load_8"]),
    ("lib", &["rt", "pthread", "atomic", "z", "m"]),
    ("test", &["STD_ATOMIC_REF", "OUTLINE_ATOMICS", "NEON", "LSE", "WEAK_SYMBOLS", "IO_URING", "MEMFD"]),
    ("order", &["acquire", "release", "relaxed", "acq_rel"]),
];

/// `ls -la` of a build folder, about `chars` long.
pub(in super::super) fn listing(rng: &mut Rng, chars: usize) -> String {
    let rows: &[&str] = &[
        "-rw-r--r--  1 pi pi {#1204-981204} {mon} 1{#0-2}:{#10-59} {stem}.cpp.o",
        "-rw-r--r--  1 pi pi  {#2100-9800} {mon} 1{#0-2}:{#10-59} {stem}.cpp.o.d",
        "-rw-r--r--  1 pi pi {#41000-918000} {mon} 1{#0-2}:{#10-59} libagent_{dir}.a",
        "drwxr-xr-x 14 pi pi   4096 {mon} 1{#0-2}:{#10-59} {dir}_{stem}.dir",
    ];
    format!("total 18204\ndrwxr-xr-x 14 pi pi   4096 Mar  5 08:12 .\n{}", lines(rng, POOLS, rows, chars))
}

/// Output of `cmake` while it inspects a system, about `chars` long.
pub(in super::super) fn configure(rng: &mut Rng, chars: usize) -> String {
    let rows: &[&str] = &[
        "-- Looking for {header}.h - found",
        "-- Looking for {call} in {lib} - found",
        "-- Performing Test HAVE_{test} - Success",
        "-- Performing Test HAVE_{test} - Failed",
        "-- Check size of {stem}_t - {#1-16}",
        "-- Adding {#18-35} files of src/{dir} to agent_{dir}",
        "CMake Warning (dev) at CMakeLists.txt:{#20-380} (target_compile_options):\n  Option -mcpu=cortex-a72 is given twice for agent_{dir}; the last one wins.\nThis warning is for project developers.\n",
    ];
    let head =
        "-- The CXX compiler identification is GNU 12.2.0\n-- Detecting CXX compiler ABI info - done\n";
    format!("{head}{}-- Configuring done\n-- Generating done\n", lines(rng, POOLS, rows, chars))
}

/// `ls -la` of two nights of backups.
pub(in super::super) fn backups(rng: &mut Rng) -> String {
    let rows: &[&str] = &[
        "-rw-r----- 1 backup backup {#2100000-98000000} Mar  5 02:{#10-59} {dir}-2026-03-05.{x6}.zst",
        "-rw-r----- 1 backup backup {#2100000-97000000} Mar  4 02:{#10-59} {dir}-2026-03-04.{x6}.zst",
    ];
    lines(rng, POOLS, rows, 2_600)
}

/// Output of a long check with progress lines, about `chars` long.
pub(in super::super) fn check(rng: &mut Rng, chars: usize) -> String {
    let row = "[{#0-1}:{#10-59}] pack {x16}: {#12-96} blobs, {#1-16}.{#0-9} MiB, hash {x12} ok";
    format!("{}no errors were found\n", lines(rng, POOLS, &[row], chars))
}

/// Output of a mail filter's dry run, about `chars` long.
pub(in super::super) fn mails(rng: &mut Rng, chars: usize) -> String {
    let row = "would move <{x12}.{#100-999}@mail.example> from inbox to archive/2026/{dir} ({#2-90} kB, thread of {#1-9})";
    lines(rng, POOLS, &[row], chars)
}

/// `grep -rn` for atomics in the sources, about `chars` long.
pub(in super::super) fn grep(rng: &mut Rng, chars: usize) -> String {
    let rows: &[&str] = &[
        "src/{dir}/{stem}.cpp:{#12-480}:    {var}.{op}(next, std::memory_order_{order});",
        "src/{dir}/{stem}.hpp:{#12-220}:  std::atomic<Tagged<{stem}>> {var};",
        "src/{dir}/{stem}.cpp:{#12-480}:  // __atomic_{op}_16 comes from libatomic here, see ring/slot.hpp",
        "src/{dir}/{stem}.cpp:{#12-480}:  if (!{var}.{op}(expected, desired, std::memory_order_{order})) return Status::kRetry;",
    ];
    lines(rng, POOLS, rows, chars)
}

/// `git log --stat`, about `chars` long.
pub(in super::super) fn git_log(rng: &mut Rng, chars: usize) -> String {
    let commit = "commit {x40}\nAuthor: {who} <dev@agent.example>\nDate:   {day} {#10-19}:{#10-59}:{#10-59} 2026 +0800\n\n    {subject}\n\n src/{dir}/{stem}.cpp | {#2-80} ++++++++++-----\n src/{dir}/{stem}.hpp | {#1-20} ++-\n 2 files changed, {#3-90} insertions(+), {#1-40} deletions(-)\n";
    lines(rng, POOLS, &[commit], chars)
}

/// Board info: kernel, memory, temperature.
pub(in super::super) fn board(rng: &mut Rng) -> String {
    let text = "Linux pi4 6.6.62+rpt-rpi-v8 #1 SMP PREEMPT aarch64 GNU/Linux\nprocessor : 0..3\nBogoMIPS  : 108.00\nFeatures  : fp asimd evtstrm crc32 cpuid\nCPU implementer : 0x41\nCPU part  : 0xd08 (Cortex-A72)\nRevision  : c03114\nModel     : Raspberry Pi 4 Model B Rev 1.4\n\n               total        used        free      shared  buff/cache   available\nMem:            3793         {#900-2200}         {#120-900}          34        1188        2301\nSwap:            511          {#0-420}         {#80-511}\ntemp={#48-79}.{#0-9}'C  throttled=0x0\n";
    fill_to_string(rng, POOLS, text)
}

/// A service's journal, about `chars` long.
pub(in super::super) fn journal(rng: &mut Rng, chars: usize) -> String {
    let rows: &[&str] = &[
        "Mar 05 0{#1-9}:{#10-59}:{#10-59} pi4 agent[{#800-1900}]: INFO  {dir}/{stem}: flushed {#12-900} frames in {#1-40} ms",
        "Mar 05 0{#1-9}:{#10-59}:{#10-59} pi4 agent[{#800-1900}]: WARN  {dir}/{stem}: queue {#70-99}% full, shedding debug frames",
        "Mar 05 0{#1-9}:{#10-59}:{#10-59} pi4 kernel: usb 1-1.{#1-4}: reset high-speed USB device number {#2-9} using xhci_hcd",
        "Mar 05 0{#1-9}:{#10-59}:{#10-59} pi4 agent[{#800-1900}]: ERROR {dir}/{stem}: write to 10.0.7.{#2-240}:4317 failed: Connection reset by peer",
        "Mar 05 0{#1-9}:{#10-59}:{#10-59} pi4 systemd[1]: agent.service: Scheduled restart job, restart counter is at {#1-40}.",
    ];
    lines(rng, POOLS, rows, chars)
}
