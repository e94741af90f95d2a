//! Properties that hold for any transcript: predicted sizes are applied sizes, and reading a file as it
//! grows ends where reading it at once does.

use clawscope::context::breakdown::{Breakdown, PromptPiece};
use clawscope::context::budget::{Budget, BudgetPart, FixedChars, part_for};
use clawscope::context::llm::to_llm;
use clawscope::context::tokens::chars4::estimate_or_zero;
use clawscope::context::{bodies, build_context};
use clawscope::gateway::compaction::CompactionSettings;
use clawscope::gateway::pruning::{HardClear, PruneSettings, SoftTrim};
use clawscope::gateway::ruleset::{ImageResults, KeptTurns, Ruleset};
use clawscope::ids::LineIds;
use clawscope::js::{self, JsException, JsString, Object, Value};
use clawscope::plan::{Plan, PlanError, PlanInput, message_after};
use clawscope::policy::clear_tool_uses::{
    ClearSettings, ClearedBy, Message, ModelScale, TokenCounting, parse_message,
};
use clawscope::policy::edit::apply_all;
use clawscope::policy::features::ContentFeatures;
use clawscope::policy::message_list::MessageOrigin;
use clawscope::policy::preflight::FixedPressure;
use clawscope::policy::prune::Gate;
use clawscope::policy::settings::{GuardSettings, ReduceSettings, TruncateSettings};
use clawscope::policy::truncate::result_budget;
use clawscope::policy::{Policy, PolicySet, PolicySettings};
use clawscope::session::ContextDetails;
use clawscope::store::entry::MessageSize;
use clawscope::store::index::Index;
use clawscope::store::load::{FileChange, load, load_bytes, refresh};
use clawscope::store::prompt_report::SystemPromptReport;
use clawscope::store::scan::measure_message;
use clawscope::store::source::Source;
use clawscope::transcript::{Leaf, Tree};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::generate;
use crate::support::oracles::{clear_messages, guard_messages, guarded_result, reduced, without_seen_media};
use clawscope::units::{Chars, Millis, Moment, Tokens};

/// Texts with halves of pairs, line feeds and emoji, up to a few thousand chars.
fn text() -> impl Strategy<Value = JsString> {
    let unit = prop_oneof![
        6 => 0x20_u16..0x7F,
        1 => Just(0x0A_u16),
        1 => prop_oneof![Just(0xD83D_u16), Just(0xDE00_u16), Just(0x4F60_u16), Just(0x1B_u16)],
    ];
    prop_oneof![
        4 => vec(unit.clone(), 0..40).prop_map(JsString::from),
        1 => (vec(unit, 1..20), 1_usize..300).prop_map(|(piece, times)| JsString::from(piece.repeat(times))),
    ]
}

fn object(members: Vec<(&str, Value)>) -> Value {
    Value::Object(members.into_iter().map(|(key, value)| (JsString::from(key), value)).collect::<Object>())
}

fn text_block(text: JsString) -> Value {
    object(vec![("type", "text".into()), ("text", Value::String(text))])
}

/// Blocks of a tool result; rarely an image, rarely a text that is not a string.
fn result_block() -> impl Strategy<Value = Value> {
    prop_oneof![
        12 => text().prop_map(text_block),
        1 => Just(object(vec![("type", "image".into()), ("data", "AAAA".into())])),
        1 => Just(object(vec![("type", "text".into()), ("text", Value::Array(vec!["ab".into(), Value::Null, 5.0.into()]))])),
        1 => Just(object(vec![("type", "note".into())])),
    ]
}

/// Ids that collide: calls and results have few of them.
fn id() -> impl Strategy<Value = &'static str> {
    prop_oneof![8 => Just("c1"), 8 => Just("c2"), 8 => Just("c3"), 1 => Just(""), 1 => Just(" ")]
}

fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just("exec"), 6 => Just("read"), 2 => Just("Browser "), 1 => Just(""), 1 => Just("sessions_spawn")]
}

