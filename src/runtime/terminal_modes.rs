//! The modes of the terminal's line discipline. clawscope adds one signal to raw mode, ctrl-c: the parser of the terminal
//! library holds back everything after the start of a paste or a mouse report until its end, so that as a key it would
//! not arrive when the end is lost. The modes before are also the words of a command line: another process restores them.

use std::ffi::OsString;
use std::io;

use rustix::termios::{
    ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, tcgetattr,
    tcsetattr,
};

/// Everything that raw mode changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TerminalModes {
    input: InputModes,
    output: OutputModes,
    control: ControlModes,
    local: LocalModes,
    codes: [u8; CODES.len()],
}

/// The special codes that change.
const CODES: [SpecialCodeIndex; 5] = [
    SpecialCodeIndex::VMIN,
    SpecialCodeIndex::VTIME,
    SpecialCodeIndex::VINTR,
    SpecialCodeIndex::VQUIT,
    SpecialCodeIndex::VSUSP,
];
const CTRL_C: u8 = 3;
/// The code of a key that does not exist (`_POSIX_VDISABLE`).
const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };

/// Makes the system send SIGINT for ctrl-c on a terminal in raw mode. The other keys that send signals stay keys.
pub(super) fn deliver_ctrl_c_as_signal() -> io::Result<()> {
    let mut modes = tcgetattr(io::stdout())?;
    modes.local_modes |= LocalModes::ISIG | LocalModes::NOFLSH;
    modes.special_codes[SpecialCodeIndex::VINTR] = CTRL_C;
    for other in [SpecialCodeIndex::VQUIT, SpecialCodeIndex::VSUSP] {
        modes.special_codes[other] = NO_KEY;
    }
    Ok(tcsetattr(io::stdout(), OptionalActions::Now, &modes)?)
}

/// Reads the modes of the terminal on standard output.
pub(super) fn read() -> io::Result<TerminalModes> {
    let now = tcgetattr(io::stdout())?;
    Ok(TerminalModes {
        input: now.input_modes,
        output: now.output_modes,
        control: now.control_modes,
        local: now.local_modes,
        codes: CODES.map(|code| now.special_codes[code]),
    })
}

impl TerminalModes {
    pub(super) fn words(self) -> Vec<String> {
        let modes = [self.input.bits(), self.output.bits(), self.control.bits(), self.local.bits()];
        let codes = self.codes.iter().map(ToString::to_string);
        modes.iter().map(ToString::to_string).chain(codes).collect()
    }

    /// Reads the words of [`Self::words`]; `None` for anything else.
    pub(super) fn from_words(words: &[OsString]) -> Option<Self> {
        let [input, output, control, local, codes @ ..] = words else { return None };
        let codes: Option<Vec<u8>> = codes.iter().map(number).collect();
        Some(Self {
            input: InputModes::from_bits_retain(number(input)?),
            output: OutputModes::from_bits_retain(number(output)?),
            control: ControlModes::from_bits_retain(number(control)?),
            local: LocalModes::from_bits_retain(number(local)?),
            codes: codes?.try_into().ok()?,
        })
    }

    /// Sets the modes of the terminal on standard output.
    pub(super) fn apply(self) -> io::Result<()> {
        let mut modes = tcgetattr(io::stdout())?;
        modes.input_modes = self.input;
        modes.output_modes = self.output;
        modes.control_modes = self.control;
        modes.local_modes = self.local;
        for (code, value) in CODES.into_iter().zip(self.codes) {
            modes.special_codes[code] = value;
        }
        Ok(tcsetattr(io::stdout(), OptionalActions::Now, &modes)?)
    }
}

fn number<T: std::str::FromStr>(word: &OsString) -> Option<T> {
    word.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_modes_read_back_and_other_words_do_not() {
        let modes = TerminalModes {
            input: InputModes::ICRNL,
            output: OutputModes::OPOST,
            control: ControlModes::CREAD,
            local: LocalModes::ECHO | LocalModes::ICANON,
            codes: [1, 255, 3, 0, 26],
        };
        let words: Vec<OsString> = modes.words().into_iter().map(OsString::from).collect();
        assert_eq!(TerminalModes::from_words(&words), Some(modes));
        assert_eq!(TerminalModes::from_words(&words[1..]), None);
        assert_eq!(TerminalModes::from_words(&[words.as_slice(), &words[..1]].concat()), None);
    }
}
