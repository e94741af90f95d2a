//! `sessions.json`: the store's record of each session (store C).

use std::path::Path;

use super::session_records_reader::read_records;
use crate::diagnostic::{Diagnostic, Severity};
use crate::files;
use crate::gateway::lines::key_line;
use crate::gateway::substitute::is_secret_file;
use crate::js::{self, Value};

pub use super::session_record::SessionRecord;

/// Limit of records reported one by one; the rest is only counted.
const MAX_RECORD_DIAGNOSTICS: usize = 20;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionRecords {
    /// In the file's order.
    pub records: Vec<SessionRecord>,
    /// Not empty when records were lost.
    pub diagnostics: Vec<Diagnostic>,
}

/// Limit for a `sessions.json`, bytes: half a million sessions.
const MAX_BYTES: u64 = 512 << 20;

/// Reads a `sessions.json`. A missing file has no records and no diagnostics; any other failure is a diagnostic,
/// because the gateway treats such a file as empty and replaces it at its next write (store C2).
pub fn load_records(path: &Path) -> SessionRecords {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return SessionRecords::default(),
        Ok(_) if is_secret_file(path) => {
            return unreadable_file(path, None, "the link leads to a file with credentials");
        }
        Ok(meta) if !meta.is_file() => return unreadable_file(path, None, "not a regular file"),
        _ => {}
    }
    if let Ok(Some(rows)) = files::open(path).and_then(read_records) {
        return SessionRecords { records: rows, diagnostics: Vec::new() };
    }
    match files::read(path, MAX_BYTES) {
        Ok(bytes) => parse_records(path, &String::from_utf8_lossy(&bytes)),
        Err(error) => unreadable_file(path, None, &format!("cannot read the file: {error}")),
    }
}

/// Parses the text of a `sessions.json`; `path` is for the diagnostics.
pub(super) fn parse_records(path: &Path, text: &str) -> SessionRecords {
    if text.trim().is_empty() {
        return unreadable_file(path, None, "the file is empty");
    }
    let object = match js::parse(text) {
        Ok(Value::Object(object)) => object,
        Ok(other) => {
            return unreadable_file(
                path,
                None,
                &format!("expected an object with one row for each session, found {}", other.kind_name()),
            );
        }
        Err(error) => {
            let line =
                memchr::memchr_iter(b'\n', &text.as_bytes()[..error.at.min(text.len())]).count() as u64 + 1;
            return unreadable_file(path, Some(line), &error.to_string());
        }
    };
    let mut out = SessionRecords::default();
    let mut unreported = 0_usize;
    for (key, value) in object {
        let key = key.to_string_lossy();
        if value.as_object().is_some() {
            out.records.push(SessionRecord::new(key, value));
        } else if out.diagnostics.len() < MAX_RECORD_DIAGNOSTICS {
            out.diagnostics.push(bad_record(path, text, &key, &value));
        } else {
            unreported += 1;
        }
    }
    if unreported > 0 {
        let what = format!("{unreported} more rows are not objects");
        out.diagnostics.push(Diagnostic::new(
            path,
            Severity::Warning,
            what,
            "restore the file from a backup",
        ));
    }
    out
}

fn bad_record(path: &Path, text: &str, key: &str, value: &Value) -> Diagnostic {
    let what = format!("the row must be an object; found {}", value.kind_name());
    let finding =
        Diagnostic::new(path, Severity::Warning, what, "clawscope skips the row; the gateway ignores it too")
            .about(key);
    match key_line(text, &[key]) {
        Some(line) => finding.at_line(u64::from(line)),
        None => finding,
    }
}

