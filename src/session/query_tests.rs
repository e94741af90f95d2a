use super::*;
use crate::replay::Cost;
use crate::session::{CountSource, ItemUsage, Mark, TokenCount, testing};
use crate::units::{Millis, Moment};

const NOW_MS: Moment = Moment(1_772_700_000_000.0);
const HOUR_MS: Millis = Millis(3_600_000.0);

fn item(key: &str, title: &str, change: impl Fn(&mut SessionItem)) -> SessionItem {
    let mut item = SessionItem {
        key: SessionKey(format!("agent:main:{key}")),
        title: title.into(),
        id: format!("{}-id", key.len()),
        channel: key.split(':').next().map(str::to_owned),
        updated_ms: Some(NOW_MS - HOUR_MS),
        ..testing::item()
    };
    change(&mut item);
    item
}

fn tokens(tokens: u64) -> TokenCount {
    TokenCount { tokens, source: CountSource::Measured }
}

fn usage(usd: f64) -> ItemUsage {
    ItemUsage { calls: 1, tokens: 5, cost: Cost { recorded: Some(usd), ..Cost::default() } }
}

fn store() -> Vec<SessionItem> {
    vec![
        item("telegram:direct:8812", "telegram:8812", |item| {
            item.tokens = Some(tokens(190_000));
            item.usage = Some(usage(2.5));
            item.compactions = Some(1);
            item.overflows = Some(2);
            item.set_mark(Mark::Overflow, true);
        }),
        item("slack:channel:c1", "slack:#infra", |item| {
            item.tokens = Some(tokens(10_000));
            item.usage = Some(usage(0.5));
            item.compactions = Some(0);
            item.updated_ms = Some(NOW_MS - HOUR_MS * 72.0);
            item.model = "gpt-5.2".into();
        }),
        item("subagent:0d6f4b52-8a1c-4c55-9e0b-2b7f0f3ad914", "web crawl", |item| {
            item.parent = Some(SessionKey("agent:main:telegram:direct:8812".into()));
            item.agent = "research".into();
            item.channel = None;
        }),
    ]
}

fn found(filter: &str) -> Vec<usize> {
    let items = store();
    let texts: Vec<SearchText> = items.iter().map(SearchText::new).collect();
    let selection = SessionQuery::parse(filter).select(&items, &texts, NOW_MS);
    assert_eq!(selection.problem, None, "{filter}");
    selection.found.into_iter().map(|(at, _)| at).collect()
}

fn problem(filter: &str) -> String {
    let items = store();
    let texts: Vec<SearchText> = items.iter().map(SearchText::new).collect();
    SessionQuery::parse(filter).select(&items, &texts, NOW_MS).problem.expect(filter).to_string()
}

#[test]
fn each_condition_selects_the_sessions_that_meet_it() {
    for (filter, expected) in [
        ("", vec![0, 1, 2]),
        ("tele", vec![0]),
        ("tlgrm", vec![0]),
        ("infra slack", vec![1]),
        ("slack crawl", vec![]),
        ("0d6f", vec![2]),
        ("8a1c", vec![]),
        ("overflow", vec![0]),
        ("is:overflow", vec![0]),
        ("!overflow", vec![1, 2]),
        ("model:opus", vec![0, 2]),
        ("model:anthropic/claude", vec![0, 2]),
        ("model:gpt-5.2", vec![1]),
        (">80%", vec![0]),
        ("<10%", vec![1]),
        ("full:>=95", vec![0]),
        ("tokens:>10k", vec![0]),
        ("tokens:>=10,000", vec![0, 1]),
        ("cost:>1", vec![0]),
        ("cost:<$1", vec![1]),
        ("age:<2d", vec![0, 2]),
        ("age:>1d12h", vec![1]),
        ("agent:research", vec![2]),
        ("agent:main", vec![0, 1]),
        ("agent:main:slack", vec![1]),
        ("telegram:direct", vec![0]),
        ("channel:telegram", vec![0]),
        ("has:compaction", vec![0]),
        ("has:subagents", vec![0]),
        ("compactions:=0", vec![1]),
        ("cost:=2.5", vec![0]),
        ("cost:=$2.51", vec![]),
        ("cost:=0.5", vec![1]),
        ("tokens:=190k", vec![0]),
        ("tokens:=190,001", vec![]),
        ("age:=3d", vec![1]),
        ("age:=2d", vec![]),
        ("age:=1h", vec![0, 2]),
        ("overflows:>1", vec![0]),
        ("age:<2d !telegram", vec![2]),
        (">80% model:opus", vec![0]),
        ("cost:> model: !", vec![0, 1, 2]),
    ] {
        assert_eq!(found(filter), expected, "{filter}");
    }
}

#[test]
fn unknown_values_match_no_comparison() {
    assert_eq!(found("cost:>=0"), [0, 1]);
    assert_eq!(found("cost:<1000"), [0, 1]);
    assert_eq!(found("<500%"), [0, 1]);
}

#[test]
fn a_mistake_names_the_expected_form() {
    assert!(problem("colour:red").starts_with("unknown key colour; expected one of agent, channel"));
    assert_eq!(problem(">lots"), "fullness is a percentage, such as >80%");
    assert_eq!(problem("age:<soon"), "age: expects a time, such as age:<2d (s, m, h, d, w)");
    assert_eq!(problem("is:over"), "is: expects overflow");
    assert!(problem("has:fun").starts_with("has: expects compaction, "));
}

#[test]
fn the_best_match_is_the_first_of_the_best_rank() {
    let items = vec![
        item("x:direct:1", "about the web", |_| {}),
        item("y:direct:2", "web crawl", |_| {}),
        item("z:direct:3", "web search", |_| {}),
    ];
    let texts: Vec<SearchText> = items.iter().map(SearchText::new).collect();
    let selection = SessionQuery::parse("web").select(&items, &texts, NOW_MS);
    assert_eq!((selection.found.len(), selection.best()), (3, Some(1)));
    assert_eq!(selection.words[0].ranges("about the Web"), std::slice::from_ref(&(10..13)));
}
