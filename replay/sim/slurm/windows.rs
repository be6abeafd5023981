//! The times at which backfill of Slurm up to 24.11 assumes running jobs to be over.
//!
//! It does not try a waiting job after the end of each running one. It removes all that end within a window before the next try, and plans
//! the job for the end of the last one removed, whether the job needed that or not. Windows are counted from the first end, rounded up to
//! 30 s: 30 s long, and twice as long each time, or longer by `bf_window_linear`.

/// The first window, and what the first end is rounded up to, in seconds.
const FIRST: i64 = 30;

/// The windows of a pool.
#[derive(Clone, Debug, Default)]
struct Windows {
    /// The first end, rounded up; `None` before there is one.
    origin: Option<i64>,
    /// How long the window is in which the last end was.
    length: i64,
    /// The places of its ends.
    ends: Vec<usize>,
}

impl Windows {
    /// Whether an end is in another window than those before.
    fn moves_to(&mut self, end: i64, linear: i64) -> bool {
        let Some(origin) = self.origin else {
            self.origin = Some(end - end.rem_euclid(FIRST) + FIRST);
            self.length = FIRST;
            return false;
        };
        let before = self.length;
        while end > origin + self.length {
            self.length += if linear > 0 { linear } else { self.length };
        }
        self.length != before
    }
}

/// Ends (times in order, pool, CPUs), each moved to the last one in its window, in order again. `linear` is `bf_window_linear`, 0 for
/// windows that double.
pub fn to_the_last(ends: impl Iterator<Item = (i64, u16, i32)>, linear: u32) -> Vec<(i64, u16, i32)> {
    let mut moved: Vec<(i64, u16, i32)> = ends.collect();
    let pools = moved.iter().map(|(_, pool, _)| usize::from(*pool) + 1).max().unwrap_or_default();
    let mut windows = vec![Windows::default(); pools];
    let close = |window: &mut Windows, moved: &mut [(i64, u16, i32)]| {
        let last = window.ends.last().map(|place| moved[*place].0);
        for place in window.ends.drain(..) {
            moved[place].0 = last.unwrap_or_default();
        }
    };
    for place in 0..moved.len() {
        let (end, pool, _) = moved[place];
        let window = &mut windows[usize::from(pool)];
        if window.moves_to(end, i64::from(linear)) {
            close(window, &mut moved);
        }
        window.ends.push(place);
    }
    for window in &mut windows {
        close(window, &mut moved);
    }
    moved.sort_unstable();
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_get_longer() {
        let ends = [
            (95, 0, 1),
            (100, 1, 1),
            (150, 0, 2),
            (151, 0, 3),
            (181, 0, 4),
            (400, 0, 5),
            (600, 0, 6),
            (1100, 0, 7),
        ];
        // Until 150, 180, 240, 360, 600, 1080, 2040; and those of the other pool.
        let moved = to_the_last(ends.into_iter(), 0);
        assert_eq!(
            moved,
            [
                (100, 1, 1),
                (150, 0, 1),
                (150, 0, 2),
                (151, 0, 3),
                (181, 0, 4),
                (600, 0, 5),
                (600, 0, 6),
                (1100, 0, 7)
            ]
        );
        let moved = to_the_last(ends.into_iter(), 200);
        assert_eq!(moved[3..], [(181, 0, 3), (181, 0, 4), (400, 0, 5), (600, 0, 6), (1100, 0, 7)]);
        assert!(to_the_last(std::iter::empty(), 0).is_empty());
    }
}
