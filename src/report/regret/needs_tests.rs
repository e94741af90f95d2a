//! Compares the search of needs with a naive one that reads the whole path for every question.

use std::sync::Arc;

use super::*;
use crate::replay::LossCause;
use crate::units::Tokens;

/// A reproducible sequence of numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn tool_use(&mut self, number: usize) -> ToolUse {
        // Some providers use an id twice.
        let id = if self.roll(8) == 0 { "again".into() } else { format!("c{number}").into() };
        let tool: Box<str> = ["read", "write", "exec"][self.roll(3) as usize].into();
        let runs_command = &*tool == "exec";
        let arguments: Box<str> = format!("f{}", self.roll(3)).into();
        let path = (!runs_command).then(|| arguments.clone());
        ToolUse { id, tool, arguments, path, runs_command, tokens: Tokens(self.roll(50) as f64) }
    }
}

/// Messages, their losses in the order of the calls, and the positions of the answers.
fn story(seed: u64) -> (Vec<Arc<PathMessage>>, Vec<ContextLoss>, Vec<usize>) {
    let mut dice = Dice(seed);
    let (mut path, mut losses, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    let mut pending: Vec<Box<str>> = Vec::new();
    for position in 0..20 + dice.roll(60) as usize {
        let role = match dice.roll(10) {
            0..4 => Role::Assistant,
            4..8 => Role::ToolResult,
            8 => Role::User,
            _ => Role::CompactionSummary,
        };
        let mut identifiers: Vec<u64> = (0..dice.roll(4)).map(|_| dice.roll(9)).collect();
        identifiers.sort_unstable();
        identifiers.dedup();
        let (mut uses, mut answered) = (Vec::new(), None);
        if role == Role::Assistant {
            answers.push(position);
            uses.extend(
                (0..dice.roll(3)).map(|at| dice.tool_use(position * 10 + at as usize)).collect::<Vec<_>>(),
            );
            pending.extend(uses.iter().map(|own: &ToolUse| own.id.clone()));
        } else if role == Role::ToolResult && !pending.is_empty() {
            answered = Some(pending.remove(dice.roll(pending.len() as u64) as usize));
        }
        let speaks = matches!(role, Role::Assistant | Role::User);
        let names = identifiers.iter().filter(|_| speaks).map(|name| format!("i{name}").into()).collect();
        let entry = EntryIx(position as u32);
        let (estimate, tool) = (dice.roll(1000) as f64, None);
        path.push(Arc::new(PathMessage {
            entry,
            position,
            role,
            tool,
            answers: answered,
            estimate,
            identifiers: identifiers.into(),
            names,
            uses: uses.into(),
        }));
        let mut from_call = 0;
        for _ in 0..dice.roll(3) {
            from_call += dice.roll(12) as usize;
            let until_call = (dice.roll(2) == 0).then(|| from_call + 1 + dice.roll(6) as usize);
            let cause = LossCause::Pruned;
            losses.push(ContextLoss {
                entry,
                cause,
                from_call,
                until_call,
                tokens_before: Tokens(9.0),
                tokens_after: Tokens::ZERO,
            });
            let Some(until) = until_call else { break };
            from_call = until;
        }
    }
    losses.sort_by_key(|loss| loss.from_call);
    (path, losses, answers)
}

/// Loss, kind and evidence of each need, by the rules in words.
fn naive(
    path: &[Arc<PathMessage>],
    losses: &[ContextLoss],
    calls: &CallLookup,
    has_summaries: bool,
) -> Vec<(usize, NeedKind, usize, String)> {
    let lost = |at: usize, call: usize| {
        losses.iter().position(|loss| loss.entry == path[at].entry && loss.covers(call))
    };
    let is_shown = |at: usize, call: usize| match path[at].role {
        Role::CompactionSummary => has_summaries,
        _ => lost(at, call).is_none(),
    };
    let result_of = |caller: usize, id: &str| {
        (caller + 1..path.len()).find(|at| path[*at].answers.as_deref() == Some(id))
    };
    let mut needs = Vec::new();
    for (at, message) in path.iter().enumerate() {
        let speaks = matches!(message.role, Role::Assistant | Role::User);
        let Some(call) = calls.call_at(message.position, message.role).filter(|_| speaks) else { continue };
        let mut own: Vec<(usize, NeedKind, usize, String)> = Vec::new();
        for again in &message.uses {
            let is_same =
                |other: &&ToolUse| (&other.tool, &other.arguments) == (&again.tool, &again.arguments);
            let earlier = (0..at)
                .rev()
                .find_map(|caller| Some((caller, path[caller].uses.iter().rev().find(is_same)?)));
            let Some((caller, earlier)) = earlier else { continue };
            let loss = result_of(caller, &earlier.id).and_then(|result| lost(result, call));
            let mut between = path[caller..at].iter().flat_map(|message| &message.uses);
            let is_written =
                between.any(|other| other.writes() && (earlier.runs_command || other.path == earlier.path));
            if let Some(loss) = loss.filter(|_| !is_written) {
                own.push((loss, NeedKind::FetchedAgain, call, again.arguments.to_string()));
            }
        }
        for (identifier, name) in message.identifiers.iter().zip(&message.names) {
            let sources: Vec<usize> =
                (0..at).filter(|at| path[*at].identifiers.contains(identifier)).collect();
            let is_there = sources.iter().any(|at| is_shown(*at, call));
            let loss = sources.iter().rev().find_map(|at| lost(*at, call)).filter(|_| !is_there);
            let Some(loss) = loss.filter(|loss| own.iter().all(|(known, ..)| known != loss)) else {
                continue;
            };
            let kind = if message.role == Role::User { NeedKind::AskedAgain } else { NeedKind::Quoted };
            own.push((loss, kind, call, name.to_string()));
        }
        needs.extend(own);
    }
    needs
}

#[test]
fn the_search_finds_the_same_needs_as_a_naive_one() {
    let mut found = 0;
    for seed in 0..400 {
        let (path, losses, answers) = story(seed);
        let calls = CallLookup::new(answers);
        let weights = Weights { tokens: &|message| Tokens(message.estimate), price: &|_| None };
        for has_summaries in [false, true] {
            let needs = find_needs(
                &path,
                &IdentifierSources::of_messages(&path),
                &Losses::new(&losses, has_summaries),
                &calls,
                &weights,
            );
            let needs: Vec<_> =
                needs.into_iter().map(|(loss, need)| (loss, need.kind, need.call, need.evidence)).collect();
            assert_eq!(needs, naive(&path, &losses, &calls, has_summaries), "seed {seed}");
            found += needs.len();
        }
    }
    assert!(found > 1_000, "{found} needs");
}
