//! The run-time half of the lock order, in debug builds only: what the types of [`super::locks`] leave open, which is an
//! association lock taken twice and our own locks (`plugin::sync`) under or between the host's.

#[cfg(debug_assertions)]
mod checked {
    use std::cell::Cell;
    use std::marker::PhantomData;

    /// What the thread holds.
    #[derive(Clone, Copy)]
    struct Held {
        slurmctld: bool,
        assoc: bool,
        /// One bit for each rank of our own locks.
        own: u32,
    }

    thread_local! {
        static HELD: Cell<Held> = const { Cell::new(Held { slurmctld: false, assoc: false, own: 0 }) };
    }

    pub fn before_slurmctld() {
        let held = HELD.get();
        assert!(!held.slurmctld, "slurmctld lock taken twice by one thread");
        assert!(!held.assoc, "slurmctld lock taken after the association lock");
        assert!(held.own == 0, "slurmctld lock taken after one of the plugin's own (ranks {:#b})", held.own);
    }

    pub fn took_slurmctld() {
        HELD.set(Held { slurmctld: true, ..HELD.get() });
    }

    pub fn left_slurmctld() {
        HELD.set(Held { slurmctld: false, ..HELD.get() });
    }

    pub fn before_assoc() {
        let held = HELD.get();
        assert!(!held.assoc, "association lock taken twice by one thread");
        assert!(
            held.own == 0,
            "association lock taken after one of the plugin's own (ranks {:#b})",
            held.own
        );
    }

    pub fn took_assoc() {
        HELD.set(Held { assoc: true, ..HELD.get() });
    }

    pub fn left_assoc() {
        HELD.set(Held { assoc: false, ..HELD.get() });
    }

    /// A lock of our own, held by this thread.
    #[derive(Debug)]
    pub struct Own(u32, PhantomData<*mut ()>);

    /// Notes that a lock of our own is about to be taken.
    ///
    /// # Panics
    /// If this thread holds one of the same rank or a later one.
    pub fn take_own(rank: u8) -> Own {
        let held = HELD.get();
        assert!(held.own >> rank == 0, "lock of rank {rank} taken after ranks {:#b}", held.own);
        let bit = 1 << rank;
        HELD.set(Held { own: held.own | bit, ..held });
        Own(bit, PhantomData)
    }

    impl Drop for Own {
        fn drop(&mut self) {
            let held = HELD.get();
            HELD.set(Held { own: held.own & !self.0, ..held });
        }
    }
}

#[cfg(not(debug_assertions))]
mod checked {
    pub fn before_slurmctld() {}
    pub fn took_slurmctld() {}
    pub fn left_slurmctld() {}
    pub fn before_assoc() {}
    pub fn took_assoc() {}
    pub fn left_assoc() {}

    /// Nothing in this build.
    #[derive(Debug)]
    pub struct Own;

    /// Notes nothing.
    pub fn take_own(_rank: u8) -> Own {
        Own
    }
}

pub(super) use checked::{
    before_assoc, before_slurmctld, left_assoc, left_slurmctld, took_assoc, took_slurmctld,
};
pub use checked::{take_own, Own};

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;
    use crate::host::panics::attempt;

    /// Each test has a thread of its own, and so locks of its own.
    #[test]
    fn the_right_order_is_allowed() {
        for _ in 0..2 {
            before_slurmctld();
            took_slurmctld();
            for _ in 0..2 {
                before_assoc();
                took_assoc();
                let outer = take_own(1);
                let inner = take_own(2);
                drop(outer);
                drop(inner);
                left_assoc();
            }
            left_slurmctld();
        }
    }

    #[test]
    fn a_slurmctld_lock_after_one_of_associations_is_noticed() {
        took_assoc();
        assert!(attempt(before_slurmctld).is_none());
    }

    #[test]
    fn taking_either_lock_twice_is_noticed() {
        took_slurmctld();
        assert!(attempt(before_slurmctld).is_none());
        took_assoc();
        assert!(attempt(before_assoc).is_none());
        left_assoc();
        before_assoc();
    }

    #[test]
    fn a_lock_of_the_host_after_one_of_our_own_is_noticed() {
        let own = take_own(0);
        assert!(attempt(before_slurmctld).is_none());
        assert!(attempt(before_assoc).is_none());
        drop(own);
        before_slurmctld();
        before_assoc();
    }

    #[test]
    fn our_own_locks_out_of_order_or_twice_are_noticed() {
        let _second = take_own(2);
        assert!(attempt(|| take_own(1)).is_none());
        assert!(attempt(|| take_own(2)).is_none());
        let _third = take_own(3);
    }
}
