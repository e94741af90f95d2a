//! Collects the files that a conversation read and changed, so that every summary carries them on (compaction
//! 3.13–3.15). Paths from an earlier compaction may be any JSON value.

use std::collections::HashSet;

use crate::gateway::ruleset::{PiChange, PiRelease};
use crate::js::{self, JsString, Value};

/// Files by operation, in order of first occurrence.
#[derive(Debug, Clone, Default)]
pub struct FileOps {
    read: PathSet,
    written: PathSet,
    edited: PathSet,
}

/// The two lists that end a summary, sorted by UTF-16 units (compaction 3.14).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FileLists {
    /// Files that were read but not changed.
    pub read: Vec<Value>,
    /// Files that were edited or written.
    pub modified: Vec<Value>,
}

impl FileOps {
    /// Reads the files that an earlier compaction carries on. Empty when an extension made it, as the gateway's
    /// safeguard does (compaction 3.13).
    pub fn from_compaction(entry: &Value) -> Self {
        let mut files = Self::default();
        if js::is_truthy(entry.get("fromHook")) {
            return files;
        }
        let listed = |key| entry.get("details")?.get(key)?.as_array();
        listed("readFiles").into_iter().flatten().for_each(|path| files.read.add(path));
        listed("modifiedFiles").into_iter().flatten().for_each(|path| files.edited.add(path));
        files
    }

    /// Adds the files that an earlier branch summary carries on.
    pub fn add_branch_summary(&mut self, entry: &Value) {
        let carried = Self::from_compaction(entry);
        carried.read.items.iter().for_each(|path| self.read.add(path));
        carried.edited.items.iter().for_each(|path| self.edited.add(path));
    }

    /// Adds the files that an assistant message's tool calls name.
    pub fn add_message(&mut self, message: &Value) {
        if !message.get("role").is_some_and(|role| role.str_is("assistant")) {
            return;
        }
        for block in message.get("content").and_then(Value::as_array).unwrap_or_default() {
            if block.get("type").is_some_and(|kind| kind.str_is("toolCall")) {
                self.add_call(block);
            }
        }
    }

    /// Adds a message's files as a release of pi does: newer ones also count nested tool calls (store-pi-1.5 H10).
    pub fn add_message_for(&mut self, pi: PiRelease, message: &Value) {
        self.add_message(message);
        let is_result = message.get("role").is_some_and(|role| role.str_is("toolResult"));
        if is_result && pi.has(PiChange::CountsNestedCalls) {
            let nested = message.get("nestedCalls").and_then(|nested| nested.get("calls")?.as_array());
            nested.unwrap_or_default().iter().for_each(|call| self.add_call(call));
        }
    }

    fn add_call(&mut self, call: &Value) {
        let path = call.get("arguments").and_then(|arguments| arguments.get("path"));
        let Some(path) = path.filter(|path| path.as_str().is_some_and(|text| !text.is_empty())) else {
            return;
        };
        let is = |tool: &str| call.get("name").is_some_and(|name| name.str_is(tool));
        if is("read") {
            self.read.add(path);
        } else if is("write") {
            self.written.add(path);
        } else if is("edit") {
            self.edited.add(path);
        }
    }

    pub fn read(&self) -> &[Value] {
        &self.read.items
    }

    pub fn written(&self) -> &[Value] {
        &self.written.items
    }

    pub fn edited(&self) -> &[Value] {
        &self.edited.items
    }

    pub fn to_lists(&self) -> FileLists {
        let mut modified = self.edited.clone();
        self.written.items.iter().for_each(|path| modified.add(path));
        let read = self.read.items.iter().filter(|path| !modified.contains(path)).cloned();
        FileLists { read: sorted(read.collect()), modified: sorted(modified.items) }
    }
}

impl FileLists {
    /// Writes the lists as a section of a summary; empty when both are (compaction 3.15).
    pub fn section(&self) -> JsString {
        let mut text = JsString::new();
        for (tag, paths) in [("read-files", &self.read), ("modified-files", &self.modified)] {
            if !paths.is_empty() {
                text.push_str(&format!("\n\n<{tag}>\n"));
                text.push(&js_join(paths.iter().map(Some), "\n"));
                text.push_str(&format!("\n</{tag}>"));
            }
        }
        text
    }
}

fn sorted(mut paths: Vec<Value>) -> Vec<Value> {
    paths.sort_by_cached_key(|path| js::to_text(Some(path)));
    paths
}

