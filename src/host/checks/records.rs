//! Checks values in live records that are known in another way.
//!
//! A value that is the same in every slurmctld is a failure if it differs. A value that may differ for a while, such as a pointer to an
//! association that is gone, is only counted. It is a failure if it is never right, and wrong for several jobs.
//!
//! Nothing here depends on what a user can write. A text is one by its block and its end, whatever its letters are. No requested amount is
//! too large, and no name too long or too strange ([`super::failure`]).

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tracing::warn;

use super::failure::{failure, Failure, Found};
use super::memory::{block_size, ends_in_block, fills_block, peek, text};
use super::questions::is_list;
use super::{block, job_record, magic, packed, DETAILS_MAGIC, PART_MAGIC};
use crate::host::access::Open;
use crate::host::layout::{Field, JobLayout, PrioMultLayout, Ptr};
use crate::host::lists::{for_each_raw, List};
use crate::host::live::RecordKind;
use crate::host::locks::{AssocLock, Levels};
use crate::host::records::{Association, AssociationUsage, Job, Record, RecordLayout};
use crate::host::Host;

/// How many different ones must be wrong, and none right.
const WRONG: usize = 3;

/// What may be otherwise for a while.
#[derive(Debug)]
struct Tally {
    what: &'static str,
    right: AtomicBool,
    /// Ids of those that were wrong; 0 for none.
    wrong: [AtomicU32; WRONG],
}

impl Tally {
    const fn of(what: &'static str) -> Self {
        Self { what, right: AtomicBool::new(false), wrong: [const { AtomicU32::new(0) }; WRONG] }
    }

    /// Counts one with an id; true where it was right.
    fn count(&self, host: &'static Host, id: u32, right: bool) -> Result<bool, Failure> {
        if right {
            self.right.store(true, Ordering::Relaxed);
            return Ok(true);
        }
        if self.right.load(Ordering::Relaxed) {
            return Ok(false);
        }
        for wrong in &self.wrong {
            match wrong.compare_exchange(0, id, Ordering::Relaxed, Ordering::Relaxed) {
                // One more.
                Ok(_) => break,
                Err(known) if known == id => break,
                Err(_) => {}
            }
        }
        if self.wrong.iter().any(|wrong| wrong.load(Ordering::Relaxed) == 0) {
            return Ok(false);
        }
        Err(failure(host, Found::NoneRight(self.what)))
    }

    /// Forgets those that were wrong: they are to be wrong again.
    fn look_again(&self) {
        self.wrong.iter().for_each(|wrong| wrong.store(0, Ordering::Relaxed));
    }
}

/// All of them.
#[derive(Debug)]
pub struct Tallies {
    association: Tally,
    account: Tally,
    user: Tally,
    qos: Tally,
    partition: Tally,
    partition_name: Tally,
    requested: Tally,
}

impl Tallies {
    pub const fn new() -> Self {
        Self {
            association: Tally::of("an association"),
            account: Tally::of("an account"),
            user: Tally::of("a user"),
            qos: Tally::of("a QOS"),
            partition: Tally::of("a partition"),
            partition_name: Tally::of("a partition with a name"),
            requested: Tally::of("requested TRES"),
        }
    }

    /// What was wrong is to be so again.
    pub fn look_again(&self) {
        let Self { association, account, user, qos, partition, partition_name, requested } = self;
        for tally in [association, account, user, qos, partition, partition_name, requested] {
            tally.look_again();
        }
    }
}

/// What could be seen of a job.
pub struct Sound {
    /// Everything that there is of such a job.
    pub complete: bool,
    /// Its partition is one of slurmctld's.
    pub partition: bool,
    /// It has details.
    pub details: bool,
}

pub fn check_job<V: Levels<Assoc: Open, Qos: Open>>(
    lock: &AssocLock<'_, V>,
    job: Job<'_>,
    listed: bool,
    tallies: &Tallies,
) -> Result<Sound, Failure> {
    let host = job.host();
    let layout = &host.layout;
    job_record(job)?;
    if listed {
        // SAFETY: the job lock is held.
        let found = unsafe { (host.sym.find_job_record)(job.get(|job| job.job_id)) };
        if found.cast() != job.as_ptr() {
            return Err(failure(host, Found::NotById));
        }
    }
    let active = !job.state().is_finished();
    let details = check_details(job)?;
    let mut complete = details || !active;
    let partition = check_partitions(job, tallies, active)?;
    complete &= partition || !active;
    complete &= check_association(lock, job, tallies)?;
    complete &= check_qos(lock, job, tallies)?;
    check_arrays(job, tallies)?;
    check_priorities(job)?;
    let texts = [
        ("a job's account", layout.job.account),
        ("a job's MCS label", layout.job.mcs_label),
        ("a job's wckey", layout.job.wckey),
        ("a job's comment", layout.job.admin_comment),
    ];
    for (what, text) in texts {
        text_or_none(host, what, job.get(|_| text))?;
    }
    if listed && active && details {
        packed::check_job(job)?;
    }
    Ok(Sound { complete, partition, details })
}

