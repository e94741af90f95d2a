//! Crash reports: a panic in any thread writes a file that a person can attach to a bug report.

use std::backtrace::Backtrace;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::gateway::env::Environment;
use crate::runtime::log;

/// Starts the log, and makes the first panic write a report below the state folder and name it on standard error.
pub fn write_report_on_crash(env: &Environment) {
    log::start(env);
    let dir = log::state_dir(env);
    let has_report = AtomicBool::new(false);
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        if has_report.swap(true, Ordering::SeqCst) {
            return;
        }
        let message = match write_report(&dir, panic) {
            Ok(path) => {
                format!("clawscope wrote a crash report without transcript text to {}", path.display())
            }
            Err(error) => format!("clawscope cannot write a crash report to {}: {error}", dir.display()),
        };
        // Nobody reads standard error when this fails.
        _ = writeln!(io::stderr(), "{message}");
    }));
}

fn write_report(dir: &Path, panic: &PanicHookInfo<'_>) -> io::Result<PathBuf> {
    fs::create_dir_all(dir)?;
    let now = jiff::Timestamp::now();
    let path = dir.join(format!("crash-{}-{}.txt", now.as_millisecond(), std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    file.write_all(report_text(now, panic).as_bytes())?;
    Ok(path)
}

fn report_text(now: jiff::Timestamp, panic: &PanicHookInfo<'_>) -> String {
    // A formatted message may quote the text that could not be handled.
    let message = panic.payload().downcast_ref::<&'static str>();
    let message = message.unwrap_or(&"omitted, as it may contain text of a transcript");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let thread = std::thread::current();
    format!(
        "clawscope {} ({} {})\ntime: {now}\nthread: {}\nplace: {place}\nmessage: {message}\n\nlast events:\n{}\n\nbacktrace:\n{}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        thread.name().unwrap_or("unnamed"),
        log::recent_events().join("\n"),
        Backtrace::force_capture(),
    )
}
