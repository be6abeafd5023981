//! Reports whether a file of ours can be saved: only when that changes, and only once it is certain.
//!
//! On a full disk each replaced file leaves a little room for the next one, so that one cycle fails and the next does not. A line for each
//! would help nobody.

/// How many times in a row a file must be saved before it counts as saved again.
const SURE: u8 = 3;

/// What there is to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It cannot be saved.
    Fails,
    /// It is saved again.
    Works,
}

/// What has been told of one file.
#[derive(Debug, Default)]
pub struct Saving {
    fails: bool,
    saved: u8,
}

impl Saving {
    /// It was saved, or could not be.
    pub fn note(&mut self, saved: bool) -> Option<News> {
        if !saved {
            self.saved = 0;
            return (!std::mem::replace(&mut self.fails, true)).then_some(News::Fails);
        }
        self.saved = self.saved.saturating_add(1);
        if !self.fails || self.saved < SURE {
            return None;
        }
        self.fails = false;
        Some(News::Works)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_with_room_for_every_second_file_is_told_of_once() {
        let mut saving = Saving::default();
        let mut told =
            |saved: &[bool]| -> Vec<Option<News>> { saved.iter().map(|saved| saving.note(*saved)).collect() };
        assert_eq!(told(&[true, true]), [None, None]);
        assert_eq!(told(&[false, true, false, true, true, false, false])[0], Some(News::Fails));
        assert_eq!(told(&[true, false].repeat(20)), [None; 40]);
        assert_eq!(told(&[true, true, true, true]), [None, None, Some(News::Works), None]);
        assert_eq!(told(&[false, true]), [Some(News::Fails), None]);
    }
}
