//! Writes the new files of the partitions that a run changes: rows of unchanged sessions come from the old files, then
//! those of the sessions that were read again.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

use super::columns::Table;
use super::encode::{TableWriter, read_rows};
use super::folder::{DatasetFolder, FolderError, side_by_side};
use super::manifest::table_path;
use super::rows::Rows;
use crate::files;

/// The most open files that wait to be synced.
const MAX_UNSYNCED: usize = 64;

/// Writers of one partition, by table; a table without rows has none.
type Writers = BTreeMap<Table, TableWriter<BufWriter<File>>>;

/// A run that writes partitions, one after another.
#[derive(Debug)]
pub struct Rewrite<'a> {
    folder: &'a DatasetFolder,
    /// The tables of the old partitions.
    tables: BTreeMap<&'a str, BTreeSet<Table>>,
    /// The sessions whose rows stay, by partition.
    kept: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// Partitions that lose rows and are not yet written.
    due: BTreeSet<&'a str>,
    open: Option<(String, Writers)>,
    files: Vec<PathBuf>,
    /// Files that are written and not yet synced.
    unsynced: Vec<(PathBuf, File)>,
    /// Files that the partitions had before.
    old_files: BTreeSet<PathBuf>,
}

/// The outcome of a run, below the dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    /// Staged files.
    pub files: Vec<PathBuf>,
    /// Old files that no new one replaces.
    pub removed: Vec<PathBuf>,
}

impl<'a> Rewrite<'a> {
    /// Begins a run that drops the old rows of some sessions.
    pub fn new(folder: &'a DatasetFolder, dropped: &BTreeSet<&str>) -> Self {
        let mut kept: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut due = BTreeSet::new();
        for (name, session) in &folder.manifest().sessions {
            if dropped.contains(name.as_str()) {
                due.insert(session.partition.as_str());
            } else {
                kept.entry(&session.partition).or_default().insert(name);
            }
        }
        let tables = folder.manifest().tables();
        Self {
            folder,
            tables,
            kept,
            due,
            open: None,
            files: Vec::new(),
            unsynced: Vec::new(),
            old_files: BTreeSet::new(),
        }
    }

    /// Adds the rows of a session. All sessions of a partition come one after another.
    ///
    /// # Errors
    /// When an old file cannot be read or a new one not be written.
    pub fn add(&mut self, partition: &str, tables: Vec<Rows>) -> Result<(), FolderError> {
        if self.open.as_ref().is_none_or(|(open, _)| open != partition) {
            self.begin(partition)?;
        }
        for rows in tables {
            self.write(rows)?;
        }
        Ok(())
    }

    /// Writes the remaining files.
    ///
    /// # Errors
    /// Like [`Self::add`].
    pub fn finish(mut self) -> Result<Rewritten, FolderError> {
        while let Some(partition) = self.due.first().copied() {
            self.begin(partition)?;
        }
        self.close()?;
        self.sync()?;
        let files: BTreeSet<&PathBuf> = self.files.iter().collect();
        let removed = self.old_files.iter().filter(|path| !files.contains(path)).cloned().collect();
        Ok(Rewritten { files: self.files, removed })
    }

    /// Opens a partition and copies the rows that stay.
    fn begin(&mut self, partition: &str) -> Result<(), FolderError> {
        self.close()?;
        self.due.remove(partition);
        self.open = Some((partition.to_owned(), Writers::new()));
        for table in self.tables.get(partition).cloned().unwrap_or_default() {
            let path = table_path(table, partition);
            self.old_files.insert(path.clone());
            if let Some(kept) = self.kept.get(partition).cloned() {
                self.copy(table, &path, &kept)?;
            }
        }
        Ok(())
    }

    fn copy(&mut self, table: Table, path: &Path, kept: &BTreeSet<&str>) -> Result<(), FolderError> {
        let path = self.folder.path(path);
        let failed = |source| FolderError::Io { path: path.clone(), source };
        let file = files::open(&path).map_err(failed)?;
        let mut written = Ok(());
        let read = read_rows(table, file, |mut rows| {
            rows.retain_sessions(|session| kept.contains(session));
            written = self.write(rows);
            written.as_ref().map_err(|error| ParquetError::General(error.to_string())).copied()
        });
        written?;
        read.map_err(|source| FolderError::Table { path: path.clone(), source })
    }

    /// Adds rows to the open partition.
    fn write(&mut self, rows: Rows) -> Result<(), FolderError> {
        let Some((partition, writers)) = self.open.as_mut().filter(|_| !rows.is_empty()) else {
            return Ok(());
        };
        let (table, path) = (rows.table, table_path(rows.table, partition));
        let writer = match writers.entry(table) {
            Entry::Occupied(writer) => writer.into_mut(),
            Entry::Vacant(place) => {
                let file = BufWriter::new(self.folder.create_staged(&path)?);
                let writer = TableWriter::new(table, file).map_err(|error| refused(&path, error))?;
                self.files.push(path.clone());
                place.insert(writer)
            }
        };
        writer.add(rows).map_err(|error| refused(&path, error))
    }

    /// Ends the files of the open partition and syncs them.
    fn close(&mut self) -> Result<(), FolderError> {
        let Some((partition, writers)) = self.open.take() else { return Ok(()) };
        for (table, writer) in writers {
            let path = table_path(table, &partition);
            let file = writer.finish().map_err(|error| refused(&path, error))?;
            let file = file.into_inner().map_err(io::IntoInnerError::into_error);
            let file = file.map_err(|source| FolderError::Io { path: path.clone(), source })?;
            self.unsynced.push((path, file));
        }
        if self.unsynced.len() >= MAX_UNSYNCED { self.sync() } else { Ok(()) }
    }

