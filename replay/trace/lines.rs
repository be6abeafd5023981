//! Reads a file of any size line by line, with a bound on the length of lines.

use std::io::{self, BufRead};

use super::problems::{ProblemKind, Problems};

/// The longest line that is taken, in bytes.
const LONGEST: usize = 1 << 16;

/// Lines of a reader, one at a time.
pub struct Lines<'f, R> {
    reader: R,
    file: &'f str,
    number: u64,
    bytes: Vec<u8>,
    text: String,
}

/// A line without its end.
pub struct TraceLine<'l> {
    /// From 1.
    pub number: u64,
    /// Bytes that are no UTF-8 are replaced.
    pub text: &'l str,
}

impl<'f, R: BufRead> Lines<'f, R> {
    pub fn new(reader: R, file: &'f str) -> Self {
        Self { reader, file, number: 0, bytes: Vec::new(), text: String::new() }
    }

    /// The next line; lines that are too long are noted and left out.
    ///
    /// Compressed data that end too early are noted, and are the end.
    pub fn next(&mut self, problems: &mut Problems) -> io::Result<Option<TraceLine<'_>>> {
        loop {
            self.bytes.clear();
            self.number += 1;
            let (mut length, mut ended) = (0_usize, false);
            while !ended {
                let chunk = match self.reader.fill_buf() {
                    Ok(chunk) => chunk,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) if is_damage(&error) => {
                        problems.note(ProblemKind::Truncated, self.file, self.number, || error.to_string());
                        return Ok(None);
                    }
                    Err(error) => return Err(error),
                };
                if chunk.is_empty() {
                    break;
                }
                let end = chunk.iter().position(|byte| *byte == b'\n');
                let used = end.map_or(chunk.len(), |end| end + 1);
                length = length.saturating_add(used);
                if length <= LONGEST {
                    self.bytes.extend_from_slice(&chunk[..used]);
                }
                ended = end.is_some();
                self.reader.consume(used);
            }
            if length == 0 {
                return Ok(None);
            }
            if length > LONGEST {
                problems.note(ProblemKind::TooLong, self.file, self.number, || format!("{length} bytes"));
                continue;
            }
            while matches!(self.bytes.last(), Some(b'\n' | b'\r')) {
                self.bytes.pop();
            }
            self.text.clear();
            self.text.push_str(&String::from_utf8_lossy(&self.bytes));
            return Ok(Some(TraceLine { number: self.number, text: &self.text }));
        }
    }
}

fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData
    )
}
