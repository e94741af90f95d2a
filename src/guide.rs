//! The topics of the guide, `assets/guide/*.md`. They ship with the program; `clawscope guide` prints them, and the help
//! of every screen opens them.

/// A page of the guide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topic {
    /// The name on the command line and of the file.
    pub name: &'static str,
    /// Markdown; the first line is the title.
    pub text: &'static str,
}

impl Topic {
    pub fn title(self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches(['#', ' '])
    }
}

macro_rules! topic {
    ($name:literal) => {
        Topic { name: $name, text: include_str!(concat!("../assets/guide/", $name, ".md")) }
    };
}

/// The topics, in reading order.
pub const TOPICS: [Topic; 25] = [
    topic!("start"),
    topic!("screens"),
    topic!("keys"),
    topic!("commands"),
    topic!("explain"),
    topic!("context"),
    topic!("preview"),
    topic!("settings"),
    topic!("replay"),
    topic!("cost"),
    topic!("lost"),
    topic!("compaction"),
    topic!("commit"),
    topic!("export"),
    topic!("dataset"),
    topic!("watch"),
    topic!("remote"),
    topic!("releases"),
    topic!("databases"),
    topic!("pi"),
    topic!("config"),
    topic!("json"),
    topic!("accuracy"),
    topic!("speed"),
    topic!("troubleshooting"),
];
