//! The person's side of a screen.

use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::arguments::RemoteCommand;
use super::ending::{broken, cut_off};
use super::link::{Link, Process};
use super::protocol::{Answer, MAX_ANSWER_BYTES, Question, Request, ScreenRequest, receive};
use crate::app::remote_store::RemoteLink;
use crate::cli::Cli;
use crate::command::environment::Invocation;
use crate::command::failure::{Exit, Failure};
use crate::config;
use crate::runtime::remote_screen::{
    ScreenLink, ScreenMessage, Sender, ViewEnd, ViewOptions, channel, prepare_view,
};
use crate::text::visible;

/// Messages that wait for the terminal.
const MAX_WAITING: usize = 64;
/// Bytes of the error stream that are kept.
const MAX_ERROR_BYTES: usize = 1 << 16;

/// The end of the other side.
#[derive(Debug, Default)]
struct Ending {
    /// The exit code; `None` when the link was cut off.
    code: Option<u8>,
    errors: String,
    problem: Option<io::Error>,
}

/// Shows the screen of another machine; returns the exit code.
///
/// # Errors
/// There is no terminal, or the link ended before the person quit.
pub(super) fn run(
    link: Link,
    mut request: Request,
    cli: &Cli,
    invocation: &Invocation,
    remote: &RemoteCommand,
) -> Result<u8, Failure> {
    let options = view_options(cli, invocation)?;
    let (mut process, mut output) = link.split();
    let failed = |error: anyhow::Error| Failure::unreadable(format!("{error:#}"));
    let view = prepare_view(&options).map_err(failed)?;
    process.hide_errors();
    let (width, height) = view.size();
    let (address, via) = match remote.host.link() {
        RemoteLink::Address(address) => (Some(address), None),
        RemoteLink::Via(command) => (None, Some(command)),
    };
    let (theme, machine) = (view.theme().to_owned(), remote.host.name());
    request.screen = Some(ScreenRequest { width, height, theme, machine, address, via });
    let (messages, received) = channel(MAX_WAITING);
    // A link that ended already is reported by its reader.
    _ = process.send(&Question::Run(Box::new(request)));
    let reader = thread::spawn(move || read_messages(&mut output, &messages));
    let process = Arc::new(Mutex::new(process));
    let sender = Arc::clone(&process);
    let send = move |message| with(&sender, |process| process.send(&Question::Screen(message)));
    let shown = view.show(options, ScreenLink { send: Box::new(send), messages: received });
    // Ending the input ends the other side, and with it the reader.
    let end = with(&process, Process::end_text);
    let ending = reader.join().unwrap_or_default();
    let shown = shown.map_err(|error| Failure::unreadable(format!("{}: {error:#}", remote.host.name())))?;
    match (ending.code, ending.problem) {
        (Some(0), _) => Ok(0),
        (Some(code), _) => Err(failure(code, ending.errors.trim_start_matches("error: ").trim_end())),
        (None, Some(error)) => Err(broken(remote, &error)),
        (None, None) if shown == ViewEnd::ThisSide => Ok(0),
        (None, None) => Err(cut_off(remote, &end)),
    }
}

/// Repeats the failure of the other side.
fn failure(code: u8, message: &str) -> Failure {
    if code == Exit::Usage.code() { Failure::usage(message) } else { Failure::unreadable(message) }
}

fn with<T>(process: &Mutex<Process>, act: impl FnOnce(&mut Process) -> T) -> T {
    act(&mut process.lock().unwrap_or_else(PoisonError::into_inner))
}

fn view_options(cli: &Cli, invocation: &Invocation) -> Result<ViewOptions, Failure> {
    if !io::stdout().is_terminal() {
        return Err(Failure::unreadable(
            "standard output is not a terminal. Use `clawscope sessions` or another command to print.",
        ));
    }
    let config = config::load(&invocation.env).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(ViewOptions {
        mouse: config.mouse && !cli.no_mouse,
        alerts: config.alerts,
        env: invocation.env.clone(),
    })
}

/// Passes the messages of the screen on until the other side ends.
fn read_messages(output: &mut dyn io::BufRead, messages: &Sender<ScreenMessage>) -> Ending {
    let mut ending = Ending::default();
    loop {
        match receive::<Answer>(output, MAX_ANSWER_BYTES) {
            Ok(Some(Answer::Screen(message))) => {
                // Without a viewer, the other side is about to end.
                _ = messages.blocking_send(message);
            }
            Ok(Some(Answer::Err(text))) if ending.errors.len() < MAX_ERROR_BYTES => {
                let lines: Vec<_> = text.lines().map(visible).collect();
                ending.errors.push_str(&lines.join("\n"));
            }
            Ok(Some(Answer::End(code))) => {
                ending.code = Some(code);
                return ending;
            }
            Ok(Some(_)) => {}
            Ok(None) => return ending,
            Err(error) => {
                ending.problem = Some(error);
                return ending;
            }
        }
    }
}
