//! Random entry ids, as the runtime makes them (store M2).

use std::hash::{BuildHasher, RandomState};

use crate::ids::IdSource;

/// Tries with 8 hex digits before a longer id is used.
const MAX_TRIES: u32 = 100;

/// Unpredictable ids: hashes of a counter, keyed from the system's random source.
#[derive(Debug, Clone, Default)]
pub struct RandomIds {
    key: RandomState,
    count: u64,
}

impl RandomIds {
    fn draw(&mut self) -> u64 {
        self.count += 1;
        self.key.hash_one(self.count)
    }

    /// Draws a random UUID.
    pub fn uuid(&mut self) -> String {
        let (high, low) = (self.draw(), self.draw());
        let variant = low >> 48 & 0x3FFF | 0x8000;
        let (first, second, third) = (high >> 32, high >> 16 & 0xFFFF, high & 0x0FFF);
        format!("{first:08x}-{second:04x}-4{third:03x}-{variant:04x}-{:012x}", low & 0xFFFF_FFFF_FFFF)
    }
}

impl IdSource for RandomIds {
    /// Draws 8 hex digits up to 100 times, then a whole UUID (store M2).
    fn next_id(&mut self, _line: u64, taken: &dyn Fn(&str) -> bool) -> String {
        for _ in 0..MAX_TRIES {
            let id = format!("{:08x}", self.draw() as u32);
            if !taken(&id) {
                return id;
            }
        }
        self.uuid()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_eight_hex_digits_and_differ() {
        let mut ids = RandomIds::default();
        let drawn: HashSet<String> = (0..1000).map(|line| ids.next_id(line, &|_| false)).collect();
        assert!(drawn.len() >= 999, "{} of 1000", drawn.len());
        assert!(drawn.iter().all(|id| id.len() == 8 && id.bytes().all(|b| b.is_ascii_hexdigit())));
        let other = RandomIds::default().next_id(0, &|_| false);
        assert!(!drawn.contains(&other), "two sources gave {other}");
    }

    #[test]
    fn a_uuid_is_used_when_every_short_id_is_taken() {
        let id = RandomIds::default().next_id(1, &|id| id.len() == 8);
        assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert_eq!(id.as_bytes()[14], b'4');
        assert!(matches!(id.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{id}");
    }

    #[test]
    fn a_taken_id_is_never_returned() {
        let mut twin = RandomIds::default();
        let mut ids = twin.clone();
        let first = twin.next_id(1, &|_| false);
        assert_ne!(ids.next_id(1, &|id| id == first), first);
    }

    #[test]
    fn a_hundred_short_ids_are_tried_and_every_bit_of_a_uuid_but_version_and_variant_is_random() {
        let tries = std::cell::Cell::new(0);
        let taken = |id: &str| {
            tries.set(tries.get() + usize::from(id.len() == 8));
            id.len() == 8
        };
        let mut ids = RandomIds::default();
        let drawn: Vec<u128> = (0..200)
            .map(|line| u128::from_str_radix(&ids.next_id(line, &taken).replace('-', ""), 16).unwrap())
            .collect();
        assert_eq!(tries.get(), 200 * 100);
        let (ever, always) = drawn.iter().fold((0, u128::MAX), |(ever, always), id| (ever | id, always & id));
        assert_eq!(always, 0x0000_0000_0000_4000_8000_0000_0000_0000, "{always:032x}");
        assert_eq!(ever, 0xFFFF_FFFF_FFFF_4FFF_BFFF_FFFF_FFFF_FFFF, "{ever:032x}");
    }
}
