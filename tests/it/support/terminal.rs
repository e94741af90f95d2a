//! A terminal for the real program: keys in, a screen out. Every wait has a deadline.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// Among the variables of a program whose first screen has its card.
pub(crate) const FIRST_RUN: (&str, &str) = ("CLAWSCOPE_TEST_FIRST_RUN", "1");

/// A debug build on a busy machine takes its time.
const DEADLINE: Duration = Duration::from_secs(30);
/// The polling interval for conditions that no output announces.
const TICK: Duration = Duration::from_millis(20);

/// A running program and the screen it draws.
pub(crate) struct Started {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    writer: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser<Signals>,
    /// The modes of the terminal before the program had it.
    modes: String,
}

/// The program's requests to the terminal besides drawing.
#[derive(Default)]
pub(crate) struct Signals {
    /// The clipboard contents as received: base64.
    copied: Vec<String>,
    /// The number of bells.
    bells: usize,
    /// The texts of its notifications (OSC 9).
    notifications: Vec<String>,
}

impl vt100::Callbacks for Signals {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.bells += 1;
    }

    fn unhandled_osc(&mut self, _: &mut vt100::Screen, parameters: &[&[u8]]) {
        if let [b"9", text @ ..] = parameters {
            self.notifications.push(String::from_utf8_lossy(&text.concat()).into_owned());
        }
    }

    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], data: &[u8]) {
        self.copied.push(String::from_utf8_lossy(data).into_owned());
    }
}

/// The state in which the program left the terminal.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: u32,
    pub(crate) alternate_screen: bool,
    pub(crate) cursor_hidden: bool,
    pub(crate) mouse: bool,
    pub(crate) bracketed_paste: bool,
    /// Whether the terminal has its earlier modes: it edits and echoes lines.
    pub(crate) cooked: bool,
    /// The text of the screen.
    pub(crate) text: String,
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { cols: columns, rows, pixel_width: 0, pixel_height: 0 }
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

impl Started {
    /// Starts the program in a terminal of 120x40, with a separate home and these variables.
    pub(crate) fn new(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::at(Path::new(env!("CARGO_BIN_EXE_clawscope")), arguments, variables)
    }

    /// Starts the program at a path.
    pub(crate) fn at(program: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        Self::start(command, variables)
    }

