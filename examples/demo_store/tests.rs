//! Checks that the frozen demo store is the generated one, that it is valid and consistent, and that each session shows
//! its story.
use super::*;
use clawscope::store::demo::{self, NOW_MS};
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

/// A parsed transcript: header, entries in file order, number of lines that did not parse.
struct Log {
    name: String,
    header: Value,
    entries: Vec<Value>,
    bad: usize,
}

impl Log {
    fn read(path: &Path, bytes: &[u8]) -> Self {
        let text = std::str::from_utf8(bytes).unwrap();
        let mut values: Vec<Value> = Vec::new();
        let mut bad = 0;
        for line in text.lines() {
            serde_json::from_str(line).map_or_else(|_| bad += 1, |value| values.push(value));
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        Self { name, header: values.remove(0), entries: values, bad }
    }

    fn messages(&self, role: &'static str) -> impl Iterator<Item = &Value> {
        self.entries.iter().map(|entry| &entry["message"]).filter(move |message| message["role"] == role)
    }

    fn prompts(&self) -> Vec<u64> {
        self.messages("assistant").map(prompt).collect()
    }

    fn customs(&self, kind: &str) -> usize {
        self.entries.iter().filter(|entry| entry["customType"] == kind).count()
    }
}

fn is_transcript(path: &Path) -> bool {
    path.to_string_lossy().contains(".jsonl")
}

/// Generated once for all tests, because it takes a third of a second without optimisation.
static FILES: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(files);
static LOGS: LazyLock<Vec<Log>> = LazyLock::new(logs);

fn logs() -> Vec<Log> {
    FILES.iter().filter(|(path, _)| is_transcript(path)).map(|(path, bytes)| Log::read(path, bytes)).collect()
}

fn rows_of(agent: &str) -> Map<String, Value> {
    let path = Path::new("agents").join(agent).join("sessions/sessions.json");
    let (_, bytes) = FILES.iter().find(|(name, _)| *name == path).unwrap();
    serde_json::from_slice(bytes).unwrap()
}

/// Returns the row whose key contains `part`, and its transcript.
fn story(part: &str) -> (Value, &'static Log) {
    let rows = [rows_of("main"), rows_of("research")].into_iter().flatten();
    let (_, row) = { rows }.find(|(key, _)| key.contains(part)).unwrap();
    let id = row["sessionId"].as_str().unwrap().to_owned();
    let log = LOGS.iter().find(|log| log.name == format!("{id}.jsonl")).unwrap();
    (row, log)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// Returns the prompt tokens of an assistant message.
fn prompt(message: &Value) -> u64 {
    let usage = &message["usage"];
    number(&usage["input"]) + number(&usage["cacheRead"]) + number(&usage["cacheWrite"])
}

fn millis(entry: &Value) -> i64 {
    entry["timestamp"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_millisecond()
}

fn touches(log: &Log) -> Vec<i64> {
    let marks = log.entries.iter().filter(|entry| entry["customType"] == "openclaw.cache-ttl");
    marks.map(|entry| entry["data"]["timestamp"].as_i64().unwrap()).collect()
}

#[test]
fn the_frozen_store_is_the_generated_one() {
    let frozen = demo::files();
    let paths = |files: &[(PathBuf, Vec<u8>)]| files.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&frozen), paths(&FILES));
    for ((path, bytes), (_, generated)) in frozen.iter().zip(FILES.iter()) {
        assert!(bytes == generated, "{} differs: cargo run --example demo_store", path.display());
    }
}

#[test]
fn the_store_has_between_1_5_and_6_megabytes() {
    let bytes: usize = FILES.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!((1_500_000..=6_000_000).contains(&bytes), "{bytes}");
}

#[test]
fn the_configuration_is_json5_without_secrets() {
    let config: Value = json5::from_str(CONFIG).unwrap();
    assert_eq!(config["agents"]["list"][1]["id"], "research");
    assert_eq!(config["agents"]["defaults"]["contextPruning"]["ttl"], "1h");
    assert_eq!(config["auth"]["profiles"]["anthropic:default"]["mode"], "api_key");
    for secret in ["sk-", "apiKey", "token:", "password"] {
        assert!(!CONFIG.contains(secret), "{secret}");
    }
}

#[test]
fn only_the_damaged_transcript_has_lines_that_do_not_parse() {
    for log in LOGS.iter() {
        let damaged = log.name == story("hook:").1.name;
        assert_eq!(log.bad, if damaged { 2 } else { 0 }, "{}", log.name);
        assert_eq!(log.header["type"], "session");
        assert!(log.name.starts_with(log.header["id"].as_str().unwrap()));
    }
    let damaged = FILES.iter().find(|(path, _)| path.ends_with(&story("hook:").1.name)).unwrap();
    assert_ne!(damaged.1.last(), Some(&b'\n'));
}

#[test]
fn every_parent_precedes_its_child_and_ids_are_unique() {
    for log in LOGS.iter().filter(|log| log.bad == 0) {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (at, entry) in log.entries.iter().enumerate() {
            let id = entry["id"].as_str().unwrap();
            assert!(id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
            let parent = entry["parentId"].as_str();
            assert!(
                parent.map_or(at == 0, |parent| seen.contains_key(parent)),
                "{} line {}",
                log.name,
                at + 2
            );
            assert!(seen.insert(id, at).is_none(), "{id} occurs twice in {}", log.name);
        }
    }
}

#[test]
fn the_keys_of_an_entry_are_in_the_order_the_runtime_writes() {
    let (_, log) = story("telegram:direct:8812");
    let keys = |entry: &Value| entry.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(",");
    let of = |kind: &str| keys(log.entries.iter().find(|entry| entry["type"] == kind).unwrap());
    assert_eq!(keys(&log.header), "type,version,id,timestamp,cwd");
    assert_eq!(of("message"), "type,id,parentId,timestamp,message");
    assert_eq!(of("custom"), "type,customType,data,id,parentId,timestamp");
    let compaction = "type,id,parentId,timestamp,summary,firstKeptEntryId,tokensBefore,details,fromHook";
    assert_eq!(of("compaction"), compaction);
}

#[test]
fn every_result_answers_a_call_made_before_it() {
    for log in LOGS.iter() {
        let mut open: Vec<(String, String)> = Vec::new();
        for entry in &log.entries {
            let message = &entry["message"];
            for block in message["content"].as_array().into_iter().flatten() {
                if block["type"] == "toolCall" {
                    open.push((block["id"].to_string(), block["name"].to_string()));
                }
            }
            if message["role"] == "toolResult" {
                let answered = (message["toolCallId"].to_string(), message["toolName"].to_string());
                let at = open.iter().position(|call| *call == answered);
                open.remove(at.unwrap_or_else(|| panic!("{}: {answered:?}", log.name)));
            }
        }
        assert!(open.len() <= log.bad, "{}: unanswered {open:?}", log.name);
    }
}

#[test]
fn time_never_runs_backwards_and_ends_minutes_before_now() {
    let mut newest = 0;
    for log in LOGS.iter() {
        let times: Vec<i64> = log.entries.iter().map(millis).collect();
        assert!(times.is_sorted(), "{}", log.name);
        newest = newest.max(*times.last().unwrap());
    }
    assert!((60_000..=10 * 60_000).contains(&(NOW_MS.whole() - newest)), "{}", NOW_MS.whole() - newest);
}

#[test]
fn totals_and_costs_are_the_sums_of_their_parts() {
    for log in LOGS.iter() {
        for message in log.messages("assistant") {
            let usage = &message["usage"];
            assert_eq!(number(&usage["totalTokens"]), prompt(message) + number(&usage["output"]));
            let cost = |part: &str| usage["cost"][part].as_f64().unwrap();
            let sum = cost("input") + cost("output") + cost("cacheRead") + cost("cacheWrite");
            assert!((sum - cost("total")).abs() < 1e-12, "{}", log.name);
            let opus = number(&usage["cacheWrite"]) as f64 * 6.25e-6;
            assert!(message["model"] != "claude-opus-4-6" || (cost("cacheWrite") - opus).abs() < 1e-12);
        }
    }
}

#[test]
fn rows_name_a_file_that_exists_and_count_its_last_prompt() {
    let logs = &*LOGS;
    for agent in ["main", "research"] {
        for (key, row) in rows_of(agent) {
            let file = row["sessionFile"].as_str().unwrap();
            let Some(log) = logs.iter().find(|log| log.name == file) else {
                assert_eq!(key, "agent:main:telegram:direct:9020", "only this one is not written yet");
                continue;
            };
            let last = log.prompts().into_iter().rfind(|prompt| *prompt > 0);
            assert!(log.bad > 0 || last == row["totalTokens"].as_u64(), "{key}");
            assert_eq!(row["systemPromptReport"]["sessionId"], row["sessionId"]);
        }
    }
}

#[test]
fn the_store_has_two_agents_ten_sessions_an_orphan_and_two_archives() {
    let rows: Vec<Value> =
        [rows_of("main"), rows_of("research")].into_iter().flatten().map(|(_, row)| row).collect();
    let mut ids: Vec<&str> = rows.iter().filter_map(|row| row["sessionId"].as_str()).collect();
    assert_eq!(ids.len(), 12, "one of them twice");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 11);
    let logs = &*LOGS;
    let unlisted = logs.iter().filter(|log| !ids.iter().any(|id| log.name == format!("{id}.jsonl")));
    let names: Vec<&str> = unlisted.map(|log| log.name.as_str()).collect();
    assert_eq!(names.iter().filter(|name| !name.contains(".jsonl.")).count(), 1);
    assert_eq!(names.iter().filter(|name| name.contains(".jsonl.reset.2026-")).count(), 1);
    assert_eq!(names.iter().filter(|name| name.contains(".jsonl.deleted.2026-")).count(), 1);
}

#[test]
fn the_cron_row_is_stored_twice() {
    let rows = rows_of("main");
    let cron: Vec<_> = rows.iter().filter(|(key, _)| key.contains(":cron:")).collect();
    assert_eq!(cron.len(), 2);
    assert_eq!(cron[0].1, cron[1].1);
    assert_eq!(*cron[1].0, format!("{}:run:{}", cron[0].0, cron[0].1["sessionId"].as_str().unwrap()));
}

#[test]
fn telegram_compacts_214_entries_tries_a_branch_and_overflows_with_a_warm_mark() {
    let (row, log) = story("telegram:direct:8812");
    let by_id: HashMap<&str, &Value> =
        log.entries.iter().map(|entry| (entry["id"].as_str().unwrap(), entry)).collect();
    let compaction = log.entries.iter().find(|entry| entry["type"] == "compaction").unwrap();
    let mut before = 0;
    let mut parent = by_id[compaction["firstKeptEntryId"].as_str().unwrap()]["parentId"].as_str();
    while let Some(id) = parent {
        before += 1;
        parent = by_id[id]["parentId"].as_str();
    }
    assert_eq!(before, 214);
    assert_eq!(row["compactionCount"], 1);

    let error = log.messages("assistant").last().unwrap();
    assert_eq!(error["errorMessage"], "prompt is too long: 203412 tokens > 200000 maximum");
    assert!((150_000..180_000).contains(&number(&row["totalTokens"])), "the next run could start");
    let marks = touches(log);
    let idle = error["timestamp"].as_i64().unwrap() - marks[marks.len() - 2];
    assert!(
        (45 * 60_000..60 * 60_000).contains(&idle),
        "{idle} ms: shorter than the ttl, longer than half of it"
    );
    let runs: RangeInclusive<usize> = 20..=40;
    assert!(runs.contains(&marks.len()));
}

#[test]
fn the_abandoned_branch_has_seven_entries() {
    let (_, log) = story("telegram:direct:8812");
    let start = log
        .entries
        .iter()
        .position(|entry| entry["message"]["content"][0]["text"] == "try with clang instead")
        .unwrap();
    let fork = &log.entries[start]["parentId"];
    let back = log.entries[start + 1..].iter().position(|entry| entry["parentId"] == *fork).unwrap();
    assert_eq!(back + 1, 7);
}

#[test]
fn slack_needs_three_dumps_in_one_turn() {
    let (row, log) = story("slack:channel");
    let sizes: Vec<usize> = log
        .messages("toolResult")
        .map(|message| message["content"][0]["text"].as_str().unwrap().len())
        .collect();
    assert_eq!(sizes[sizes.len() - 3..], [38_662, 155_016, 136_693]);
    let calls: Vec<&Value> = log.messages("assistant").collect();
    let (last, requested) = (calls[calls.len() - 1], calls[calls.len() - 2]);
    assert_eq!(prompt(requested), 154_535);
    assert_eq!(row["totalTokens"], 154_535);
    assert!(last["errorMessage"].as_str().unwrap().contains("390607 tokens > 200000"));
}

#[test]
fn feishu_costs_about_three_times_its_characters_over_four() {
    let (row, log) = story("feishu:direct");
    let chars: usize = ["user", "assistant", "toolResult"]
        .into_iter()
        .flat_map(|role| log.messages(role).collect::<Vec<_>>())
        .flat_map(|message| message["content"].as_array().unwrap())
        .map(|block| {
            let text = block["text"].as_str().unwrap_or_default();
            let arguments =
                block.get("arguments").map_or(0, |value| value.to_string().encode_utf16().count());
            text.encode_utf16().count() + arguments
        })
        .sum();
    let ratio = row["totalTokens"].as_f64().unwrap() / (chars as f64 / 4.0);
    assert!((2.6..3.2).contains(&ratio), "{ratio}");
}

#[test]
fn the_heartbeat_never_lets_the_mark_grow_old() {
    let (row, log) = story("discord:channel");
    let gaps: Vec<i64> = touches(log).windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.len() >= 45);
    assert!(gaps.iter().all(|gap| *gap < 60 * 60_000));
    assert!((76_000..90_000).contains(&number(&row["totalTokens"])));
}