fn id_of(job: Job<'_>) -> u32 {
    job.get(|job| job.job_id)
}

/// A text, whatever is in it: Slurm's users, coordinators, operators and plugins write what they like.
fn text_of(host: &'static Host, what: &'static str, text: *mut u8) -> Result<(), Failure> {
    if ends_in_block(text as usize) {
        return Ok(());
    }
    Err(failure(host, Found::NoText(what)))
}

fn text_or_none(host: &'static Host, what: &'static str, text: *mut u8) -> Result<(), Failure> {
    if text.is_null() {
        return Ok(());
    }
    text_of(host, what, text)
}

fn check_details(job: Job<'_>) -> Result<bool, Failure> {
    let host = job.host();
    let address = job.get(|job| job.details);
    if address.is_null() {
        return Ok(false);
    }
    block(host, "a job's details", address, host.layout.details.size)?;
    // SAFETY: a block of the size of a details record.
    magic(host, "a job's details", unsafe { host.layout.details.magic.get(address) }, DETAILS_MAGIC)?;
    Ok(true)
}

/// False where the job is in none, or in one that slurmctld does not have (any more).
fn check_partitions(job: Job<'_>, tallies: &Tallies, active: bool) -> Result<bool, Failure> {
    let host = job.host();
    // SAFETY: the job lock comes with the partition lock.
    let known = host.sym.part_list.and_then(|list| addresses(host, unsafe { *list }));
    let is_known = |address| known.as_ref().is_none_or(|known| known.contains(&address));
    let partition = job.get(|job| job.part_ptr) as usize;
    let mut all = HashSet::from([partition]);
    // Of a finished job they may be gone.
    if active {
        all.extend(elements(host, "a job's partitions", job.get(|job| job.part_ptr_list))?);
    }
    let mut right = partition != 0;
    for address in all.into_iter().filter(|address| *address != 0) {
        right &= is_known(address);
        if active || (known.is_some() && is_known(address)) {
            let has_name = check_partition(host, address as *mut u8)?;
            tallies.partition_name.count(host, id_of(job), has_name)?;
        }
        if known.is_some() && is_known(address) {
            packed::check_partition(host, address as *mut u8)?;
        }
    }
    if active && partition != 0 {
        tallies.partition.count(host, id_of(job), right)?;
    }
    Ok(right)
}

/// Whether its name is one to the end of its block, as Slurm makes names.
fn check_partition(host: &'static Host, partition: *mut u8) -> Result<bool, Failure> {
    let layout = &host.layout.part;
    block(host, "a partition", partition, layout.size)?;
    // SAFETY: a block of the size of a partition.
    let (begin, name, tres, qos_name) = unsafe {
        (
            layout.magic.get(partition),
            layout.name.get(partition),
            layout.tres_cnt.get(partition),
            layout.qos_char.get(partition),
        )
    };
    magic(host, "a partition", begin, PART_MAGIC)?;
    text_of(host, "a partition's name", name)?;
    text_or_none(host, "the name of a partition's QOS", qos_name)?;
    array_or_none(host, "a partition's TRES", tres)?;
    Ok(fills_block(name as usize))
}

/// The addresses in a list of the host; none where it is null.
fn addresses(host: &Host, list: *mut std::ffi::c_void) -> Option<HashSet<usize>> {
    if list.is_null() {
        return None;
    }
    let mut found = HashSet::new();
    for_each_raw(list, host.sym.list_for_each_ro.unwrap_or(host.sym.list_for_each), &mut |element| {
        found.insert(element as usize);
    });
    Some(found)
}

/// What a list that a job has holds.
fn elements(host: &'static Host, what: &'static str, list: *mut u8) -> Result<HashSet<usize>, Failure> {
    if list.is_null() {
        return Ok(HashSet::new());
    }
    if !is_list(host, list as usize) {
        return Err(failure(host, Found::NoList(what)));
    }
    Ok(addresses(host, list.cast()).unwrap_or_default())
}