/// Arguments of which some are equal in Python, and some are refused by every provider.
fn arguments() -> impl Strategy<Value = Option<Value>> {
    let json = prop_oneof![
        4 => Just(r#"{"command":"ls","n":1}"#),
        2 => Just(r#"{"n":true,"command":"ls"}"#),
        2 => Just("{}"),
        1 => Just(r#"{"attachments":[{"content":"secret","name":"a"}]}"#),
        1 => Just("null"),
        1 => Just("\"ls\""),
    ];
    prop_oneof![12 => json.prop_map(|json| Some(js::parse(json).expect("JSON"))), 1 => Just(None)]
}

/// Blocks of an answer: texts, thoughts and calls.
fn answer_block() -> impl Strategy<Value = Value> {
    let call = (id(), name(), arguments()).prop_map(|(id, name, arguments)| {
        let mut members = vec![("type", "toolCall".into()), ("id", id.into()), ("name", name.into())];
        members.extend(arguments.map(|arguments| ("arguments", arguments)));
        object(members)
    });
    let thought =
        text().prop_map(|text| object(vec![("type", "thinking".into()), ("thinking", Value::String(text))]));
    prop_oneof![3 => text().prop_map(text_block), 1 => thought, 6 => call]
}

fn answer() -> impl Strategy<Value = Value> {
    let stop = prop_oneof![6 => Just("toolUse"), 1 => Just("error")];
    (vec(answer_block(), 0..4), stop).prop_map(|(blocks, stop)| {
        let members = vec![
            ("role", "assistant".into()),
            ("content", Value::Array(blocks)),
            ("stopReason", stop.into()),
        ];
        object(members)
    })
}

/// The content of a result: mostly blocks, sometimes a string, rarely nothing.
fn result_content() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        16 => vec(result_block(), 0..4).prop_map(|blocks| Some(Value::Array(blocks))),
        4 => text().prop_map(|text| Some(Value::String(text))),
        1 => Just(None),
    ]
}

fn details() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        2 => Just(None),
        1 => Just(Some("kept".into())),
        2 => text().prop_map(|text| Some(object(vec![("diff", Value::String(text))]))),
    ]
}

fn result() -> impl Strategy<Value = Value> {
    let role = prop_oneof![20 => Just("toolResult"), 1 => Just("tool")];
    (role, id(), name(), result_content(), details()).prop_map(|(role, id, name, content, details)| {
        let mut members = vec![("role", role.into()), ("toolCallId", id.into()), ("toolName", name.into())];
        members.extend(content.map(|content| ("content", content)));
        members.extend(details.map(|details| ("details", details)));
        object(members)
    })
}

fn user() -> impl Strategy<Value = Value> {
    let image = Just(object(vec![("type", "image".into()), ("data", "AAAA".into())]));
    let block = prop_oneof![3 => text().prop_map(text_block), 1 => image];
    let content = prop_oneof![
        2 => text().prop_map(Value::String),
        1 => Just(Value::from("see media://inbound/a.png and [media attached 1/2: b.png]")),
        1 => vec(block, 0..3).prop_map(Value::Array),
    ];
    content.prop_map(|content| object(vec![("role", "user".into()), ("content", content)]))
}

fn message() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => user(),
        4 => answer(),
        6 => result(),
        1 => text().prop_map(|text| {
            object(vec![("role", "bashExecution".into()), ("command", Value::String(text)), ("output", "".into())])
        }),
    ]
}

