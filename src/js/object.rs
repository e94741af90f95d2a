//! A JSON object with its keys in JavaScript order (pruning 0.4).
//!
//! For example, the keys of `{"b": 1, "2": 2, "1": 3}` are in the order `1`, `2`, `b`.

use super::JsString;
use super::value::{Object, Value};

/// From this many members on, sorting finds repeated keys, so that a hostile object does not cost the square of its
/// size.
const SORTED_FROM: usize = 16;

impl Object {
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| name.eq_str(key)).map(|(_, value)| value)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.0.iter_mut().find(|(name, _)| name.eq_str(key)).map(|(_, value)| value)
    }

    /// Whether `key` exists, with any value.
    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets the value of `key`: in place if it exists (pruning 0.5), else at JavaScript's position.
    pub fn set(&mut self, key: &str, value: Value) {
        self.insert(JsString::from(key), value);
    }

    /// Like [`set`](Self::set), for a key that may contain lone surrogates.
    pub fn insert(&mut self, key: JsString, value: Value) {
        if let Some((_, place)) = self.0.iter_mut().find(|(name, _)| *name == key) {
            *place = value;
            return;
        }
        let at = match array_index(&key) {
            // Indices are a sorted prefix, so the position is the first greater index or the first name.
            Some(index) => self.0.partition_point(|(name, _)| array_index(name).is_some_and(|i| i < index)),
            None => self.0.len(),
        };
        self.0.insert(at, (key, value));
    }

    /// Removes `key`; the other keys keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.0.iter().position(|(name, _)| name.eq_str(key))?;
        Some(self.0.remove(at).1)
    }

    /// The members in JavaScript order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&JsString, &Value)> + Clone {
        self.0.iter().map(|(key, value)| (key, value))
    }

    pub const fn len(&self) -> usize {
        self.0.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn keys_with_null(&self) -> Vec<(JsString, Value)> {
        self.0.iter().map(|(key, _)| (key.clone(), Value::Null)).collect()
    }

    pub(super) fn members(&self) -> std::slice::Iter<'_, (JsString, Value)> {
        self.0.iter()
    }

    /// Builds an object from members in file order, possibly with repeated keys.
    pub(super) fn from_members(mut members: Vec<(JsString, Value)>) -> Self {
        if has_repeated_key(&members) {
            members = last_values_at_first_places(members);
        }
        if members.iter().any(|(key, _)| array_index(key).is_some()) {
            // The sort is stable: names, which all share the last place, keep their order.
            members.sort_by_key(|(key, _)| array_index(key).unwrap_or(u32::MAX));
        }
        Self(members)
    }
}

fn has_repeated_key(members: &[(JsString, Value)]) -> bool {
    if members.len() < SORTED_FROM {
        return members.iter().enumerate().any(|(at, (key, _))| members[..at].iter().any(|(k, _)| k == key));
    }
    let mut keys: Vec<&JsString> = members.iter().map(|(key, _)| key).collect();
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}

fn last_values_at_first_places(members: Vec<(JsString, Value)>) -> Vec<(JsString, Value)> {
    let mut numbered: Vec<_> = members.into_iter().enumerate().collect();
    // Stable: members with the same key stay in file order.
    numbered.sort_by(|(_, (a, _)), (_, (b, _))| a.cmp(b));
    // `later` is dropped, so its value moves to the kept member, which is the first in the file.
    numbered.dedup_by(|(_, later), (_, kept)| {
        let repeated = later.0 == kept.0;
        if repeated {
            std::mem::swap(&mut kept.1, &mut later.1);
        }
        repeated
    });
    numbered.sort_unstable_by_key(|&(at, _)| at);
    numbered.into_iter().map(|(_, member)| member).collect()
}

/// Returns the array index of a key in canonical form: `0` to `4294967294`, without leading zeros.
fn array_index(key: &JsString) -> Option<u32> {
    let units = key.units();
    let canonical = match units {
        [b] => is_digit(*b),
        [first, rest @ ..] => rest.len() < 10 && *first != ZERO && units.iter().all(|&unit| is_digit(unit)),
        [] => false,
    };
    if !canonical {
        return None;
    }
    let index = units.iter().fold(0_u64, |index, &unit| index * 10 + u64::from(unit - ZERO));
    u32::try_from(index).ok().filter(|&index| index != u32::MAX)
}

const ZERO: u16 = b'0' as u16;

const fn is_digit(unit: u16) -> bool {
    matches!(unit, 0x30..=0x39)
}

/// Implemented by hand to save stack, as for [`Value`].
impl Clone for Object {
    fn clone(&self) -> Self {
        let mut copy = self.keys_with_null();
        for (at, (_, value)) in self.0.iter().enumerate() {
            copy[at].1 = value.clone();
        }
        Self(copy)
    }
}

impl<K: Into<JsString>, V: Into<Value>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        Self::from_members(members.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl<K: Into<JsString>, V: Into<Value>, const N: usize> From<[(K, V); N]> for Object {
    fn from(members: [(K, V); N]) -> Self {
        members.into_iter().collect()
    }
}

impl IntoIterator for Object {
    type Item = (JsString, Value);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(object: &Object) -> Vec<String> {
        object.iter().map(|(key, _)| key.to_string_lossy()).collect()
    }

    #[test]
    fn array_indices_come_first_ascending_then_the_rest_as_inserted() {
        let names =
            ["b", "10", "01", "2", "a", "4294967294", "4294967295", "-1", "0", "1.5", "", "99999999999"];
        let expected =
            ["0", "2", "10", "4294967294", "b", "01", "a", "4294967295", "-1", "1.5", "", "99999999999"];
        let at_once: Object = names.into_iter().map(|name| (name, 1.0)).collect();
        assert_eq!(keys(&at_once), expected);
        let mut one_by_one = Object::default();
        for name in names {
            one_by_one.set(name, Value::from(1.0));
        }
        assert_eq!(one_by_one, at_once);
    }

    #[test]
    fn a_repeated_key_keeps_its_first_position_and_its_last_value() {
        let object = Object::from([("a", 1.0), ("b", 2.0), ("a", 3.0), ("a", 4.0)]);
        assert_eq!(object, Object::from([("a", 4.0), ("b", 2.0)]));
    }

    #[test]
    fn many_repeated_keys_give_the_same_object_as_setting_them_one_by_one() {
        let members: Vec<(String, f64)> =
            (0..400).map(|n| (format!("k{}", n * 7 % 90), f64::from(n))).collect();
        let mut expected = Object::default();
        for (key, value) in &members {
            expected.set(key, Value::from(*value));
        }
        assert_eq!(members.into_iter().collect::<Object>(), expected);
    }

    #[test]
    fn setting_a_present_key_changes_it_in_place_and_removing_keeps_the_order() {
        let mut object = Object::from([("a", 1.0), ("b", 2.0), ("c", 3.0)]);
        object.set("b", Value::Null);
        assert_eq!(keys(&object), ["a", "b", "c"]);
        assert_eq!(object.remove("a"), Some(Value::from(1.0)));
        assert_eq!(object.remove("a"), None);
        assert_eq!(keys(&object), ["b", "c"]);
        assert!(object.contains("b") && !object.contains("a"));
        assert_eq!(object.len(), 2);
    }
}