    /// Starts the program from a shell. The terminal closes with its first process, so a program that will be killed
    /// must not be that one.
    pub(crate) fn in_shell(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", "\"$@\"; exit $?", "sh", env!("CARGO_BIN_EXE_clawscope")]);
        command.args(arguments);
        Self::start(command, variables)
    }

    fn start(mut command: CommandBuilder, variables: &[(&str, &str)]) -> Self {
        let pair = native_pty_system().openpty(size(120, 40)).unwrap();
        command.env_clear();
        // A child without a working directory starts in its home, which does not exist here.
        command.cwd(std::env::temp_dir());
        for (name, value) in [("TERM", "xterm-256color"), ("HOME", "/nonexistent"), ("COLORFGBG", "15;0")] {
            command.env(name, value);
        }
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for (name, value) in variables {
            command.env(name, value);
            // The card of the first run would cover what the test looks at; it has a test of its own.
            if *name == "HOME" && Path::new(value).is_dir() && !variables.contains(&FIRST_RUN) {
                super::fixture::put(&Path::new(value).join(".local/state/clawscope/introduced"), "");
            }
        }
        let modes = format!("{:?}", pair.master.get_termios());
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (read, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 1 << 14];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if read.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let writer = pair.master.take_writer().unwrap();
        let parser = vt100::Parser::new_with_callbacks(cells(40), cells(120), 0, Signals::default());
        Self { master: pair.master, child, writer, output, parser, modes }
    }

    /// Types keys.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Waits until the screen shows a text.
    #[track_caller]
    pub(crate) fn until_shown(&mut self, text: &str) {
        self.until(&format!("{text:?} on the screen"), |screen| screen.contents().contains(text));
    }

    /// Waits until a condition holds.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, is: impl Fn(&vt100::Screen) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !is(self.parser.screen()) {
            let alive = self.take(TICK) != Err(RecvTimeoutError::Disconnected);
            let shown = self.parser.screen().contents();
            assert!(alive && Instant::now() < deadline, "waited for {what}; the screen shows:\n{shown}");
        }
    }

    /// Waits for clipboard contents; returns them in base64.
    #[track_caller]
    pub(crate) fn until_copied(&mut self) -> String {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(copied) = self.parser.callbacks().copied.last() {
                return copied.clone();
            }
            assert!(Instant::now() < deadline, "waited for the clipboard");
            let _ = self.take(TICK);
        }
    }

    /// Returns the number of bells so far.
    pub(crate) fn bells(&self) -> usize {
        self.parser.callbacks().bells
    }

    /// The texts of the program's notifications so far.
    pub(crate) fn notifications(&self) -> &[String] {
        &self.parser.callbacks().notifications
    }

    /// Waits for this many bells; returns the time that took.
    #[track_caller]
    pub(crate) fn until_bells(&mut self, count: usize) -> Duration {
        let start = Instant::now();
        while self.bells() < count {
            let shown = self.parser.screen().contents();
            assert!(start.elapsed() < DEADLINE, "waited for the bell; the screen shows:\n{shown}");
            let _ = self.take(TICK);
        }
        start.elapsed()
    }

    /// Waits until nothing is drawn for a while.
    pub(crate) fn until_quiet(&mut self) {
        while self.take(Duration::from_millis(700)).is_ok() {}
    }

    /// Lets time pass while the program has nothing to do.
    pub(crate) fn let_pass_ms(&mut self, ms: u64) {
        let until = Instant::now() + Duration::from_millis(ms);
        while Instant::now() < until {
            let _ = self.take(until.saturating_duration_since(Instant::now()));
        }
    }

    fn take(&mut self, wait: Duration) -> Result<(), RecvTimeoutError> {
        let bytes = self.output.recv_timeout(wait)?;
        self.parser.process(&bytes);
        Ok(())
    }

    /// Whether the program draws on the alternate screen.
    pub(crate) fn alternate_screen(&self) -> bool {
        self.parser.screen().alternate_screen()
    }

    /// Resizes the terminal.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.parser.screen_mut().set_size(cells(rows), cells(columns));
        // The old frame must not be taken for a new one.
        self.parser.process(b"\x1b[2J");
        self.master.resize(size(columns, rows)).unwrap();
    }

    fn pid(&self) -> rustix::process::Pid {
        let id = self.child.process_id().unwrap();
        rustix::process::Pid::from_raw(id.cast_signed()).unwrap()
    }

    /// Sends a signal to the program that the shell started.
    #[cfg(target_os = "linux")]
    pub(crate) fn signal_child(&self, signal: rustix::process::Signal) {
        let child = self.children()[0];
        rustix::process::kill_process(rustix::process::Pid::from_raw(child).unwrap(), signal).unwrap();
    }

    /// The processes that the first thread of the first process started and that still run.
    #[cfg(target_os = "linux")]
    pub(crate) fn children(&self) -> Vec<i32> {
        let pid = self.pid().as_raw_nonzero();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        children.split_whitespace().map(|child| child.parse().unwrap()).collect()
    }

    /// Sends the program a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(self.pid(), signal).unwrap();
    }

    /// Waits until the program is stopped, as its shell would see it.
    #[track_caller]
    pub(crate) fn until_stopped(&mut self) {
        let path = format!("/proc/{}/stat", self.pid().as_raw_nonzero());
        if !std::path::Path::new(&path).exists() {
            return;
        }
        let stopped = || {
            let stat = std::fs::read_to_string(&path).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
        };
        let deadline = Instant::now() + DEADLINE;
        while !stopped() {
            assert!(Instant::now() < deadline, "waited for the program to stop");
            let _ = self.take(TICK);
        }
    }

    /// Returns the context switches of the program's threads so far; 0 where the system does not say.
    pub(crate) fn switches(&self) -> u64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid().as_raw_nonzero()));
        let of_thread = |status: String| {
            let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches"))?.to_owned();
            line.rsplit('\t').next()?.trim().parse::<u64>().ok()
        };
        let status = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("status")).ok();
        tasks.into_iter().flatten().flatten().filter_map(status).filter_map(of_thread).sum()
    }

    /// Waits for the end, and for words that another process writes after it.
    #[track_caller]
    pub(crate) fn ended_with(mut self, text: &str) -> Ended {
        self.until_shown(text);
        self.ended()
    }

    /// Closes the terminal, as a closed window does; returns the exit code.
    pub(crate) fn hang_up(mut self) -> u32 {
        // The thread that reads closes its end at the next output, as nobody takes it.
        self.output = channel().1;
        self.keys("j");
        self.writer = Box::new(std::io::sink());
        self.master = native_pty_system().openpty(size(1, 1)).unwrap().master;
        self.child.wait().unwrap().exit_code()
    }

    /// Waits for the end.
    #[track_caller]
    pub(crate) fn ended(mut self) -> Ended {
        let deadline = Instant::now() + DEADLINE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            let shown = self.parser.screen().contents();
            assert!(Instant::now() < deadline, "waited for the end; the screen shows:\n{shown}");
            let _ = self.take(TICK);
        };
        while self.take(Duration::from_millis(200)).is_ok() {}
        let cooked = format!("{:?}", self.master.get_termios()) == self.modes;
        let screen = self.parser.screen();
        Ended {
            code: status.exit_code(),
            alternate_screen: screen.alternate_screen(),
            cursor_hidden: screen.hide_cursor(),
            mouse: screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None,
            bracketed_paste: screen.bracketed_paste(),
            cooked,
            text: screen.contents(),
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // After a failed test no process keeps running.
        drop(self.child.kill());
    }
}
