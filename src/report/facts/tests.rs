//! Facts of every family, in several languages, and texts that have none.

use proptest::prelude::*;

use super::*;

/// Kind, text and key of each fact.
fn found(text: &str) -> Vec<(FactKind, String, String)> {
    facts(text).into_iter().map(|fact| (fact.kind, fact.text.to_owned(), fact.key.into_owned())).collect()
}

#[track_caller]
fn assert_one(text: &str, kind: FactKind, expected: &str, key: &str) {
    let all = found(text);
    let own: Vec<_> = all.iter().filter(|(of, ..)| *of != FactKind::Error).collect();
    assert_eq!(own, [&(kind, expected.to_owned(), key.to_owned())], "{text}");
}

#[test]
fn paths_of_every_system_and_language_are_found_completely() {
    for (text, path, key) in [
        ("see src/main.rs, please", "src/main.rs", "src/main.rs"),
        ("src/main.rs:48:12: unused", "src/main.rs:48:12", "src/main.rs"),
        ("open ./notes/plan.txt.", "./notes/plan.txt", "notes/plan.txt"),
        ("in /etc/nginx/nginx.conf;", "/etc/nginx/nginx.conf", "etc/nginx/nginx.conf"),
        ("edit ~/.config/pi/settings.json", "~/.config/pi/settings.json", "~/.config/pi/settings.json"),
        (r"C:\Users\jo\plan.txt is open", r"C:\Users\jo\plan.txt", "C:/Users/jo/plan.txt"),
        (r#"{"file":"C:\\temp\\a.log"}"#, r"C:\\temp\\a.log", "C:/temp/a.log"),
        (
            r"run C:\Program Files\Git\bin\git.exe now",
            r"C:\Program Files\Git\bin\git.exe",
            "C:/Program Files/Git/bin/git.exe",
        ),
        (r"on \\server\share\docs", r"\\server\share\docs", "server/share/docs"),
        (
            "cat \"/home/me/My Documents/plan.txt\" here",
            "/home/me/My Documents/plan.txt",
            "home/me/My Documents/plan.txt",
        ),
        ("请读取docs/设计/计划.md文件", "docs/设计/计划.md", "docs/设计/计划.md"),
        ("请打开/home/用户/计划.md吧", "/home/用户/计划.md", "home/用户/计划.md"),
        ("設定はconfig/app.yamlにあります", "config/app.yaml", "config/app.yaml"),
        ("파일은 src/서버/main.go입니다", "src/서버/main.go", "src/서버/main.go"),
        ("liegt in Übersicht/größe.csv", "Übersicht/größe.csv", "Übersicht/größe.csv"),
        ("файл документы/план.txt готов", "документы/план.txt", "документы/план.txt"),
        ("the README.md says", "README.md", "README.md"),
        ("at https://example.com/a/b?x=1 there", "https://example.com/a/b", "https://example.com/a/b"),
    ] {
        assert_one(text, FactKind::Path, path, key);
    }
    for text in
        ["and/or either/or", "he said: yes", "input/output", "1/2 of it", "e.g. this", "session.index is"]
    {
        assert_eq!(found(text), [], "{text}");
    }
}

#[test]
fn ids_are_digests_tickets_versions_and_addresses() {
    for (text, id) in [
        ("commit 4fa91c2d broke it", "4fa91c2d"),
        ("run 550e8400-e29b-41d4-a716-446655440000.", "550e8400-e29b-41d4-a716-446655440000"),
        (
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        ),
        ("ticket OPS-4711 is open", "OPS-4711"),
        ("host 192.168.17.4:8443 answers", "192.168.17.4:8443"),
        ("at fe80::1ff:fe23:4567:890a now", "fe80::1ff:fe23:4567:890a"),
        ("openclaw 2026.9.6-beta.1 has it", "2026.9.6-beta.1"),
        ("since v1.5.2,", "v1.5.2"),
        ("write to jo.doe@example.org", "jo.doe@example.org"),
        ("版本v2.10.3已发布", "v2.10.3"),
        ("コミット4fa91c2dで壊れた", "4fa91c2d"),
    ] {
        assert_one(text, FactKind::Id, id, id);
    }
    for text in ["a sha256 of it", "in base64 or utf-16", "python3 and mp3", "from 13:02:07 on"] {
        assert_eq!(found(text), [], "{text}");
    }
}

#[test]
fn a_number_has_one_key_however_it_is_written() {
    for (text, number, key) in [
        ("has 48213 rows", "48213", "48213"),
        ("has 48,213 rows", "48,213", "48213"),
        ("hat 48.213,50 Zeilen", "48.213,50", "48213.50"),
        ("a 48\u{202f}213 lignes", "48\u{202f}213", "48213"),
        ("it cost $1,234.50 so far", "$1,234.50", "1234.50"),
        ("es kostet 12 € mehr", "12", "12"),
        ("USD 50 a day", "50", "50"),
        ("共48213行", "48213", "48213"),
        ("花费1200元", "1200", "1200"),
        ("99.5% of calls", "99.5%", "99.5"),
        ("waits 1500ms", "1500ms", "1500"),
        ("call +49-30-901820", "49-30-901820", "49-30-901820"),
    ] {
        assert_one(text, FactKind::Number, number, key);
    }
    assert_eq!(found("takes 3 of 12 steps, x2"), []);
}

#[test]
fn days_are_dates_in_every_order() {
    for (text, date) in [
        ("on 2026-11-25 at noon", "2026-11-25"),
        ("at 2026-11-25T10:00:00.000Z.", "2026-11-25T10:00:00.000Z"),
        ("am 25.11.2026 um", "25.11.2026"),
        ("due 11/25/2026", "11/25/2026"),
        ("于2026年11月25日完成", "2026年11月25日"),
    ] {
        let own: Vec<_> = found(text).into_iter().filter(|(kind, ..)| *kind == FactKind::Date).collect();
        assert_eq!(own, [(FactKind::Date, date.to_owned(), date.to_owned())], "{text}");
    }
}

#[test]
fn the_name_before_a_value_is_its_name() {
    for (text, name) in [
        ("port: 8080", "port"),
        (r#""maxRows": 48213"#, "maxRows"),
        ("PORT=8080", "PORT"),
        ("**Budget:** 5000", "Budget"),
    ] {
        assert_eq!(facts(text)[0].name, Some(name), "{text}");
    }
    assert_eq!(facts("it has 8080 rows")[0].name, None);
}

#[test]
fn limits_and_decisions_are_sentences_with_a_cue_in_many_languages() {
    for text in [
        "Never push to main.",
        "Bitte nur in der Testumgebung arbeiten.",
        "Il ne faut jamais toucher la base.",
        "Nunca borres la tabla de clientes.",
        "Никогда не удаляй эти файлы.",
        "绝对不要修改生产数据库。",
        "本番環境には必ず確認してから入ってください。",
        "프로덕션은 절대 건드리지 마세요.",
        "Use at most 3 workers here.",
    ] {
        assert_eq!(constraints(text).len(), 1, "{text}");
    }
    for text in [
        "We decided to use SQLite.",
        "Wir nehmen stattdessen Postgres.",
        "On utilise Redis pour la file.",
        "我们决定采用蓝绿部署。",
        "認証はOAuthにします。",
        "Решили хранить всё в S3.",
        "Usaremos colas en lugar de cron.",
    ] {
        assert_eq!(decisions(text).len(), 1, "{text}");
    }
    assert!(constraints("那个提交能不能单独回退？").is_empty(), "a question forbids nothing");
    assert!(
        constraints("The weather is nice today.").is_empty() && decisions("It rains in Rome.").is_empty()
    );
    let two = constraints("Version 1.2 works. You must not delete a.b.c. Thanks a lot!");
    assert_eq!(two.iter().map(|fact| fact.text).collect::<Vec<_>>(), ["You must not delete a.b.c."]);
}

#[test]
fn a_sentence_counts_as_kept_if_most_of_its_words_are() {
    let own = sentence_words("Never restart the payments gateway during office hours.");
    assert!(own.are_kept_in(&sentence_words("Do not restart payments gateway in office hours (user).")));
    assert!(!own.are_kept_in(&sentence_words("The gateway was discussed.")));
    let own = sentence_words("绝对不要修改生产数据库。");
    assert!(own.are_kept_in(&sentence_words("限制：不要修改生产数据库")));
    assert!(!own.are_kept_in(&sentence_words("数据库已连接")));
}

/// One fact of each family, made from random parts.
fn planted() -> impl Strategy<Value = (FactKind, String)> {
    let segment = "[a-z][a-z0-9_]{2,8}|设计|größe|план";
    let path = (segment, segment, "[a-z]{3,8}", "rs|py|md|json|txt")
        .prop_map(|(a, b, name, ending)| format!("{a}/{b}/{name}.{ending}"));
    let windows = ("[C-Z]", "[A-Za-z]{2,8}", "[a-z]{3,8}")
        .prop_map(|(drive, a, name)| format!("{drive}:\\{a}\\{name}.log"));
    let digest = "[0-9a-f]{5}[a-f][0-9]{2}[0-9a-f]{4,30}";
    let uuid = "[0-9a-f]{7}1-[0-9a-f]{3}2-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{11}a";
    let address = "1[0-9]{2}\\.[1-9][0-9]\\.[1-9]\\.[1-9][0-9]";
    let release = "v[1-9]\\.[0-9]{1,2}\\.[0-9]{1,2}";
    prop_oneof![
        path.prop_map(|text| (FactKind::Path, text)),
        windows.prop_map(|text| (FactKind::Path, text)),
        digest.prop_map(|text| (FactKind::Id, text)),
        uuid.prop_map(|text| (FactKind::Id, text)),
        address.prop_map(|text| (FactKind::Id, text)),
        release.prop_map(|text| (FactKind::Id, text)),
        "[1-9][0-9]{2,8}".prop_map(|text| (FactKind::Number, text)),
        "[1-9][0-9]{0,2}(,[0-9]{3}){1,2}".prop_map(|text| (FactKind::Number, text)),
        "\\$[1-9][0-9]{1,3}\\.[0-9]{2}".prop_map(|text| (FactKind::Number, text)),
        "20[0-9]{2}-1[0-2]-[12][0-9]".prop_map(|text| (FactKind::Date, text)),
    ]
}

/// Texts around a fact, in several languages and formats.
const FRAMES: [(&str, &str); 9] = [
    ("see ", " please"),
    ("It is ", "."),
    ("(", ")"),
    ("`", "`, then"),
    ("{\"value\": \"", "\"}"),
    ("| ", " |"),
    ("请看 ", " 吧。"),
    ("значение ", ", да"),
    ("値は「", "」です"),
];

proptest! {
    #[test]
    fn every_planted_fact_is_found_and_no_other(
        plants in prop::collection::vec((planted(), 0..FRAMES.len()), 1..12),
    ) {
        let framed = plants.iter().map(|((_, fact), frame)| format!("{}{fact}{}", FRAMES[*frame].0, FRAMES[*frame].1));
        let text = framed.collect::<Vec<_>>().join("\n");
        let all = facts(&text);
        for ((kind, fact), _) in &plants {
            prop_assert!(all.iter().any(|found| found.kind == *kind && found.text == fact), "{fact} in {text}: {all:?}");
        }
        for found in &all {
            let known = plants.iter().any(|((_, fact), _)| found.text == fact);
            prop_assert!(known, "{} is no fact of {text}", found.text);
        }
    }

    #[test]
    fn every_fact_found_in_a_text_occurs_in_it(text in "\\PC{0,200}") {
        for fact in facts(&text).iter().chain(&constraints(&text)).chain(&decisions(&text)) {
            prop_assert!(text.contains(fact.text));
        }
    }
}
