//! The serving side: `clawscope serve --stdio`. It answers one request, reads only, and ends with the link.

use std::io::{self, BufReader, BufWriter, Write};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use clap::Parser as _;
use jiff::tz::TimeZone;

use super::access::refusal;
use super::arguments::program_line;
use super::packed::pack;
use super::person::VARIABLES;
use super::protocol::{
    Answer, Greeting, MAX_CHUNK_BYTES, MAX_REQUEST_BYTES, PROTOCOL, Question, Request, ScreenRequest,
    receive, send,
};
use crate::app::event::Event;
use crate::app::remote_store::{RemoteLink, RemoteStore};
use crate::cli::Cli;
use crate::command::environment::Invocation;
use crate::command::failure::Failure;
use crate::command::{self, output::Output, screen};
use crate::config;
use crate::files::attached::{AttachedFiles, attach};
use crate::format::{set_display_zone, zone_name};
use crate::gateway::config::local_time_zone;
use crate::gateway::env::{Environment, absolute};
use crate::runtime::remote_screen::{
    PersonMessage, RemotePort, ServedScreen, UnboundedSender, serve_screen, unbounded_channel,
};

/// The line to the person's side, which several threads write to.
#[derive(Debug, Clone, Default)]
struct Line(Arc<Mutex<()>>);

impl Line {
    fn send(&self, answer: &Answer) -> io::Result<()> {
        let _own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        send(&mut io::stdout().lock(), answer)
    }
}

/// Serves one request over standard input and output.
///
/// # Errors
/// The other side is not clawscope, or one with another protocol.
pub(super) fn serve(invocation: &Invocation) -> Result<(), Failure> {
    send(&mut io::stdout().lock(), &Greeting::own())?;
    let mut input = BufReader::new(io::stdin());
    let broken = |error: io::Error| Failure::usage(format!("serve --stdio: {error}; expected a clawscope."));
    let Some(greeting) = receive::<Greeting>(&mut input, MAX_CHUNK_BYTES as u64).map_err(broken)? else {
        return Ok(());
    };
    if greeting.clawscope_protocol != PROTOCOL {
        return Err(Failure::usage("serve --stdio: the other clawscope has another protocol."));
    }
    let request = match receive(&mut input, MAX_REQUEST_BYTES).map_err(broken)? {
        Some(Question::Run(request)) => *request,
        Some(Question::Screen(_)) => return Err(broken(io::ErrorKind::InvalidData.into())),
        None => return Ok(()),
    };
    let line = Line::default();
    let (sender, ends) = channel();
    let (own, invocation) = (line.clone(), invocation.clone());
    thread::spawn(move || {
        let mut end = SendEnd { code: None, sender };
        end.code = Some(answer(request, input, &invocation, &own, &end.sender));
    });
    // The program ends at the first of both, so that nothing runs on without a reader.
    match ends.recv() {
        Ok(Some(code)) => Ok(line.send(&Answer::End(code))?),
        _ => Ok(()),
    }
}

/// Reports the end of the answer, also after a panic.
struct SendEnd {
    code: Option<u8>,
    sender: Sender<Option<u8>>,
}

impl Drop for SendEnd {
    fn drop(&mut self) {
        // Without a receiver the program is ending.
        _ = self.sender.send(self.code);
    }
}

fn answer(
    request: Request,
    input: BufReader<io::Stdin>,
    invocation: &Invocation,
    line: &Line,
    end: &Sender<Option<u8>>,
) -> u8 {
    let words = program_line(&request.words);
    let typed = program_line(&request.typed);
    let env = person_environment(&request, &invocation.env);
    attach(attached_files(&request, &env));
    let zone = request.zone.as_deref().and_then(|name| TimeZone::get(name).ok());
    let zone = zone.unwrap_or_else(|| local_time_zone(&env));
    let utc =
        request.words.iter().any(|word| word == "--utc") || config::load(&env).is_ok_and(|config| config.utc);
    set_display_zone((!utc).then(|| zone.clone()));
    let invocation = Invocation { env, now_ms: invocation.now_ms };
    let mut out = BufWriter::with_capacity(MAX_CHUNK_BYTES, Part::packed(line));
    let mut err = Part::new(line, Answer::Err);
    let mut output = Output::new(&mut out, &mut err)
        .with_terminal(request.columns, request.colour)
        .with_file(request.to_file);
    // A faulty command line runs nothing and prints its fault.
    let Ok(cli) = Cli::try_parse_from(&words) else {
        return command::main_as(&words, &typed, &invocation, &mut output);
    };
    let allowed = match refusal(&cli) {
        None => Ok(()),
        Some(_) => Err(Failure::refused("clawscope only reads for another machine.")),
    };
    let result = allowed.and_then(|()| match (&cli.command, request.screen) {
        (None, Some(screen)) => run_screen(&cli, &screen, (zone, line), input, &invocation).map(|()| 0),
        (None, None) => Err(Failure::unreadable("standard output is not a terminal.")),
        (Some(_), _) => {
            end_with_the_link(input, end.clone());
            Ok(command::main_as(&words, &typed, &invocation, &mut output))
        }
    });
    result.unwrap_or_else(|failure| {
        _ = output.failure(&failure, cli.is_json());
        failure.exit().code()
    })
}

