//! `clawscope context SESSION --breakdown`: prints the sections of the window. `breakdown_json` has the JSON form.

use std::io::Write as _;

use super::breakdown_json::report_json;
use super::failure::Failure;
use super::output::Output;
use super::session_output::print_session_header;
use crate::doc::Tone;
use crate::plan::Plan;
use crate::report::breakdown::{WindowContents, heavy_blocks, sections};
use crate::session::LoadedSession;

/// Printed lines per section; the JSON has all lines.
const MAX_SECTION_LINES: usize = 30;

/// Shows the window of the next call, under a plan if there is one.
pub(super) fn show(
    session: &LoadedSession,
    plan: Option<&Plan>,
    json: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let contents = WindowContents::new(session, plan).under_plan();
    let blocks = heavy_blocks(session, &contents.heaviest_entries(), &mut || true);
    if json {
        return Ok(output.json(&report_json(session, &contents, &blocks))?);
    }
    print_session_header(output, session, session.window)?;
    writeln!(output)?;
    let doc = contents.doc(session, &sections(session, &contents, &blocks), MAX_SECTION_LINES);
    output.line(Tone::Strong, &doc.headline)?;
    Ok(output.doc(&doc)?)
}
