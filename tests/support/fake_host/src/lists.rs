//! The host's lists, with their rules: a list is walked under the lock that protects it, a visitor takes no lock of the host
//! and does not touch the list that it is called from (before 25.05 that hangs), and what is destroyed stays so.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::fail;
use crate::locks::{require, Level};

/// `ListDelF`
pub type Destructor = unsafe extern "C" fn(*mut c_void);

struct List {
    elements: Vec<usize>,
    destroy: Option<Destructor>,
    /// Name of the list and of the lock that protects it.
    protected: Option<(&'static str, &'static str)>,
    by_plugin: bool,
}

#[derive(Default)]
struct Lists {
    /// By handle.
    known: HashMap<usize, List>,
    /// List and position.
    iterators: HashMap<usize, (usize, usize)>,
}

static LISTS: Mutex<Option<Lists>> = Mutex::new(None);

thread_local! {
    /// Lists whose lock the caller of the plugin holds, for writing or not, and whether this thread may take it again.
    static HELD: RefCell<(Vec<(usize, bool)>, bool)> = const { RefCell::new((Vec::new(), false)) };
    /// Lists that this thread walks.
    static WALKED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Lists that the caller of the plugin walks, until this is dropped.
pub(crate) struct HeldLists;

impl HeldLists {
    /// `lists`: each with whether it is held for writing. `again`: the list's lock knows the thread that has it for writing.
    pub(crate) fn new(lists: Vec<(*mut u8, bool)>, again: bool) -> Self {
        HELD.set((lists.into_iter().map(|(list, writes)| (list as usize, writes)).collect(), again));
        Self
    }
}

impl Drop for HeldLists {
    fn drop(&mut self) {
        HELD.set((Vec::new(), false));
    }
}

fn with<T>(body: impl FnOnce(&mut Lists) -> T) -> T {
    let mut lists: MutexGuard<'_, Option<Lists>> = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
    body(lists.get_or_insert_with(Lists::default))
}

/// A block that begins as a list does; there is nothing else in it.
fn new_handle() -> usize {
    const XMALLOC_MAGIC: usize = 0x42;
    const LIST_MAGIC: usize = 0xdead_beef;
    let block: &'static [u128; 2] =
        Box::leak(Box::new([(16 << 64) | XMALLOC_MAGIC as u128, LIST_MAGIC as u128]));
    std::ptr::from_ref(&block[1]) as usize
}

fn create(
    destroy: Option<Destructor>,
    protected: Option<(&'static str, &'static str)>,
    by_plugin: bool,
) -> *mut u8 {
    with(|lists| {
        let handle = new_handle();
        lists.known.insert(handle, List { elements: Vec::new(), destroy, protected, by_plugin });
        handle as *mut u8
    })
}

/// A list of the host, which knows its name and the lock that protects it.
pub fn new(protected: Option<(&'static str, &'static str)>) -> *mut u8 {
    create(None, protected, false)
}

/// Appends without any rules: the host builds.
pub fn push(list: *mut u8, element: *mut u8) {
    of(list, |list| list.elements.push(element as usize));
}

/// Removes an element, without any rules.
pub fn remove(list: *mut u8, element: *mut u8) {
    of(list, |list| list.elements.retain(|known| *known != element as usize));
}

/// The elements.
pub fn elements(list: *mut u8) -> Vec<*mut u8> {
    if list.is_null() {
        return Vec::new();
    }
    of(list, |list| list.elements.iter().map(|element| *element as *mut u8).collect())
}

/// Lists of the plugin that were not destroyed.
pub fn of_plugin() -> usize {
    with(|lists| lists.known.values().filter(|list| list.by_plugin).count())
}

/// Iterators that were not destroyed.
pub fn iterators() -> usize {
    with(|lists| lists.iterators.len())
}

/// Destroys a list as the host does: each element with the list's destructor.
pub fn destroy(list: *mut u8) {
    let handle = list as usize;
    let Some(gone) = with(|lists| lists.known.remove(&handle)) else {
        fail(&format!("slurm_list_destroy of {list:?}, which is no list (any more)"));
    };
    if let Some(destroy) = gone.destroy {
        for element in gone.elements {
            // SAFETY: the destructor that the list's maker gave for such elements.
            unsafe { destroy(element as *mut c_void) };
        }
    }
}

fn of<T>(list: *mut u8, body: impl FnOnce(&mut List) -> T) -> T {
    with(|lists| match lists.known.get_mut(&(list as usize)) {
        Some(list) => body(list),
        None => fail(&format!("{list:?} is no list (any more)")),
    })
}

/// The rules for a call of the plugin.
fn check(list: *mut c_void, function: &str) -> *mut u8 {
    let list: *mut u8 = list.cast();
    if WALKED.with_borrow(|walked| walked.contains(&(list as usize))) {
        fail(&format!("{function} of a list from within a walk over it: that hangs up to 24.11"));
    }
    HELD.with_borrow(|(held, again)| {
        let Some((_, writes)) = held.iter().find(|(held, _)| *held == list as usize) else { return };
        // Walks and counts know the thread that has the list for writing; iterators do not. A reader may read again, no more.
        let hangs = if *writes {
            !again || function.contains("iterator") || function.contains("next")
        } else {
            !["slurm_list_for_each_ro", "slurm_list_count"].contains(&function)
        };
        if hangs {
            fail(&format!("{function} of a list that the caller walks: that hangs"));
        }
    });
    if let Some((name, lock)) = of(list, |list| list.protected) {
        require(lock, Level::Read, &format!("{function} of {name}"));
    }
    list
}

/// Whether this thread is within a walk, where no lock of the host may be asked for.
pub fn is_walking() -> bool {
    WALKED.with_borrow(|walked| !walked.is_empty())
}

pub(crate) unsafe extern "C" fn slurm_list_append(list: *mut c_void, element: *mut c_void) {
    let list = check(list, "slurm_list_append");
    if element.is_null() {
        fail("slurm_list_append of a null pointer");
    }
    if !of(list, |list| list.by_plugin) {
        fail("slurm_list_append to a list of the host's");
    }
    push(list, element.cast());
}

pub(crate) unsafe extern "C" fn slurm_list_count(list: *mut c_void) -> c_int {
    let list = check(list, "slurm_list_count");
    of(list, |list| c_int::try_from(list.elements.len()).expect("a short list"))
}

pub(crate) unsafe extern "C" fn slurm_list_create(destroy: Option<Destructor>) -> *mut c_void {
    create(destroy, None, true).cast()
}

pub(crate) unsafe extern "C" fn slurm_list_destroy(list: *mut c_void) {
    let list = check(list, "slurm_list_destroy");
    if !of(list, |list| list.by_plugin) {
        fail("slurm_list_destroy of a list of the host's");
    }
    destroy(list);
}

pub(crate) unsafe extern "C" fn slurm_list_for_each(
    list: *mut c_void,
    visit: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
    of_visit: *mut c_void,
) -> c_int {
    walk(check(list, "slurm_list_for_each"), visit, of_visit)
}

pub(crate) unsafe extern "C" fn slurm_list_for_each_ro(
    list: *mut c_void,
    visit: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
    of_visit: *mut c_void,
) -> c_int {
    walk(check(list, "slurm_list_for_each_ro"), visit, of_visit)
}

fn walk(
    list: *mut u8,
    visit: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
    of_visit: *mut c_void,
) -> c_int {
    WALKED.with_borrow_mut(|walked| walked.push(list as usize));
    let mut visited = 0;
    for element in elements(list) {
        visited += 1;
        // SAFETY: the visitor that the caller gave for such elements.
        if unsafe { visit(element.cast(), of_visit) } < 0 {
            visited = -visited;
            break;
        }
    }
    WALKED.with_borrow_mut(Vec::pop);
    visited
}

pub(crate) unsafe extern "C" fn slurm_list_iterator_create(list: *mut c_void) -> *mut c_void {
    let list = check(list, "slurm_list_iterator_create");
    with(|lists| {
        let handle = new_handle();
        lists.iterators.insert(handle, (list as usize, 0));
        handle as *mut c_void
    })
}

pub(crate) unsafe extern "C" fn slurm_list_iterator_destroy(iterator: *mut c_void) {
    if with(|lists| lists.iterators.remove(&(iterator as usize))).is_none() {
        fail(&format!("slurm_list_iterator_destroy of {iterator:?}, which is no iterator (any more)"));
    }
}

pub(crate) unsafe extern "C" fn slurm_list_next(iterator: *mut c_void) -> *mut c_void {
    let Some((list, at)) = with(|lists| lists.iterators.get(&(iterator as usize)).copied()) else {
        fail(&format!("slurm_list_next of {iterator:?}, which is no iterator (any more)"));
    };
    let list = check(list as *mut c_void, "slurm_list_next");
    let Some(element) = of(list, |list| list.elements.get(at).copied()) else {
        return std::ptr::null_mut();
    };
    with(|lists| lists.iterators.insert(iterator as usize, (list as usize, at + 1)));
    element as *mut c_void
}

pub(crate) unsafe extern "C" fn slurm_list_sort(
    list: *mut c_void,
    compare: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
) {
    let list = check(list, "slurm_list_sort");
    let mut sorted = elements(list);
    sorted.sort_by(|one, other| {
        // SAFETY: Slurm's comparisons get the addresses of the elements.
        unsafe { compare((&raw const *one).cast_mut().cast(), (&raw const *other).cast_mut().cast()) }.cmp(&0)
    });
    of(list, |list| list.elements = sorted.into_iter().map(|element| element as usize).collect());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::call;
    use crate::process::forked;

    unsafe extern "C" fn count_it(_: *mut c_void, list: *mut c_void) -> c_int {
        // SAFETY: a list.
        unsafe { slurm_list_count(list) }
    }

    unsafe extern "C" fn nothing(_: *mut c_void) {}

    #[track_caller]
    fn assert_found(body: impl FnOnce(), text: &str) {
        let said = forked(body).expect_err("it is found");
        assert!(said.contains(text), "'{text}' is not in: {said}");
    }

    #[test]
    fn a_list_keeps_its_elements_and_iterators_go_on_where_they_were() {
        let _alone = crate::process::alone();
        let list = new(None);
        for element in [16, 32, 48] {
            push(list, element as *mut u8);
        }
        // SAFETY: a list of ours, which knows no more than addresses.
        unsafe {
            let iterator = slurm_list_iterator_create(list.cast());
            assert_eq!(slurm_list_next(iterator) as usize, 16);
            push(list, 64 as *mut u8);
            let rest: Vec<usize> = (0..4).map(|_| slurm_list_next(iterator) as usize).collect();
            assert_eq!(rest, [32, 48, 64, 0]);
            slurm_list_iterator_destroy(iterator);
            assert_eq!(slurm_list_count(list.cast()), 4);
        }
    }

    #[test]
    fn a_visitor_that_touches_its_own_list_is_found_and_one_that_the_caller_walks() {
        let _alone = crate::process::alone();
        let walk = |list: *mut u8| {
            push(list, 16 as *mut u8);
            // SAFETY: a list of ours.
            unsafe { slurm_list_for_each(list.cast(), count_it, list.cast()) };
        };
        assert_found(|| walk(new(None)), "slurm_list_count of a list from within a walk over it");
        let held = |writes, again| {
            let list = new(None);
            let _held = HeldLists::new(vec![(list, writes)], again);
            // SAFETY: as above.
            unsafe { slurm_list_count(list.cast()) };
        };
        assert_found(|| held(true, false), "slurm_list_count of a list that the caller walks");
        forked(|| held(true, true)).unwrap();
        forked(|| held(false, true)).unwrap();
    }

    /// sshare of 26.11 comes so, with the list of associations.
    #[test]
    fn a_list_that_the_caller_reads_can_only_be_read() {
        let _alone = crate::process::alone();
        let held = |writes: bool| {
            let list = new(None);
            let _held = HeldLists::new(vec![(list, false)], true);
            let list: *mut c_void = list.cast();
            // SAFETY: a list of ours, and a visitor that is never called.
            unsafe {
                if writes {
                    slurm_list_for_each(list, count_it, list);
                } else {
                    slurm_list_for_each_ro(list, count_it, list);
                }
            }
        };
        forked(|| held(false)).unwrap();
        assert_found(|| held(true), "slurm_list_for_each of a list that the caller walks: that hangs");
    }

    #[test]
    fn what_protects_a_list_is_asked_for() {
        let _alone = crate::process::alone();
        let count = || {
            let list = new(Some(("the jobs", "job")));
            // SAFETY: a list of ours.
            call("an_export", "node:r", None, || unsafe { slurm_list_count(list.cast()) });
        };
        assert_found(count, "slurm_list_count of the jobs needs lock 'job' (r)");
    }

    #[test]
    fn what_is_destroyed_or_belongs_to_the_host_is_left_alone() {
        let _alone = crate::process::alone();
        let twice = || {
            // SAFETY: lists of ours.
            unsafe {
                let list = slurm_list_create(Some(nothing));
                slurm_list_append(list, 16 as *mut c_void);
                slurm_list_destroy(list);
                slurm_list_count(list);
            }
        };
        assert_found(twice, "is no list (any more)");
        // SAFETY: as above.
        let append = || unsafe { slurm_list_append(new(None).cast(), 16 as *mut c_void) };
        assert_found(append, "slurm_list_append to a list of the host's");
    }
}
