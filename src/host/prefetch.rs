//! Speeds up walks over many records: it fetches what a visit will touch while earlier records are processed.
//!
//! A cycle touches a dozen cache lines of every job, in records that lie all over the heap of a daemon that has run for weeks. Such a walk
//! waits for cache and TLB misses, one after the other; prefetched, they overlap.

use super::access::Open;
use super::layout::{Field, Ptr};
use super::lists::List;
use super::records::{Record, RecordLayout};

/// Records by which a visit is later than what leads there, step by step: the record is fetched, then it is found and what
/// its pointers lead to is fetched, then what pointers in there lead to. At least and at most; [`UNDER_WAY`] decides.
const STEP: (usize, usize) = (6, 8);
/// Cache lines of a step: with more, those that are fetched wait for each other. Measured, fresh and scattered, with and without TRES.
const UNDER_WAY: usize = 88;
/// Pointers in a row that can be followed before the visit.
const REACH: usize = 3;
/// Records between the first step and the visit, and more.
const RING: usize = 64;
const _: () = assert!(STEP.1 * (REACH + 1) < RING && RING.is_power_of_two());

/// Bytes of a cache line.
const LINE: usize = 64;
/// Bytes to which every allocation is aligned.
const ALIGNMENT: usize = 16;
/// Places in a line where a record can begin.
const PHASES: usize = LINE / ALIGNMENT;

extern "C" {
    fn mf2_prefetch(record: *const u8, offsets: *const u32, count: usize);
}

/// The cache lines of a record that are touched, as offsets, for each place in a line where it can begin.
#[derive(Clone, Debug, Default)]
struct Lines([Vec<u32>; PHASES]);

impl Lines {
    fn add(&mut self, offset: usize) {
        for (phase, offsets) in self.0.iter_mut().enumerate() {
            let line = |offset: usize| (phase * ALIGNMENT + offset) / LINE;
            if !offsets.iter().any(|known| line(*known as usize) == line(offset)) {
                offsets.extend(u32::try_from(offset));
            }
        }
    }

    /// At most as many as are touched, wherever a record begins.
    fn count(&self) -> usize {
        self.0.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Fetches them of a record; of none at 0, near which a fetch would walk the page tables every time.
    fn fetch(&self, address: usize) {
        if address == 0 {
            return;
        }
        let offsets = &self.0[address / ALIGNMENT % PHASES];
        // SAFETY: fetching reads nothing; any address will do, also one where nothing is any more.
        unsafe { mf2_prefetch(address as *const u8, offsets.as_ptr(), offsets.len()) }
    }
}

/// What one pointer or several, one behind the other, lead to.
#[derive(Clone, Debug)]
struct Path {
    /// Offsets of the pointers, each in the record that the one before leads to.
    pointers: Vec<usize>,
    /// The first may lead to what is gone: it is followed where the walk says that it does not.
    may_be_stale: bool,
    lines: Lines,
}

impl Path {
    fn fetch<L: RecordLayout, A: Open>(
        &self,
        record: Record<'_, L, A>,
        is_live: &impl Fn(Record<'_, L, A>) -> bool,
    ) {
        let mut address = record.as_ptr();
        if self.may_be_stale && self.pointers.len() > 1 && !is_live(record) {
            return;
        }
        for pointer in &self.pointers {
            // SAFETY: from a live record on, each pointer leads to a live one that has the next, while the locks are held;
            // where the first may be stale, that was asked above.
            address = unsafe { address.add(*pointer).cast::<Ptr>().read() };
            if address.is_null() {
                return;
            }
        }
        self.lines.fetch(address as usize);
    }
}

/// How a walk goes from the first fetch of a record to its visit.
#[derive(Clone, Copy, Debug)]
struct Steps {
    /// One more than pointers lead to something, one behind the other.
    count: usize,
    /// Records of each.
    each: usize,
}

impl Steps {
    /// By which the visit is later than the first fetch.
    fn records(self) -> usize {
        self.count * self.each
    }
}

/// What is touched of a record, so that it can be fetched before. Made by [`super::views`] only: what a walk follows must be
/// pointers.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    lines: Lines,
    paths: Vec<Path>,
}

impl Touched {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// A field of the record.
    pub(super) fn field<L, T>(&mut self, field: Field<L, T>) -> &mut Self {
        self.lines.add(field.offset());
        self
    }

    /// A field of what one pointer or several, one behind the other, lead to from the record.
    pub(super) fn behind<L, T>(&mut self, path: &[usize], field: Field<L, T>) -> &mut Self {
        self.lines_behind(path).add(field.offset());
        self
    }

    /// An array with one entry of `size` bytes per TRES at the end of a path.
    pub(super) fn tres(&mut self, path: &[usize], count: usize, size: usize) -> &mut Self {
        let lines = self.lines_behind(path);
        for offset in (0..count * size).step_by(ALIGNMENT) {
            lines.add(offset);
        }
        self
    }

    /// What a pointer of the record leads to may be gone.
    pub(super) fn may_be_stale<L>(&mut self, pointer: Field<L, Ptr>) -> &mut Self {
        for path in &mut self.paths {
            path.may_be_stale |= path.pointers[0] == pointer.offset();
        }
        self
    }