fn check_association<V: Levels<Assoc: Open>>(
    lock: &AssocLock<'_, V>,
    job: Job<'_>,
    tallies: &Tallies,
) -> Result<bool, Failure> {
    /// `NO_VAL`: slurmctld does not know the user.
    const UNKNOWN: u32 = 0xffff_fffe;
    let host = job.host();
    let (address, id) = job.named_association();
    if address == 0 || job.state().is_finished() {
        return Ok(true);
    }
    let found = job.association(lock).filter(|association| association.address() == address);
    tallies.association.count(host, id_of(job), found.is_some())?;
    let Some(association) = found else { return Ok(false) };
    let name = |at: *mut u8| text(at as usize).map(|text| text.to_ascii_lowercase());
    let (of_job, of_association) = (job.get(|job| job.account), association.get(|assoc| assoc.acct));
    // slurmctld copies one from the other, whatever it is; only the case is as somebody has typed it.
    tallies.account.count(host, id, name(of_job).is_some() && name(of_job) == name(of_association))?;
    let uid = association.get(|assoc| assoc.uid);
    if association.is_user() && uid != UNKNOWN {
        let right = uid == job.get(|job| job.user_id);
        // A user who got another name has jobs of the old number: that says nothing.
        if right || is_beside(job, host.layout.job.user_id, uid) {
            tallies.user.count(host, id, right)?;
        }
    }
    Ok(true)
}

/// Whether a number stands a few bytes before or behind a field, where slurmctld keeps pointers.
fn is_beside(job: Job<'_>, field: Field<JobLayout, u32>, number: u32) -> bool {
    const AROUND: usize = 8;
    let mut bytes = [0; 2 * AROUND + size_of::<u32>()];
    field.offset() >= AROUND
        && field.offset() + AROUND + size_of::<u32>() <= job.host().layout.job.size
        && peek(job.address() + field.offset() - AROUND, &mut bytes)
        && bytes.windows(size_of::<u32>()).any(|found| found == number.to_ne_bytes())
}

fn check_qos<V: Levels<Qos: Open>>(
    lock: &AssocLock<'_, V>,
    job: Job<'_>,
    tallies: &Tallies,
) -> Result<bool, Failure> {
    let host = job.host();
    let address = job.get(|job| job.qos_ptr) as usize;
    let mut right = true;
    if job.state().is_finished() {
        return Ok(true);
    }
    if address != 0 {
        right = job.qos(lock).is_some_and(|qos| qos.address() == address);
        // Of several, the id may name another one than the scheduler tries.
        if !job.has_several_qos() {
            tallies.qos.count(host, id_of(job), right)?;
        }
    }
    let Some(field) = host.layout.job.qos_list else { return Ok(right) };
    for qos in elements(host, "a job's QOS", job.get(|_| field))? {
        right &= lock.confirmed().has(host, RecordKind::Qos, qos);
    }
    Ok(right)
}

/// An array with one number per TRES, or none.
fn array_or_none(host: &'static Host, what: &'static str, array: *mut u8) -> Result<(), Failure> {
    if array.is_null() || block_size(array as usize).is_some_and(|size| size >= 8 * host.tres_count()) {
        return Ok(());
    }
    Err(failure(host, Found::NoArray(what, host.tres_count())))
}

fn check_arrays(job: Job<'_>, tallies: &Tallies) -> Result<(), Failure> {
    /// Eight letters are a larger number.
    const MOST: u64 = 1 << 56;
    let host = job.host();
    let array = job.get(|job| job.tres_req_cnt);
    array_or_none(host, "a job's allocated TRES", job.get(|job| job.tres_alloc_cnt))?;
    array_or_none(host, "a job's requested TRES", array)?;
    // An array of the right size may hold any amount. In a larger block it may be a text; of none, and of all that are not known, the
    // upper half is full.
    let is_exact = block_size(array as usize) == Some(size_of::<u64>() * host.tres_count());
    let plausible = |count: u64| is_exact || count < MOST || count > u64::from(u32::MAX) << 32;
    let requested = job.tres_requested().filter(|counts| !counts.is_empty());
    if let Some(counts) = requested {
        tallies.requested.count(host, id_of(job), counts.iter().all(|count| plausible(*count)))?;
    }
    Ok(())
}

/// The records that we make and slurmctld frees, where there are any.
fn check_priorities(job: Job<'_>) -> Result<(), Failure> {
    let host = job.host();
    let layout = &host.layout.job;
    let factors = job.get(|job| job.prio_factors);
    if !factors.is_null() {
        block(host, "a job's factors", factors, host.layout.factors.size)?;
    }
    if let Some(array) = pointer(job, layout.priority_array) {
        if block_size(array as usize).is_none_or(|size| size == 0 || size % 4 != 0) {
            return Err(failure(host, Found::NoArray("a job's priorities", 0)));
        }
    }
    let multiple = &host.layout.prio_mult;
    let (Some(record), Some(size)) = (pointer(job, layout.prio_mult), multiple.size) else { return Ok(()) };
    block(host, "a job's priorities", record, size)?;
    let get = |field: Option<Field<PrioMultLayout, Ptr>>| {
        // SAFETY: a block of that size.
        field.map_or(std::ptr::null_mut(), |field| unsafe { field.get(record) })
    };
    let array = get(multiple.priority_array);
    if !array.is_null() && block_size(array as usize).is_none_or(|size| size % 4 != 0) {
        return Err(failure(host, Found::NoArray("a job's priorities", 0)));
    }
    text_or_none(
        host,
        "the names of the partitions of a job's priorities",
        get(multiple.priority_array_names),
    )
}

