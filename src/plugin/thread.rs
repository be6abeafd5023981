//! The life of the decay thread: started, told that the configuration changed, woken up and stopped.
//!
//! `decay_loop` has its work in between. This file knows neither Slurm nor the cycle, so that `tests/host/threads` can run it in every
//! order that two threads allow.

use std::io;
use std::time::Instant;

use tracing::debug;

use super::sync::{Condvar, JoinHandle, Mutex};

/// What the thread is told.
#[derive(Debug, Default)]
struct Orders {
    stop: bool,
    /// The configuration changed: read the reset period anew.
    reconfigure: bool,
}

/// The thread and how to reach it.
#[derive(Debug)]
pub struct DecayThread {
    orders: Mutex<Orders>,
    wake: Condvar,
    handle: Mutex<Option<JoinHandle<()>>>,
}

impl DecayThread {
    /// Not running yet.
    pub fn new() -> Self {
        Self { orders: Mutex::new(Orders::default()), wake: Condvar::new(), handle: Mutex::new(None) }
    }

    /// Starts it with `spawn`, unless it runs already. It may block on slurmctld's locks at once; this call does not.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(&self, spawn: impl FnOnce() -> io::Result<JoinHandle<()>>) -> io::Result<()> {
        let mut handle = self.handle.lock();
        if handle.is_some() {
            return Ok(());
        }
        *self.orders.lock() = Orders::default();
        *handle = Some(spawn()?);
        Ok(())
    }

    /// Makes the next cycle read the reset period anew.
    pub fn reconfigure(&self) {
        self.orders.lock().reconfigure = true;
    }

    /// Stops it and waits for the cycle that may be running. The caller holds no lock that a cycle takes.
    pub fn stop(&self) {
        let Some(handle) = self.handle.lock().take() else { return };
        self.orders.lock().stop = true;
        self.wake.notify_all();
        debug!("waiting for the decay thread");
        // The thread catches its panics; there is nothing to learn from the result.
        let _ = handle.join();
    }

    /// On the thread: sleeps until `deadline` or until told to stop; true for stop.
    pub fn sleep(&self, deadline: Instant) -> bool {
        let mut orders = self.orders.lock();
        while !orders.stop {
            if self.wake.wait_until(&mut orders, deadline).timed_out() {
                break;
            }
        }
        orders.stop
    }

    /// On the thread: waits until there is what `look` looks for, or until told to stop; `None` for stop. Who makes that there is
    /// something calls [`DecayThread::wake`] afterwards.
    pub fn wait_for<T>(&self, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        let mut orders = self.orders.lock();
        while !orders.stop {
            let found = look();
            if found.is_some() {
                return found;
            }
            self.wake.wait(&mut orders);
        }
        None
    }

    /// On another thread: there may be something that the thread waits for.
    pub fn wake(&self) {
        drop(self.orders.lock());
        self.wake.notify_all();
    }

    /// On the thread: whether it is told to stop, and somebody waits for that.
    pub fn is_stopping(&self) -> bool {
        self.orders.lock().stop
    }

    /// On the thread: whether the configuration changed since the last time.
    pub fn take_reconfigure(&self) -> bool {
        std::mem::take(&mut self.orders.lock().reconfigure)
    }
}