#[test]
fn the_crawler_is_nearly_full_and_its_mark_is_older_than_the_ttl() {
    let (row, log) = story(":subagent:");
    assert!((170_000..180_000).contains(&number(&row["totalTokens"])));
    assert!(NOW_MS.whole() - touches(log).last().unwrap() > 60 * 60_000);
    assert!(log.messages("toolResult").filter(|message| message["toolName"] == "web_fetch").count() > 20);
}

#[test]
fn research_has_two_compactions_three_branches_a_summary_and_labels() {
    let (row, log) = story("agent:research:main");
    let count = |kind: &str| log.entries.iter().filter(|entry| entry["type"] == kind).count();
    assert_eq!((count("compaction"), count("branch_summary"), count("label")), (2, 1, 3));
    assert_eq!(row["compactionCount"], 2);
    let mut children: HashMap<&str, usize> = HashMap::new();
    for parent in log.entries.iter().filter_map(|entry| entry["parentId"].as_str()) {
        *children.entry(parent).or_default() += 1;
    }
    assert_eq!(children.values().max(), Some(&3));
}

#[test]
fn the_other_provider_leaves_no_mark() {
    let (row, log) = story("llvm-notes");
    assert_eq!(row["modelProvider"], "openai");
    assert_eq!(log.customs("openclaw.cache-ttl"), 0);
    assert_eq!(log.customs("model-snapshot"), 1);
}

#[test]
fn a_prompt_shrinks_after_a_compaction() {
    for part in ["telegram:direct:8812", "agent:research:main"] {
        let (_, log) = story(part);
        let cut = log.entries.iter().position(|entry| entry["type"] == "compaction").unwrap();
        let calls = |entries: &[Value]| -> Vec<u64> {
            let messages = entries.iter().map(|entry| &entry["message"]);
            messages.filter(|message| message["role"] == "assistant").map(prompt).collect()
        };
        let (before, after) = (calls(&log.entries[..cut]), calls(&log.entries[cut..]));
        assert!(after[0] < *before.last().unwrap(), "{part}: {after:?}");
    }
}
