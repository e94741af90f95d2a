//! Secrets in columns of tables: the head of a column names them. Tables of Markdown, of databases, with commas or tabs, and
//! with columns that blanks align.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::compiled::Hit;
use super::proof::{is_ordinary, is_placeholder, is_random_token};
use super::rules::{NAMED_KIND, NAMES, is_secret_head};

/// Chars of a token or a key in a column.
const MIN_TOKEN: usize = 12;
/// Rows of one table that are read.
const MAX_ROWS: usize = 2_000;

/// The letters of names that heads have; `None` if they cannot be searched for.
static LETTERS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder().ascii_case_insensitive(true).build(NAMES.letters("{names}")).ok()
});

/// The sign between the cells of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    Char(char),
    /// Two blanks or more: a cell belongs to the column at whose head it is.
    Blanks,
}

/// Finds the secrets in the columns of a text.
pub(super) fn find_columns(text: &str) -> Vec<Hit> {
    let (mut hits, mut done) = (Vec::new(), 0);
    let Some(letters) = LETTERS.as_ref() else { return hits };
    for found in letters.find_iter(text) {
        if found.start() < done {
            continue;
        }
        let from = text[..found.start()].rfind('\n').map_or(0, |end| end + 1);
        let (from, head) = line(text, from);
        done = from + head.len();
        if let Some((separator, columns)) = secret_columns(head) {
            done = find_rows(text, (from, head), separator, &columns, &mut hits).max(done);
        }
    }
    hits
}

/// The line at a position behind the mark of a quote or its number, and where it begins.
fn line(text: &str, from: usize) -> (usize, &str) {
    let rest = &text[from..];
    let line = rest[..memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len())].trim_end_matches('\r');
    let number = line.trim_start_matches(|char: char| char.is_ascii_digit());
    let behind = line.strip_prefix("> ").or_else(|| number.strip_prefix(": ")).unwrap_or(line);
    (from + line.len() - behind.len(), behind)
}

/// A column: its number, and the range of its head.
type Column = (usize, usize, usize);

/// The separator of a head, and its columns with the names of secrets.
fn secret_columns(head: &str) -> Option<(Separator, Vec<Column>)> {
    if head.len() > 2_000 {
        return None;
    }
    let separators = ['|', '│', '\t', ';', ','].map(Separator::Char).into_iter().chain([Separator::Blanks]);
    let has = |separator: &Separator| match separator {
        Separator::Char(char) => head.contains(*char),
        Separator::Blanks => head.contains("  "),
    };
    separators.into_iter().filter(has).find_map(|separator| {
        let cells = cells(head, separator);
        let is_head = cells.iter().filter(|(from, to)| from < to).count() >= 2
            && cells.iter().all(|(from, to)| is_title(bare(&head[*from..*to])));
        if !is_head {
            return None;
        }
        let named = |(at, (from, to)): (usize, &(usize, usize))| {
            is_secret_head(bare(&head[*from..*to])).then_some((at, *from, *to))
        };
        let columns: Vec<_> = cells.iter().enumerate().filter_map(named).collect();
        (!columns.is_empty()).then_some((separator, columns))
    })
}

/// Whether a cell may be the head of a column: a few words.
fn is_title(cell: &str) -> bool {
    cell.len() <= 40 && cell.chars().all(|char| char.is_alphanumeric() || " _-/#".contains(char))
}

fn bare(cell: &str) -> &str {
    cell.trim_matches(|char: char| char.is_whitespace() || "\"'`*".contains(char))
}

/// The cells of a line: those at its ends are left out where a separator ends the line.
fn cells(line: &str, separator: Separator) -> Vec<(usize, usize)> {
    let mut cells = Vec::new();
    let mut from = 0;
    let mut push = |from: usize, to: usize| {
        let cell = &line[from..to];
        let start = from + cell.len() - cell.trim_start().len();
        cells.push((start, start + cell.trim().len()));
    };
    match separator {
        Separator::Char(char) => {
            for (at, _) in line.match_indices(char) {
                push(from, at);
                from = at + char.len_utf8();
            }
            push(from, line.len());
            if matches!(char, '|' | '│') {
                cells.retain(|(from, to)| from < to);
            }
        }
        Separator::Blanks => {
            while let Some(gap) = line[from..].find("  ").map(|gap| from + gap) {
                push(from, gap);
                from = line.len() - line[gap..].trim_start().len();
            }
            push(from, line.len());
            cells.retain(|(from, to)| from < to);
        }
    }
    cells
}

