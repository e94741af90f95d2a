//! The history turn limit: the gateway sends only the last user turns of a context, with everything that follows them
//! (pruning 2.1).

use crate::store::entry::Role;

/// Returns the index of the first message that stays under a limit of `limit` user turns: 0 if all stay, the number of
/// messages if none does (pruning 2.1).
///
/// Only messages of role `user` start a turn. Everything before the first kept turn is dropped, even a leading
/// compaction summary; a list with at most `limit` turns keeps also the messages before its first turn. A limit of 0 or
/// less, or NaN, drops nothing; a fraction is not rounded.
pub fn first_kept(roles: impl DoubleEndedIterator<Item = Role> + ExactSizeIterator, limit: f64) -> usize {
    if limit.is_nan() || limit <= 0.0 {
        return 0;
    }
    let mut turns = 0.0;
    let mut first = roles.len();
    for (at, role) in roles.enumerate().rev() {
        if role == Role::User {
            turns += 1.0;
            if turns > limit {
                return first;
            }
            first = at;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds roles, one letter per message: `u`ser, `a`ssistant, tool `r`esult, `b`ash.
    fn roles(letters: &str) -> Vec<Role> {
        let role = |letter| match letter {
            'u' => Role::User,
            'a' => Role::Assistant,
            'r' => Role::ToolResult,
            _ => Role::BashExecution,
        };
        letters.chars().map(role).collect()
    }

    #[track_caller]
    fn check(letters: &str, limit: f64, kept: &str) {
        assert_eq!(&letters[first_kept(roles(letters).into_iter(), limit)..], kept);
    }

    #[test]
    fn the_last_turns_are_kept_with_everything_after_them() {
        check("buarauaura", 2.0, "uaura");
        check("buarauaura", 1.0, "ura");
        check("uuu", 2.0, "uu");
    }

    #[test]
    fn a_session_within_the_limit_keeps_the_messages_before_its_first_turn() {
        check("bauaua", 2.0, "bauaua");
        check("bauaua", 3.0, "bauaua");
    }

    #[test]
    fn no_limit_is_0_or_less_or_no_number_at_all() {
        for limit in [0.0, -3.0, f64::NAN, f64::INFINITY] {
            check("uaua", limit, "uaua");
        }
    }

    #[test]
    fn a_fraction_is_not_rounded() {
        check("uauaua", 1.5, "ua");
        check("uauaua", 0.5, "");
        check("aa", 0.5, "aa");
    }
}
