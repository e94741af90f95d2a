//! The schema of the dataset in words, as JSON Schema and as SQL views, all made from the list of columns.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::SCHEMA_VERSION;
use super::column::{Column, Kind};
use super::columns::Table;
use super::manifest::Manifest;

/// Returns the tables of the guide's page, in Markdown.
pub fn markdown() -> String {
    let mut text = format!("Schema version {SCHEMA_VERSION}.\n");
    for table in Table::ALL {
        let (name, description) = (table.name(), table.description());
        let _ = write!(
            text,
            "\n## {name}\n\n{description}\n\n| column | type | unit | meaning |\n|---|---|---|---|\n"
        );
        for column in table.columns() {
            let Column { name, unit, .. } = column;
            let kind = column.kind.sql();
            let _ = writeln!(text, "| `{name}` | {kind} | {unit} | {} |", meaning(column));
        }
    }
    text
}

/// Returns the meaning of a column with its OpenTelemetry name and when it is filled.
fn meaning(column: &Column) -> String {
    let otel = column.otel.map(|name| format!(" (`{name}`)")).unwrap_or_default();
    let words = if column.is_text { "; only with `--text`" } else { "" };
    format!("{}{otel}{words}", column.meaning)
}

/// Returns the JSON schema of a row of each table.
pub fn json_schema() -> Value {
    let tables: Map<String, Value> =
        Table::ALL.iter().map(|table| (table.name().to_owned(), table_schema(*table))).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "clawscope export --format parquet",
        "schemaVersion": SCHEMA_VERSION,
        "partitions": ["host", "day"],
        "$defs": tables,
    })
}

fn table_schema(table: Table) -> Value {
    let properties: Map<String, Value> =
        table.columns().map(|column| (column.name.to_owned(), column_schema(column))).collect();
    json!({ "type": "object", "description": table.description(), "properties": properties })
}

fn column_schema(column: &Column) -> Value {
    let mut schema = json!({ "type": [column.kind.json(), "null"], "description": column.meaning });
    if let Some(object) = schema.as_object_mut() {
        let mut add = |name: &str, value: &str| drop(object.insert(name.to_owned(), value.into()));
        if column.kind == Kind::Time {
            add("format", "date-time");
        }
        if !column.unit.is_empty() {
            add("unit", column.unit);
        }
        if let Some(otel) = column.otel {
            add("otel", otel);
        }
        if column.is_text {
            add("option", "--text");
        }
    }
    schema
}

/// Returns DuckDB's views of the tables, for a program that runs in the dataset's folder.
pub fn views(manifest: &Manifest) -> String {
    let mut text =
        "-- Views of the tables for DuckDB, run in this folder: duckdb -init views.sql\n".to_owned();
    for table in Table::ALL {
        let name = table.name();
        let _ = if manifest.rows(table) > 0 {
            writeln!(
                text,
                "CREATE VIEW {name} AS SELECT * FROM read_parquet('{name}/**/*.parquet', hive_partitioning = true, \
                 hive_types = {{'host': VARCHAR, 'day': DATE}});"
            )
        } else {
            // DuckDB refuses a pattern without files.
            writeln!(text, "CREATE VIEW {name} AS SELECT {} WHERE false;", typed_nulls(table))
        };
    }
    text
}

/// Returns a null for each column, with its type and name.
fn typed_nulls(table: Table) -> String {
    let own = table.columns().map(|column| (column.name, column.kind.sql()));
    let columns = own.chain([("host", "VARCHAR"), ("day", "DATE")]);
    columns.map(|(name, kind)| format!("NULL::{kind} AS \"{name}\"")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_schema_is_the_recorded_one() {
        insta::assert_snapshot!("schema", format!("{:#}", json_schema()));
    }

    #[test]
    fn columns_have_unique_names_and_a_meaning_without_full_stop() {
        for table in Table::ALL {
            let names: Vec<&str> = table.columns().map(|column| column.name).collect();
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{}", table.name());
            for column in table.columns() {
                assert!(!column.meaning.is_empty() && !column.meaning.ends_with('.'), "{}", column.name);
                assert!(
                    column.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
                    "{}",
                    column.name
                );
                assert!(column.pointer.starts_with('/') && !column.pointer.contains('~'), "{}", column.name);
                assert_eq!(column.is_text, column.pointer.starts_with("/words/"), "{}", column.name);
            }
        }
    }

    #[test]
    fn an_empty_table_is_a_view_with_its_columns() {
        let views = views(&Manifest::default());
        assert_eq!(views.matches("CREATE VIEW").count(), Table::ALL.len());
        assert!(
            views.contains("NULL::BIGINT AS \"window_tokens\"") && !views.contains("read_parquet"),
            "{views}"
        );
    }
}
