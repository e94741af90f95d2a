//! Checks README, guide, help and architecture page against the program. With `CLAWSCOPE_UPDATE=1` the test writes the
//! table of keys and the outputs of examples again.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};
use clawscope::app::action::ACTIONS;
use clawscope::app::key_words::key_sections;
use clawscope::app::keymap::Keymap;
use clawscope::cli::{Cli, TOPICS};
use clawscope::dataset::documentation;
use clawscope::dataset::recipes::RECIPES;
use clawscope::gateway::env::Environment;
use clawscope::gateway::ruleset::Ruleset;
use serde_json::Value;

const BEGIN: &str = "<!-- keys -->\n";
const END: &str = "<!-- /keys -->";
/// A line that marks omitted output.
const OMITTED: &str = "…\n";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn write(path: &Path, text: &str) {
    let mut file = fs::File::create(path).expect("a file");
    std::io::Write::write_all(&mut file, text.as_bytes()).expect("writes");
}

fn is_updating() -> bool {
    std::env::var_os("CLAWSCOPE_UPDATE").is_some()
}

fn topic_path(name: &str) -> String {
    format!("assets/guide/{name}.md")
}

/// README and every page of the guide.
fn pages() -> Vec<String> {
    let guide = TOPICS.iter().map(|topic| topic_path(topic.name));
    std::iter::once("README.md".to_owned()).chain(guide).collect()
}

/// The fenced blocks of a page, each with its language on the first line.
fn blocks(page: &str) -> Vec<&str> {
    page.split("```").skip(1).step_by(2).collect()
}

fn key_table() -> String {
    let mut text = String::new();
    for section in key_sections(&Keymap::standard()) {
        let _ = writeln!(text, "\n**{}**\n\n| key | does |\n|---|---|", section.title);
        for (keys, action) in section.rows {
            let keys: Vec<String> = keys.iter().map(|key| format!("`{}`", key.replace('|', "\\|"))).collect();
            let _ = writeln!(text, "| {} | {} |", keys.join(" "), action.description());
        }
    }
    text
}

#[test]
fn the_guide_lists_the_keys_of_the_keymap() {
    let path = topic_path("keys");
    let page = read(&path);
    let begin = page.find(BEGIN).expect("a place for the keys") + BEGIN.len();
    let end = page.find(END).expect("its end");
    if is_updating() {
        let new = format!("{}{}\n{}", &page[..begin], key_table(), &page[end..]);
        write(&root().join(path), &new);
        return;
    }
    assert_eq!(page[begin..end].trim(), key_table().trim(), "run the test with CLAWSCOPE_UPDATE=1");
}

#[test]
fn the_guide_lists_the_settings_as_the_program_prints_them() {
    let path = topic_path("settings");
    let page = read(&path);
    let mut program = assert_cmd::Command::cargo_bin("clawscope").expect("the program");
    let ran = program.env_clear().args(["settings", "--markdown"]).output().expect("it runs");
    let printed = String::from_utf8(ran.stdout).expect("UTF-8");
    let begin = page.find("<!-- settings -->\n").expect("a place for the settings");
    let begin = begin + "<!-- settings -->\n".len();
    let end = page.find("<!-- /settings -->").expect("its end");
    if is_updating() {
        write(&root().join(path), &format!("{}{printed}{}", &page[..begin], &page[end..]));
        return;
    }
    assert_eq!(page[begin..end], printed, "run the test with CLAWSCOPE_UPDATE=1");
}

#[test]
fn the_guide_lists_the_tables_and_recipes_of_the_dataset() {
    let path = topic_path("dataset");
    let recipes = RECIPES.map(|recipe| format!("| `{}` | {} |\n", recipe.name, recipe.question()));
    let recipes = format!("| recipe | answers |\n|---|---|\n{}", recipes.concat());
    let mut page = read(&path);
    for (name, expected) in [("recipes", recipes), ("tables", documentation::markdown())] {
        let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
        let from = page.find(&begin).expect("a place") + begin.len();
        let to = page.find(&end).expect("its end");
        if is_updating() {
            page.replace_range(from..to, &expected);
        } else {
            assert_eq!(page[from..to], expected, "run the test with CLAWSCOPE_UPDATE=1");
        }
    }
    if is_updating() {
        write(&root().join(path), &page);
    }
}

