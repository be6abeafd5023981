//! The host's memory: blocks with Slurm's header, in one arena for each lock that protects them.
//!
//! An arena whose lock nobody holds for writing cannot be written, one whose lock nobody holds cannot be read either (where a
//! test asks for that): the processor finds every access under too low a lock. Blocks are never used twice: who
//! frees twice, or uses what is freed, is found. What a call has changed is said field by field.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::fail;

/// First word of the header before each block; the second is the size.
const MAGIC: usize = 0x42;
const HEADER: usize = 16;
/// Bytes of an arena.
const ARENA: usize = 1 << 22;
/// What freed memory is filled with.
const FREED: u8 = 0xdb;

/// What protects a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arena {
    /// slurmctld's job lock.
    Jobs,
    /// slurmctld's partition lock.
    Partitions,
    /// The association manager's lock of associations.
    Associations,
    /// The association manager's lock of QOS.
    Qos,
    /// The association manager's lock of TRES.
    Tres,
    /// The mutex of slurmctld's configuration: its texts. Who reads one without it is found in every test.
    Configuration,
    /// Nothing: what the plugin allocates, texts, messages.
    Common,
}

/// All of them, by their numbers.
pub const ARENAS: [Arena; 7] = [
    Arena::Jobs,
    Arena::Partitions,
    Arena::Associations,
    Arena::Qos,
    Arena::Tres,
    Arena::Configuration,
    Arena::Common,
];

/// What may be done with an arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Nothing.
    None,
    /// Reading.
    Read,
    /// Everything.
    Write,
}

/// Who allocated a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The host.
    Host,
    /// The plugin, through `slurm_xcalloc`.
    Plugin,
}

/// A live block.
#[derive(Debug, Clone)]
pub struct Block {
    /// Bytes, without the header.
    pub size: usize,
    /// Who made it.
    pub owner: Owner,
    /// The record's name in the table, or what an array or text is.
    pub kind: String,
    /// Which one, in words.
    pub name: String,
}

#[derive(Default)]
struct Heap {
    /// Beginning and first free offset, by arena.
    arenas: Vec<(usize, usize)>,
    access: Vec<Option<Access>>,
    live: BTreeMap<usize, Block>,
    freed: BTreeMap<usize, Block>,
}

static HEAP: Mutex<Option<Heap>> = Mutex::new(None);
/// Whether reading without a lock is found, too.
static READS: AtomicBool = AtomicBool::new(false);

/// The heap, locked.
struct Locked(MutexGuard<'static, Option<Heap>>);

impl std::ops::Deref for Locked {
    type Target = Heap;
    fn deref(&self) -> &Heap {
        self.0.as_ref().expect("made when it was locked")
    }
}

impl std::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut Heap {
        self.0.as_mut().expect("made when it was locked")
    }
}

fn heap() -> Locked {
    let mut heap = HEAP.lock().unwrap_or_else(PoisonError::into_inner);
    heap.get_or_insert_with(|| {
        let arenas = ARENAS.iter().map(|_| (map_arena(), 0)).collect();
        Heap { arenas, access: vec![Some(Access::Write); ARENAS.len()], ..Heap::default() }
    });
    Locked(heap)
}

fn map_arena() -> usize {
    // SAFETY: fresh memory of our own.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            ARENA,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    assert_ne!(address, libc::MAP_FAILED, "no memory for an arena");
    address as usize
}

/// Finds reads without a lock from now on, too.
pub fn watch_reads() {
    READS.store(true, Ordering::Relaxed);
}

/// Sets what may be done with an arena.
pub fn allow(arena: Arena, access: Access) {
    let watched = arena == Arena::Configuration || READS.load(Ordering::Relaxed);
    let access = if access == Access::None && !watched { Access::Read } else { access };
    let mut heap = heap();
    if heap.access[arena as usize].replace(access) != Some(access) {
        protect(&heap, arena, access);
    }
}

fn protect(heap: &Heap, arena: Arena, access: Access) {
    let protection = match access {
        Access::None => libc::PROT_NONE,
        Access::Read => libc::PROT_READ,
        Access::Write => libc::PROT_READ | libc::PROT_WRITE,
    };
    // SAFETY: an arena of ours.
    let failed = unsafe { libc::mprotect(heap.arenas[arena as usize].0 as *mut c_void, ARENA, protection) };
    assert_eq!(failed, 0, "an arena can be protected");
}