/// A linear transcript of these messages.
fn transcript(messages: &[Value]) -> String {
    let mut lines = vec![r#"{"type":"session","version":3,"id":"s"}"#.to_owned()];
    for (at, message) in messages.iter().enumerate() {
        let parent = at.checked_sub(1).map_or(Value::Null, |at| Value::from(format!("e{at}")));
        lines.push(js::stringify(&object(vec![
            ("type", "message".into()),
            ("id", Value::from(format!("e{at}"))),
            ("parentId", parent),
            ("timestamp", "2026-03-05T14:06:41.000Z".into()),
            ("message", message.clone()),
        ])));
    }
    lines.join("\n") + "\n"
}

fn settings() -> impl Strategy<Value = PruneSettings> {
    let tools = prop_oneof![
        2 => Just("{}"),
        1 => Just(r#"{"deny":["browser"]}"#),
        1 => Just(r#"{"allow":["e*","read"]}"#),
    ];
    (0_u32..5, 0.0..1.0, 0.0..1.0, 0_u32..3000, 0_u32..60, 0_u32..30, 0_u32..30, any::<bool>(), tools)
        .prop_map(|(keep, soft, hard, least, max, head, tail, enabled, tools)| PruneSettings {
            ttl_ms: Millis(1.0),
            keep_last_assistants: f64::from(keep),
            soft_trim_ratio: soft,
            hard_clear_ratio: hard,
            min_prunable_tool_chars: Chars(f64::from(least)),
            tools: js::parse(tools).expect("JSON"),
            soft_trim: SoftTrim {
                max_chars: Chars(f64::from(max)),
                head_chars: Chars(f64::from(head)),
                tail_chars: Chars(f64::from(tail)),
                images: ImageResults::Skipped,
            },
            hard_clear: HardClear { enabled, placeholder: "[cleared]".into() },
        })
}

/// A report with sizes that agree, or claim more than there is.
fn report() -> impl Strategy<Value = SystemPromptReport> {
    let size = || 0_u32..40_000;
    (size(), size(), size(), size(), size(), vec(size(), 0..5), vec(size(), 0..5), vec(size(), 0..5)).prop_map(
        |(chars, project, skills, list, schemas, files, blocks, tools)| {
            let entries = |key: &str, sizes: &[u32]| {
                let entries: Vec<String> =
                    sizes.iter().map(|size| format!(r#"{{"name":"exec","{key}":{size}}}"#)).collect();
                entries.join(",")
            };
            let raw = format!(
                r#"{{"systemPrompt":{{"chars":{chars},"projectContextChars":{project}}},"injectedWorkspaceFiles":[{}],
                "skills":{{"promptChars":{skills},"entries":[{}]}},"tools":{{"listChars":{list},"schemaChars":{schemas},"entries":[{}]}}}}"#,
                entries("injectedChars", &files),
                entries("blockChars", &blocks),
                entries("schemaChars", &tools),
            );
            SystemPromptReport::from_value(&js::parse(&raw).expect("JSON")).expect("an object")
        },
    )
}

fn tokens_of<'a>(pieces: impl IntoIterator<Item = &'a PromptPiece>) -> u64 {
    pieces.into_iter().map(|piece| piece.tokens).sum()
}

/// Any set of policies.
fn step_sets() -> impl Strategy<Value = PolicySet> {
    vec(proptest::sample::select(&Policy::ALL[..]), 0..6).prop_map(|steps| PolicySet::of(&steps))
}

/// Parameters of the policies that the gateway has built in, or that a client has.
fn closer_settings() -> impl Strategy<Value = (TruncateSettings, GuardSettings, ClearSettings)> {
    let truncate = (0.0..1.0, 0_u32..4000, 0_u32..60);
    let clear =
        (0_u32..400, 0_u32..4, 0_u32..100, any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (truncate, 0.0..1.0, 0.0..1.0, clear).prop_map(|(truncate, budget_share, single_share, clear)| {
        let (trigger, keep, least, inputs, model, excluded, server) = clear;
        let counting = if model { TokenCounting::Model } else { TokenCounting::Approximate };
        (
            TruncateSettings {
                window_share: truncate.0,
                max_chars: Chars(f64::from(truncate.1)),
                min_keep_chars: Chars(f64::from(truncate.2)),
            },
            GuardSettings { budget_share, single_share },
            ClearSettings {
                trigger: f64::from(trigger),
                clear_at_least: f64::from(least),
                keep: f64::from(keep),
                clear_tool_inputs: inputs,
                exclude_tools: if excluded { vec!["read".into()] } else { Vec::new() },
                placeholder: "[gone 😀]".into(),
                counting,
                model_scale: ModelScale { fixed_tokens: 20, factor: if excluded { 1.3 } else { 1.0 } },
                cleared_by: if server { ClearedBy::Server { prompt_tokens: 30 } } else { ClearedBy::Client },
            },
        )
    })
}

/// Any version.
fn rulesets() -> impl Strategy<Value = Ruleset> {
    proptest::sample::select(&Ruleset::ALL[..])
}

/// A message without the parts that a policy removes or corrects although it keeps it: details and the name of the tool.
fn kept(message: &Value) -> Value {
    let mut copy = message.as_object().cloned().unwrap_or_default();
    copy.remove("details");
    copy.remove("toolName");
    Value::Object(copy)
}

/// Returns the sizes that rules use; NaN equals itself.
fn bits(size: &MessageSize) -> [Option<u64>; 6] {
    let bits = |chars: Chars| Some(chars.get().to_bits());
    [
        size.pi_chars.value().ok().and_then(bits),
        size.prune_chars.value().ok().and_then(bits),
        bits(size.joined_chars),
        Some(size.text_blocks.into()),
        Some(size.images.into()),
        bits(size.text_chars.get()),
    ]
}

/// Returns messages in the form on which clearing works.
fn sent(messages: &[Value]) -> Result<Vec<Message>, JsException> {
    let sent: Result<Vec<Option<Value>>, JsException> = messages.iter().map(to_llm).collect();
    sent?.iter().flatten().map(parse_message).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn predicted_sizes_equal_the_sizes_of_edited_texts(
        messages in vec(message(), 1..30),
        prune in settings(),
        details in closer_settings(),
        steps in step_sets(),
        history_limit in 0..4_u8,
        keep in 1_u32..3000,
        window in 1_u32..4000,
        ruleset in rulesets(),
    ) {
        let text = transcript(&messages);
        let source = Source::from_memory("t.jsonl", text.as_bytes());
        let index = load(&source, &mut LineIds, &mut |_, _| true).expect("reads");
        let context = build_context(&index, &Tree::new(&index), &Leaf::Own).expect("builds");
        let rules = ruleset.rules();
        let prune = PruneSettings { soft_trim: SoftTrim { images: rules.image_results, ..prune.soft_trim }, ..prune };
        let read = ContextDetails::read(&source, &index, &context, rules).expect("bodies");
        let settings = PolicySettings {
            ruleset,
            enabled: steps,
            truncate: details.0,
            reduce: ReduceSettings { all_chars: Chars(f64::from(keep)), keeps_sent: history_limit == 1 },
            guard: details.1,
            clear: details.2,
            history_limit: f64::from(history_limit),
            compaction: CompactionSettings { keep_recent_tokens: Tokens(f64::from(keep)), ..CompactionSettings::default() },
            ..PolicySettings::pruning_only(prune)
        };
        let plan = Plan::new(&PlanInput {
            index: &index,
            context: &context,
            branch: Some(read.compaction_input()),
            features: Some(&read.features),
            remembered: None,
            settings: &settings,
            window: Tokens(f64::from(window)),
            guard_window: Tokens(f64::from(window)),
            gate: Gate::Open { idle_ms: Millis(1.0) },
            drops_thinking: false,
            is_responses_api: false,
            fixed_pressure: FixedPressure::default(),
        });
        // Texts that are not strings may make the real programs throw; then nothing is done.
        let Ok(plan) = plan else { return Ok(()) };
        let bodies = bodies::read_messages(&source, &index, &context).expect("bodies");
        for item in &plan.messages {
            let Some(change) = &item.change else { continue };
            let body = match &item.origin {
                MessageOrigin::Context(position) => bodies[*position as usize].clone(),
                MessageOrigin::Missing(missing) => missing.message(Moment::ZERO),
                MessageOrigin::Checkpoint | MessageOrigin::Summary => continue,
            };
            let applied = apply_all(plan.message_edits(item), &body);
            let size = change.size(&measure_message(&body).size);
            prop_assert_eq!(bits(&measure_message(&applied).size), bits(&size), "{:?}", plan.message_edits(item));
            if let Some(features) = change.features() {
                let read = ContentFeatures::of_under(rules, &applied);
                prop_assert_eq!(features, &read);
            }
        }
        for (position, (body, fate)) in bodies.iter().zip(plan.fates()).enumerate() {
            let applied = message_after(body, position, &plan);
            if !fate.fate.is_change() {
                prop_assert_eq!(kept(&applied), kept(body));
            }
        }
        let tokens: u64 = plan.effects.last().map_or(plan.total_before(), |effect| effect.tokens_after);
        prop_assert_eq!(plan.total_after(), tokens);
    }

    #[test]
    fn the_contents_of_the_window_add_up_to_the_bar(seed: u64, steps in 1_usize..20, report in report(), cut in 1_u64..4, leaf: prop::sample::Index) {
        let options = generate::Options { steps, ..generate::Options::default() };
        let index = load_bytes("t.jsonl", &generate::transcript(seed, &options), &mut LineIds);
        let tree = Tree::new(&index);
        let named = index.display_id(clawscope::ids::EntryIx(leaf.index(index.entries.len()) as u32));
        for leaf in [Leaf::Own, Leaf::Id(named)] {
            let Ok(context) = build_context(&index, &tree, &leaf) else { continue };
            // Under a plan a message counts less than its own size.
            let tokens = |at: usize| estimate_or_zero(&context.messages[at].size) / cut;
            let budget = Budget::new(Some(FixedChars::new(&report)), &context, tokens);
            let whole = Breakdown::new(Some(&report), &index, &context, tokens);
            prop_assert_eq!(whole.budget, budget);
            let prompt = whole.prompt.as_ref().expect("a report");
            prop_assert_eq!(tokens_of([&prompt.instructions, &prompt.skills, &prompt.tool_list]), budget.tokens(BudgetPart::System));
            prop_assert_eq!(tokens_of(prompt.skill_pieces.iter().chain([&prompt.skills_overhead])), prompt.skills.tokens);
            prop_assert_eq!(tokens_of(prompt.file_pieces.iter().chain([&prompt.files_overhead])), budget.tokens(BudgetPart::Files));
            prop_assert_eq!(tokens_of(prompt.schema_pieces.iter().chain([&prompt.other_schemas])), budget.tokens(BudgetPart::Tools));
            let roles = |part: BudgetPart| -> u64 {
                whole.roles.iter().filter(|(role, _)| part_for(*role) == part).map(|(_, amount)| amount.tokens).sum()
            };
            prop_assert_eq!(roles(BudgetPart::User), budget.tokens(BudgetPart::User));
            prop_assert_eq!(roles(BudgetPart::Summary), budget.tokens(BudgetPart::Summary));
            prop_assert_eq!(roles(BudgetPart::Results), budget.tokens(BudgetPart::Results));
            prop_assert_eq!(roles(BudgetPart::Assistant), budget.tokens(BudgetPart::Assistant) + budget.tokens(BudgetPart::Thinking));
            prop_assert_eq!(whole.thinking.tokens, budget.tokens(BudgetPart::Thinking));
            let calls: u64 = whole.tools.iter().map(|tool| tool.calls.tokens).sum();
            prop_assert_eq!(whole.answer_text.tokens + calls, budget.tokens(BudgetPart::Assistant));
            prop_assert_eq!(whole.tools.iter().map(|tool| tool.results.tokens).sum::<u64>(), budget.tokens(BudgetPart::Results));
            prop_assert!(whole.images.tokens <= budget.tokens(BudgetPart::Results) + budget.tokens(BudgetPart::User));
            prop_assert!(whole.heaviest.is_sorted_by_key(|at| std::cmp::Reverse(tokens(*at))));
        }
    }

    #[test]
    fn predictions_of_guard_and_clearing_match_their_results(
        messages in vec(message(), 1..30),
        details in closer_settings(),
        window in 1_u32..4000,
    ) {
        let text = transcript(&messages);
        let source = Source::from_memory("t.jsonl", text.as_bytes());
        let index = load(&source, &mut LineIds, &mut |_, _| true).expect("reads");
        let context = build_context(&index, &Tree::new(&index), &Leaf::Own).expect("builds");
        let rules = Ruleset::default().rules();
        let read = ContextDetails::read(&source, &index, &context, rules).expect("bodies");
        let bodies = bodies::read_messages(&source, &index, &context).expect("bodies");
        let (truncate, guard, clear) = details;
        let clear = ClearSettings { counting: TokenCounting::Approximate, cleared_by: ClearedBy::Client, ..clear };
        let made = |step: Policy| {
            let steps = PolicySet::of(&[step]);
            let settings = PolicySettings { enabled: steps, truncate, guard, clear: clear.clone(), ..PolicySettings::default() };
            let plan = Plan::new(&PlanInput {
                index: &index,
                context: &context,
                branch: None,
                features: Some(&read.features),
                remembered: None,
                settings: &settings,
                window: Tokens(f64::from(window)),
                guard_window: Tokens(f64::from(window)),
                gate: Gate::Off,
                drops_thinking: false,
                is_responses_api: false,
                fixed_pressure: FixedPressure::default(),
            })?;
            let made = bodies.iter().enumerate().map(|(at, body)| message_after(body, at, &plan));
            Ok::<_, PlanError>((made.collect::<Vec<Value>>(), plan.cleared))
        };
        let guarded = made(Policy::Guard).map(|(made, _)| made).map_err(|_| JsException);
        prop_assert_eq!(guarded, guard_messages(&bodies, Tokens(f64::from(window)), &guard));
        let cleared = sent(&bodies).and_then(|messages| clear_messages(messages, &clear));
        match (made(Policy::Clear), cleared) {
            (Ok((made, numbers)), Ok(clearing)) => {
                let numbers = numbers.expect("numbers of clearing");
                prop_assert_eq!((numbers.tokens_before, numbers.tokens_after), (clearing.tokens_before as u64, clearing.tokens_after as u64));
                prop_assert_eq!(sent(&made).expect("still sent"), clearing.messages);
            }
            (Err(error), cleared) => {
                prop_assert_eq!(error, PlanError::Throws(Policy::Clear));
                prop_assert!(cleared.is_err());
            }
            (Ok(_), Err(JsException)) => return Err(TestCaseError::fail("the messages throw, their sketches do not")),
        }
    }

    #[test]
    fn the_newest_policies_match_the_rules_applied_to_texts(messages in vec(message(), 1..30), window in 1_u32..6000) {
        let text = transcript(&messages);
        let source = Source::from_memory("t.jsonl", text.as_bytes());
        let index = load(&source, &mut LineIds, &mut |_, _| true).expect("reads");
        let context = build_context(&index, &Tree::new(&index), &Leaf::Own).expect("builds");
        let (rules, window) = (Ruleset::V2026_9_6.rules(), f64::from(window));
        let read = ContextDetails::read(&source, &index, &context, rules).expect("bodies");
        let bodies = bodies::read_messages(&source, &index, &context).expect("bodies");
        let made = |step: Policy| -> Vec<Value> {
            let steps = PolicySet::of(&[step]);
            let settings = PolicySettings { enabled: steps, ..PolicySettings::built_in(Ruleset::V2026_9_6, Tokens(window)) };
            let plan = Plan::new(&PlanInput {
                index: &index,
                context: &context,
                branch: None,
                features: Some(&read.features),
                remembered: None,
                settings: &settings,
                window: Tokens(window),
                guard_window: Tokens(window),
                gate: Gate::Off,
                drops_thinking: false,
                is_responses_api: false,
                fixed_pressure: FixedPressure::default(),
            });
            let plan = plan.expect("these steps never throw by these rules");
            bodies.iter().enumerate().map(|(at, body)| message_after(body, at, &plan)).collect()
        };
        let or_old = |new: Option<Value>, old: &Value| new.unwrap_or_else(|| old.clone());
        let budget = result_budget(rules, Tokens(window), None, true).expect("results have a budget by these rules");
        prop_assert_eq!(made(Policy::Truncate), reduced(&bodies, &budget));
        let guarded: Vec<Value> = bodies.iter().map(|old| or_old(guarded_result(old, Tokens(window)), old)).collect();
        prop_assert_eq!(made(Policy::Guard), guarded);
        let mut unseen = bodies.clone();
        for (at, new) in without_seen_media(&bodies, KeptTurns { count: 3, open: false }) {
            unseen[at] = new;
        }
        prop_assert_eq!(made(Policy::Images), unseen);
    }

    #[test]
    fn following_in_any_steps_equals_one_read(messages in vec(message(), 1..12), cuts in vec(0.0..1.0_f64, 0..6), broken in any::<bool>()) {
        let mut text = transcript(&messages);
        if broken {
            text.push_str("{\"type\":\"message\",\"id\":\"half");
        }
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| (cut * bytes.len() as f64) as usize).collect();
        cuts.sort_unstable();
        let mut index: Option<Index> = None;
        for end in cuts.into_iter().chain([bytes.len()]) {
            let source = Source::from_memory("t.jsonl", &bytes[..end]);
            index = Some(match index {
                None => load(&source, &mut LineIds, &mut |_, _| true).expect("reads"),
                Some(known) => match refresh(&known, &source, &mut LineIds, &mut |_, _| true).expect("grows") {
                    FileChange::Unchanged => known,
                    FileChange::Grown(grown) => *grown,
                    FileChange::Replaced(_) => return Err(TestCaseError::fail("growth was taken for a new file")),
                },
            });
        }
        let tailed = index.expect("read at least once");
        let whole = load_bytes("t.jsonl", bytes, &mut LineIds);
        prop_assert_eq!(tailed.entries.len(), whole.entries.len());
        for ((at, a), (_, b)) in tailed.iter().zip(whole.iter()) {
            prop_assert_eq!(tailed.display_id(at), whole.display_id(at));
            prop_assert_eq!((a.offset, a.bytes(), a.line, a.kind), (b.offset, b.bytes(), b.line, b.kind));
            prop_assert_eq!(a.message.map(|m| m.prune_chars.whole_chars()), b.message.map(|m| m.prune_chars.whole_chars()));
        }
        prop_assert_eq!((tailed.end, tailed.pending_bytes, tailed.bad_lines), (whole.end, whole.pending_bytes, whole.bad_lines));
    }

    #[test]
    fn no_bytes_make_reading_panic(bytes in vec(any::<u8>(), 0..400)) {
        let index = load_bytes("t.jsonl", &bytes, &mut LineIds);
        let tree = Tree::new(&index);
        let _ = build_context(&index, &tree, &Leaf::Own);
    }
}