fn pointer(job: Job<'_>, field: Option<Field<JobLayout, Ptr>>) -> Option<*mut u8> {
    field.map(|field| job.get(|_: &'static JobLayout| field)).filter(|pointer| !pointer.is_null())
}

/// Checks all associations and QOS.
pub fn check_lists<V: Levels<Assoc: Open, Qos: Open>>(lock: &AssocLock<'_, V>) -> Result<(), Failure> {
    let host = lock.host();
    if let Some(list) = lock.all() {
        let known: HashSet<usize> = list.collect().into_iter().map(Record::address).collect();
        check_records(list, |association| check_association_record(association, &known))?;
        check_ids(list, ["association", "associations"], host.layout.assoc.id)?;
        // A broken tree may have some without.
        let orphans = list.collect().into_iter().filter(|association| parent(*association).is_none()).count();
        if lock.root().is_some() && known.len() > WRONG && orphans == known.len() {
            return Err(failure(host, Found::NoParents));
        }
    }
    if let Some(list) = lock.qos() {
        check_records(list, |qos| {
            block(host, "a QOS", qos.as_ptr(), host.layout.qos.size)?;
            let usage = qos.get(|qos| qos.usage);
            if !usage.is_null() {
                block(host, "the usage of a QOS", usage, host.layout.qos_usage.size)?;
            }
            text_of(host, "a QOS' name", qos.get(|qos| qos.name))
        })?;
        check_ids(list, ["QOS", "QOS"], host.layout.qos.id)?;
        let all = list.collect();
        if !all.is_empty() && !all.iter().any(|qos| fills_block(qos.get(|qos| qos.name) as usize)) {
            return Err(failure(host, Found::NoText("the name of all QOS")));
        }
    }
    Ok(())
}

/// Checks all records of a list; the first failure, with how many there are.
fn check_records<'a, L: RecordLayout, A: Open>(
    list: List<'a, L, A>,
    check: impl Fn(Record<'a, L, A>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut failed = list.collect().into_iter().filter_map(|record| check(record).err());
    let Some(mut first) = failed.next() else { return Ok(()) };
    first.records += failed.count();
    Err(first)
}

/// Ids differ. slurmdbd may have sent a record twice, which is told; most are never the same.
fn check_ids<L: RecordLayout, A: Open>(
    list: List<'_, L, A>,
    [one, many]: [&'static str; 2],
    field: Field<L, u32>,
) -> Result<(), Failure> {
    let (mut ids, mut twice) = (HashSet::new(), Vec::new());
    let all = list.collect();
    for record in &all {
        let id = record.get(|_| field);
        if id == 0 || !ids.insert(id) {
            twice.push(id);
        }
    }
    if let Some(record) = all.first().filter(|_| twice.len() >= WRONG && 2 * twice.len() >= all.len()) {
        return Err(failure(record.host(), Found::Ids(many)));
    }
    for id in twice {
        warn!(
            "the {one} {id} exists twice: which of the two gets the shares and the usage of its jobs is a matter \
             of chance. Restart slurmctld; if it still exists twice, look for that id in slurmdbd's database"
        );
    }
    Ok(())
}

fn parent<A: Open>(association: Association<'_, A>) -> Option<usize> {
    association.usage().and_then(AssociationUsage::parent).map(Association::address)
}

fn check_association_record<A: Open>(
    association: Association<'_, A>,
    known: &HashSet<usize>,
) -> Result<(), Failure> {
    let host = association.host();
    let layout = &host.layout.assoc;
    block(host, "an association", association.as_ptr(), layout.size)?;
    let usage = association.get(|assoc| assoc.usage);
    block(host, "the usage of an association", usage, host.layout.assoc_usage.size)?;
    if let Some(leaf) = association.leaf_usage() {
        block(host, "the leaf usage of an association", leaf.as_ptr(), host.layout.assoc_usage.size)?;
    }
    text_of(host, "an association's account", association.get(|assoc| assoc.acct))?;
    text_or_none(host, "an association's user", association.get(|assoc| assoc.user))?;
    text_or_none(host, "an association's partition", association.get(|assoc| assoc.partition))?;
    if parent(association).is_some_and(|parent| !known.contains(&parent)) {
        return Err(failure(host, Found::StrangeParent));
    }
    Ok(())
}
