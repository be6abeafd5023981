//! Loading the plugin as slurmctld does, and calling it with the locks that slurmctld's callers hold.

use std::ffi::{c_int, c_void, CString};
use std::thread;
use std::time::Duration;

use slurm_headers::{Level, Version};

use crate::callers::{self, Caller};
use crate::library::symbol;
use crate::lists::HeldLists;
use crate::locks::{call, thread_works, watch};
use crate::memory::{self, Arena};
use crate::process::{loader_error, plugin_file};
use crate::record::Record;
use crate::slurmctld::Slurmctld;
use crate::{lists, release};

/// The loaded object.
#[derive(Debug, Default)]
pub struct Plugin {
    handle: Option<usize>,
}

impl Plugin {
    /// Whether it is loaded.
    pub fn is_loaded(&self) -> bool {
        self.handle.is_some()
    }

    fn symbol(&self, name: &str) -> *mut c_void {
        let handle = self.handle.expect("the plugin is loaded") as *mut c_void;
        let text = CString::new(name).expect("a name");
        // SAFETY: a live handle and a terminated name.
        unsafe { libc::dlsym(handle, text.as_ptr()) }
    }
}

fn free_message(message: Record) {
    for list in ["job_id_list", "uid_list"].map(|field| message.get::<*mut u8>(field)) {
        if !list.is_null() {
            lists::elements(list).into_iter().for_each(memory::free);
            lists::destroy(list);
        }
    }
    let names: *mut u8 = message.get("partitions");
    if !names.is_null() {
        memory::free(names);
    }
    memory::free(message.address);
}

/// Threads of the process, but for the one that writes the settings that are kept, which ends by itself.
pub(crate) fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("threads can be listed");
    let name =
        |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    tasks.filter_map(Result::ok).map(name).filter(|name| name.trim() != "settings").count()
}

/// Looks an export up and gives it its type.
macro_rules! export {
    ($slurmctld:expr, $name:literal, $type:ty) => {{
        let address = $slurmctld.plugin.symbol($name);
        assert!(!address.is_null(), "the plugin exports no {}", $name);
        // SAFETY: the type that slurmctld of this release calls it with.
        unsafe { std::mem::transmute::<*mut c_void, $type>(address) }
    }};
}

/// What slurmctld of a release looks up.
fn required(running: Version) -> Vec<&'static str> {
    let mut names = vec![
        "priority_p_set",
        "priority_p_reconfig",
        "priority_p_set_assoc_usage",
        "priority_p_get_priority_factors_list",
        "priority_p_job_end",
    ];
    for (name, since, until) in [
        ("priority_p_calc_fs_factor", release(20, 11, 0), release(25, 11, 0)),
        ("priority_p_recover", release(23, 2, 0), release(99, 1, 0)),
        ("priority_p_thread_start", release(23, 11, 6), release(99, 1, 0)),
    ] {
        if (since..until).contains(&running) {
            names.push(name);
        }
    }
    names
}

/// What `sprio` asks for, up to 23.11; each restriction may be absent.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Ids.
    pub jobs: Option<Vec<u32>>,
    /// User ids.
    pub users: Option<Vec<u32>>,
    /// Names, comma separated.
    pub partitions: Option<String>,
}

impl Slurmctld {
    /// The next call comes from this caller instead of the usual one.
    pub fn from(&mut self, caller: &Caller) -> &mut Self {
        self.caller = Some(caller.clone());
        self
    }

    /// Who makes the next call of an export.
    fn caller(&mut self, export: &str) -> Caller {
        self.caller.take().unwrap_or_else(|| callers::usual(export, self.release))
    }

    /// Whether the running release is this one or a later one.
    pub fn since(&self, year: u8, month: u8, micro: u8) -> bool {
        self.release >= release(year, month, micro)
    }

    /// `dlopen`, the check of `plugin_version`, `init`, the other exports.
    ///
    /// # Errors
    /// Where slurmctld would not start, and why.
    pub fn load(&mut self) -> Result<(), String> {
        self.load_slowly(Duration::ZERO)
    }