    /// Syncs the files that were written, side by side: the disk waits longer for each than it writes.
    fn sync(&mut self) -> Result<(), FolderError> {
        side_by_side(&std::mem::take(&mut self.unsynced), |(path, file)| {
            file.sync_data().map_err(|source| FolderError::Io { path: path.clone(), source })
        })
    }
}

fn refused(path: &Path, error: ParquetError) -> FolderError {
    FolderError::Io { path: path.to_owned(), source: io::Error::other(error) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::dataset::folder::Change;
    use crate::dataset::manifest::DatasetSession;

    /// The rows of a session: one session, and some settings.
    fn tables(session: &str, settings: usize) -> Vec<Rows> {
        let of = json!({ "session": session, "key": session });
        let mut tables = [Table::Sessions, Table::Settings].map(Rows::new);
        tables[0].push(&[("of", &of)]).unwrap();
        for at in 0..settings {
            tables[1].push(&[("of", &of), ("setting", &json!({ "value": at }))]).unwrap();
        }
        tables.into()
    }

    /// Runs an update: these sessions with their days and settings are read, those are removed.
    fn run(folder: &mut DatasetFolder, read: &[(&str, &str, usize)], gone: &[&str]) -> Rewritten {
        let dropped: BTreeSet<&str> =
            read.iter().map(|(name, ..)| *name).chain(gone.iter().copied()).collect();
        let mut manifest = folder.manifest().clone();
        manifest.sessions.retain(|name, _| !dropped.contains(name.as_str()));
        let mut rewrite = Rewrite::new(folder, &dropped);
        for (name, day, settings) in read {
            let tables = tables(name, *settings);
            manifest.sessions.insert((*name).to_owned(), DatasetSession::example(day, &tables));
            rewrite.add(day, tables).unwrap();
        }
        let rewritten = rewrite.finish().unwrap();
        let Rewritten { files, removed } = rewritten.clone();
        folder.publish(Change { files, removed, manifest }).unwrap();
        rewritten
    }

    /// The sessions of each file of the settings, each as often as it has rows.
    fn settings(folder: &DatasetFolder) -> BTreeMap<String, Vec<String>> {
        let tables = folder.manifest().tables();
        let days = tables.into_iter().filter(|(_, tables)| tables.contains(&Table::Settings));
        let mut found = BTreeMap::new();
        for (day, _) in days {
            let file = File::open(folder.path(&table_path(Table::Settings, day))).unwrap();
            let mut sessions = Vec::new();
            read_rows(Table::Settings, file, |rows| {
                let crate::dataset::rows::Values::Text(names) = &rows.cells[0].values else { panic!("text") };
                sessions.extend(names.iter().map(ToString::to_string));
                Ok(())
            })
            .unwrap();
            sessions.sort();
            found.insert(day.to_owned(), sessions);
        }
        found
    }

    #[test]
    fn an_update_keeps_rows_of_unchanged_sessions_and_skips_other_partitions() {
        let dir = tempfile::tempdir().unwrap();
        let mut folder = DatasetFolder::open(dir.path()).unwrap();
        run(&mut folder, &[("a", "d1", 2), ("b", "d1", 1), ("c", "d2", 1)], &[]);
        let grown = run(&mut folder, &[("a", "d1", 3)], &[]);
        assert_eq!(grown.files, ["sessions/d1/rows.parquet", "settings/d1/rows.parquet"].map(PathBuf::from));
        let found = settings(&folder);
        assert_eq!((found["d1"].join(""), found["d2"].join("")), ("aaab".to_owned(), "c".to_owned()));
    }

    #[test]
    fn a_moved_session_leaves_its_old_partition_and_empty_partitions_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let mut folder = DatasetFolder::open(dir.path()).unwrap();
        run(&mut folder, &[("a", "d1", 1), ("b", "d1", 1), ("c", "d2", 1)], &[]);
        run(&mut folder, &[("a", "d2", 1)], &["b"]);
        let found = settings(&folder);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["d2"]);
        assert_eq!(found["d2"].join(""), "ac");
        assert!(!dir.path().join("settings/d1/rows.parquet").exists());
        // A session without settings takes the file of that table away.
        let last = run(&mut folder, &[("a", "d2", 0)], &["c"]);
        assert_eq!(last.removed, ["settings/d2/rows.parquet"].map(PathBuf::from));
    }

    #[test]
    fn a_damaged_old_file_ends_the_run_without_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let mut folder = DatasetFolder::open(dir.path()).unwrap();
        run(&mut folder, &[("a", "d1", 1), ("b", "d1", 1)], &[]);
        let path = dir.path().join("settings/d1/rows.parquet");
        let length = std::fs::metadata(&path).unwrap().len();
        File::options().write(true).open(&path).unwrap().set_len(length - 5).unwrap();
        let mut rewrite = Rewrite::new(&folder, &BTreeSet::from(["a"]));
        let error = rewrite.add("d1", tables("a", 2)).unwrap_err().to_string();
        assert!(error.contains("settings/d1/rows.parquet") && error.contains("Name a new folder"), "{error}");
    }
}
