//! Walking many records: what a visit will touch is fetched while earlier records are worked on.
//!
//! A cycle touches a dozen cache lines of every job, in records that lie all over the heap of a daemon that has
//! run for weeks. What such a walk waits for are cache and TLB misses, one behind the other; fetched
//! ahead they overlap.

use super::layout::{Field, Ptr};
use super::locks::JobLock;
use super::records::{Job, Record, RecordLayout};

/// Records by which a visit is later than what leads there, step by step: the record is fetched, then it is found and what
/// its pointers lead to is fetched, then what pointers in there lead to.
const STEP: usize = 6;
/// Pointers in a row that can be followed before the visit.
const REACH: usize = 3;
/// Records between the first step and the visit, and more.
const RING: usize = 32;
const _: () = assert!(STEP * (REACH + 1) < RING);

/// Bytes of a cache line.
const LINE: usize = 64;
/// Bytes to which every allocation is aligned.
const ALIGNMENT: usize = 16;
/// Places in a line where a record can begin.
const PHASES: usize = LINE / ALIGNMENT;

extern "C" {
    fn mf2_prefetch(record: *const u8, offsets: *const u32, count: usize);
}

/// A job that was seen under an earlier hold of the job lock, and may be gone since. The address says where its record
/// was, for fetching; nothing is read there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The job's id.
    pub id: u32,
    /// Where its record was.
    pub address: usize,
}

impl Seen {
    /// Takes note of a job.
    pub fn of(job: Job<'_>) -> Self {
        Self { id: job.get(|job| job.job_id), address: job.address() }
    }
}

/// Something noted of a job that was seen.
pub trait Note {
    /// The job.
    fn seen(&self) -> Seen;

    /// Whether it is to be visited at all.
    fn is_wanted(&self) -> bool {
        true
    }
}

impl Note for Seen {
    fn seen(&self) -> Seen {
        *self
    }
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

    fn fetch(&self, address: usize) {
        let offsets = &self.0[address / ALIGNMENT % PHASES];
        // SAFETY: fetching reads nothing; any address will do, also one where nothing is any more.
        unsafe { mf2_prefetch(address as *const u8, offsets.as_ptr(), offsets.len()) }
    }
}

/// What one pointer or several, one behind the other, lead to.
#[derive(Clone, Debug)]
struct Path {
    pointers: Vec<Field<Ptr>>,
    lines: Lines,
}

impl Path {
    fn fetch<L: RecordLayout>(&self, record: Record<'_, L>) {
        let mut address = record.as_ptr();
        if self.pointers.len() > 1 && !L::may_follow(record, self.pointers[0]) {
            return;
        }
        for pointer in &self.pointers {
            // SAFETY: from a live record on, each pointer leads to a live one that has the next, while the locks are held;
            // where the first may be stale, that was asked above.
            address = unsafe { pointer.get(address) };
            // Fetching near null walks the page tables every time.
            if address.is_null() {
                return;
            }
        }
        self.lines.fetch(address as usize);
    }
}

/// What is touched of a record, so that it can be fetched before.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    lines: Lines,
    paths: Vec<Path>,
}

impl Touched {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A field of the record.
    pub fn field<T>(&mut self, field: Field<T>) -> &mut Self {
        self.lines.add(field.offset());
        self
    }

    /// A field of what one pointer or several, one behind the other, lead to from the record.
    pub fn behind<T>(&mut self, path: &[Field<Ptr>], field: Field<T>) -> &mut Self {
        self.lines_behind(path).add(field.offset());
        self
    }

    /// An array with one entry of `size` bytes per TRES at the end of a path.
    pub fn tres(&mut self, path: &[Field<Ptr>], count: usize, size: usize) -> &mut Self {
        let lines = self.lines_behind(path);
        for offset in (0..count * size).step_by(ALIGNMENT) {
            lines.add(offset);
        }
        self
    }

    /// The lines to fetch at the end of a path; the pointers on the way are fetched before.
    fn lines_behind(&mut self, path: &[Field<Ptr>]) -> &mut Lines {
        debug_assert!(path.len() <= REACH, "a path of {} pointers is not fetched in time", path.len());
        match path {
            [] => return &mut self.lines,
            [before @ .., last] => self.lines_behind(before).add(last.offset()),
        }
        let offsets = |path: &[Field<Ptr>]| path.iter().map(|pointer| pointer.offset()).collect::<Vec<_>>();
        let known = self.paths.iter().position(|known| offsets(&known.pointers) == offsets(path));
        let at = known.unwrap_or_else(|| {
            self.paths.push(Path { pointers: path.to_vec(), lines: Lines::default() });
            self.paths.len() - 1
        });
        &mut self.paths[at].lines
    }

    /// Visits records in order, each with its position. The caller holds their lock, and those of what the paths lead through.
    pub fn walk<'a, L: RecordLayout>(
        &self,
        records: &[Record<'a, L>],
        visit: impl FnMut(usize, Record<'a, L>),
    ) {
        self.pipeline(records.len(), |at| records[at].address(), |at| Some(records[at]), visit);
    }

    /// As [`Touched::walk`] for jobs seen before, those that are still there and that `wants`, each with its note. They are
    /// found by id, so the list's nodes are not waited for. What the paths lead through is read only of jobs that are
    /// wanted: others, ended meanwhile, may point to what is gone.
    pub fn walk_seen<'a, 'n, N: Note>(
        &self,
        lock: &'a JobLock<'_>,
        notes: &'n [N],
        mut wants: impl FnMut(Job<'a>, &'n N) -> bool,
        mut visit: impl FnMut(Job<'a>, &'n N),
    ) {
        self.pipeline(
            notes.len(),
            |at| notes[at].seen().address,
            |at| {
                let job = if notes[at].is_wanted() { lock.job(notes[at].seen().id) } else { None };
                job.filter(|job| wants(*job, &notes[at]))
            },
            |at, job| visit(job, &notes[at]),
        );
    }

    /// Visits `count` records. Each is fetched where `address` has it, found `STEP` records later, which may read the
    /// record, and visited when what the paths lead to has been fetched as well.
    pub(super) fn pipeline<'a, L: RecordLayout>(
        &self,
        count: usize,
        address: impl Fn(usize) -> usize,
        mut find: impl FnMut(usize) -> Option<Record<'a, L>>,
        mut visit: impl FnMut(usize, Record<'a, L>),
    ) {
        let depth = self.paths.iter().map(|path| path.pointers.len()).max().unwrap_or(0);
        let mut ring = [None; RING];
        for now in 0..count + STEP * (depth + 1) {
            let later = |steps: usize| now.checked_sub(STEP * steps).filter(|at| *at < count);
            if now < count {
                self.lines.fetch(address(now));
            }
            if let Some(at) = later(1) {
                ring[at % RING] = find(at);
            }
            for path in &self.paths {
                if let Some(record) = later(path.pointers.len()).and_then(|at| ring[at % RING]) {
                    path.fetch(record);
                }
            }
            if let Some(at) = later(depth + 1) {
                if let Some(record) = ring[at % RING] {
                    visit(at, record);
                }
            }
        }
    }
}