/// The keys that each page names in backticks, with the action that the page means; `-` for a sign, and for a key of the
/// line editor or a number.
const NAMED_KEYS: &[(&str, &[&str])] = &[
    (
        "README.md",
        &[
            "j down",
            "k up",
            "tab next-pane",
            "e explain",
            "y copy",
            "t timeline",
            "p toggle-prune",
            "- less",
            "+ more",
            "w compare",
            "c commit",
            "u undo",
            "v view",
            "v w breakdown",
            "/ search",
            "esc back",
            "? help",
            ": palette",
            "~ -",
        ],
    ),
    ("accuracy", &["~ -"]),
    ("commit", &["c commit", "u undo", "b branches", "alt-c branch-here", "delete drop-message"]),
    ("compaction", &["c commit", "esc no", "j down", "k up", "y yes"]),
    ("config", &[": palette"]),
    ("context", &["v w breakdown", "e explain", "? -", "~ -"]),
    ("cost", &["t timeline", "~ -", "─ -", "+ -", "p -", "m -", "b -", "s -", "x -", "? -"]),
    (
        "databases",
        &[
            "c commit",
            "y yes",
            "enter open",
            "e explain",
            "esc back",
            "4 focus-tuning",
            ". next-policy",
            "x toggle-policy",
            "2 focus-transcript",
        ],
    ),
    ("dataset", &["- -", "_ -", ". -", "% -", "~ -"]),
    ("explain", &["e explain", "y copy"]),
    ("export", &["v * show-secrets"]),
    ("json", &["… -"]),
    ("lost", &["↺ -", "w compare"]),
    ("preview", &["p toggle-prune", "i toggle-gate"]),
    ("remote", &["@ -"]),
    (
        "replay",
        &[
            "t timeline",
            "left left",
            "right right",
            "n next-match",
            "z zoom",
            "enter open",
            "up up",
            "down down",
            "- less",
            "+ more",
            "x toggle-policy",
            "v x in-words",
            "w compare",
            "v h headroom",
            "v a edit-axes",
            "y copy",
        ],
    ),
    (
        "screens",
        &[
            "? help",
            "/ search",
            ": palette",
            "esc back",
            "enter open",
            "ctrl-o jump-back",
            "< jump-back",
            "ctrl-i jump-forward",
            "> jump-forward",
            "G bottom",
            "1 focus-sessions",
            "4 focus-tuning",
            "alt-1 -",
            "0 to-default",
            "j down",
            "k up",
            "ctrl-a -",
            "ctrl-e -",
            "ctrl-u -",
            "ctrl-k -",
            "ctrl-w -",
            "alt-b -",
            "alt-f -",
            "ctrl-left border-left",
            "ctrl-right border-right",
            "a next-target",
            "p toggle-prune",
            "c commit",
            "o next-order",
            "O reverse-order",
            "space fold",
            "z zoom",
            "v d session-record",
            "v w breakdown",
            "d diff",
            "e explain",
            "y copy",
            "y yes",
            "Y copy-command",
            "t timeline",
            "- less",
            "+ more",
            "v s policies",
            "v n presets",
            "v r rule",
            "w compare",
            "ctrl-f search-all",
            "v ! problems",
            "b branches",
            "u undo",
            "n no",
            "alt-c branch-here",
            "delete drop-message",
            "y c -",
            "v view",
            "x toggle-policy",
            ". next-policy",
            ", previous-policy",
            "backspace to-config",
            "alt-z undo-tuning",
            "alt-Z redo-tuning",
            "r raw",
            "! -",
            "s -",
            "m -",
            "h -",
            "d -",
            "w -",
            "~ -",
            "· -",
            "◆ -",
            "✂ -",
            "⇥ -",
            "Σ -",
            "✗ -",
            "✓ -",
            "⚠ -",
            "↺ -",
        ],
    ),
    ("settings", &["y copy"]),
    ("start", &["y yes"]),
    ("troubleshooting", &["v ! problems", "v m toggle-mouse"]),
    ("watch", &["v p toggle-pause", "G bottom"]),
];

/// Whether a span in backticks is a key, or a key and the letter of its menu.
fn is_key(span: &str) -> bool {
    const NAMES: [&str; 14] = [
        "enter",
        "esc",
        "tab",
        "backtab",
        "space",
        "backspace",
        "delete",
        "up",
        "down",
        "left",
        "right",
        "home",
        "end",
        "pgup",
    ];
    let plain = ["ctrl-", "alt-", "shift-", "v ", "y "]
        .iter()
        .fold(span, |rest, first| rest.strip_prefix(first).filter(|rest| !rest.is_empty()).unwrap_or(rest));
    plain.chars().count() == 1 || NAMES.contains(&plain)
}

