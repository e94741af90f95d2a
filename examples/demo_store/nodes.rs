//! The tree behind a transcript being written: the context at its leaf, and the size of that context.

/// Role of an entry in the context (store K5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    User,
    Assistant,
    /// Assistant message with an error and no content.
    Refused,
    Result,
    BranchSummary,
    Compaction {
        first_kept: usize,
    },
    Meta,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NodeSizes {
    /// Tokens: chars / 4, rounded up (compaction 1.1).
    pub(super) estimated_tokens: u64,
    pub(super) provider_tokens: u64,
    /// Chars as the pruner counts them (pruning 5.4).
    pub(super) pruner_chars: u64,
}

impl NodeSizes {
    pub(super) fn of(chars: u64, real: u64, pruner_chars: u64) -> Self {
        Self { estimated_tokens: chars.div_ceil(4), provider_tokens: real + 4, pruner_chars }
    }
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) id: String,
    pub(super) parent: Option<usize>,
    pub(super) kind: Kind,
    pub(super) sizes: NodeSizes,
    /// `usage.totalTokens` of a successful assistant message.
    pub(super) usage_total: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub(super) all: Vec<Node>,
    pub(super) leaf: Option<usize>,
}

impl Nodes {
    /// Appends an entry, which becomes the leaf, and returns its index.
    pub(super) fn push(&mut self, node: Node) -> usize {
        self.all.push(node);
        let at = self.all.len() - 1;
        self.leaf = Some(at);
        at
    }

    /// Returns the indices from root to leaf.
    pub(super) fn path(&self) -> Vec<usize> {
        let mut path = Vec::new();
        let mut at = self.leaf;
        while let Some(index) = at {
            path.push(index);
            at = self.all[index].parent;
        }
        path.reverse();
        path
    }

    /// Returns the entries of the path that the model would be sent, in order (store K5).
    pub(super) fn context(&self) -> Vec<usize> {
        let path = self.path();
        let last = path.iter().rposition(|&at| matches!(self.all[at].kind, Kind::Compaction { .. }));
        let Some(boundary) = last else { return path };
        let Kind::Compaction { first_kept } = self.all[path[boundary]].kind else { return path };
        let mut context = vec![path[boundary]];
        context.extend(path[..boundary].iter().filter(|&&at| at >= first_kept && !self.is_summary(at)));
        context.extend(&path[boundary + 1..]);
        context
    }

    fn is_summary(&self, at: usize) -> bool {
        matches!(self.all[at].kind, Kind::Compaction { .. })
    }

    pub(super) fn provider_tokens_of(&self, list: &[usize]) -> u64 {
        list.iter().map(|&at| self.all[at].sizes.provider_tokens).sum()
    }

    pub(super) fn pruner_chars_of(&self, list: &[usize]) -> u64 {
        list.iter().map(|&at| self.all[at].sizes.pruner_chars).sum()
    }

    /// Returns the provider tokens of the common prefix of two prompts, those at `called` and at `leaf`; 0 when a
    /// compaction lies between them.
    pub(super) fn shared_provider_tokens(&self, called: usize, leaf: usize) -> u64 {
        let (mut a, mut b) = (called, leaf);
        while a != b {
            let (later, other) = if a > b { (&mut a, b) } else { (&mut b, a) };
            if self.is_summary(*later) {
                return 0;
            }
            match self.all[*later].parent {
                Some(parent) => *later = parent,
                None => *later = other,
            }
        }
        let context = self.context();
        self.provider_tokens_of(
            &context.into_iter().take_while(|&at| at <= a || self.is_summary(at)).collect::<Vec<_>>(),
        )
    }

    /// Returns the usage of the newest reply plus the estimate of later messages, since the last compaction
    /// (compaction 3.9).
    pub(super) fn anchored_estimate(&self, path: &[usize]) -> u64 {
        let start = path.iter().rposition(|&at| self.is_summary(at)).unwrap_or(0);
        let mut tokens = 0;
        for &at in path[start..].iter().rev() {
            if let Some(total) = self.all[at].usage_total {
                return tokens + total;
            }
            tokens += self.all[at].sizes.estimated_tokens;
        }
        tokens
    }

    /// Returns the position in `path` of the first kept entry for a budget of `keep` estimated tokens (compaction
    /// 3.4-3.7).
    pub(super) fn first_kept_position(&self, path: &[usize], keep: u64) -> usize {
        let start = path.iter().rposition(|&at| self.is_summary(at)).map_or(0, |at| at + 1);
        let valid = |at: usize| !matches!(self.all[path[at]].kind, Kind::Result | Kind::Meta);
        let mut tokens = 0;
        let reached = (start..path.len()).rev().find(|&at| {
            let is_message = !matches!(self.all[path[at]].kind, Kind::Meta | Kind::BranchSummary);
            tokens += if is_message { self.all[path[at]].sizes.estimated_tokens } else { 0 };
            tokens >= keep
        });
        let first = || (start..path.len()).find(|&at| valid(at)).unwrap_or(start);
        let mut cut = reached.and_then(|at| (at..path.len()).find(|&at| valid(at))).unwrap_or_else(first);
        while cut > start && matches!(self.all[path[cut - 1]].kind, Kind::Meta | Kind::BranchSummary) {
            cut -= 1;
        }
        cut
    }
}
