//! Real programs as summarizers: good ones, failing ones, and programs that hang, write too much or do not read their
//! input.

use super::*;
use crate::gateway::ruleset::PiRelease;
use crate::policy::compact::testing::{job, users};
use crate::policy::compact::{SummaryForm, SummaryPurpose};
use crate::summarize::run;
use crate::units::Tokens;

fn request(messages: &[crate::js::Value]) -> SummaryRequest<'_> {
    SummaryRequest {
        purpose: SummaryPurpose::History,
        form: SummaryForm::Checkpoint,
        is_merge: false,
        pi: PiRelease::OLDEST,
        messages,
        previous_summary: None,
        focus: None,
        max_tokens: Tokens(16_000.0),
    }
}

fn program(words: &[&str], timeout: Duration) -> CommandSummarizer {
    let arguments = words[1..].iter().map(|word| (*word).to_owned()).collect();
    CommandSummarizer::new(words[0].to_owned(), arguments, timeout)
}

fn shell(script: &str) -> Result<String, CallError> {
    program(&["sh", "-c", script], Duration::from_secs(20))
        .summarise(&request(&users(1, 40)), &CancelToken::new())
}

#[track_caller]
fn passing(result: Result<String, CallError>) -> String {
    match result {
        Err(CallError::Transient(what)) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_program_reads_the_prompt_and_prints_the_summary() {
    let echoed = program(&["cat"], Duration::from_secs(20))
        .summarise(&request(&users(1, 4)), &CancelToken::new())
        .unwrap();
    assert!(
        echoed.starts_with(SYSTEM_PROMPT) && echoed.contains("<conversation>\n[User]: xxxx\n</conversation>")
    );
    let limit = shell("cat > /dev/null; echo \"  limit $CLAWSCOPE_SUMMARY_MAX_TOKENS  \"");
    assert_eq!(limit.unwrap(), "limit 16000");
}

#[test]
fn a_large_prompt_does_not_block_a_program_that_writes_while_it_reads() {
    let messages = users(300, 2000);
    let echoed = program(&["cat"], Duration::from_secs(20))
        .summarise(&request(&messages), &CancelToken::new())
        .unwrap();
    assert!(echoed.len() > 600_000);
}

#[test]
fn output_of_a_program_that_ignores_its_input_is_read() {
    let messages = users(300, 2000);
    let deaf = program(&["sh", "-c", "exec <&-; echo heard"], Duration::from_secs(20));
    assert_eq!(deaf.summarise(&request(&messages), &CancelToken::new()).unwrap(), "heard");
}

#[test]
fn a_failing_program_is_reported_with_its_last_words() {
    let what = passing(
        program(&["false"], Duration::from_secs(20)).summarise(&request(&users(1, 4)), &CancelToken::new()),
    );
    assert!(what.contains("false: failed with exit status: 1"), "{what}");
    let what = passing(shell("echo half a summary; echo no model >&2; exit 3"));
    assert!(what.contains("exit status: 3. Its last output: no model"), "{what}");
    let what = passing(shell("yes out of memory | head -c 100000 >&2; exit 1"));
    assert!(what.len() < 3000, "{}", what.len());
}

#[test]
fn empty_oversized_and_binary_output_is_refused() {
    assert!(passing(shell("echo '  '")).contains("the output is empty"));
    let Err(CallError::Refused(what)) = shell("yes | head -c 5000000") else { panic!("too much") };
    assert!(what.contains("exceeds 1048576 bytes"), "{what}");
    assert!(matches!(shell("printf '\\377'"), Err(CallError::Refused(what)) if what.contains("UTF-8")));
}

#[test]
fn a_missing_program_fails_permanently() {
    let missing = program(&["no-such-program-anywhere"], Duration::from_secs(1));
    let result = missing.summarise(&request(&users(1, 4)), &CancelToken::new());
    assert!(matches!(result, Err(CallError::Permanent(what)) if what.contains("no-such-program-anywhere")));
}

/// Whether a process exists and is not a zombie.
fn lives(pid: &str) -> bool {
    let state = std::process::Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    let state = String::from_utf8(state.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

#[track_caller]
fn ends(pid: &str) {
    let begun = Instant::now();
    while lives(pid) {
        assert!(begun.elapsed() < Duration::from_secs(10), "{pid} lives on");
        CancelToken::new().wait(POLL_INTERVAL);
    }
}

/// A program that hangs and ignores TERM, with a child process; it writes both ids to a file.
fn hanging(folder: &std::path::Path, timeout: Duration) -> (CommandSummarizer, std::path::PathBuf) {
    let file = folder.join("ids");
    let script = "trap '' TERM; sleep 300 & echo $! $$ > \"$0.new\"; mv \"$0.new\" \"$0\"; echo waiting >&2; wait; wait";
    (program(&["sh", "-c", script, file.to_str().unwrap()], timeout), file)
}

fn ids(file: &std::path::Path) -> Vec<String> {
    let begun = Instant::now();
    loop {
        if let Ok(text) = std::fs::read_to_string(file) {
            return text.split_whitespace().map(str::to_owned).collect();
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "it did not start");
        CancelToken::new().wait(POLL_INTERVAL);
    }
}

#[test]
fn a_hanging_program_is_stopped_with_all_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let (hanging, file) = hanging(folder.path(), Duration::from_millis(700));
    let what = passing(hanging.summarise(&request(&users(1, 4)), &CancelToken::new()));
    assert!(what.contains("did not finish within 700ms") && what.contains("waiting"), "{what}");
    for pid in ids(&file) {
        ends(&pid);
    }
}

#[test]
fn a_cancelled_program_is_stopped_with_all_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let (hanging, file) = hanging(folder.path(), Duration::from_mins(1));
    let (cancel, begun) = (CancelToken::new(), Instant::now());
    let other = cancel.clone();
    let asking = std::thread::spawn(move || hanging.summarise(&request(&users(1, 4)), &other));
    let ids = ids(&file);
    cancel.cancel();
    assert_eq!(asking.join().unwrap(), Err(CallError::Cancelled));
    assert!(begun.elapsed() < Duration::from_secs(30));
    for pid in ids {
        ends(&pid);
    }
}

#[test]
fn background_processes_of_a_program_are_stopped() {
    let begun = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ids");
    let script = "sleep 300 & echo $! > \"$0\"; echo done";
    let leaving = program(&["sh", "-c", script, file.to_str().unwrap()], Duration::from_mins(1));
    assert_eq!(leaving.summarise(&request(&users(1, 4)), &CancelToken::new()).unwrap(), "done");
    assert!(begun.elapsed() < Duration::from_secs(30));
    for pid in ids(&file) {
        ends(&pid);
    }
}

#[test]
fn a_program_writes_a_whole_summary_call_by_call() {
    let counting = program(&["sh", "-c", "wc -c"], Duration::from_secs(20));
    let summary = run(&job(users(80, 4000)), &counting, &CancelToken::new(), &mut |_| {}).unwrap();
    assert_eq!(summary.calls.len(), 3);
    assert!(summary.text.to_string_lossy().parse::<u64>().is_ok(), "{:?}", summary.text);
}
