//! What the plugin asks slurmctld about records that are nobody's: messages made into records, and jobs of the plugin's own.

use std::collections::HashSet;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::lists;
use crate::memory::{self, allocate, Arena, Owner};
use crate::record::{set_long_double, Record};
use crate::release;
use crate::slurmctld::{layout, shared};
use crate::specs::{NICE_OFFSET, NO_VAL, RUNNING};

/// Records made of messages, which no lock protects.
static MADE: Mutex<Option<HashSet<usize>>> = Mutex::new(None);

/// `ops.set` of slurmctld: the plugin's `priority_p_set`, once it is looked up, which is after `init`.
static SET: AtomicUsize = AtomicUsize::new(0);

/// slurmctld has looked up the function, or forgets it.
pub(crate) fn take_set(function: *mut c_void) {
    SET.store(function as usize, Ordering::Release);
}

/// As `priority_g_set` finds it. Up to 22.05 that waits until the plugin is loaded.
fn taken_set() -> usize {
    let waits = Instant::now() + Duration::from_secs(10);
    loop {
        let function = SET.load(Ordering::Acquire);
        if function != 0 || layout().release >= release(23, 2, 0) || Instant::now() > waits {
            assert_ne!(function, 0, "priority_g_set is called before slurmctld has looked up priority_p_set");
            return function;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn made<T>(body: impl FnOnce(&mut HashSet<usize>) -> T) -> T {
    body(MADE.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(HashSet::new))
}

/// A record that is zero, with as much again behind it.
pub(crate) fn zeros(size: usize, what: &str) -> *mut u8 {
    let address = allocate(Arena::Common, size, Owner::Host, what, "made of a message");
    // SAFETY: a fresh block of that size.
    unsafe { address.write_bytes(0, size) };
    address
}

/// Where a message is read: `slurm_buf`.
struct Reader {
    head: *const u8,
    at: usize,
}

impl Reader {
    fn of(buffer: *mut c_void) -> Self {
        // SAFETY: a buffer that `slurm_init_buf` made.
        Self { head: unsafe { buffer.cast::<*const u8>().add(1).read() }, at: 0 }
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        // SAFETY: messages end where they should.
        let bytes = unsafe { self.head.add(self.at).cast::<[u8; N]>().read() };
        self.at += N;
        bytes
    }

    /// As a message must be read to its end.
    fn expect_end(&self, buffer: *mut c_void) {
        // SAFETY: as in `of`.
        let head = unsafe { buffer.cast::<*const u8>().add(1).read() };
        let size = memory::block(head).expect("a buffer").size;
        assert_eq!(self.at, size, "the message is longer or shorter than it should be");
    }

    fn number(&mut self) -> u32 {
        u32::from_be_bytes(self.bytes())
    }

    fn double(&mut self) -> f64 {
        f64::from_bits(u64::from_be_bytes(self.bytes())) / 1_000_000.0
    }

    fn text(&mut self) -> String {
        let count = self.number() as usize;
        let bytes: Vec<u8> = (0..count).map(|_| self.bytes::<1>()[0]).collect();
        String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
    }

    fn long_double(&mut self) -> f64 {
        self.text().parse().expect("a number")
    }

    fn array(&mut self) -> *mut u8 {
        let count = self.number() as usize;
        let address = zeros(8 * count, "an array");
        for at in 0..count {
            // SAFETY: inside the block.
            unsafe { address.cast::<u64>().add(at).write(u64::from_be_bytes(self.bytes())) };
        }
        address
    }

    fn long_doubles(&mut self) -> *mut u8 {
        let count = self.number() as usize;
        let address = zeros(16 * count, "an array");
        for at in 0..count {
            // SAFETY: inside the block.
            set_long_double(unsafe { address.add(16 * at) }, self.long_double());
        }
        address
    }
}

fn new_record(kind: &'static str) -> Record {
    let record = Record { kind, address: zeros(layout().record(kind).size, kind) };
    made(|made| made.insert(record.address as usize));
    record
}

pub(crate) unsafe extern "C" fn slurmdb_unpack_assoc_usage(
    usage: *mut *mut c_void,
    _protocol: u16,
    buffer: *mut c_void,
) -> c_int {
    let (mut from, record) = (Reader::of(buffer), new_record("assoc_usage"));
    from.number();
    memory::free(from.array());
    record.put_real("grp_used_tres_run_secs", from.array());
    record.put_real("grp_used_wall", from.double());
    record.put_real("fs_factor", from.double());
    from.number();
    record.put_real("shares_norm", from.double());
    for field in ["usage_efctv", "usage_norm", "usage_raw"] {
        record.put_real_ld(field, from.long_double());
    }
    record.put_real("usage_tres_raw", from.long_doubles());
    from.number();
    from.number();
    record.put_real_ld("level_fs", from.long_double());
    // SAFETY: where the caller wants the address.
    unsafe { usage.write(record.address.cast()) };
    0
}

pub(crate) unsafe extern "C" fn slurmdb_unpack_qos_usage(
    usage: *mut *mut c_void,
    _protocol: u16,
    buffer: *mut c_void,
) -> c_int {
    let (mut from, record) = (Reader::of(buffer), new_record("qos_usage"));
    from.bytes::<12>();
    memory::free(from.array());
    record.put_real("grp_used_tres_run_secs", from.array());
    record.put_real("grp_used_wall", from.double());
    record.put_real("norm_priority", from.double());
    record.put_real_ld("usage_raw", from.long_double());
    record.put_real("usage_tres_raw", from.long_doubles());
    for field in ["user_limit_list", "acct_limit_list"] {
        let list = lists::new(None);
        for _ in 0..from.number() {
            let limits = new_record("used_limits");
            from.number();
            from.text();
            from.bytes::<8>();
            memory::free(from.array());
            limits.put_real("tres_run_secs", from.array());
            from.number();
            lists::push(list, limits.address);
        }
        record.put_real(field, list);
    }
    // SAFETY: as above.
    unsafe { usage.write(record.address.cast()) };
    0
}

/// As in every release: seconds, count, id, name, type.
pub(crate) unsafe extern "C" fn slurmdb_unpack_tres_rec(
    tres: *mut *mut c_void,
    _protocol: u16,
    buffer: *mut c_void,
) -> c_int {
    let (mut from, record) = (Reader::of(buffer), new_record("tres"));
    from.bytes::<8>();
    record.put_real("count", u64::from_be_bytes(from.bytes()));
    // SAFETY: as above.
    unsafe { tres.write(record.address.cast()) };
    0
}

/// A text as the host keeps it; null where the message has none.
fn put_text(record: Record, field: &str, text: &str) {
    if !text.is_empty() {
        record.put_real(field, memory::text(Arena::Common, "a text made of a message", text));
    }
}

/// So many texts that the plugin has no use for.
fn skip_texts(from: &mut Reader, count: usize) {
    for _ in 0..count {
        from.text();
    }
}

pub(crate) unsafe extern "C" fn slurmdb_unpack_assoc_rec(
    association: *mut *mut c_void,
    _protocol: u16,
    buffer: *mut c_void,
) -> c_int {
    let since = |year, month| layout().release >= release(year, month, 0);
    let (mut from, record) = (Reader::of(buffer), new_record("assoc"));
    assert_eq!(from.number(), NO_VAL, "no accounting");
    put_text(record, "acct", &from.text());
    skip_texts(&mut from, if since(23, 2) { 2 } else { 1 });
    from.number();
    if since(24, 5) {
        from.number();
    } else {
        from.bytes::<2>();
    }
    record.put_real("shares_raw", from.number());
    skip_texts(&mut from, 3);
    from.bytes::<16>();
    record.put_real("id", from.number());
    from.bytes::<2>();
    if since(23, 11) {
        from.text();
    } else {
        from.number();
    }
    skip_texts(&mut from, 4);
    from.bytes::<20>();
    from.text();
    from.number();
    put_text(record, "partition", &from.text());
    record.put_real("priority", from.number());
    assert_eq!(from.number(), NO_VAL, "no list of QOS");
    if !since(23, 11) {
        from.number();
    }
    record.put_real("uid", from.number());
    put_text(record, "user", &from.text());
    from.expect_end(buffer);
    // SAFETY: as above.
    unsafe { association.write(record.address.cast()) };
    0
}

pub(crate) unsafe extern "C" fn slurmdb_destroy_assoc_rec(association: *mut c_void) {
    assert!(made(|made| made.remove(&(association as usize))), "an association of slurmctld's was destroyed");
    let record = Record { kind: "assoc", address: association.cast() };
    for text in ["acct", "partition", "user"] {
        free_put(record, text);
    }
    memory::free(record.address);
}

pub(crate) unsafe extern "C" fn slurmdb_unpack_qos_rec(
    qos: *mut *mut c_void,
    _protocol: u16,
    buffer: *mut c_void,
) -> c_int {
    let (mut from, record) = (Reader::of(buffer), new_record("qos"));
    from.text();
    record.put_real("id", from.number());
    record.put_real("flags", from.number());
    from.number();
    skip_texts(&mut from, 3);
    from.bytes::<16>();
    skip_texts(&mut from, 7);
    from.bytes::<32>();
    from.text();
    put_text(record, "name", &from.text());
    assert_eq!((from.number(), from.number()), (NO_VAL, NO_VAL), "nothing is preempted");
    from.bytes::<6>();
    record.put_real("priority", from.number());
    record.put_real("usage_factor", from.double());
    record.put_real("usage_thres", from.double());
    if layout().release >= release(21, 8, 0) {
        from.double();
        from.expect_end(buffer);
    }
    // SAFETY: as above.
    unsafe { qos.write(record.address.cast()) };
    0
}

pub(crate) unsafe extern "C" fn slurmdb_destroy_qos_rec(qos: *mut c_void) {
    assert!(made(|made| made.remove(&(qos as usize))), "a QOS of slurmctld's was destroyed");
    let record = Record { kind: "qos", address: qos.cast() };
    free_put(record, "name");
    memory::free(record.address);
}

pub(crate) unsafe extern "C" fn slurmdb_destroy_tres_rec(tres: *mut c_void) {
    assert!(made(|made| made.remove(&(tres as usize))), "a TRES of slurmctld's was destroyed");
    memory::free(tres.cast());
}

fn free_put(record: Record, array: &str) {
    let array = record.get_put(array);
    if !array.is_null() {
        memory::free(array);
    }
}

/// Frees a usage record that was made of a message; false for any other.
pub(crate) fn destroy_usage(usage: *mut u8, kind: &'static str) -> bool {
    if !made(|made| made.remove(&(usage as usize))) {
        return false;
    }
    let record = Record { kind, address: usage };
    for array in ["grp_used_tres_run_secs", "usage_tres_raw"] {
        free_put(record, array);
    }
    memory::free(usage);
    true
}

pub(crate) unsafe extern "C" fn slurmdb_destroy_qos_usage(usage: *mut c_void) {
    let record = Record { kind: "qos_usage", address: usage.cast() };
    for field in ["user_limit_list", "acct_limit_list"] {
        let list = record.get_put(field);
        if list.is_null() {
            continue;
        }
        for address in lists::elements(list) {
            let limits = Record { kind: "used_limits", address };
            made(|made| made.remove(&(address as usize)));
            free_put(limits, "tres_run_secs");
            memory::free(address);
        }
        lists::destroy(list);
    }
    assert!(destroy_usage(usage.cast(), "qos_usage"), "a usage record of slurmctld's was destroyed");
}

pub(crate) unsafe extern "C" fn slurm_init_buf(size: u32) -> *mut c_void {
    let (buffer, head) = (zeros(32, "slurm_buf"), zeros(size as usize, "a message"));
    // SAFETY: a fresh block.
    unsafe { buffer.cast::<*mut u8>().add(1).write(head) };
    buffer.cast()
}

pub(crate) unsafe extern "C" fn slurm_free_buf(buffer: *mut c_void) {
    // SAFETY: a buffer that `slurm_init_buf` made.
    memory::free(unsafe { buffer.cast::<*mut u8>().add(1).read() });
    memory::free(buffer.cast());
}

/// A job of the plugin's own; `None` for one of slurmctld's.
fn own(job: *mut u8) -> Option<Record> {
    let known = shared(|shared| shared.jobs.values().any(|known| known.address == job));
    (!known).then_some(Record { kind: "job", address: job })
}

pub(crate) fn billable(job: *mut u8) -> Option<f64> {
    let job = own(job)?;
    let holds = !job.get_real::<*mut u8>("tres_alloc_cnt").is_null();
    Some(if holds { f64::from(job.get_real::<u32>("total_cpus")) } else { 0.0 })
}

pub(crate) unsafe extern "C" fn set_job_prio(job: *mut c_void) {
    let record = own(job.cast()).expect("only asked about records of the plugin's own");
    if record.get_real::<u32>("job_state") & 0xff > RUNNING + 1 {
        return;
    }
    // SAFETY: the plugin's function, as priority_g_set calls it.
    let priority = unsafe {
        std::mem::transmute::<usize, unsafe extern "C" fn(u32, *mut c_void) -> u32>(taken_set())(
            LOWEST.load(Ordering::Relaxed),
            job,
        )
    };
    record.put_real("priority", priority);
    if priority == 0 || record.get_real::<u16>("direct_set_prio") != 0 {
        return;
    }
    let mut relative = priority;
    let details: *mut u8 = record.get_real("details");
    if !details.is_null() {
        let nice = Record { kind: "details", address: details }.get_real::<u32>("nice");
        relative = relative.wrapping_add(nice.wrapping_sub(NICE_OFFSET));
    }
    LOWEST.fetch_min(relative, Ordering::Relaxed);
}

/// The lowest priority that is known: `lowest_prio` of `job_mgr.c`.
static LOWEST: AtomicU32 = AtomicU32::new(0xffff_0000);

/// Makes it another one, and tells what it was.
pub fn set_lowest_priority(lowest: u32) -> u32 {
    LOWEST.swap(lowest, Ordering::Relaxed)
}

pub(crate) unsafe extern "C" fn job_end_time_reset(job: *mut c_void) {
    let record = own(job.cast()).expect("only asked about records of the plugin's own");
    let end = record.get_real::<i64>("start_time") + 60 * i64::from(record.get_real::<u32>("time_limit"));
    record.put_real("end_time", end);
    record.put_real("end_time_exp", end);
}
