//! Standard output of a command on a terminal: more than a screen of it is shown in the person's pager.

use std::io::{self, Stdout, Write};
use std::process::{Child, Command, Stdio};

use crate::gateway::env::Environment;
use crate::gateway::programs::find_program;
use crate::text::visible;

/// The pager without `CLAWSCOPE_PAGER` and `PAGER`: it ends at once for a text that fits, keeps colours, and leaves the
/// text on the screen.
const DEFAULT_PAGER: &str = "less -FRX";

/// Returns the pager's command line: `CLAWSCOPE_PAGER`, else `PAGER`, else `less`. `None` if it is empty or `cat`, or if
/// the program does not exist.
pub fn pager_line(env: &Environment) -> Option<String> {
    let named = env.raw("CLAWSCOPE_PAGER").or_else(|| env.raw("PAGER"));
    let line = named.unwrap_or(DEFAULT_PAGER).trim();
    let program = line.split(' ').next().filter(|program| !program.is_empty() && *program != "cat")?;
    // A first word with `=` sets a variable; the shell finds the program after it.
    let exists = program.contains(['=', '/']) || find_program(env, program).is_some();
    exists.then(|| line.to_owned())
}

/// Holds the first screen back, and starts the pager when the text is longer.
#[derive(Debug)]
pub struct PagedOutput {
    terminal: Stdout,
    pager: String,
    /// Lines of text that fit on the screen.
    rows: usize,
    lines: usize,
    buffered: Vec<u8>,
    child: Option<Child>,
}

impl PagedOutput {
    /// Creates an output for a terminal of `rows` rows.
    pub fn new(terminal: Stdout, pager: String, rows: u16) -> Self {
        let rows = usize::from(rows.saturating_sub(1));
        Self { terminal, pager, rows, lines: 0, buffered: Vec::new(), child: None }
    }

    /// Writes the buffered output, or waits until the person leaves the pager.
    pub fn finish(mut self) -> io::Result<()> {
        let Some(mut child) = self.child.take() else {
            self.terminal.write_all(&self.buffered)?;
            return self.terminal.flush();
        };
        drop(child.stdin.take());
        child.wait().map(drop)
    }

    fn start(&mut self) -> io::Result<()> {
        let mut child = pager_command(Some(&self.pager)).stdin(Stdio::piped()).spawn()?;
        keep_running_on_interrupt();
        let buffered = std::mem::take(&mut self.buffered);
        let sent = child.stdin.as_mut().map_or(Ok(()), |pipe| pipe.write_all(&buffered));
        self.child = Some(child);
        sent
    }
}

/// Lets ctrl-c reach only the pager, which would otherwise lose the terminal to the shell.
fn keep_running_on_interrupt() {
    #[cfg(unix)]
    if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
        let _inside = runtime.enter();
        _ = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
    }
}

impl Write for PagedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(pipe) = self.child.as_mut().and_then(|child| child.stdin.as_mut()) {
            return pipe.write(bytes);
        }
        self.buffered.extend_from_slice(bytes);
        self.lines += memchr::memchr_iter(b'\n', bytes).count();
        if self.lines > self.rows {
            self.start()?;
        }
        Ok(bytes.len())
    }

    /// Does nothing before the pager runs: it is not known yet whether the text fits.
    fn flush(&mut self) -> io::Result<()> {
        let pipe = self.child.as_mut().and_then(|child| child.stdin.as_mut());
        pipe.map_or(Ok(()), Write::flush)
    }
}

/// Shows a text in `$PAGER`, or in `less`. The caller must restore the terminal first. Control characters become
/// visible signs, as text from a transcript must not control the terminal.
pub(super) fn show(text: &str, env: &Environment) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new()?;
    for line in text.lines() {
        writeln!(file, "{}", visible(line))?;
    }
    let mut command = pager_command(env.get("PAGER"));
    let ended = command.stdin(Stdio::from(crate::files::open(file.path())?)).status()?;
    // Leaving a pager with ctrl-c is not an error.
    match ended.code() {
        Some(127) => Err(io::Error::new(io::ErrorKind::NotFound, "no such program")),
        _ => Ok(()),
    }
}

/// Builds the command; `$PAGER` is a command line for the shell by convention.
fn pager_command(pager: Option<&str>) -> Command {
    let mut command = if cfg!(windows) { Command::new("cmd") } else { Command::new("sh") };
    let fallback = if cfg!(windows) { "more" } else { "less" };
    command.arg(if cfg!(windows) { "/C" } else { "-c" }).arg(pager.unwrap_or(fallback));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(pairs: &[(&str, &str)]) -> Option<String> {
        let mut pairs = pairs.to_vec();
        pairs.push(("PATH", "/bin:/usr/bin"));
        pager_line(&Environment::new(pairs, None, "/".into()))
    }

    #[test]
    fn clawscope_pager_comes_before_pager() {
        assert_eq!(line(&[("PAGER", "sh -c x")]).as_deref(), Some("sh -c x"));
        assert_eq!(line(&[("PAGER", "more"), ("CLAWSCOPE_PAGER", "sh")]).as_deref(), Some("sh"));
        assert_eq!(line(&[("PAGER", "LESS=S less")]).as_deref(), Some("LESS=S less"));
    }

    #[test]
    fn no_pager_runs_if_it_is_empty_or_cat_or_missing() {
        for pager in ["", " ", "cat", "clawscope-no-such-pager -x"] {
            assert_eq!(line(&[("PAGER", pager)]), None, "{pager:?}");
        }
        assert_eq!(line(&[("PAGER", "less"), ("CLAWSCOPE_PAGER", "")]), None);
    }

    #[test]
    fn a_long_text_reaches_the_pager_completely() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let mut paged = PagedOutput::new(io::stdout(), format!("cat > {}", out.display()), 3);
        for nth in 0..5 {
            writeln!(paged, "line {nth}").unwrap();
        }
        paged.finish().unwrap();
        assert_eq!(std::fs::read_to_string(out).unwrap().lines().count(), 5);
    }

    #[test]
    fn a_pager_that_is_left_early_breaks_the_pipe() {
        let mut paged = PagedOutput::new(io::stdout(), "exit 0".to_owned(), 1);
        let long = "x\n".repeat(200_000);
        let error = paged.write_all(long.as_bytes()).and_then(|()| paged.write_all(long.as_bytes()));
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        paged.finish().unwrap();
    }
}

#[cfg(test)]
mod pager_tests {
    use super::*;

    fn env(pager: &str) -> Environment {
        Environment::new([("PAGER", pager)], None, "/".into())
    }

    #[test]
    fn the_pager_gets_the_lines_with_control_characters_as_signs() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        show("one\n\u{1b}[31mtwo\n", &env(&format!("cat > {}", out.display()))).unwrap();
        let read = std::fs::read_to_string(out).unwrap();
        assert!(
            read.starts_with("one\n") && read.contains("[31mtwo") && !read.contains('\u{1b}'),
            "{read:?}"
        );
    }

    #[test]
    fn a_missing_pager_is_an_error_and_a_failing_one_is_not() {
        assert!(show("x", &env("clawscope-no-such-pager 2>/dev/null")).is_err());
        assert!(show("x", &env("exit 2")).is_ok());
    }
}
