//! Converts one grapheme cluster to text that every terminal draws, and in the same width.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthChar;

/// Maximum marks on one base character; more would cover the rows above.
const MAX_MARKS: usize = 2;

/// Whether every terminal draws the character in the same way, in any context.
pub(super) fn is_plain(character: char) -> bool {
    match character {
        '\u{a0}'..='\u{2ff}' => character != '\u{ad}',
        ' '..='~' | '\u{2010}'..='\u{2027}' | '\u{2190}'..='\u{21ff}' | '\u{2500}'..='\u{259f}'
        // Kana, ideographs and Hangul syllables take two cells everywhere.
        | '\u{3001}'..='\u{3029}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{ff01}'..='\u{ff60}' => true,
        _ => false,
    }
}

/// Appends a cluster, reduced to characters with a width on which terminals agree: separates emoji joined by
/// zero-width joiners, removes skin tones and presentation selectors, and turns flags into letters.
pub(super) fn push_cluster(cluster: &str, out: &mut String) {
    let mut has_base = false;
    let mut marks = 0;
    let joined = cluster.chars().any(is_pictograph);
    for character in cluster.chars() {
        match classify(character) {
            CharClass::Selector | CharClass::Tone if has_base => {}
            CharClass::Joiner if joined => {}
            CharClass::Mark if has_base && marks >= MAX_MARKS => {}
            CharClass::Mark if has_base => {
                out.push(character);
                marks += 1;
            }
            // A written code point is not a base: a later mark in the cluster would not attach to it.
            CharClass::Mark => (has_base, marks) = (push_lone_mark(character, out), 1),
            CharClass::Regional(letter) => {
                out.push(letter);
                has_base = true;
            }
            CharClass::Blank => out.push(' '),
            CharClass::Hidden | CharClass::Selector | CharClass::Joiner | CharClass::Tone => {
                push_code_point(character, out);
            }
            CharClass::Base => {
                out.push(character);
                (has_base, marks) = (true, 0);
            }
        }
    }
}

/// Puts a mark without a base on a circle; writes its code point if it does not attach to that either. Returns
/// whether there is a base now.
fn push_lone_mark(character: char, out: &mut String) -> bool {
    let circled = String::from_iter(['◌', character]);
    let attaches = circled.graphemes(true).count() == 1;
    if attaches {
        out.push_str(&circled);
    } else {
        push_code_point(character, out);
    }
    attaches
}

/// The effect of a character on the cells around it.
enum CharClass {
    Base,
    /// Attaches to the character before it.
    Mark,
    Joiner,
    /// Selects text or emoji presentation, or encloses a key.
    Selector,
    Tone,
    /// Half of a flag, as its letter.
    Regional(char),
    /// A blank of another width.
    Blank,
    /// A terminal would execute or hide it, or draw it in an unknown width.
    Hidden,
}

fn classify(character: char) -> CharClass {
    match character {
        '\u{200d}' => CharClass::Joiner,
        '\u{fe00}'..='\u{fe0f}' | '\u{20e3}' => CharClass::Selector,
        '\u{1f3fb}'..='\u{1f3ff}' => CharClass::Tone,
        '\u{1f1e6}'..='\u{1f1ff}' => {
            let letter = (character as u32 - 0x1f1e6) as u8 + b'A';
            CharClass::Regional(char::from(letter))
        }
        '\u{a0}' => CharClass::Base,
        '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => CharClass::Blank,
        _ if is_hidden(character) => CharClass::Hidden,
        _ => match character.width() {
            None => CharClass::Hidden,
            Some(0) => CharClass::Mark,
            Some(_) => CharClass::Base,
        },
    }
}

/// Controls, direction marks, format characters, fillers, private use and unassigned code points.
fn is_hidden(character: char) -> bool {
    let filler = matches!(
        character,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}'
    );
    let selector = matches!(character, '\u{180b}'..='\u{180f}' | '\u{e0100}'..='\u{e01ef}');
    character.is_control() || filler || selector || !is_printable(character)
}

/// The standard library knows the printable characters: it escapes all others.
fn is_printable(character: char) -> bool {
    // A combining mark after a letter is not escaped.
    let mut buffer = [b'x'; 5];
    let end = 1 + character.encode_utf8(&mut buffer[1..]).len();
    let escaped = std::str::from_utf8(&buffer[..end]).is_ok_and(|text| {
        let mut escaped = text.escape_debug().skip(1);
        escaped.next() == Some('\\') && escaped.next() == Some('u')
    });
    !escaped
}

fn is_pictograph(character: char) -> bool {
    matches!(character, '\u{1f000}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}')
}

/// Appends a picture for an ASCII control character, the code point for any other.
fn push_code_point(character: char, out: &mut String) {
    let code = character as u32;
    match code {
        0..=0x1f => out.extend(char::from_u32(0x2400 + code)),
        0x7f => out.push('\u{2421}'),
        _ => {
            let digits = format!("{code:04X}");
            out.extend(["⟨", &digits, "⟩"]);
        }
    }
}
