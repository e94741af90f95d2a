//! Stores made to exhaust time or memory: a budget stops the one file, a diagnostic names it, and everything
//! else of the store works.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"x\",\"timestamp\":\"2026-03-05T07:58:00.000Z\",\"cwd\":\"/w\"}\n";
const HELLO: &str = "{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"2026-03-05T07:58:01.000Z\",\
     \"message\":{\"role\":\"user\",\"content\":\"hello there\"}}\n";
/// A debug build on a busy machine.
const DEADLINE: Duration = Duration::from_mins(5);
/// Address space in KiB: 256 MB, and the code and the stacks of the threads, which are hardly used.
const ADDRESS_SPACE_KIB: u64 = 1 << 20;

struct Store(tempfile::TempDir);

impl Store {
    /// With one good session.
    fn new() -> Self {
        let store = Self(tempfile::tempdir().unwrap());
        store.write("agents/main/sessions/good.jsonl", &format!("{HEADER}{HELLO}"));
        store.write(
            "agents/main/sessions/sessions.json",
            r#"{"agent:main:main":{"sessionId":"good","updatedAt":1}}"#,
        );
        store.write("openclaw.json", "{}");
        store
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Runs a command with little memory. Panics after the deadline.
    #[track_caller]
    fn run(&self, words: &[&str]) -> Output {
        self.run_watched(words, |_| {})
    }

    /// Runs a command and passes its process id to `look` until it ends.
    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "polls with a deadline")]
    fn run_watched(&self, words: &[&str], mut look: impl FnMut(u32)) -> Output {
        let limited = format!("ulimit -v {ADDRESS_SPACE_KIB}; exec \"$@\"");
        // A pipe without a reader would block the command.
        let [mut stdout, mut stderr] = [tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap()];
        let mut child = Command::new("sh")
            .args(["-c", &limited, "sh", env!("CARGO_BIN_EXE_clawscope"), "--store"])
            .arg(self.0.path())
            .args(words)
            .env_clear()
            .env("HOME", self.path("home"))
            // Each thread has buffers, so that memory would otherwise depend on the machine.
            .env("RAYON_NUM_THREADS", "2")
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .stdout(stdout.try_clone().unwrap())
            .stderr(stderr.try_clone().unwrap())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while child.try_wait().unwrap().is_none() {
            look(child.id());
            if began.elapsed() > DEADLINE {
                child.kill().unwrap();
                panic!("{words:?} still runs after {DEADLINE:?}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let text = |file: &mut File| {
            let mut bytes = Vec::new();
            file.rewind().and_then(|()| file.read_to_end(&mut bytes)).unwrap();
            bytes
        };
        let status = child.wait().unwrap();
        Output { status, stdout: text(&mut stdout), stderr: text(&mut stderr) }
    }

    /// Lists the sessions; returns the whole output.
    #[track_caller]
    fn listed(&self) -> String {
        let output = self.run(&["sessions"]);
        let text =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(output.status.success(), "{text}");
        assert!(text.contains("main"), "the good session is listed: {text}");
        text
    }
}

/// The highest memory of a process so far, in KiB; 0 when it has ended.
fn peak_kib(pid: u32) -> u64 {
    status_kib(pid, "VmHWM:")
}

/// The same without the mapped pages of the program's file: how many of them are resident depends on how the file came
/// into the page cache.
fn peak_own_kib(pid: u32) -> u64 {
    peak_kib(pid).saturating_sub(status_kib(pid, "RssFile:"))
}

fn status_kib(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// 50,000 sessions may take 256 MB. The program itself takes 50 of them, half for its own file and half for its lists of
/// models and of configuration keys, so fewer sessions must take less in proportion.
#[test]
fn many_sessions_take_little_memory_each() {
    const SESSIONS: u64 = 5_000;
    const LIMIT_KIB: u64 = (25 + (256 - 50) * SESSIONS / 50_000) << 10;
    let store = Store::new();
    let mut rows = serde_json::Map::new();
    for at in 0..SESSIONS {
        let id = format!("{at:08x}-1111-4111-8111-{at:012x}");
        let hello = HELLO.replace("hello there", &format!("hello there {at}"));
        store.write(&format!("agents/main/sessions/{id}.jsonl"), &format!("{HEADER}{hello}"));
        let row = serde_json::json!({
            "sessionId": id, "updatedAt": 1_772_700_000_000_u64 + at, "model": "claude-opus-4-5",
            "modelProvider": "anthropic", "totalTokens": 1000, "chatType": "direct", "compactionCount": 0,
            "inputTokens": 1000, "outputTokens": 20, "lastChannel": "telegram", "lastTo": format!("telegram:{at}"),
            "origin": {"label": format!("user {at}"), "provider": "telegram", "surface": "telegram"},
            "skillsSnapshot": {"prompt": "x".repeat(200)},
        });
        rows.insert(format!("agent:main:telegram:direct:{at}"), row);
    }
    let rows = serde_json::Value::Object(rows).to_string();
    store.write("agents/main/sessions/sessions.json", &rows);
    for words in [&["sessions"][..], &["sessions", "--json"], &["doctor"]] {
        let mut peak = 0;
        let output = store.run_watched(words, |pid| peak = peak_own_kib(pid).max(peak));
        assert!(output.status.code().is_some_and(|code| code < 4), "{words:?}: {output:?}");
        assert!(peak > 1 << 10 && peak <= LIMIT_KIB, "{words:?} took {peak} KiB of {LIMIT_KIB}");
    }
}

/// A session of calls whose results have 14 kB each, compacted from time to time.
struct LongSession {
    text: String,
    entries: usize,
}

impl LongSession {
    fn of_bytes(bytes: usize) -> String {
        let mut session = Self { text: HEADER.to_owned(), entries: 0 };
        while session.text.len() < bytes {
            session.message(&json!({"role": "user", "content": "look at the next files"}));
            (0..32).for_each(|_| session.call());
            let first_kept = format!("{:08x}", session.entries - 8);
            let summary = json!({"summary": "Files were read.", "firstKeptEntryId": first_kept, "tokensBefore": 150_000});
            session.push("compaction", &summary);
        }
        session.text
    }

    fn push(&mut self, kind: &str, members: &serde_json::Value) {
        let at = self.entries;
        let parent =
            at.checked_sub(1).map_or(serde_json::Value::Null, |parent| json!(format!("{parent:08x}")));
        let time = format!("2026-03-{:02}T{:02}:{:02}:00.000Z", 5 + at / 1440, at / 60 % 24, at % 60);
        let mut entry =
            json!({"type": kind, "id": format!("{at:08x}"), "parentId": parent, "timestamp": time});
        let members = members.as_object().unwrap();
        entry
            .as_object_mut()
            .unwrap()
            .extend(members.iter().map(|(key, value)| (key.clone(), value.clone())));
        self.text.extend([entry.to_string().as_str(), "\n"]);
        self.entries += 1;
    }

    fn message(&mut self, message: &serde_json::Value) {
        self.push("message", &json!({"message": message}));
    }

    fn call(&mut self) {
        let at = self.entries;
        let (call, path) = (format!("call_{at:012}"), format!("src/part{}/file{at}.rs", at % 97));
        let block = json!({"type": "toolCall", "id": call, "name": "read", "arguments": {"path": path}});
        self.message(&json!({
            "role": "assistant", "provider": "anthropic", "model": "claude-opus-4-5", "stopReason": "toolUse",
            "usage": {"input": 900, "output": 40, "cacheRead": 50_000, "cacheWrite": 0, "totalTokens": 50_940},
            "content": [{"type": "text", "text": format!("Next {path}.")}, block],
        }));
        let line = format!("  let value{at} = compute(\"{path}\", {at}); // a line of code\n");
        let content = json!([{"type": "text", "text": line.repeat(14_000 / line.len())}]);
        self.message(
            &json!({"role": "toolResult", "toolCallId": call, "toolName": "read", "content": content}),
        );
    }
}

/// A command may take 256 MB and a fifth of the transcript. On 1 GB that is 0.45 bytes for each byte. Here it is measured
/// between a short transcript and a longer one, so that the program itself does not count, with some room for chance.
#[test]
fn a_long_transcript_takes_little_memory_for_each_byte() {
    const BYTES: [usize; 2] = [6 << 20, 22 << 20];
    const SHARE: f64 = 0.55;
    // Under rules since 2026.9 a replay also keeps some texts, up to a separate limit.
    let commands: [&[&str]; 4] = [
        &["replay"],
        &["cost"],
        &["sweep", "--vary", "contextPruning.keepLastAssistants=1,3"],
        &["replay", "--lost"],
    ];
    let store = Store::new();
    let peaks = BYTES.map(|bytes| {
        store.write("agents/main/sessions/long.jsonl", &LongSession::of_bytes(bytes));
        let path = store.path("agents/main/sessions/long.jsonl");
        commands.map(|words| {
            let words = [&words[..1], &[path.to_str().unwrap()], &words[1..]].concat();
            let mut peak = 0;
            let output = store.run_watched(&words, |pid| peak = peak_kib(pid).max(peak));
            assert!(output.status.code().is_some_and(|code| code < 4), "{words:?}: {output:?}");
            peak as f64
        })
    });
    let more = (BYTES[1] - BYTES[0]) as f64 / 1024.0;
    for (words, (short, long)) in commands.iter().zip(peaks[0].iter().zip(peaks[1])) {
        let share = (long - short) / more;
        assert!(share <= SHARE, "{words:?} takes {share:.2} bytes for each byte of the transcript");
    }
}

#[test]
fn a_line_of_any_length_is_skipped_and_the_rest_is_read() {
    let store = Store::new();
    let path = store.path("agents/main/sessions/x.jsonl");
    let mut file = File::create(&path).unwrap();
    write!(file, "{HEADER}{HELLO}").unwrap();
    file.set_len(300 << 20).unwrap();
    assert!(store.listed().contains("hello there"));
    let mut file = File::options().append(true).open(&path).unwrap();
    write!(file, "\n{}", HELLO.replace("\"a\"", "\"b\"").replace("null", "\"a\"")).unwrap();
    let said = |words: &[&str]| String::from_utf8(store.run(words).stdout).unwrap();
    let findings = said(&["doctor"]);
    assert!(findings.contains("line 3") && findings.contains("longer than the limit of"), "{findings}");
    let tree = said(&["tree", "x"]);
    assert_eq!(tree.matches("hello there").count(), 2, "{tree}");
}

#[test]
fn a_line_of_a_million_values_costs_no_memory() {
    let store = Store::new();
    let line = format!("{{\"type\":\"custom\",\"id\":\"q\",\"data\":[{}1]}}\n", "1,".repeat(10 << 20));
    store.write("agents/main/sessions/x.jsonl", &format!("{HEADER}{HELLO}{line}"));
    assert!(store.listed().contains("damaged"));
}

#[test]
fn includes_share_one_limit() {
    for (includes, text, limit) in [
        (
            2_000,
            format!("{{\"meta\":{{\"x\":\"{}\"}}}}", "x".repeat(400_000)),
            "for all configuration files together",
        ),
        (2_000, "{}".to_owned(), "the limit of 500 included files"),
    ] {
        let store = Store::new();
        store.write("big.json", &text);
        let names = vec!["\"./big.json\""; includes].join(",");
        store.write("openclaw.json", &format!("{{\"$include\":[{names}]}}"));
        let said = store.listed();
        assert!(said.contains("openclaw.json line 1") && said.contains(limit), "{said}");
    }
    let store = Store::new();
    for level in 0..9 {
        let names = vec![format!("\"./f{}.json\"", level + 1); 20].join(",");
        store.write(&format!("f{level}.json"), &format!("{{\"$include\":[{names}]}}"));
    }
    store.write("f9.json", "{}");
    store.write("openclaw.json", "{\"$include\":\"./f0.json\"}");
    assert!(store.listed().contains("the limit of 500 included files"));
}

#[test]
fn only_the_archive_that_unpacks_to_too_much_is_refused() {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    let store = Store::new();
    // Frames follow each other, so one is enough to make any length.
    let frame = compress_to_vec(vec![b' '; 4 << 20].as_slice(), CompressionLevel::Fastest);
    let name = "x.jsonl.reset.2026-02-21T05-16-55.686Z.0cef322e47e648debdcf66d1825d630a.zst";
    let mut file = File::create(store.path("agents/main/sessions").join(name)).unwrap();
    file.write_all(&compress_to_vec(HEADER.as_bytes(), CompressionLevel::Fastest)).unwrap();
    for _ in 0..40 {
        file.write_all(&frame).unwrap();
    }
    store.listed();
    let said = store.run(&["doctor"]);
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains(name) && said.contains("unpacks to more than 67.1 MB"), "{said}");
}

/// Puts something other than a file where a file is expected.
fn place(kind: &str, path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    _ = fs::remove_file(path);
    let link = |target: &Path| std::os::unix::fs::symlink(target, path).unwrap();
    match kind {
        "fifo" => mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
        "folder" => fs::create_dir(path).unwrap(),
        "endless" => link(Path::new("/dev/zero")),
        "dangling" => link(Path::new("nothing")),
        "loop" => link(path),
        other => panic!("{other}"),
    }
}

#[test]
fn no_odd_file_type_stops_the_store() {
    const SESSIONS: &str = "agents/main/sessions/";
    let places = [
        "agents/main/sessions/x.jsonl",
        "agents/main/sessions/good.jsonl.lock",
        "agents/main/sessions/good.jsonl.clawscope-journal",
        "agents/main/sessions/x.jsonl.reset.2026-02-21T05-16-55.686Z.0cef322e47e648debdcf66d1825d630a.zst",
        "agents/main/sessions/x.trajectory.jsonl",
        "agents/main/sessions/good.trajectory-path.json",
        "agents/main/agent/openclaw-agent.sqlite",
        "agents/main/agent/openclaw-agent.sqlite-wal",
        "agents/main/agent/models.json",
        "home/.config/clawscope/config.toml",
        "home/.config/clawscope/keymap.toml",
        "home/.config/clawscope/presets/one.toml",
        ".env",
        "included.json",
    ];
    for kind in ["fifo", "folder", "endless", "dangling", "loop"] {
        let store = Store::new();
        store.write("openclaw.json", "{\"$include\":\"./included.json\"}");
        for name in places {
            // clawscope refuses to start with a config.toml that it cannot read.
            if !name.ends_with("config.toml") && !name.ends_with("keymap.toml") {
                place(kind, &store.path(name));
            }
        }
        let listed = store.run(&["sessions"]);
        let said = String::from_utf8_lossy(&listed.stderr);
        assert!(String::from_utf8_lossy(&listed.stdout).contains("main"), "{kind}: {listed:?}");
        assert!(said.contains("included.json"), "{kind}: {said}");
        // A list beside a database that cannot be read is not the whole answer.
        let is_whole = !said.contains("openclaw-agent.sqlite: ");
        assert_eq!(listed.status.code(), Some(if is_whole { 0 } else { 3 }), "{kind}: {said}");
        let tree = store.run(&["tree", "main"]);
        assert!(String::from_utf8_lossy(&tree.stdout).contains("hello there"), "{kind}: {tree:?}");
        for words in [
            &["doctor"][..],
            &["settings", "--presets"],
            &["undo", "main"],
            &["check", "main", "--settings", "one"],
        ] {
            let output = store.run(words);
            assert!(output.status.code().is_some_and(|code| code < 100), "{kind} {words:?}: {output:?}");
        }
        for name in places.iter().filter(|name| name.starts_with("home/")) {
            place_or_keep(kind, &store.path(name));
            assert!(store.run(&["sessions"]).status.code().is_some_and(|code| code < 100), "{kind} {name}");
        }
        let rows = Store::new();
        place(kind, &rows.path(&format!("{SESSIONS}sessions.json")));
        assert!(rows.run(&["sessions"]).status.code().is_some_and(|code| code < 100), "{kind}");
    }
}

fn place_or_keep(kind: &str, path: &Path) {
    if path.symlink_metadata().is_err() {
        place(kind, path);
    }
}
