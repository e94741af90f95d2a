//! A headless browser, as the judge of pages. `CLAWSCOPE_BROWSER` names it; else the usual names are tried. Without one
//! the tests print that and pass, unless `CLAWSCOPE_REQUIRE_BROWSER=1`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::skipped;

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// An installed browser.
pub(crate) struct Browser(PathBuf);

impl Browser {
    /// Finds a browser; `None`, after a line with the reason, if there is none.
    pub(crate) fn find() -> Option<Self> {
        let named = std::env::var_os("CLAWSCOPE_BROWSER").map(PathBuf::from);
        let mut candidates = named.into_iter().chain(NAMES.map(PathBuf::from));
        let runs = |name: &PathBuf| {
            Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
        };
        let found = candidates.find(runs).map(Self);
        if found.is_none() {
            let required = std::env::var_os("CLAWSCOPE_REQUIRE_BROWSER").is_some_and(|value| value == "1");
            assert!(!required, "a browser is required and not here: none of {}", NAMES.join(", "));
            skipped::note("a browser", &format!("none of {}", NAMES.join(", ")));
        }
        found
    }

    /// Returns the HTML of a page after its script has run. `fragment` is the part after `#`.
    pub(crate) fn opened(&self, page: &Path, fragment: &str) -> String {
        let profile = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(&self.0);
        command
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--virtual-time-budget=10000", "--timeout=60000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("file://{}#{fragment}", page.display()));
        let output = command.output().expect("the browser runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }
}