#[test]
fn every_key_that_a_page_names_does_what_the_page_means() {
    let sections = key_sections(&Keymap::standard());
    let rows: Vec<&(Vec<String>, _)> = sections.iter().flat_map(|section| &section.rows).collect();
    for page in pages().into_iter().filter(|page| *page != topic_path("keys")) {
        let text = read(&page);
        let prose: String = text.split("```").step_by(2).collect();
        let spans: Vec<&str> = prose.split('`').skip(1).step_by(2).collect();
        let named = NAMED_KEYS.iter().find(|known| known.0 == page || topic_path(known.0) == page);
        let named: Vec<(&str, &str)> = named
            .iter()
            .flat_map(|known| known.1)
            .map(|row| row.rsplit_once(' ').expect("an action"))
            .collect();
        for key in spans.iter().filter(|span| is_key(span)) {
            assert!(named.iter().any(|known| known.0 == *key), "{page}: what does {key} do?");
        }
        for (key, action) in named {
            assert!(spans.contains(&key), "{page} does not name {key} any more");
            let is_bound =
                rows.iter().any(|(keys, known)| known.name() == action && keys.iter().any(|it| it == key));
            assert!(is_bound || action == "-", "{page}: {key} is not the key of {action}");
        }
        for typed in spans.iter().filter_map(|span| span.strip_prefix(':')).filter(|typed| !typed.is_empty())
        {
            let is_known = ACTIONS.iter().any(|row| row.1.starts_with(typed));
            assert!(
                is_known || typed.starts_with("preset ") || typed.parse::<u32>().is_ok(),
                "{page}: :{typed}"
            );
        }
    }
}

#[test]
fn the_same_releases_are_named_everywhere() {
    let known = Ruleset::known_releases();
    let help = Cli::command().render_long_help().to_string();
    let report = output_of("doctor --self");
    for (place, text) in [("README.md", read("README.md")), ("--help", help), ("doctor --self", report)] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&known), "{place} does not name {known}");
    }
    assert!(output_of("doctor --self").contains("schemaVersion 1; explain 2"));
}

#[test]
fn the_readme_has_a_table_of_ten_keys() {
    let readme = read("README.md");
    let (_, keys) = readme.split_once("| key | does |\n").expect("the table of keys");
    assert_eq!(keys.lines().skip(1).take_while(|line| line.starts_with('|')).count(), 10);
}

#[test]
fn the_guide_contains_every_page_and_the_readme_links_each() {
    let readme = read("README.md");
    for topic in TOPICS {
        assert!(topic.text.starts_with("# "), "{} has no title", topic.name);
        assert!(readme.contains(&format!("[{}]({})", topic.name, topic_path(topic.name))), "{}", topic.name);
    }
    let files = fs::read_dir(root().join("assets/guide")).expect("the guide");
    let mut names: Vec<String> =
        files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned()).collect();
    let mut topics = TOPICS.map(|topic| format!("{}.md", topic.name)).to_vec();
    names.sort();
    topics.sort();
    assert_eq!(names, topics);
}

#[test]
fn the_readme_is_at_most_160_lines() {
    assert!(read("README.md").lines().count() <= 160);
}

#[test]
fn guide_prints_topics_and_suggests_the_nearest() {
    let run = |args: &[&str]| {
        let mut program = assert_cmd::Command::cargo_bin("clawscope").expect("the program");
        program.env_clear().args(args).output().expect("it runs")
    };
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let list = text(run(&["guide"]).stdout);
    for topic in TOPICS {
        assert!(list.contains(topic.name) && list.contains(topic.title()), "{}", topic.name);
    }
    assert_eq!(text(run(&["guide", "commit"]).stdout), read(&topic_path("commit")));
    let unknown = run(&["guide", "setings"]);
    let error = text(unknown.stderr);
    assert!(
        unknown.status.code() == Some(2)
            && error.contains("Did you mean settings?")
            && error.contains("troubleshooting"),
        "{error}"
    );
}

/// The command lines of a text: lines that begin with the program's name, without redirections, pipes and remarks.
fn commands(text: &str) -> Vec<Vec<String>> {
    let text = text.split("\\\n").map(str::trim_start).collect::<Vec<_>>().join("");
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("clawscope"));
    let words = lines.map(|line| {
        let alone = ["  ", " #", " |", " >", " \u{b7}"]
            .iter()
            .fold(line, |line, end| line.split(end).next().unwrap_or(line));
        // A part of a line may end inside quotes.
        shell_words::split(alone).unwrap_or_else(|_| alone.split_whitespace().map(str::to_owned).collect())
    });
    words.collect()
}

#[track_caller]
fn all_parse(text: &str, least: usize) {
    let commands = commands(text);
    assert!(commands.len() >= least, "{} commands", commands.len());
    for command in commands {
        if let Err(error) = Cli::try_parse_from(&command) {
            panic!("{command:?}: {error}");
        }
    }
}

