//! The tool that a message is about.

use crate::ids::EntryIx;
use crate::js;
use crate::store::entry::{MessageSize, Role};
use crate::store::index::Index;

/// The tool of a result, or of the only kind of call an assistant message makes.
pub fn tool_of(index: &Index, entry: EntryIx, size: &MessageSize) -> Option<String> {
    if size.role == Role::ToolResult {
        return index.values.value(size.tool_name).map(|name| js::to_text(Some(name)).to_string_lossy());
    }
    if size.role != Role::Assistant {
        return None;
    }
    let mut names: Vec<String> =
        index.tool_calls_of(entry).iter().filter_map(|call| index.values.text(call.name)).collect();
    names.dedup();
    (!names.is_empty()).then(|| names.join(","))
}