/// Allocates a zeroed block.
pub fn allocate(arena: Arena, size: usize, owner: Owner, kind: &str, name: &str) -> *mut u8 {
    let mut heap = heap();
    let (begin, used) = &mut heap.arenas[arena as usize];
    let address = *begin + *used + HEADER;
    // Unused bytes behind each block, so that who writes beyond its end is found in the next snapshot by what follows.
    *used += (HEADER + size + HEADER).next_multiple_of(16);
    if *used > ARENA {
        fail(&format!("the fake host has no more memory for {kind}: make fewer or smaller records"));
    }
    // SAFETY: inside the arena by the check above; the host builds records while everything may be written, and what the
    // plugin allocates is in the arena that always may.
    unsafe { ((address - HEADER) as *mut [usize; 2]).write([MAGIC, size]) };
    heap.live.insert(address, Block { size, owner, kind: kind.to_owned(), name: name.to_owned() });
    address as *mut u8
}

/// A text in a block.
pub fn text(arena: Arena, kind: &str, text: &str) -> *mut u8 {
    bytes(arena, kind, text.as_bytes())
}

/// The same of any bytes but zero.
pub fn bytes(arena: Arena, kind: &str, text: &[u8]) -> *mut u8 {
    let address = allocate(arena, text.len() + 1, Owner::Host, kind, &String::from_utf8_lossy(text));
    // SAFETY: a fresh block of that size; its last byte is zero.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), address, text.len()) };
    address
}

/// Frees a block.
pub fn free(address: *mut u8) {
    let mut heap = heap();
    let at = address as usize;
    let Some(block) = heap.live.remove(&at) else {
        let known =
            heap.freed.get(&at).map(|block| format!(": {} {} was freed before", block.kind, block.name));
        fail(&format!("slurm_xfree of {address:?}, which is no block{}", known.unwrap_or_default()));
    };
    // SAFETY: a live block with its header.
    let header = unsafe { ((at - HEADER) as *const [usize; 2]).read() };
    if header != [MAGIC, block.size] {
        fail(&format!("the header of {} {} was overwritten: {header:x?}", block.kind, block.name));
    }
    // SAFETY: as above; nobody uses it any more.
    unsafe { std::ptr::write_bytes((at - HEADER) as *mut u8, FREED, HEADER + block.size) };
    heap.freed.insert(at, block);
}

/// The live block that begins at an address.
pub fn block(address: *const u8) -> Option<Block> {
    heap().live.get(&(address as usize)).cloned()
}

/// The live or freed block that an address is in, and the offset.
pub fn block_around(address: usize) -> Option<(Block, usize, bool)> {
    let heap = heap();
    let find = |blocks: &BTreeMap<usize, Block>| {
        let (begin, block) = blocks.range(..=address).next_back()?;
        (address < begin + block.size).then(|| (block.clone(), address - begin))
    };
    let live = find(&heap.live).map(|(block, at)| (block, at, true));
    live.or_else(|| find(&heap.freed).map(|(block, at)| (block, at, false)))
}

/// The arena of an address, and what may be done with it.
pub fn arena_of(address: usize) -> Option<(Arena, Option<Access>)> {
    // Not blocking: this is asked by a signal handler.
    let heap = HEAP.try_lock().ok()?;
    let heap = heap.as_ref()?;
    let at = heap.arenas.iter().position(|(begin, _)| (*begin..begin + ARENA).contains(&address))?;
    Some((ARENAS[at], heap.access[at]))
}

/// Live blocks that the plugin has allocated.
pub fn of_plugin() -> Vec<(usize, Block)> {
    let heap = heap();
    let plugins = heap.live.iter().filter(|(_, block)| block.owner == Owner::Plugin);
    plugins.map(|(address, block)| (*address, block.clone())).collect()
}

/// The bytes of all live blocks.
#[derive(Debug, Clone)]
pub struct Snapshot(BTreeMap<usize, (Block, Vec<u8>)>);

/// Takes a snapshot.
pub fn snapshot() -> Snapshot {
    let heap = heap();
    let copy = |(address, block): (&usize, &Block)| {
        // SAFETY: a live block; with the unused bytes behind it, which belong to its arena.
        let bytes = unsafe { std::slice::from_raw_parts(*address as *const u8, block.size + HEADER) };
        (*address, (block.clone(), bytes.to_vec()))
    };
    let closed = || ARENAS.into_iter().filter(|arena| heap.access[*arena as usize] == Some(Access::None));
    closed().for_each(|arena| protect(&heap, arena, Access::Read));
    let snapshot = Snapshot(heap.live.iter().map(copy).collect());
    closed().for_each(|arena| protect(&heap, arena, Access::None));
    snapshot
}

/// A difference between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// A byte of a block: its address and the offset.
    Changed(usize, usize),
    /// A block that is new.
    New(usize),
    /// A block that is gone.
    Gone(usize),
}