#[test]
fn every_command_in_readme_and_guide_parses() {
    for page in pages() {
        let text = read(&page);
        let shell: Vec<&str> = blocks(&text).into_iter().filter(|block| block.starts_with("sh\n")).collect();
        all_parse(&shell.join("\n"), shell.iter().filter(|block| block.contains("clawscope ")).count());
    }
    all_parse(&blocks(&read("README.md")).join("\n"), 11);
}

/// Commands in running text, with examples for placeholders.
#[test]
fn every_command_in_a_sentence_parses() {
    for page in pages() {
        let text = read(&page);
        let prose: Vec<&str> = text.split("```").step_by(2).collect();
        let prose = prose.join("\n").replace('\n', " ");
        for span in prose.split('`').skip(1).step_by(2).filter(|span| span.starts_with("clawscope ")) {
            let words = span.split(' ').filter(|word| !word.starts_with('[') && *word != "COMMAND");
            let words: Vec<&str> = words
                .map(|word| match word {
                    "RELEASE" => "2026.4.1",
                    "FORMAT" => "html",
                    "TOPIC" => "keys",
                    "SHELL" => "bash",
                    "N" => "1000",
                    other => other,
                })
                .collect();
            let Err(error) = Cli::try_parse_from(&words) else { continue };
            let is_allowed =
                matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::MissingRequiredArgument);
            assert!(is_allowed, "{page}: `{span}`: {error}");
        }
    }
}

#[test]
fn readme_and_guide_list_every_command() {
    for page in ["README.md", "assets/guide/commands.md"] {
        let text = read(page);
        let table = text.lines().filter(|line| line.starts_with("| `clawscope"));
        let named: Vec<&str> = table.filter_map(|line| line.split('`').nth(1)?.split(' ').nth(1)).collect();
        let cli = Cli::command();
        let listed = cli.get_subcommands().filter(|command| !command.is_hide_set());
        for command in listed.map(clap::Command::get_name) {
            assert!(named.contains(&command), "{page} does not list {command}");
        }
    }
}

#[test]
fn every_example_in_the_help_parses() {
    let mut cli = Cli::command();
    cli.build();
    let long = |command: &clap::Command| {
        let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        help.lines().filter(|line| line.starts_with("  ")).collect::<Vec<_>>().join("\n")
    };
    for command in cli.get_subcommands().filter(|command| command.get_name() != "help") {
        all_parse(&long(command), 1);
    }
}

#[test]
fn help_is_at_most_eighty_columns_wide() {
    let mut cli = Cli::command().term_width(80);
    cli.build();
    let names: Vec<String> = cli.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let mut pages = vec![cli.render_long_help().to_string()];
    for name in names {
        let command = cli.find_subcommand_mut(&name).expect("a command");
        pages.push(command.render_long_help().to_string());
    }
    for page in pages {
        let wide = page.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None, "{}", page.lines().next().unwrap_or_default());
    }
}

#[test]
fn the_settings_files_of_the_guide_are_read() {
    let page = read(&topic_path("config"));
    let files: Vec<&str> =
        blocks(&page).into_iter().filter_map(|block| block.strip_prefix("toml\n")).collect();
    let [settings, keys] = files[..] else { panic!("config.toml and keymap.toml") };
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join(".config/clawscope");
    fs::create_dir_all(&folder).expect("a folder");
    write(&folder.join("config.toml"), settings);
    let env = Environment::new([("HOME", home.path().to_str().expect("text"))], None, "/".into());
    let config = clawscope::config::load(&env).expect("the settings of the guide");
    assert_eq!((config.mouse, config.motion, config.ascii), (false, false, Some(true)));
    assert_eq!(config.ruleset.map(|named| named.name).as_deref(), Some("2026.9.6"));
    Keymap::with_overrides(keys).expect("the keymap of the guide");
}

/// Runs an example on the demo store and returns its output.
fn output_of(command: &str) -> String {
    let mut program = assert_cmd::Command::cargo_bin("clawscope").expect("the program");
    let program = program.env_clear().env("HOME", "/nonexistent").args(command.split(' '));
    let ran = program.output().expect("it runs");
    assert!(
        ran.status.code().is_some_and(|code| code < 2),
        "{command}: {}",
        String::from_utf8_lossy(&ran.stderr)
    );
    String::from_utf8(ran.stdout).expect("UTF-8")
}

