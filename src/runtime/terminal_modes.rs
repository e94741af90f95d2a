//! The modes of the terminal's line discipline, as words of a command line: another process restores them.

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
    min: u8,
    time: u8,
}

/// Reads the modes of the terminal on standard output.
pub(super) fn read() -> io::Result<TerminalModes> {
    let now = tcgetattr(io::stdout())?;
    Ok(TerminalModes {
        input: now.input_modes,
        output: now.output_modes,
        control: now.control_modes,
        local: now.local_modes,
        min: now.special_codes[SpecialCodeIndex::VMIN],
        time: now.special_codes[SpecialCodeIndex::VTIME],
    })
}

impl TerminalModes {
    pub(super) fn words(self) -> [String; 6] {
        [
            self.input.bits().to_string(),
            self.output.bits().to_string(),
            self.control.bits().to_string(),
            self.local.bits().to_string(),
            self.min.to_string(),
            self.time.to_string(),
        ]
    }

    /// Reads the words of [`Self::words`]; `None` for anything else.
    pub(super) fn from_words(words: &[OsString]) -> Option<Self> {
        let [input, output, control, local, min, time] = words else { return None };
        Some(Self {
            input: InputModes::from_bits_retain(number(input)?),
            output: OutputModes::from_bits_retain(number(output)?),
            control: ControlModes::from_bits_retain(number(control)?),
            local: LocalModes::from_bits_retain(number(local)?),
            min: number(min)?,
            time: number(time)?,
        })
    }

    /// Sets the modes of the terminal on standard output.
    pub(super) fn apply(self) -> io::Result<()> {
        let mut modes = tcgetattr(io::stdout())?;
        modes.input_modes = self.input;
        modes.output_modes = self.output;
        modes.control_modes = self.control;
        modes.local_modes = self.local;
        modes.special_codes[SpecialCodeIndex::VMIN] = self.min;
        modes.special_codes[SpecialCodeIndex::VTIME] = self.time;
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
            min: 1,
            time: 255,
        };
        let words: Vec<OsString> = modes.words().into_iter().map(OsString::from).collect();
        assert_eq!(TerminalModes::from_words(&words), Some(modes));
        assert_eq!(TerminalModes::from_words(&words[1..]), None);
        assert_eq!(TerminalModes::from_words(&[words.as_slice(), &words[..1]].concat()), None);
    }
}
