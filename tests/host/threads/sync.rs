//! loom's locks and threads with the interface of those in `src/plugin/sync.rs`.

use std::ops::{Deref, DerefMut};
use std::time::Instant;

pub use loom::thread::JoinHandle;

#[derive(Debug)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

/// Empty only while a condition variable waits.
pub struct MutexGuard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>);

#[derive(Debug)]
pub struct Condvar(loom::sync::Condvar);

pub struct WaitTimeoutResult(bool);

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().unwrap()))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().unwrap()
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().unwrap()
    }
}

impl Condvar {
    pub fn new() -> Self {
        Self(loom::sync::Condvar::new())
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }

    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        guard.0 = guard.0.take().map(|held| self.0.wait(held).unwrap());
    }

    /// A deadline that is over has timed out; any other never comes, so that whoever waits for it must be woken up: a lost
    /// wake-up is a deadlock, which loom reports.
    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, deadline: Instant) -> WaitTimeoutResult {
        if deadline <= Instant::now() {
            return WaitTimeoutResult(true);
        }
        self.wait(guard);
        WaitTimeoutResult(false)
    }
}

impl WaitTimeoutResult {
    pub fn timed_out(&self) -> bool {
        self.0
    }
}
