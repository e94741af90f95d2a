//! Keys of older releases, which a gateway up to 2026.3.13 moves when it starts (pruning 3.1, releases R77).
//!
//! Only the settings of `agent` are moved here, because they are read here; other keys are left out of what is
//! validated.

use serde_json::{Map, Value};

use super::roster::Moved;
use super::schema::{ReleaseSchema, old_keys};

pub(super) const RETIRED_KEY: &str = "agent";
/// Keys of `agent` that moved to other places.
const MOVED_ELSEWHERE: [&str; 3] = ["tools", "elevated", "bash"];
/// Old keys that go as a whole, whichever of their parts a release names.
const WHOLE_KEYS: [&str; 2] = [RETIRED_KEY, "routing"];

/// Moves `agent` to `agents.defaults`, whose own values win, and drops the other old keys; returns all of them with the
/// sentences of the release. Does nothing for a release that refuses such keys.
pub(super) fn migrate(root: &mut Value, schema: &ReleaseSchema) -> Vec<Moved> {
    let Some(old) = old_keys(schema, root) else { return Vec::new() };
    move_agent(root);
    for issue in &old {
        let whole = issue.trail.first().is_some_and(|key| WHOLE_KEYS.contains(&key.as_str()));
        let path = if whole { &issue.trail[..1] } else { &issue.trail[..] };
        let Some((key, above)) = path.split_last() else { continue };
        let parent = above.iter().try_fold(&mut *root, |value, key| value.get_mut(key));
        if let Some(parent) = parent.and_then(Value::as_object_mut) {
            parent.shift_remove(key);
        }
    }
    old.into_iter().map(|issue| Moved { message: issue.message, trail: issue.trail }).collect()
}

fn move_agent(root: &mut Value) -> Option<()> {
    let retired = root.get(RETIRED_KEY)?.as_object()?.clone();
    let root = root.as_object_mut()?;
    root.shift_remove(RETIRED_KEY);
    let agents = root.entry("agents").or_insert_with(|| Value::Object(Map::new())).as_object_mut()?;
    let defaults = agents.entry("defaults").or_insert_with(|| Value::Object(Map::new())).as_object_mut()?;
    let kept = retired.iter().filter(|(key, _)| !MOVED_ELSEWHERE.contains(&key.as_str()));
    kept.for_each(|(key, value)| fill_missing(defaults.entry(key.as_str()), value));
    Some(())
}

/// Fills in missing values, objects key by key.
fn fill_missing(entry: serde_json::map::Entry<'_>, value: &Value) {
    let own = entry.or_insert_with(|| value.clone());
    if let (Value::Object(own), Value::Object(value)) = (own, value) {
        value.iter().for_each(|(key, value)| fill_missing(own.entry(key.as_str()), value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migrated(release: &str, text: &str) -> (Value, Vec<String>) {
        let mut root: Value = serde_json::from_str(text).unwrap();
        let schema = crate::gateway::schema::tables().release(&release.parse().unwrap()).unwrap();
        let moved = migrate(&mut root, schema).into_iter().map(|moved| moved.trail.join("."));
        let moved = moved.collect();
        (root, moved)
    }

    #[test]
    fn retired_keys_fill_only_missing_values() {
        let (root, moved) = migrated(
            "2026.3.2",
            r#"{"agent":{"contextTokens":5,"tools":{},"contextPruning":{"mode":"off","ttl":"2h"}},
                "agents":{"defaults":{"contextPruning":{"ttl":"1h"}}}}"#,
        );
        let expected = serde_json::json!({ "agents": { "defaults": { "contextPruning": { "ttl": "1h", "mode": "off" }, "contextTokens": 5 } } });
        assert_eq!((root, moved), (expected, vec!["agent".to_owned()]));
    }

    #[test]
    fn other_old_keys_are_left_out() {
        let text = r#"{"telegram":{},"routing":{"queue":1,"x":2},"gateway":{"token":"t","port":1}}"#;
        let (root, moved) = migrated("2026.3.2", text);
        assert_eq!(root, serde_json::json!({ "gateway": { "port": 1 } }));
        assert_eq!(moved, ["telegram", "routing.queue", "gateway.token"]);
    }

    #[test]
    fn newer_releases_move_nothing() {
        let text = r#"{"agent":{"contextTokens":5}}"#;
        let (root, moved) = migrated("2026.9.6", text);
        assert_eq!((root, moved.len()), (serde_json::from_str(text).unwrap(), 0));
    }
}