/// A set in order of first occurrence, with the equality of a JavaScript `Set`.
#[derive(Debug, Clone, Default)]
struct PathSet {
    items: Vec<Value>,
    keys: HashSet<(&'static str, JsString)>,
}

impl PathSet {
    fn add(&mut self, path: &Value) {
        if identity_key(path).is_none_or(|key| self.keys.insert(key)) {
            self.items.push(path.clone());
        }
    }

    fn contains(&self, path: &Value) -> bool {
        identity_key(path).is_some_and(|key| self.keys.contains(&key))
    }
}

/// Returns the key by which paths are compared; `None` for arrays and objects, which never equal another value.
fn identity_key(path: &Value) -> Option<(&'static str, JsString)> {
    let simple = !matches!(path, Value::Array(_) | Value::Object(_));
    simple.then(|| (path.kind_name(), js::to_text(Some(path))))
}

/// Joins values; absent ones and `null` are empty. Two halves of a surrogate pair that meet become one character
/// (compaction 3.16).
pub(super) fn js_join<'a>(values: impl IntoIterator<Item = Option<&'a Value>>, between: &str) -> JsString {
    let mut text = JsString::new();
    for (at, value) in values.into_iter().enumerate() {
        if at > 0 {
            text.push_str(between);
        }
        if let Some(value) = value.filter(|value| !value.is_null()) {
            text.push(&js::to_text(Some(value)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ops(calls: &[(&str, &str)]) -> FileOps {
        let call = |(name, path): &(&str, &str)| {
            format!(r#"{{"type":"toolCall","name":"{name}","arguments":{{"path":"{path}"}}}},"#)
        };
        let content = calls.iter().map(call).collect::<String>();
        let mut files = FileOps::default();
        files.add_message(
            &js::parse(&format!(r#"{{"role":"assistant","content":[{content}null]}}"#)).unwrap(),
        );
        files
    }

    fn texts(paths: &[Value]) -> Vec<String> {
        paths.iter().map(|path| js::to_text(Some(path)).to_string_lossy()).collect()
    }

    #[test]
    fn only_three_tools_count_and_names_are_exact() {
        let files =
            ops(&[("read", "a"), ("Read", "b"), ("exec", "c"), ("edit", "d"), ("write", ""), ("read", "a")]);
        assert_eq!((texts(files.read()), texts(files.edited())), (vec!["a".into()], vec!["d".into()]));
        assert!(files.written().is_empty());
    }

    #[test]
    fn a_changed_file_is_not_listed_as_read_and_lists_are_sorted_by_unit() {
        let lists =
            ops(&[("read", "b"), ("read", "10"), ("read", "9"), ("read", "A"), ("write", "b")]).to_lists();
        assert_eq!(
            (texts(&lists.read), texts(&lists.modified)),
            (vec!["10".into(), "9".into(), "A".into()], vec!["b".into()])
        );
    }

    #[test]
    fn the_section_names_only_lists_with_files() {
        assert!(ops(&[]).to_lists().section().is_empty());
        let section = ops(&[("edit", "b"), ("edit", "a")]).to_lists().section();
        assert_eq!(section, "\n\n<modified-files>\na\nb\n</modified-files>");
    }

    #[test]
    fn file_lists_continue_from_a_compaction_unless_an_extension_made_it() {
        let entry = |rest: &str| {
            let json =
                format!(r#"{{"details":{{"readFiles":["a",5,"5",{{}},{{}},5],"modifiedFiles":"x"}}{rest}}}"#);
            FileOps::from_compaction(&js::parse(&json).unwrap())
        };
        assert_eq!(texts(entry("").read()), ["a", "5", "5", "[object Object]", "[object Object]"]);
        assert!(entry("").edited().is_empty());
        assert!(entry(r#","fromHook":true"#).read().is_empty());
    }
}

#[cfg(test)]
mod join_tests {
    use super::*;

    #[test]
    fn null_joins_as_empty_text_and_numbers_as_their_text() {
        let values = [Value::Null, Value::from(1.5), Value::from("x")];
        assert_eq!(js_join(values.iter().map(Some).chain([None]), ";"), ";1.5;x;");
        assert_eq!(js_join([], ";"), "");
    }

    #[test]
    fn two_halves_that_meet_are_one_character() {
        let halves = [vec![0xD83D], vec![0xDE00]].map(|half| Value::String(half.into()));
        assert_eq!(js_join(halves.iter().map(Some), ""), "😀");
    }
}
