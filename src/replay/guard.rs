//! The guard without a list of messages: near a full window it acts on every call, and all it does there is to let the
//! oldest results give way one after another (pruning 6.35).

use crate::policy::edit::Edit;
use crate::policy::guard::COMPACTED;
use crate::replay::lane::Lane;
use crate::replay::outcome::Trimmed;
use crate::replay::send::Worked;
use crate::replay::sums::Held;

/// What a result comes to once it gave way.
#[derive(Debug, Clone, Copy)]
pub(super) struct GaveWay {
    /// Chars as the guard counts them.
    chars: f64,
    /// Tokens before and after.
    tokens: [f64; 2],
}

impl Lane<'_> {
    /// Whether the guard can be told without a list: all messages are those of the path and can be counted, none is over
    /// the limit of one result, and the sums have each as it stands.
    pub(super) fn guard_is_plain(&self, held: &Held) -> bool {
        let of_path = self.loaded.is_none() && held.odd == 0 && held.large == 0;
        let unsure = self.seen.min(self.run_from)..self.run_from;
        let first = self.results.partition_point(|at| *at < unsure.start);
        of_path && self.results.get(first).is_none_or(|at| *at >= unsure.end)
    }

    /// Lets the oldest results give way until the rest is within the budget.
    pub(super) fn guard_alone(&mut self, held: &Held) -> Worked {
        let needed = held.guard - self.measure.budget();
        let front = usize::from(self.run_start.front.is_some());
        let (mut gained, mut done, mut edits) = (0.0, Trimmed::default(), Vec::new());
        let mut first = None;
        let from = self.results.partition_point(|at| *at < self.run_start.from);
        for next in from..self.results.len() {
            let at = self.results[next];
            let chars = self.arena.texture(at).and_then(|texture| texture.guard.chars.get().ok());
            let Some(chars) = chars.filter(|_| at < self.upto) else { break };
            if chars <= COMPACTED.len() as f64 {
                continue;
            }
            let gave = self.gives_way(at);
            let less = gave.tokens[0] - gave.tokens[1];
            edits.push((front + at - self.run_start.from, gave.tokens[1], less));
            first = first.or(Some(self.arena.context.messages[at].entry));
            done.cleared += 1;
            done.tokens += less;
            gained += (chars - gave.chars).max(0.0);
            if gained >= needed && gave.chars < chars {
                break;
            }
        }
        Worked { guarded: done, edits, first, ..Worked::default() }
    }

    /// What a result comes to, told once while it stays as it is.
    fn gives_way(&mut self, at: usize) -> GaveWay {
        let is_stripped = at < self.stripped;
        if let Some((known, gave)) = self.gave_way.get(&at)
            && *known == is_stripped
        {
            return *gave;
        }
        let size = *self.arena.size(at);
        let before = self.arena.weigh(at, &size);
        let gave =
            self.arena.texture(at).map_or(GaveWay { chars: f64::NAN, tokens: [before; 2] }, |texture| {
                let (after, texture) = Edit::GuardCompact.foretell(&size, texture);
                let chars = texture.guard.chars.get().unwrap_or(f64::NAN);
                GaveWay { chars, tokens: [before, self.arena.weigh(at, &after)] }
            });
        self.gave_way.insert(at, (is_stripped, gave));
        gave
    }
}
