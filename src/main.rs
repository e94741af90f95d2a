//! The binary: reads the command line and hands it to the library.

use std::ffi::OsString;
use std::io::{BufWriter, IsTerminal, Write, stderr, stdout};
use std::process::ExitCode;

use clawscope::command::output::Output;
use clawscope::command::{self, environment::Invocation};
use clawscope::commit::{Clock as _, SystemClock};
use clawscope::gateway::env::Environment;
use clawscope::remote;
use clawscope::runtime::{PagedOutput, watch_terminal, write_report_on_crash};

fn main() -> ExitCode {
    let invocation = Invocation { env: Environment::from_process(), now_ms: SystemClock.now_ms() };
    let words: Vec<OsString> = std::env::args_os().collect();
    if command::complete(&words, &invocation) {
        return ExitCode::SUCCESS;
    }
    if let Some(code) = watch_terminal(&words, &invocation.env) {
        return code;
    }
    write_report_on_crash(&invocation.env);
    let on_terminal = stdout().is_terminal();
    // Only the screen queries the terminal; without a terminal the query would start other programs.
    let size = if on_terminal { crossterm::terminal::size().ok() } else { None };
    let columns = size.map(|(columns, _)| usize::from(columns));
    let colour = on_terminal && invocation.env.get("NO_COLOR").is_none();
    command::select_time_zone(&words, &invocation.env);
    let pager = size.and_then(|(_, rows)| Some((command::pager_for(&words, &invocation.env)?, rows)));
    let mut err = stderr();
    let run = |out: &mut dyn Write| {
        let mut output = Output::new(out, &mut err).with_terminal(columns, colour);
        remote::main(words, &invocation, &mut output)
    };
    // A reader that closes the pipe early, such as `head`, is not a failure. The command has already reported any other.
    let code = if let Some((pager, rows)) = pager {
        let mut paged = PagedOutput::new(stdout(), pager, rows);
        let code = run(&mut paged);
        _ = paged.finish();
        code
    } else {
        // Not locked: the screen's threads write to both streams themselves.
        let mut out = BufWriter::new(stdout());
        let code = run(&mut out);
        _ = out.flush();
        code
    };
    ExitCode::from(code)
}