fn unreadable_file(path: &Path, line: Option<u64>, what: &str) -> SessionRecords {
    let next = "restore the file before the gateway overwrites it; until then clawscope lists sessions from \
         their transcripts";
    let finding =
        Diagnostic::new(path, Severity::Error, format!("cannot use this session store: {what}"), next);
    SessionRecords {
        records: Vec::new(),
        diagnostics: vec![line.map_or(finding.clone(), |line| finding.at_line(line))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Chars, Moment, Tokens};

    fn parse(text: &str) -> SessionRecords {
        parse_records(Path::new("/s/sessions.json"), text)
    }

    fn row(json: &str) -> SessionRecord {
        parse(&format!(r#"{{"agent:main:telegram:direct:42":{json}}}"#)).records.remove(0)
    }

    #[test]
    fn rows_keep_known_fields_and_the_rest_as_raw_json() {
        let row = row(
            r#"{"sessionId":"s1","updatedAt":5,"sessionFile":" /x.jsonl ","model":"m","modelProvider":"p",
            "contextTokens":200000,"compactionCount":2,"chatType":"direct","label":"L","spawnedBy":"agent:main:main","zzz":[1]}"#,
        );
        assert_eq!((row.session_id.as_deref(), row.updated_at), (Some("s1"), Some(Moment(5.0))));
        assert_eq!(row.session_file.as_deref(), Some("/x.jsonl"));
        assert_eq!((row.provider.as_deref(), row.model.as_deref()), (Some("p"), Some("m")));
        assert_eq!((row.context_tokens, row.compaction_count), (Some(Tokens(200_000.0)), Some(2.0)));
        assert_eq!(row.spawned_by.as_deref(), Some("agent:main:main"));
        assert!(row.member("zzz").is_some() && row.member("zz").is_none());
    }

    #[test]
    fn rows_omit_skills_and_read_the_report_on_demand() {
        let json = r#"{"skillsSnapshot":{"prompt":"long"},"systemPromptReport":1,"zzz":2,"systemPromptReport":{"source":"run","skills":{"promptChars":7}}}"#;
        for row in
            [row(json), SessionRecord::from_text("agent:main:telegram:direct:42".into(), json).unwrap()]
        {
            assert_eq!(js::stringify(&row.raw()), r#"{"zzz":2}"#);
            assert_eq!(row.prompt_report().unwrap().skills_chars, Chars(7.0));
        }
    }

    #[test]
    fn total_tokens_are_usable_unless_stale_or_impossible() {
        for (json, expected) in [
            (r#"{"totalTokens":5}"#, Some(5.0)),
            (r#"{"totalTokens":0,"totalTokensFresh":true}"#, Some(0.0)),
            (r#"{"totalTokens":5,"totalTokensFresh":null}"#, Some(5.0)),
            (r#"{"totalTokens":5,"totalTokensFresh":false}"#, None),
            (r#"{"totalTokens":-1}"#, None),
            (r#"{"totalTokens":1e400}"#, None),
            (r#"{"totalTokens":"5"}"#, None),
            ("{}", None),
        ] {
            assert_eq!(row(json).total_tokens, expected.map(Tokens), "{json}");
        }
    }

    #[test]
    fn the_override_names_the_model_until_one_was_used() {
        let chosen = row(r#"{"modelOverride":"mo","providerOverride":"po"}"#);
        assert_eq!((chosen.provider.as_deref(), chosen.model.as_deref()), (Some("po"), Some("mo")));
        let used = row(r#"{"modelOverride":"mo","providerOverride":"po","model":"m","modelProvider":"p"}"#);
        assert_eq!((used.provider.as_deref(), used.model.as_deref()), (Some("p"), Some("m")));
        assert_eq!(row("{}").model, None);
    }

    #[test]
    fn the_first_available_name_is_shown() {
        for (json, expected) in [
            (r##"{"displayName":"D","channel":"slack","groupChannel":"#infra"}"##, "D"),
            (r##"{"channel":"slack","groupChannel":"#infra","subject":"S"}"##, "slack:#infra"),
            (r#"{"provider":"irc","room":"R"}"#, "irc:R"),
            (r#"{"channel":"telegram","subject":"Family"}"#, "telegram:Family"),
            (r#"{"label":"L"}"#, "telegram:42"),
        ] {
            assert_eq!(row(json).display_name.as_deref(), Some(expected), "{json}");
        }
        let main =
            |json: &str| parse(&format!(r#"{{"agent:main:main":{json}}}"#)).records.remove(0).display_name;
        assert_eq!(
            main(r#"{"channel":"telegram","label":"L","origin":{"label":"O"}}"#).as_deref(),
            Some("L")
        );
        assert_eq!(main(r#"{"origin":{"label":"O"}}"#).as_deref(), Some("O"));
        assert_eq!(main("{}"), None);
    }

    #[test]
    fn rows_that_are_not_objects_are_diagnostics_with_their_line() {
        let rows = parse("{\n  \"a\": {},\n  \"b\": null,\n  \"c\": [1]\n}");
        assert_eq!(rows.records.len(), 1);
        let places: Vec<_> = rows.diagnostics.iter().map(|f| (f.subject.as_deref(), f.line)).collect();
        assert_eq!(places, [(Some("b"), Some(3)), (Some("c"), Some(4))]);
        let many: Vec<String> = (0..100).map(|i| format!("\"k{i}\":0")).collect();
        let rows = parse(&format!("{{{}}}", many.join(",")));
        assert_eq!(rows.diagnostics.len(), MAX_RECORD_DIAGNOSTICS + 1);
        assert!(rows.diagnostics.last().unwrap().message.starts_with("80 more"));
    }

    #[test]
    fn an_unreadable_store_is_an_error_with_its_line_not_an_empty_list() {
        for (text, line) in
            [("{\n\"a\": {},\n  oops\n}", Some(3)), ("[]", None), ("", None), ("{\"a\":{}", Some(1))]
        {
            let rows = parse(text);
            assert!(rows.records.is_empty());
            let finding = &rows.diagnostics[0];
            assert_eq!((finding.severity, finding.line), (Severity::Error, line), "{finding}");
            assert!(finding.message.starts_with("cannot use this session store: "), "{finding}");
        }
    }

    #[test]
    fn a_missing_file_has_no_rows_and_a_directory_is_a_finding() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(load_records(&dir.path().join("sessions.json")), SessionRecords::default());
        assert_eq!(load_records(dir.path()).diagnostics.len(), 1);
    }
}
