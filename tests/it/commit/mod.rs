//! Commits and undos on real files: appended lines, refusals, the owner of the lock, and that
//! for any transcript no old byte changes and the context read back is the planned one.

mod branch;
mod compaction;
mod growth;
mod lock;
mod lock_lost;
mod planned;
mod properties;
mod refusals;
mod undo;

/// Returns a transcript of these lines after a header, as bytes.
fn lines(lines: &[&str]) -> Vec<u8> {
    let header =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-02-21T05:00:00.000Z","cwd":"/"}"#;
    let mut text = header.to_owned() + "\n";
    for line in lines {
        text += line;
        text.push('\n');
    }
    text.into_bytes()
}

const USER: &str = r#"{"type":"message","id":"u1","parentId":null,"timestamp":"2026-02-21T05:00:01.000Z","message":{"role":"user","content":"read it"}}"#;
const CALL: &str = r#"{"type":"message","id":"a1","parentId":"u1","timestamp":"2026-02-21T05:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{}}],"stopReason":"toolUse"}}"#;
const RESULT: &str = r#"{"type":"message","id":"r1","parentId":"a1","timestamp":"2026-02-21T05:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"long"}],"details":{"n":1.50},"isError":false,"timestamp":5}}"#;
const ANSWER: &str = r#"{"type":"message","id":"a2","parentId":"r1","timestamp":"2026-02-21T05:00:04.000Z","message":{"role":"assistant","content":[{"type":"text","text":"done"}],"stopReason":"stop"}}"#;
