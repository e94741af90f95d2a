//! Crash reports: a panic in any thread, or the death of the program on the screen, writes a file that a person can
//! attach to a bug report.

use std::backtrace::Backtrace;
use std::fs;
use std::io::{self, Write as _};
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::config::log_dir;
use crate::gateway::env::Environment;
use crate::runtime::log;

/// Starts the log, and makes the first panic write a report below the state folder and name it on standard error.
pub fn write_report_on_crash(env: &Environment) {
    log::start(env);
    let dir = log_dir(env);
    let has_report = AtomicBool::new(false);
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        if has_report.swap(true, Ordering::SeqCst) {
            return;
        }
        save_report(&dir, |now| panic_report(now, panic));
    }));
}

/// Writes a report of a process that died without one, and names it on standard error.
#[cfg(unix)]
pub(super) fn report_death(env: &Environment, events: &[String]) {
    // Nobody reads standard error when this fails.
    _ = writeln!(
        io::stderr(),
        "clawscope ended before it could restore the terminal: the system or a person killed it, or memory ran out. \
         Another process restored the terminal. If a commit was interrupted, `clawscope doctor --repair` finishes it."
    );
    save_report(&log_dir(env), |now| {
        report_text(
            now,
            "killed or aborted; the terminal was restored by another process",
            events,
            "none: the process ended at once",
        )
    });
}

fn save_report(dir: &Path, text: impl FnOnce(jiff::Timestamp) -> String) {
    let message = match write_report(dir, text) {
        Ok(path) => format!("clawscope wrote a crash report without transcript text to {}", path.display()),
        Err(error) => format!("clawscope cannot write a crash report to {}: {error}", dir.display()),
    };
    // Nobody reads standard error when this fails.
    _ = writeln!(io::stderr(), "{message}");
}

fn write_report(dir: &Path, text: impl FnOnce(jiff::Timestamp) -> String) -> io::Result<PathBuf> {
    fs::create_dir_all(dir)?;
    let now = jiff::Timestamp::now();
    let path = dir.join(format!("crash-{}-{}.txt", now.as_millisecond(), std::process::id()));
    let mut file = log::private_options().write(true).create_new(true).open(&path)?;
    file.write_all(text(now).as_bytes())?;
    Ok(path)
}

fn panic_report(now: jiff::Timestamp, panic: &PanicHookInfo<'_>) -> String {
    // A formatted message may quote the text that could not be handled.
    let message = panic.payload().downcast_ref::<&'static str>();
    let message = message.unwrap_or(&"omitted, as it may contain text of a transcript");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    let what = format!("thread: {thread}\nplace: {place}\nmessage: {message}");
    report_text(now, &what, &log::recent_events(), &Backtrace::force_capture().to_string())
}

fn report_text(now: jiff::Timestamp, what: &str, events: &[String], backtrace: &str) -> String {
    format!(
        "clawscope {} ({} {})\ntime: {now}\n{what}\n\nlast events:\n{}\n\nbacktrace:\n{backtrace}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        events.join("\n"),
    )
}