/// Checks that each part of an example is in the output, in order, and that only marked parts are missing.
fn check_example(page: &str, command: &str, shown: &str, output: &str) {
    let mut rest = output;
    let parts: Vec<&str> = shown.split(OMITTED).collect();
    for (at, part) in parts.iter().enumerate() {
        let found = rest
            .find(part)
            .unwrap_or_else(|| panic!("{page}: {command}: not in the output:\n{part}\n{rest}"));
        assert!(at > 0 || found == 0, "{page}: {command}: the output begins earlier:\n{output}");
        rest = &rest[found + part.len()..];
    }
    let ends_early = parts.last().is_some_and(|part| part.is_empty());
    assert!(ends_early || rest.is_empty(), "{page}: {command}: the output continues:\n{rest}");
}

/// Writes an example again: each part keeps its number of lines and the start of its first line.
fn renew_example(shown: &str, output: &str) -> String {
    let lines: Vec<&str> = output.split_inclusive('\n').collect();
    let mut from = 0;
    let parts = shown.split(OMITTED).map(|part| {
        let count = part.split_inclusive('\n').count();
        let start: String = part.chars().take(10).collect();
        let at = lines[from..].iter().position(|line| line.starts_with(&start)).map_or(from, |at| from + at);
        from = (at + count).min(lines.len());
        lines[at..from].concat()
    });
    parts.collect::<Vec<_>>().join(OMITTED)
}

#[test]
fn the_examples_match_the_programs_output() {
    let mut seen = 0;
    for page in pages() {
        let text = read(&page);
        let mut new = text.clone();
        for block in blocks(&text).into_iter().filter_map(|block| block.strip_prefix("text\n$ clawscope ")) {
            let (command, shown) = block.split_once('\n').expect("a command and its output");
            let output = output_of(command);
            if is_updating() {
                new = new.replace(shown, &renew_example(shown, &output));
            } else {
                check_example(&page, command, shown, &output);
            }
            seen += 1;
        }
        if new != text {
            write(&root().join(&page), &new);
        }
    }
    assert_eq!(seen, 5);
}

/// A transcript by path, which opens at once.
const TRANSCRIPT: &str = "tests/golden/transcripts/huge-results.jsonl";

#[test]
fn the_guide_names_the_json_fields_of_every_answer() {
    let of_a_transcript = [
        "tree",
        "context",
        "context --estimators",
        "context --recorded",
        "context --breakdown",
        "explain --recovery",
        "replay",
        "check --budget=300000",
        "simulate",
        "simulate --summary",
        "undo --list",
    ];
    for command in of_a_transcript {
        check_fields(command, &format!("{command} {TRANSCRIPT} --json"));
    }
    for command in ["explain", "commit"] {
        check_fields(command, &format!("{command} telegram:direct:8812 --demo --json"));
    }
    check_fields("undo --compare", "undo telegram:direct:8812 --compare --demo --json");
    check_fields("export", &format!("export {TRANSCRIPT} --format json"));
    for command in ["sessions", "doctor", "rules", "rules --diff=2026.7.1"] {
        check_fields(command, &format!("{command} --demo --json"));
    }
    for command in ["rules --releases", "rules pruning-5.12", "doctor --self"] {
        check_fields(command, &format!("{command} --json"));
    }
}

/// Checks that the section of `json.md` for a command names every field of its answer's object.
fn check_fields(command: &str, words: &str) {
    let page = read(&topic_path("json"));
    let (name, option) = command.split_once(' ').unwrap_or((command, ""));
    let of_option = page
        .split("\n## ")
        .find(|section| section.lines().next().is_some_and(|title| title == format!("{name} {option}")));
    let of_name = || page.split("\n## ").find(|section| section.split([' ', ',', '\n']).next() == Some(name));
    let section = of_option.or_else(of_name).unwrap_or_else(|| panic!("no section for {command}"));
    let named: Vec<&str> = section.split(|sign: char| !sign.is_alphanumeric()).collect();
    let answer: Value = serde_json::from_str(&output_of(words)).expect("JSON");
    for key in answer.as_object().expect("an object").keys() {
        assert!(named.contains(&key.as_str()), "the section of {command} does not name {key}");
    }
}

#[test]
fn every_path_of_the_architecture_page_exists() {
    let page = read("src/ARCHITECTURE.md");
    let spans = page.split('`').skip(1).step_by(2);
    let is_path = |span: &&str| {
        let known =
            ["rs", "md", "toml"].iter().any(|end| Path::new(span).extension().is_some_and(|it| it == *end));
        (known || span.ends_with('/')) && !span.contains(['<', ' '])
    };
    let paths: Vec<&str> = spans.filter(is_path).collect();
    assert!(paths.len() > 40, "{} paths", paths.len());
    for path in paths {
        assert!(root().join(path).exists(), "{path} does not exist");
    }
}
