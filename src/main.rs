//! The binary: reads the command line and hands it to the library.

use std::io::{BufWriter, IsTerminal, Write, stderr, stdout};
use std::process::ExitCode;

use clawscope::command::output::Output;
use clawscope::command::{self, environment::Invocation};
use clawscope::commit::{Clock as _, SystemClock};
use clawscope::gateway::env::Environment;

fn main() -> ExitCode {
    let invocation = Invocation { env: Environment::from_process(), now_ms: SystemClock.now_ms() };
    let on_terminal = stdout().is_terminal();
    // Asked of nothing else: where there is no terminal, that would start other programs to look for one.
    let size = if on_terminal { crossterm::terminal::size().ok() } else { None };
    let columns = size.map(|(columns, _)| usize::from(columns));
    let colour = on_terminal && invocation.env.get("NO_COLOR").is_none();
    // Not locked: on the screen, other threads have their own words for both streams.
    let (mut out, mut err) = (BufWriter::new(stdout()), stderr());
    let code = {
        let mut output = Output::new(&mut out, &mut err).with_terminal(columns, colour);
        command::main(std::env::args_os(), &invocation, &mut output)
    };
    // A reader that went away, as `head` does, is no failure; anything else was told by the command.
    _ = out.flush();
    ExitCode::from(code)
}
