//! Encodes the rows of a table as a Parquet file.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, GzipLevel, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader as _, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use super::SCHEMA_VERSION;
use super::column::{Column, Kind};
use super::columns::Table;
use super::rows::{Cells, Rows, Texts, Values};

/// Rows of a row group. Readers skip whole groups, and a writer holds one in memory.
const GROUP_ROWS: usize = 1 << 16;

/// A Parquet file that is being written, compressed with gzip: its encoder is written in Rust, and every engine reads it.
#[derive(Debug)]
pub struct TableWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    /// The rows of the next row group.
    rows: Rows,
}

impl<W: Write + Send> TableWriter<W> {
    /// # Errors
    /// When the file cannot be written.
    pub fn new(table: Table, file: W) -> Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::GZIP(GzipLevel::default()))
            .set_created_by(format!("clawscope {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(vec![KeyValue::new(
                "clawscope.schemaVersion".to_owned(),
                SCHEMA_VERSION.to_string(),
            )]))
            .build();
        let writer = SerializedFileWriter::new(file, schema(table)?, Arc::new(properties))?;
        Ok(Self { writer, rows: Rows::new(table) })
    }

    /// Adds rows of the table.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, rows: Rows) -> Result<()> {
        self.rows.append(rows);
        if self.rows.len() >= GROUP_ROWS { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<()> {
        let table = self.rows.table;
        let rows = std::mem::replace(&mut self.rows, Rows::new(table));
        let mut group = self.writer.next_row_group()?;
        for cells in &rows.cells {
            let name = cells.column.name;
            let missing = || ParquetError::General(format!("the schema lacks the column {name}"));
            write_column(group.next_column()?.ok_or_else(missing)?, cells)?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes the remaining rows and the end of the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> Result<W> {
        if !self.rows.is_empty() {
            self.write_group()?;
        }
        self.writer.into_inner()
    }
}

fn write_column(mut writer: SerializedColumnWriter<'_>, cells: &Cells) -> Result<()> {
    let levels: Vec<i16> = cells.present.iter().map(|present| i16::from(*present)).collect();
    let levels = Some(levels.as_slice());
    match &cells.values {
        Values::Text(texts) => {
            let bytes: Vec<ByteArray> = shared_bytes(texts);
            writer.typed::<ByteArrayType>().write_batch(&bytes, levels, None)?
        }
        Values::Integer(numbers) => writer.typed::<Int64Type>().write_batch(numbers, levels, None)?,
        Values::Number(numbers) => writer.typed::<DoubleType>().write_batch(numbers, levels, None)?,
        Values::Boolean(flags) => writer.typed::<BoolType>().write_batch(flags, levels, None)?,
    };
    writer.close()
}

/// Returns the bytes of texts; a text that repeats the one before it shares them.
fn shared_bytes(texts: &Texts) -> Vec<ByteArray> {
    let mut last: Option<(&Arc<str>, ByteArray)> = None;
    let bytes = texts.iter().map(|text| {
        let known = last.take().filter(|(last, _)| Arc::ptr_eq(last, text));
        let bytes = known.map_or_else(|| ByteArray::from(&**text), |(_, bytes)| bytes);
        last = Some((text, bytes.clone()));
        bytes
    });
    bytes.collect()
}

/// Returns the Parquet schema of a table. Every column may be null.
fn schema(table: Table) -> Result<TypePtr> {
    let fields = table.columns().map(field).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder(table.name()).with_fields(fields).build()?))
}

fn field(column: &Column) -> Result<TypePtr> {
    let logical = match column.kind {
        Kind::Text => Some(LogicalType::String),
        // Not adjusted to the reader's zone: every time is UTC, and a day is the same day on every machine.
        Kind::Time => Some(LogicalType::timestamp(false, TimeUnit::MILLIS)),
        Kind::Integer | Kind::Number | Kind::Boolean => None,
    };
    let built = Type::primitive_type_builder(column.name, physical(column.kind))
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(built))
}

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
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::Field;
    use serde_json::json;

    use super::*;

    fn encode(rows: &Rows) -> Result<Vec<u8>> {
        let mut writer = TableWriter::new(rows.table, Vec::new())?;
        writer.add(rows.clone())?;
        writer.finish()
    }

    #[test]
    fn rows_read_back_as_written() {
        let mut rows = Rows::new(Table::Entries);
        for at in 0..3 {
            let node = json!({ "entry": format!("é{at}"), "tokens": at * 10, "time": 1_772_755_200_000_i64, "leaf": at == 2 });
            rows.push(&[("of", &json!({ "session": "s" })), ("node", &node)]).unwrap();
        }
        let bytes = bytes::Bytes::from(encode(&rows).unwrap());
        let reader = SerializedFileReader::new(bytes).unwrap();
        let names: Vec<String> = reader
            .metadata()
            .file_metadata()
            .schema()
            .get_fields()
            .iter()
            .map(|field| field.name().to_owned())
            .collect();
        assert_eq!(names, Table::Entries.columns().map(|column| column.name).collect::<Vec<_>>());
        let read: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        let value = |row: usize, name: &str| {
            let found = read[row].get_column_iter().find(|(column, _)| *column == name);
            found.unwrap().1.clone()
        };
        assert_eq!(read.len(), 3);
        assert_eq!(value(1, "entry"), Field::Str("é1".to_owned()));
        assert_eq!((value(2, "tokens"), value(2, "leaf")), (Field::Long(20), Field::Bool(true)));
        assert_eq!(value(0, "time"), Field::TimestampMillis(1_772_755_200_000));
        assert_eq!((value(0, "key"), value(0, "depth")), (Field::Null, Field::Null));
    }

    #[test]
    fn a_table_without_rows_is_a_file_that_readers_open() {
        let bytes = bytes::Bytes::from(encode(&Rows::new(Table::Calls)).unwrap());
        assert_eq!(SerializedFileReader::new(bytes).unwrap().metadata().file_metadata().num_rows(), 0);
    }
}

#[cfg(test)]
mod decode_tests {
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
