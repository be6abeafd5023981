//! Has slurmctld ask for the priority of a record of ours that is no job, and answers that call: `set_job_prio` calls `priority_p_set`.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::host::Host;

/// Threads that ask.
static ASKERS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static QUESTION: Cell<Option<Question>> = const { Cell::new(None) };
}

#[derive(Debug, Clone, Copy)]
struct Question {
    answer: PinAnswer,
    last: Option<u32>,
}

/// What `priority_p_set` is to answer.
#[derive(Debug, Clone, Copy)]
pub enum PinAnswer {
    /// 0, after which the host does nothing more.
    Nothing,
    /// This much more than one below the lowest priority that slurmctld knows of.
    Above(u32),
}

/// What `priority_p_set` answers where this thread asks the host only to see what it does; `None` where slurmctld asks for a job.
pub fn answer(last: u32) -> Option<u32> {
    // Nearly always nobody asks, and that costs less to know.
    if ASKERS.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let question = QUESTION.get()?;
    QUESTION.set(Some(Question { last: Some(last), ..question }));
    Some(match question.answer {
        PinAnswer::Nothing => 0,
        PinAnswer::Above(more) => last.saturating_sub(1).saturating_add(more),
    })
}

/// Lets slurmctld ask for the priority of a job record of ours. What it says is the lowest priority that it knows of; `None` where it
/// asked nobody, as `sched/hold` may.
pub(super) fn ask(host: &Host, job: *mut c_void, answer: PinAnswer) -> Option<u32> {
    struct Done;
    impl Drop for Done {
        fn drop(&mut self) {
            QUESTION.set(None);
            ASKERS.fetch_sub(1, Ordering::Relaxed);
        }
    }
    ASKERS.fetch_add(1, Ordering::Relaxed);
    QUESTION.set(Some(Question { answer, last: None }));
    let _done = Done;
    // SAFETY: a record that only this thread knows; of one whose priority comes out as 0 the function reads the state alone, of
    // another whether that was set directly, and the nice value in its details, which are ours or null.
    unsafe { (host.sym.set_job_prio)(job) }
    QUESTION.get().and_then(|question| question.last)
}