/// Adds the secrets of the rows below a head. Returns the end of the table.
fn find_rows(
    text: &str,
    (head_from, head): (usize, &str),
    separator: Separator,
    columns: &[Column],
    hits: &mut Vec<Hit>,
) -> usize {
    let heads = cells(head, separator).len();
    let mut from = head_from + head.len();
    for _ in 0..MAX_ROWS {
        let Some(next) = text[from..].find('\n').map(|end| from + end + 1).filter(|next| *next < text.len())
        else {
            break;
        };
        let (next, row) = line(text, next);
        from = next + row.len();
        if is_rule(row) {
            continue;
        }
        let cells = cells(row, separator);
        let is_aligned = separator == Separator::Blanks;
        if cells.len() < 2 || cells.len() != heads && !is_aligned {
            return next;
        }
        for (at, head_start, head_end) in columns {
            let cell = if is_aligned {
                cells.iter().find(|(start, end)| start < head_end && head_start < end)
            } else {
                cells.get(*at)
            };
            let Some((start, end)) = cell.copied() else { continue };
            hits.extend(secret_cell(row, next, (start, end), is_any_word(&head[*head_start..*head_end])));
        }
    }
    from
}

/// Whether a line only separates rows.
fn is_rule(row: &str) -> bool {
    row.chars().all(|char| "-=+|: \t─│├┼┤┬┴┌┐└┘".contains(char))
}

/// Whether a person chooses what such a name holds; tokens and keys are made by chance, and documents list kinds of them.
fn is_any_word(head: &str) -> bool {
    let head = bare(head).to_lowercase();
    !["token", "secret", "key", "tokens", "secrets", "keys", "credentials"]
        .iter()
        .any(|end| head.ends_with(end))
}

fn secret_cell(row: &str, base: usize, (from, to): (usize, usize), is_any: bool) -> Option<Hit> {
    let cell = bare(&row[from..to]);
    let start = from + row[from..to].find(cell)?;
    let is_one_word = !cell.contains(char::is_whitespace);
    let is_secret = is_one_word && cell.len() >= 6 && !is_placeholder(cell);
    let is_drawn = is_random_token(cell) && cell.len() >= MIN_TOKEN;
    (is_secret && (is_drawn || is_any && !is_ordinary(cell))).then_some(Hit {
        from: base + start,
        to: base + start + cell.len(),
        kind: NAMED_KIND,
        is_shape: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        find_columns(text).iter().map(|hit| &text[hit.from..hit.to]).collect()
    }

    #[test]
    fn the_head_of_a_column_names_its_secrets() {
        for text in [
            "| user | password |\n|---|---|\n| bob | tall9-orange |\n| eve | `blue7-apple` |",
            "user\tpassword\nbob\ttall9-orange\neve\tblue7-apple\n",
            "user,password,mail\r\nbob,tall9-orange,b@x.example\r\neve,blue7-apple,e@x.example\r\n",
            "\"id\";\"db_password\"\n\"1\";\"tall9-orange\"\n\"2\";\"blue7-apple\"",
            "USER    PASSWORD        HOST\nbob     tall9-orange    h1\neve     blue7-apple     h2",
            " id | password     | name\n----+--------------+------\n  1 | tall9-orange | bob\n  2 | blue7-apple  | eve\n",
            "+----+--------------+\n| id | password     |\n+----+--------------+\n|  1 | tall9-orange |\n|  2 | blue7-apple  |\n",
            "> user,password\n> bob,tall9-orange\n> eve,blue7-apple",
            "12: user,password\n13: bob,tall9-orange\n14: eve,blue7-apple",
            "│ 用户 │ 密码 │\n├──────┼────────┤\n│ bob  │ tall9-orange │\n│ eve  │ blue7-apple │",
        ] {
            assert_eq!(found(text), ["tall9-orange", "blue7-apple"], "{text}");
        }
    }

    #[test]
    fn a_column_of_tokens_holds_random_letters() {
        let table = |cell: &str| format!("name,api_key\na,{cell}\n");
        assert_eq!(found(&table("kX94fQ2z7aBc")), ["kX94fQ2z7aBc"]);
        assert_eq!(found(&table("UINT16_BE")), [""; 0]);
    }

    #[test]
    fn words_lists_of_arguments_and_counts_are_no_secrets() {
        for text in [
            "| token | meaning |\n|---|---|\n| identifier | a name |",
            "fn login(user, password) {\n    check(user1, password2)\n}",
            "user, password,\nhost: h1, port: 8080",
            "| model | tokens |\n|---|---|\n| a-1 | 203,412 |",
            "        self.assertEqual(p.password, None)\n        self.assertEqual(p1.port, 80)",
            "names = [\n    \"token\",\n    \"PossibleTypeExtensionsRule2\",\n]",
            "The user, the password.\nThen x9-y8z7, too.",
            "the password",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }
}
