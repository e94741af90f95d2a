//! Tests that are skipped because a component is not on this machine. libtest hides the output of passing tests, so the last
//! test of a run names them on the terminal in one line.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Command;
use std::sync::Mutex;

/// The tests that this run skipped so far.
#[derive(Default)]
struct Skips {
    /// Number of tests and the reason, by missing component.
    tests: BTreeMap<String, (usize, String)>,
    /// Whether the line was printed; later skips have a line each.
    is_told: bool,
}

static SKIPS: Mutex<Skips> = Mutex::new(Skips { tests: BTreeMap::new(), is_told: false });

/// Records that a test lacks `what`.
#[expect(clippy::print_stdout, reason = "with --nocapture the line is where the test is")]
pub(crate) fn note(what: &str, why: &str) {
    println!("skipped: {what} is not here: {why}");
    let mut skips = SKIPS.lock().unwrap();
    if skips.is_told {
        tell(&format!("skipped 1 test: {what} is not here ({})", first_line(why)));
    }
    skips.tests.entry(what.to_owned()).or_insert((0, why.to_owned())).0 += 1;
}

/// Names all skipped tests, once.
pub(crate) fn tell_all() {
    let mut skips = SKIPS.lock().unwrap();
    skips.is_told = true;
    if let Some(line) = describe(&skips.tests) {
        tell(&line);
    }
}

/// Describes skipped tests in a line; `None` if there are none.
pub(crate) fn describe(tests: &BTreeMap<String, (usize, String)>) -> Option<String> {
    let count: usize = tests.values().map(|(count, _)| count).sum();
    let each: Vec<String> = tests
        .iter()
        .map(|(what, (count, why))| format!("{count} without {what} ({})", first_line(why)))
        .collect();
    (count > 0).then(|| format!("skipped {count} tests: {}", each.join(", ")))
}

fn first_line(why: &str) -> &str {
    why.lines().next().unwrap_or_default().trim()
}

/// Writes past libtest, which captures only the output of macros.
fn tell(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// npm that gives up soon: without a network it would retry for more than a minute.
pub(crate) fn npm() -> Command {
    let mut npm = Command::new("npm");
    npm.envs([
        ("npm_config_fetch_retries", "1"),
        ("npm_config_fetch_retry_mintimeout", "100"),
        ("npm_config_fetch_retry_maxtimeout", "500"),
    ]);
    npm
}
