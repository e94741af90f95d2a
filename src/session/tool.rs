//! The tool that a message concerns.

use crate::ids::EntryIx;
use crate::js;
use crate::store::entry::{MessageSize, Role};
use crate::store::index::Index;

/// Returns the tool of a result, or the single tool that an assistant message calls.
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
