//! The person's side: opens the link, sends the request and prints the answer.

use super::arguments::RemoteCommand;
use super::copied;
use super::ending::{broken, cut_off, invalid};
use super::link::{Link, LinkError};
use super::packed::unpack;
use super::person;
use super::protocol::{Answer, Question, Request};
use super::relay::{Delivery, RemoteStdout, relay_error};
use super::view;
use crate::cli::{Cli, Command};
use crate::command::environment::Invocation;
use crate::command::failure::Failure;
use crate::command::output::Output;

/// Runs a command for a store on another machine; returns the exit code.
///
/// # Errors
/// There is no link, or it ended before the answer was complete.
pub(super) fn run(
    remote: &RemoteCommand,
    cli: &Cli,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<u8, Failure> {
    if let Some(out) = &remote.out {
        out.check(invocation)?;
    }
    let request = person::request(remote, cli, invocation, output)?;
    match Link::open(&remote.host) {
        Ok(link) => {
            if link.version != env!("CARGO_PKG_VERSION") {
                let (own, name) = (env!("CARGO_PKG_VERSION"), remote.host.name());
                output
                    .note(&format!("note: {name} answers with clawscope {}; this is {own}", link.version))?;
            }
            match cli.command {
                None => view::run(link, request, cli, invocation, remote),
                Some(_) => answer(link, request, remote, cli, invocation, output),
            }
        }
        Err(LinkError::NotInstalled) => copied::run(remote, cli, invocation, output),
        Err(error) => Err(Failure::unreadable(format!("{}: {error}", remote.host.name()))),
    }
}

fn answer(
    mut link: Link,
    request: Request,
    remote: &RemoteCommand,
    cli: &Cli,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<u8, Failure> {
    let is_followed = matches!(cli.command, Some(Command::Watch(_)));
    let is_whole = remote.out.is_some() || cli.is_json() && !is_followed;
    let mut relay = RemoteStdout::new(if is_whole { Delivery::Whole } else { Delivery::Streamed });
    // A link that ended already is reported by the next read.
    _ = link.send(&Question::Run(Box::new(request)));
    loop {
        match link.receive().map_err(|error| broken(remote, &error))? {
            Some(Answer::Out(text)) => relay.push(&text, output)?,
            Some(Answer::Packed(text)) => match unpack(&text) {
                Some(text) => relay.push(&text, output)?,
                None => return Err(broken(remote, &invalid("a part that cannot be unpacked"))),
            },
            Some(Answer::Err(text)) => relay_error(&text, output)?,
            Some(Answer::End(code)) => {
                match &remote.out {
                    Some(out) if code == 0 => out.save(&relay.into_text()?, invocation, output)?,
                    Some(_) => {}
                    None => relay.finish(output)?,
                }
                return Ok(code);
            }
            Some(Answer::Screen(_)) => {
                return Err(broken(remote, &invalid("a screen instead of output")));
            }
            None => return Err(cut_off(remote, &link.end())),
        }
    }
}