/// The environment of this machine with the person's display.
fn person_environment(request: &Request, own: &Environment) -> Environment {
    let mut env = own.clone();
    for (name, value) in request.variables.iter().filter(|(name, _)| VARIABLES.contains(&name.as_str())) {
        env.set(name, value.as_deref().unwrap_or_default());
    }
    env
}

/// The person's files, also under the absolute paths that their names have here.
fn attached_files(request: &Request, env: &Environment) -> AttachedFiles {
    let named = request.files.iter().cloned();
    let absolute = request.files.iter().map(|(path, text)| (absolute(&env.cwd, path), text.clone()));
    let nowhere = || Some("/nonexistent/clawscope".into());
    AttachedFiles {
        settings_folder: request.settings_folder.clone().or_else(nowhere),
        files: named.clone().chain(absolute).collect(),
    }
}

/// Reports the end of the link, after which the answer has no reader.
fn end_with_the_link(mut input: BufReader<io::Stdin>, end: Sender<Option<u8>>) {
    thread::spawn(move || {
        // The person's side sends nothing more; anything but silence is its end.
        while let Ok(Some(_)) = receive::<Question>(&mut input, MAX_REQUEST_BYTES) {}
        // Without a receiver the program is ending.
        _ = end.send(None);
    });
}

fn run_screen(
    cli: &Cli,
    request: &ScreenRequest,
    (zone, line): (TimeZone, &Line),
    input: BufReader<io::Stdin>,
    invocation: &Invocation,
) -> Result<(), Failure> {
    let (place, mut options) = screen::prepare(cli, invocation)?;
    options.app.zone_name = zone_name(&zone, invocation.now_ms);
    options.zone = Some(zone);
    options.read_only = Some(format!(
        "clawscope only reads stores on other machines. To write, run clawscope on {}.",
        request.machine
    ));
    let link = match (&request.address, &request.via) {
        (Some(address), _) => RemoteLink::Address(address.clone()),
        (None, via) => RemoteLink::Via(via.clone().unwrap_or_default()),
    };
    options.app.remote_store = Some(RemoteStore { machine: request.machine.clone(), link, copy: None });
    let line = line.clone();
    let port = RemotePort::new(move |message| line.send(&Answer::Screen(message)));
    let (sender, events) = unbounded_channel();
    let own = port.clone();
    thread::spawn(move || read_person(input, &own, &sender));
    let screen = ServedScreen {
        place,
        options,
        size: (request.width, request.height),
        theme: request.theme.clone(),
        port,
        input: events,
    };
    serve_screen(screen).map_err(|error| Failure::unreadable(format!("{error:#}")))
}

/// Passes the person's input on until the link ends.
fn read_person(mut input: BufReader<io::Stdin>, port: &RemotePort, events: &UnboundedSender<Event>) {
    while let Ok(Some(Question::Screen(message))) = receive(&mut input, MAX_REQUEST_BYTES) {
        let event = match message {
            PersonMessage::Drawn => {
                port.on_drawn();
                continue;
            }
            PersonMessage::Key(key) => Event::Key(key),
            PersonMessage::Mouse(mouse) => Event::Mouse(mouse),
            PersonMessage::Paste(text) => Event::Paste(text),
            PersonMessage::Resize { width, height } => Event::Resize { width, height },
            PersonMessage::Notice(text) => Event::Notice(text),
            PersonMessage::Failure(text) => Event::Failure(text),
        };
        if events.send(event).is_err() {
            break;
        }
    }
}

/// One of the two output streams, as messages.
struct Part<'a> {
    line: &'a Line,
    answer: fn(String) -> Answer,
    /// Whether long parts are packed.
    packs: bool,
    /// The beginning of a character.
    rest: Vec<u8>,
}

impl<'a> Part<'a> {
    fn new(line: &'a Line, answer: fn(String) -> Answer) -> Self {
        Self { line, answer, packs: false, rest: Vec::new() }
    }

    fn packed(line: &'a Line) -> Self {
        Self { packs: true, ..Self::new(line, Answer::Out) }
    }

    /// Takes the whole characters; other bytes that are not text become replacement signs.
    fn take_text(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.rest) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.rest.len(),
        };
        let rest = self.rest.split_off(whole);
        let bytes = std::mem::replace(&mut self.rest, rest);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for Part<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(MAX_CHUNK_BYTES)];
        let text = self.take_text(bytes);
        if !text.is_empty() {
            let packed = pack(&text).filter(|_| self.packs).map(Answer::Packed);
            self.line.send(&packed.unwrap_or_else(|| (self.answer)(text)))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_never_cut_in_half() {
        let line = Line::default();
        let mut part = Part::new(&line, Answer::Out);
        let text = "aé漢🦀".as_bytes();
        let parts: Vec<String> = text.iter().map(|byte| part.take_text(&[*byte])).collect();
        assert_eq!(parts.concat(), "aé漢🦀");
        assert_eq!(part.take_text(b"\xffb"), "\u{fffd}b");
    }

    #[test]
    fn only_the_persons_display_enters_the_environment() {
        let own = Environment::new([("HOME", "/there"), ("NO_COLOR", "1")], None, "/".into());
        let set = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        let variables = vec![("NO_COLOR".to_owned(), None), set("TERM", "xterm"), set("HOME", "/here")];
        let env = person_environment(&Request { variables, ..Request::default() }, &own);
        assert_eq!(
            (env.get("NO_COLOR"), env.get("TERM"), env.get("HOME")),
            (None, Some("xterm"), Some("/there"))
        );
    }
}
