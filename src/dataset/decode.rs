//! Reads rows back from a Parquet file, so that the rows of unchanged sessions move into the next one.

use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, FileReader as _, RowGroupReader, SerializedFileReader};

use super::column::Kind;
use super::columns::Table;
use super::rows::{Cells, Rows, Values};

/// Reads a file of a table, one row group at a time. A column that the file lacks is null in every row.
///
/// # Errors
/// When the file is damaged or holds another type, and those of `each`.
pub fn read_rows<R: ChunkReader + 'static>(
    table: Table,
    file: R,
    mut each: impl FnMut(Rows) -> Result<()>,
) -> Result<()> {
    let reader = SerializedFileReader::new(file)?;
    for at in 0..reader.num_row_groups() {
        each(read_group(table, reader.get_row_group(at)?.as_ref())?)?;
    }
    Ok(())
}

fn read_group(table: Table, group: &dyn RowGroupReader) -> Result<Rows> {
    let count = usize::try_from(group.metadata().num_rows())?;
    let mut rows = Rows::new(table);
    for cells in &mut rows.cells {
        let name = cells.column.name;
        let columns = group.metadata().columns();
        match columns.iter().position(|column| column.column_path().string() == name) {
            Some(at) => read_column(cells, group.get_column_reader(at)?, count)?,
            None => cells.present = vec![false; count],
        }
        if cells.present.len() != count {
            let found = cells.present.len();
            return Err(ParquetError::General(format!("{name}: expected {count} rows, found {found}")));
        }
    }
    Ok(rows)
}

fn read_column(cells: &mut Cells, reader: ColumnReader, count: usize) -> Result<()> {
    let kind = cells.column.kind;
    match (&mut cells.values, reader) {
        (Values::Text(texts), ColumnReader::ByteArrayColumnReader(mut reader)) => {
            let (present, values) = read_values(&mut reader, count)?;
            cells.present = present;
            for value in values {
                texts.push(value.as_utf8()?);
            }
        }
        (Values::Integer(numbers), ColumnReader::Int64ColumnReader(mut reader)) => {
            (cells.present, *numbers) = read_values(&mut reader, count)?;
        }
        (Values::Number(numbers), ColumnReader::DoubleColumnReader(mut reader)) => {
            (cells.present, *numbers) = read_values(&mut reader, count)?;
        }
        (Values::Boolean(flags), ColumnReader::BoolColumnReader(mut reader)) => {
            (cells.present, *flags) = read_values(&mut reader, count)?;
        }
        _ => {
            let (name, expected) = (cells.column.name, physical(kind));
            return Err(ParquetError::General(format!("{name}: expected {expected}, found another type")));
        }
    }
    Ok(())
}

/// Reads a column: for each row whether it has a value, and the values.
fn read_values<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    count: usize,
) -> Result<(Vec<bool>, Vec<T::T>)> {
    let (mut levels, mut values) = (Vec::with_capacity(count), Vec::new());
    while levels.len() < count {
        let (rows, ..) = reader.read_records(count - levels.len(), Some(&mut levels), None, &mut values)?;
        if rows == 0 {
            break;
        }
    }
    Ok((levels.into_iter().map(|level| level > 0).collect(), values))
}

/// Returns the type in which a column is stored.
pub(super) fn physical(kind: Kind) -> Physical {
    match kind {
        Kind::Text => Physical::BYTE_ARRAY,
        Kind::Integer | Kind::Time => Physical::INT64,
        Kind::Number => Physical::DOUBLE,
        Kind::Boolean => Physical::BOOLEAN,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::encode::TableWriter;
    use super::*;

    fn entries(count: usize) -> Rows {
        let mut rows = Rows::new(Table::Entries);
        for at in 0..count {
            let tokens = if at % 3 == 0 { json!(null) } else { json!(at) };
            let node =
                json!({ "entry": format!("e{at}"), "tokens": tokens, "time": at, "leaf": at % 2 == 0 });
            rows.push(&[("of", &json!({ "session": format!("s{}", at % 5) })), ("node", &node)]).unwrap();
        }
        rows
    }

    fn file(rows: &[Rows]) -> bytes::Bytes {
        let mut writer = TableWriter::new(rows[0].table, Vec::new()).unwrap();
        for rows in rows {
            writer.add(rows.clone()).unwrap();
        }
        writer.finish().unwrap().into()
    }

    fn read(table: Table, file: bytes::Bytes) -> Result<Rows> {
        let mut all = Rows::new(table);
        read_rows(table, file, |rows| {
            all.append(rows);
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn rows_in_many_row_groups_read_back_completely() {
        let (first, second) = (entries(70_000), entries(7));
        let mut expected = first.clone();
        expected.append(second.clone());
        assert_eq!(read(Table::Entries, file(&[first, second])).unwrap(), expected);
    }

    #[test]
    fn a_damaged_file_and_one_of_another_table_are_errors_and_not_fewer_rows() {
        let good = file(&[entries(100)]);
        let error = read(Table::Entries, good.slice(..good.len() - 9)).unwrap_err();
        assert!(!error.to_string().is_empty());
        // `reason` and `cost` are in both tables, the second with another type.
        assert!(read(Table::Cache, file(&[entries(3)])).is_ok(), "columns that the file lacks are null");
    }
}