    /// The lines to fetch at the end of a path; the pointers on the way are fetched before.
    fn lines_behind(&mut self, path: &[usize]) -> &mut Lines {
        debug_assert!(path.len() <= REACH, "a path of {} pointers is not fetched in time", path.len());
        match path {
            [] => return &mut self.lines,
            [before @ .., last] => self.lines_behind(before).add(*last),
        }
        let known = self.paths.iter().position(|known| known.pointers == path);
        let at = known.unwrap_or_else(|| {
            self.paths.push(Path { pointers: path.to_vec(), may_be_stale: false, lines: Lines::default() });
            self.paths.len() - 1
        });
        &mut self.paths[at].lines
    }

    /// Fetches what will be touched of one record: where locks are taken before it is read, its lines come meanwhile and not one after the
    /// other, as a lock waits for every read before it. What may be gone is not fetched.
    pub fn fetch<L: RecordLayout, A: Open>(&self, record: Record<'_, L, A>) {
        self.lines.fetch(record.address());
        for path in self.paths.iter().filter(|path| !path.may_be_stale) {
            path.fetch(record, &|_| false);
        }
    }

    /// Visits records in order, each with its position. The locks on what the paths lead through are those on the records.
    pub fn walk<'a, L: RecordLayout, A: Open>(
        &self,
        records: &[Record<'a, L, A>],
        visit: impl FnMut(usize, Record<'a, L, A>),
    ) {
        self.pipeline(records.len(), |at| records[at].address(), |at| Some(records[at]), |_| false, visit);
    }

    /// As [`Touched::walk`] for the records of a list. The next element of a list is known only once the one before has been read; that
    /// takes longest, and visits are made meanwhile.
    pub fn walk_list<'a, L: RecordLayout, A: Open>(
        &self,
        list: List<'a, L, A>,
        mut visit: impl FnMut(Record<'a, L, A>),
    ) {
        let steps = self.steps();
        let mut ring = [None; RING];
        let mut now = 0_usize;
        let mut put = |record: Option<Record<'a, L, A>>| {
            ring[now % RING] = record;
            if let Some(record) = record {
                self.lines.fetch(record.address());
            }
            self.follow(&ring, (now, steps), |_| false, |_, record| visit(record));
            now = now.wrapping_add(1);
        };
        list.for_each_ro(|record| put(Some(record)));
        (0..steps.records()).for_each(|_| put(None));
    }

    fn steps(&self) -> Steps {
        let lines = self.lines.count() + self.paths.iter().map(|path| path.lines.count()).sum::<usize>();
        Steps {
            count: self.paths.iter().map(|path| path.pointers.len()).max().unwrap_or(0) + 1,
            each: (UNDER_WAY / lines.max(1)).clamp(STEP.0, STEP.1),
        }
    }

    /// Fetches what the pointers of earlier records lead to, and visits the one whose time it is. In the ring a record that does not exist, or
    /// not yet, is none.
    #[inline]
    fn follow<'a, L: RecordLayout, A: Open>(
        &self,
        ring: &[Option<Record<'a, L, A>>; RING],
        (now, steps): (usize, Steps),
        is_live: impl Fn(Record<'_, L, A>) -> bool,
        visit: impl FnOnce(usize, Record<'a, L, A>),
    ) {
        // Below 0 is in the ring, too.
        let before = |count: usize| now.wrapping_sub(steps.each * count);
        for path in &self.paths {
            if let Some(record) = ring[before(path.pointers.len()) % RING] {
                path.fetch(record, &is_live);
            }
        }
        let at = before(steps.count);
        if let Some(record) = ring[at % RING] {
            visit(at, record);
        }
    }

    /// Visits `count` records. Each is fetched where `address` has it, if that is not 0, found a step later, which may read the record,
    /// and visited when what the paths lead to has been fetched as well. `is_live` is asked where the first pointer of a path may be
    /// stale.
    pub(super) fn pipeline<'a, L: RecordLayout, A: Open>(
        &self,
        count: usize,
        address: impl Fn(usize) -> usize,
        mut find: impl FnMut(usize) -> Option<Record<'a, L, A>>,
        is_live: impl Fn(Record<'_, L, A>) -> bool,
        mut visit: impl FnMut(usize, Record<'a, L, A>),
    ) {
        let steps = self.steps();
        let mut ring = [None; RING];
        for now in 0..count + steps.records() {
            if now < count {
                self.lines.fetch(address(now));
            }
            // Below 0 it is beyond the end, too.
            let at = now.wrapping_sub(steps.each);
            ring[at % RING] = if at < count { find(at) } else { None };
            self.follow(&ring, (now, steps), &is_live, &mut visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As where TRES have weights: with as many records under way as of jobs without, a cycle took a tenth longer.
    #[test]
    fn the_more_lines_a_record_has_the_fewer_records_are_under_way() {
        let steps = |lines: usize, paths: &[usize]| {
            let mut touched = Touched::new();
            (0..lines).for_each(|line| touched.lines.add(line * LINE));
            for depth in paths {
                touched.lines_behind(&vec![0; *depth]).add(0);
            }
            touched.steps()
        };
        let of = |steps: Steps| (steps.count, steps.each, steps.records());
        assert_eq!(of(steps(0, &[])), (1, 8, 8));
        assert_eq!(of(steps(10, &[1])), (2, 8, 16));
        assert_eq!(of(steps(13, &[1])), (2, 6, 12));
        assert_eq!(of(steps(40, &[3])), (4, 6, 24));
    }
}
