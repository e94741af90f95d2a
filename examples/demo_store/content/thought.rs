//! Thinking texts of an assistant that reads code and logs.
use super::super::rng::Rng;
use super::super::template::{Pools, fill_to_string, sentence_case};
use super::source::{DIRS, STEMS};

const POOLS: &Pools = &[
    ("file", &["`src/{dir}/{stem}.cpp`", "`src/{dir}/{stem}.hpp`", "`{stem}`", "the {dir} directory"]),
    ("dir", &DIRS),
    ("stem", &STEMS),
    (
        "fact",
        &[
            "loads the tail with acquire but stores it relaxed",
            "still assumes a 64-byte line",
            "takes the shard lock before it touches the slot",
            "copies the header once per frame",
            "has no test for a full queue",
            "treats a short write as success",
            "keeps the generation beside the pointer",
            "was rewritten in February",
            "is the only caller of `claim`",
            "does not check the return of `flush`",
        ],
    ),
    (
        "so",
        &[
            "so the reader may see a torn slot",
            "which is fine on x86 and not here",
            "so the warning is harmless",
            "which explains the single lap between the numbers",
            "so the order of archives does not matter",
            "and that rules the scheduler out",
            "so I can leave it alone for now",
            "which matches the third crash log",
        ],
    ),
    (
        "next",
        &[
            "I will compare it with {file} before I conclude anything.",
            "Next I look at who calls it.",
            "A grep should show whether {file} does the same.",
            "The log around that minute will tell.",
            "If the linker agrees, one line in the build file is enough.",
            "Worth a note, not a change.",
        ],
    ),
];

const ROWS: &[&str] = &[
    "{file} {fact}, {so}. ",
    "Compared with {file}, this one {fact}. ",
    "{next} ",
    "Line {#20-480} of {file} {fact}; line {#20-480} does not, {so}. ",
];

/// A few sentences, about `chars` characters.
pub(in super::super) fn aloud(rng: &mut Rng, chars: usize) -> String {
    let mut out = String::new();
    while out.len() < chars {
        let row = rng.pick(ROWS);
        sentence_case(&mut out, &fill_to_string(rng, POOLS, row));
    }
    out.trim_end().to_owned()
}