impl Snapshot {
    /// What is different in a later one.
    pub fn differences(&self, later: &Self) -> Vec<(Block, Difference)> {
        let mut found = Vec::new();
        for (address, (block, bytes)) in &self.0 {
            let Some((_, now)) = later.0.get(address) else {
                found.push((block.clone(), Difference::Gone(*address)));
                continue;
            };
            let changed = bytes.iter().zip(now).enumerate().filter(|(_, (before, after))| before != after);
            found.extend(changed.map(|(at, _)| (block.clone(), Difference::Changed(*address, at))));
        }
        for (address, (block, _)) in &later.0 {
            if !self.0.contains_key(address) {
                found.push((block.clone(), Difference::New(*address)));
            }
        }
        found
    }
}

pub(crate) unsafe extern "C" fn slurm_xcalloc(
    count: usize,
    size: usize,
    clear: bool,
    may_fail: bool,
    _file: *const c_char,
    _line: c_int,
    _function: *const c_char,
) -> *mut c_void {
    if !clear || may_fail {
        fail("slurm_xcalloc: memory that is not cleared, or may be lacking, is not what the plugin asks for");
    }
    if count * size == 0 {
        return std::ptr::null_mut();
    }
    allocate(Arena::Common, count * size, Owner::Plugin, "array", &format!("of {count} * {size} bytes"))
        .cast()
}

pub(crate) unsafe extern "C" fn slurm_xfree(pointer: *mut *mut c_void) {
    // SAFETY: the address of a pointer, by the contract of the function.
    let block = unsafe { pointer.replace(std::ptr::null_mut()) };
    if !block.is_null() {
        free(block.cast());
    }
}

pub(crate) unsafe extern "C" fn slurm_xsize(address: *mut c_void) -> usize {
    match block(address.cast()) {
        Some(block) => block.size,
        None => fail(&format!("slurm_xsize of {address:?}, which is no block")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::forked;

    fn calloc(size: usize) -> *mut u8 {
        // SAFETY: the texts are not looked at.
        unsafe { slurm_xcalloc(1, size, true, false, std::ptr::null(), 0, std::ptr::null()) }.cast()
    }

    #[track_caller]
    fn assert_found(body: impl FnOnce(), text: &str) {
        let said = forked(body).expect_err("it is found");
        assert!(said.contains(text), "'{text}' is not in: {said}");
    }

    #[test]
    fn blocks_have_slurms_header_and_know_their_size() {
        let _alone = crate::process::alone();
        let block = calloc(40);
        // SAFETY: the header before a block.
        assert_eq!(unsafe { block.sub(16).cast::<[usize; 2]>().read() }, [0x42, 40]);
        // SAFETY: a block.
        assert_eq!(unsafe { slurm_xsize(block.cast()) }, 40);
        assert_eq!(calloc(0), std::ptr::null_mut());
    }

    #[test]
    fn who_frees_twice_or_what_is_no_block_is_found() {
        let _alone = crate::process::alone();
        let twice = || {
            let block = calloc(40);
            free(block);
            free(block);
        };
        assert_found(twice, "which is no block: array of 1 * 40 bytes was freed before");
        // SAFETY: inside the block.
        assert_found(|| free(unsafe { calloc(40).add(8) }), "which is no block");
    }

    #[test]
    fn every_byte_that_changes_is_seen_also_beyond_the_end_and_what_is_new_or_gone() {
        let _alone = crate::process::alone();
        let (one, other) = (calloc(40), calloc(40));
        let before = snapshot();
        // SAFETY: inside the block and right behind it, in its arena.
        unsafe {
            one.add(39).write(1);
            one.add(41).write(1);
        }
        free(other);
        let new = calloc(8);
        let found: Vec<Difference> =
            before.differences(&snapshot()).into_iter().map(|(_, what)| what).collect();
        let (one, other, new) = (one as usize, other as usize, new as usize);
        for expected in [
            Difference::Changed(one, 39),
            Difference::Changed(one, 41),
            Difference::Gone(other),
            Difference::New(new),
        ] {
            assert!(found.contains(&expected), "{expected:?} is not in {found:?}");
        }
    }

    #[test]
    fn an_arena_that_may_only_be_read_cannot_be_written() {
        let _alone = crate::process::alone();
        let write = || {
            let block = allocate(Arena::Qos, 8, Owner::Host, "qos", "one");
            allow(Arena::Qos, Access::Read);
            // SAFETY: a block; the kernel stops us.
            unsafe { block.write_volatile(1) };
        };
        assert!(forked(write).unwrap_err().contains("status 0xb"), "killed by SIGSEGV");
        let read = || {
            let block = allocate(Arena::Qos, 8, Owner::Host, "qos", "one");
            watch_reads();
            allow(Arena::Qos, Access::None);
            // SAFETY: as above.
            unsafe { block.read_volatile() };
        };
        assert!(forked(read).unwrap_err().contains("status 0xb"), "killed by SIGSEGV");
    }
}