    /// The same, where it takes so long between `init` and the look for the other exports.
    ///
    /// # Errors
    /// Where slurmctld would not start, and why.
    pub fn load_slowly(&mut self, pause: Duration) -> Result<(), String> {
        let file =
            CString::new(plugin_file().into_os_string().into_encoded_bytes()).expect("a path without NUL");
        // SAFETY: the object under test.
        let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_LAZY) };
        if handle.is_null() {
            return Err(loader_error());
        }
        self.plugin.handle = Some(handle as usize);
        // SAFETY: an exported `uint32_t`.
        let version = unsafe { *self.plugin.symbol("plugin_version").cast::<u32>() };
        if version != self.release.number() {
            return Err(format!("plugin_version {version:#x}\n{}", self.log()));
        }
        let init = export!(self, "init", unsafe extern "C" fn() -> c_int);
        let caller = self.caller("init");
        let result = call("init", &caller.locks, None, || {
            // SAFETY: slurmctld's prototype.
            let result = unsafe { init() };
            self.watch_thread();
            result
        });
        if result != 0 {
            return Err(format!("init returned {result}\n{}", self.log()));
        }
        thread::sleep(pause);
        for name in required(self.release) {
            assert!(!self.plugin.symbol(name).is_null(), "the plugin has no {name}");
        }
        crate::made::take_set(self.plugin.symbol("priority_p_set"));
        Ok(())
    }

    /// Loads the plugin and brings it to where slurmctld works: initial priorities, thread, first cycle.
    ///
    /// # Panics
    /// Where the plugin refuses.
    pub fn begin(&mut self) {
        if let Err(why) = self.load() {
            panic!("the plugin refuses: {why}");
        }
        self.recover();
        self.thread_start();
        self.await_cycle();
    }

    /// `priority_p_recover`, in the releases that have it.
    pub fn recover(&mut self) {
        if self.since(23, 2, 0) {
            let recover = export!(self, "priority_p_recover", unsafe extern "C" fn(u32) -> u32);
            // SAFETY: slurmctld's prototype.
            let boost =
                call("priority_p_recover", &self.caller("priority_p_recover").locks, None, || unsafe {
                    recover(7)
                });
            assert_eq!(boost, 0, "what priority_p_recover returns is added to the lowest priority");
        }
    }

    /// `priority_p_thread_start`, in the releases that have it.
    pub fn thread_start(&mut self) {
        if self.since(23, 11, 6) {
            let start = export!(self, "priority_p_thread_start", unsafe extern "C" fn() -> c_int);
            let caller = self.caller("priority_p_thread_start");
            call("priority_p_thread_start", &caller.locks, None, || {
                // SAFETY: slurmctld's prototype.
                unsafe { start() };
                self.watch_thread();
            });
        }
    }

    fn watch_thread(&self) {
        if threads() > self.threads {
            thread_works(true);
        }
    }

    /// Waits until the decay thread has run a cycle.
    pub fn await_cycle(&mut self) {
        Self::let_cycle_run("fakehost_await_cycle");
    }

    /// Has the decay thread run one cycle.
    pub fn cycle(&mut self) {
        Self::let_cycle_run("fakehost_cycle");
    }

    fn let_cycle_run(function: &str) {
        // SAFETY: a function of the preloaded object.
        let function: unsafe extern "C" fn() -> bool = unsafe { std::mem::transmute(symbol(function)) };
        // SAFETY: as above.
        assert!(watch(|| unsafe { function() }), "no decay thread has run a cycle within a minute");
    }

    /// Whether there is a thread of the plugin.
    pub fn has_decay_thread(&self) -> bool {
        // One that was joined may be seen for a moment more.
        (0..5).all(|_| {
            std::thread::sleep(Duration::from_millis(1));
            threads() > self.threads
        })
    }

    /// `priority_p_set`; its result is stored, as slurmctld does.
    pub fn set_priority(&mut self, last: u32, job: Record) -> u32 {
        let priority = self.ask_priority(last, job);
        job.set("priority", priority);
        priority
    }

    /// `priority_p_set`; nothing is stored by the host.
    pub fn ask_priority(&mut self, last: u32, job: Record) -> u32 {
        let set = export!(self, "priority_p_set", unsafe extern "C" fn(u32, *mut u8) -> u32);
        let caller = self.caller("priority_p_set");
        let _lists = self.hold_lists(&caller, Some(job));
        // SAFETY: slurmctld's prototype, and a live job.
        call("priority_p_set", &caller.locks, caller.opens_jobs(), || unsafe { set(last, job.address) })
    }

    /// `priority_p_job_end`
    pub fn job_end(&mut self, job: Record) {
        let end = export!(self, "priority_p_job_end", unsafe extern "C" fn(*mut u8));
        let caller = self.caller("priority_p_job_end");
        let _lists = self.hold_lists(&caller, Some(job));
        // SAFETY: slurmctld's prototype, and a live job.
        call("priority_p_job_end", &caller.locks, caller.opens_jobs(), || unsafe { end(job.address) });
    }

    /// `priority_p_set_assoc_usage`, which writes the association though its lock is held for reading.
    pub fn set_assoc_usage(&mut self, association: Record) {
        let set = export!(self, "priority_p_set_assoc_usage", unsafe extern "C" fn(*mut u8));
        let caller = self.caller("priority_p_set_assoc_usage");
        let _lists = self.hold_lists(&caller, None);
        call("priority_p_set_assoc_usage", &caller.locks, Some(Arena::Associations), || {
            // SAFETY: slurmctld's prototype, and a live association.
            unsafe { set(association.address) }
        });
    }

    /// `priority_p_reconfig`; `recount`: limits in use were counted anew (up to 23.02).
    pub fn reconfigure(&mut self, recount: bool) {
        let reconfigure = export!(self, "priority_p_reconfig", unsafe extern "C" fn(bool));
        let mut all = callers::of("priority_p_reconfig", self.release).into_iter();
        // Only who holds nothing says that limits were counted anew.
        let caller = all.find(|caller| caller.locks.is_empty() == recount).expect("a caller of that kind");
        // SAFETY: slurmctld's prototype.
        call("priority_p_reconfig", &caller.locks, None, || unsafe { reconfigure(recount) });
    }

    /// `priority_p_calc_fs_factor`
    pub fn calc_fs_factor(&mut self, usage: f64, shares: f64) -> f64 {
        let function = self.plugin.symbol("priority_p_calc_fs_factor");
        let caller: unsafe extern "C" fn(*mut c_void, f64, f64) -> f64 =
            // SAFETY: the function of the preloaded object, which passes two long double.
            unsafe { std::mem::transmute(symbol("fakehost_call_calc_fs_factor")) };
        // SAFETY: as above.
        unsafe { caller(function, usage, shares) }
    }

    /// `priority_p_get_priority_factors_list`, in the signature of the release: what `sprio` gets. `read` looks at each entry, then
    /// the host destroys the list.
    pub fn factors<T>(
        &mut self,
        request: Option<&Request>,
        uid: u32,
        read: impl FnMut(Record) -> T,
    ) -> Vec<T> {
        let name = "priority_p_get_priority_factors_list";
        let caller = self.caller(name);
        let old = export!(
            self,
            "priority_p_get_priority_factors_list",
            unsafe extern "C" fn(*mut u8, u32) -> *mut u8
        );
        // The type of a user id says nothing of the upper half of its register.
        let new =
            export!(self, "priority_p_get_priority_factors_list", unsafe extern "C" fn(u64, u64) -> *mut u8);
        let message = request.map(Self::message);
        let with_message = !self.since(24, 5, 0);
        assert!(with_message || request.is_none(), "from 24.05 on there are no requests");
        let noise = 0x5a5a_5a5a_0000_0000;
        let result = call(name, &caller.locks, None, || {
            // SAFETY: slurmctld's prototype.
            let list = unsafe {
                if with_message {
                    old(message.map_or(std::ptr::null_mut(), |message| message.address), uid)
                } else {
                    new(u64::from(uid) | noise, noise)
                }
            };
            if list.is_null() {
                return Vec::new();
            }
            let result = lists::elements(list)
                .into_iter()
                .map(|address| Record { kind: "factors_object", address })
                .map(read)
                .collect();
            // Still under the locks: the texts are borrowed.
            lists::destroy(list);
            result
        });
        if let Some(message) = message {
            free_message(message);
        }
        result
    }

    /// The lists whose own lock the caller holds. Which job's they are, where they are a job's, is not known: where a list may be
    /// touched again by who holds it, this one's, elsewhere others.
    fn hold_lists(&self, caller: &Caller, job: Option<Record>) -> HeldLists {
        let again = self.since(25, 5, 0);
        let lists = caller.lists.iter().filter_map(|(name, level)| {
            let list: *mut u8 = match name.as_str() {
                "job_list" | "assoc_mgr_assoc_list" => self.get(name),
                of_job => job.filter(|job| again && job.has(of_job))?.get(of_job),
            };
            (!list.is_null()).then_some((list, *level == Level::Write))
        });
        HeldLists::new(lists.collect(), again)
    }

    fn message(request: &Request) -> Record {
        let numbers = |numbers: &Option<Vec<u32>>| {
            let Some(numbers) = numbers else { return std::ptr::null_mut() };
            let list = lists::new(None);
            for number in numbers {
                lists::push(list, crate::cluster::array(Arena::Common, "number", &[*number]));
            }
            list
        };
        let names = request
            .partitions
            .as_ref()
            .map_or(std::ptr::null_mut(), |names| memory::text(Arena::Common, "names", names));
        Record::new("factors_request", Arena::Common, "of sprio")
            .set("job_id_list", numbers(&request.jobs))
            .set("uid_list", numbers(&request.users))
            .set("partitions", names)
    }

    /// `fini`, as before the object is closed.
    pub fn fini(&mut self) {
        let fini = export!(self, "fini", unsafe extern "C" fn());
        // SAFETY: slurmctld's prototype.
        call("fini", &self.caller("fini").locks, None, || unsafe { fini() });
        thread_works(false);
        // SAFETY: the handle that was opened.
        unsafe { libc::dlclose(self.plugin.handle.take().expect("the plugin is loaded") as *mut c_void) };
    }
}
