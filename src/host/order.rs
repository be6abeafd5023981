//! Checks at run time, in debug builds only, what the types of [`super::locks`] cannot check of the lock order.
//!
//! Every lock of slurmctld, of the association manager and of the plugin is a node of one graph. A thread that wants a lock while holding
//! others draws an arrow from each of them. slurmctld's own arrows exist from the start: it takes its locks, and the association manager's
//! after them, in one order. The locks that the caller of an export holds in the running release count as held ([`super::callers`]). A
//! circle of arrows is a possible deadlock. It ends the process and names the two places, even if no two threads have met there.

/// How a lock may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Not at all.
    None,
    /// For reading.
    Read,
    /// For writing, or for reading.
    Write,
}

/// A part of a cycle, and what it may take of slurmctld's and the association manager's locks; of others nothing.
#[derive(Clone, Copy, Debug)]
pub struct PhaseLocks {
    /// What it is called.
    pub phase: &'static str,
    /// Jobs, with nodes and partitions for reading.
    pub jobs: Level,
    /// Associations.
    pub associations: Level,
    /// QOS.
    pub qos: Level,
    /// TRES.
    pub tres: Level,
}

#[cfg(debug_assertions)]
mod checked {
    use std::cell::{Cell, RefCell};
    use std::marker::PhantomData;

    use parking_lot::Mutex;

    use super::{Level, PhaseLocks};
    use crate::host::callers::{held, taken, LOCKS, LOCK_COUNT};
    use crate::host::layout::Release;

    /// Locks of our own, as ranks of [`crate::plugin`]'s.
    const OWN: usize = 16;
    const NODES: usize = LOCK_COUNT + OWN;
    /// The first of the association manager's.
    const ASSOC: usize = 5;

    /// 0 for not held, 1 for reading, 2 for writing, by node.
    type Levels = [u8; NODES];

    /// Who drew an arrow, by where it begins and where it ends.
    type Arrows = [[Option<String>; NODES]; NODES];

    thread_local! {
        static HELD: Cell<Levels> = const { Cell::new([0; NODES]) };
        static CALLER: RefCell<String> = const { RefCell::new(String::new()) };
        static PHASE: Cell<Option<PhaseLocks>> = const { Cell::new(None) };
    }

    static GRAPH: Mutex<Option<Box<Arrows>>> = Mutex::new(None);

    fn name(node: usize) -> String {
        match node {
            0..ASSOC => format!("slurmctld's lock for {}", LOCKS[node]),
            ASSOC..LOCK_COUNT => format!("the association manager's lock for {}", LOCKS[node]),
            own => format!("our own lock of rank {}", own - LOCK_COUNT),
        }
    }

    /// Slurm takes the locks that it needs in one order, so each may be held while a later one is waited for.
    fn of_slurm() -> Box<Arrows> {
        let mut arrows: Box<Arrows> = Box::new(std::array::from_fn(|_| std::array::from_fn(|_| None)));
        for from in 0..LOCK_COUNT {
            for to in from + 1..LOCK_COUNT {
                arrows[from][to] = Some("slurmctld itself".to_owned());
            }
        }
        arrows
    }

    /// A way along the arrows.
    fn way(arrows: &Arrows, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut before = [None; NODES];
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            if node == to {
                let mut way = vec![to];
                while let Some(last) = before[way[way.len() - 1]] {
                    way.push(last);
                    if last == from {
                        break;
                    }
                }
                way.reverse();
                return Some(way);
            }
            for next in (0..NODES).filter(|next| arrows[node][*next].is_some()) {
                if next != from && before[next].is_none() {
                    before[next] = Some(node);
                    open.push(next);
                }
            }
        }
        None
    }

    /// A lock is wanted while others are held.
    fn wants(held: &Levels, wanted: usize, who: &str) -> Result<(), String> {
        if held[wanted] != 0 {
            return Err(format!("{} is taken twice by one thread ({who})", name(wanted)));
        }
        let mut graph = GRAPH.lock();
        let arrows = graph.get_or_insert_with(of_slurm);
        for from in (0..NODES).filter(|node| held[*node] != 0) {
            if arrows[from][wanted].is_some() {
                continue;
            }
            if let Some(way) = way(arrows, wanted, from) {
                let other: Vec<String> = way
                    .windows(2)
                    .map(|pair| {
                        let by = arrows[pair[0]][pair[1]].as_deref().unwrap_or("?");
                        format!("{} before {} ({by})", name(pair[0]), name(pair[1]))
                    })
                    .collect();
                return Err(format!(
                    "{} is held while {} is waited for ({who}), but others take {}",
                    name(from),
                    name(wanted),
                    other.join(", ")
                ));
            }
            arrows[from][wanted] = Some(who.to_owned());
        }
        Ok(())
    }

    fn fail(violation: &str) -> ! {
        // A panic would be caught at the boundary, and the test would go on.
        if !cfg!(test) {
            eprintln!("LOCK ORDER: {violation}");
            std::process::abort();
        }
        panic!("{violation}")
    }

    fn who(what: &str) -> String {
        CALLER.with_borrow(|caller| match caller.as_str() {
            "" => what.to_owned(),
            caller => format!("{what} for {caller}"),
        })
    }

    fn take(wanted: &[(usize, u8)], what: &str) {
        let mut held = HELD.get();
        let who = who(what);
        for (node, level) in wanted {
            if let Err(violation) = wants(&held, *node, &who) {
                fail(&violation);
            }
            held[*node] = *level;
        }
        HELD.set(held);
    }

    fn leave(nodes: impl IntoIterator<Item = usize>) {
        let mut held = HELD.get();
        nodes.into_iter().for_each(|node| held[node] = 0);
        HELD.set(held);
    }

    fn wanted(levels: &[u32], first: usize) -> Vec<(usize, u8)> {
        let numbered = levels.iter().enumerate().filter(|(_, level)| **level != 0);
        numbered.map(|(at, level)| (first + at, u8::from(*level == 2) + 1)).collect()
    }

    /// This thread is in a phase of a cycle from now on, or in none.
    pub fn enter(phase: Option<PhaseLocks>) {
        PHASE.set(phase);
    }

    /// The phase of this thread, if it is in one, has these locks.
    fn assert_of_phase(wanted: &[(usize, u8)]) {
        let Some(phase) = PHASE.get() else { return };
        for (node, level) in wanted {
            let most = match LOCKS[*node] {
                "job" => phase.jobs,
                "node" | "part" if phase.jobs != Level::None => Level::Read,
                "assoc" => phase.associations,
                "qos" => phase.qos,
                "tres" => phase.tres,
                _ => Level::None,
            };
            if *level > most as u8 {
                fail(&format!(
                    "{} is taken in the phase '{}', which has {most:?} of it",
                    name(*node),
                    phase.phase
                ));
            }
        }
    }

    fn take_of_host(wanted: &[(usize, u8)], what: &str) {
        assert_of_phase(wanted);
        take(wanted, what);
    }

    /// Notes that slurmctld's locks are about to be taken, all of which only one call may take.
    pub fn take_slurmctld(levels: &[u32]) {
        let held = HELD.get();
        if held[..ASSOC].iter().any(|level| *level != 0) {
            fail("slurmctld's locks are taken twice by one thread");
        }
        take_of_host(&wanted(&levels[..ASSOC], 0), "lock_slurmctld");
    }

    /// Notes that they were let go of.
    pub fn leave_slurmctld() {
        leave(0..ASSOC);
    }

    /// Notes that locks of the association manager are about to be taken.
    pub fn take_assoc(levels: &[u32]) {
        let held = HELD.get();
        if held[ASSOC..LOCK_COUNT].iter().any(|level| *level != 0) {
            fail("the association manager's locks are taken twice by one thread");
        }
        take_of_host(&wanted(levels, ASSOC), "assoc_mgr_lock");
    }

    /// Notes that they were let go of.
    pub fn leave_assoc() {
        leave(ASSOC..LOCK_COUNT);
    }

    /// Notes what a function of the host is about to take inside, in the cases that `happens` allows.
    pub fn visit(release: Release, function: &'static str, happens: impl Fn(&str) -> bool) {
        for row in taken(function, release).filter(|row| happens(row.case)) {
            let before = HELD.get();
            let levels = row.levels.iter().enumerate().filter(|(_, level)| **level != 0);
            let levels: Vec<(usize, u8)> = levels.map(|(node, level)| (node, *level)).collect();
            take(&levels, function);
            HELD.set(before);
        }
    }

    /// What the caller of an export holds while the call lasts.
    #[derive(Debug)]
    pub struct Entered(Levels, PhantomData<*mut ()>);

    impl Entered {
        /// Counts what all its callers hold in a release as held by this thread.
        pub fn new(release: Release, export: &'static str) -> Self {
            let before = HELD.get();
            let mut levels = before;
            for row in held(export, release) {
                for (level, of_caller) in levels.iter_mut().zip(row.levels) {
                    *level = of_caller.max(*level);
                }
            }
            HELD.set(levels);
            CALLER.set(export.to_owned());
            Self(before, PhantomData)
        }
    }

    impl Drop for Entered {
        fn drop(&mut self) {
            HELD.set(self.0);
            CALLER.take();
        }
    }

    /// A lock of our own, held by this thread.
    #[derive(Debug)]
    pub struct Own(usize, PhantomData<*mut ()>);

    /// Notes that a lock of our own is about to be taken.
    pub fn take_own(rank: u8) -> Own {
        let node = LOCK_COUNT + usize::from(rank);
        let held = HELD.get();
        // Among our own the rank is the order, known before anybody takes two.
        if held[node..].iter().any(|level| *level != 0) {
            fail(&format!("{} is taken after one of the same rank or a later one", name(node)));
        }
        take(&[(node, 2)], "the plugin");
        Own(node, PhantomData)
    }

    impl Drop for Own {
        fn drop(&mut self) {
            leave([self.0]);
        }
    }
}

#[cfg(not(debug_assertions))]
mod checked {
    use super::PhaseLocks;
    use crate::host::layout::Release;

    /// Notes nothing.
    pub fn enter(_phase: Option<PhaseLocks>) {}
    pub fn take_slurmctld(_levels: &[u32]) {}
    pub fn leave_slurmctld() {}
    pub fn take_assoc(_levels: &[u32]) {}
    pub fn leave_assoc() {}
    pub fn visit(_release: Release, _function: &'static str, _happens: impl Fn(&str) -> bool) {}

    /// Nothing in this build.
    #[derive(Debug)]
    pub struct Entered;

    impl Entered {
        /// Notes nothing.
        pub fn new(_release: Release, _export: &'static str) -> Self {
            Self
        }
    }

    /// Nothing in this build.
    #[derive(Debug)]
    pub struct Own;

    /// Notes nothing.
    pub fn take_own(_rank: u8) -> Own {
        Own
    }
}

pub use checked::{enter, take_own, Entered, Own};
pub(super) use checked::{leave_assoc, leave_slurmctld, take_assoc, take_slurmctld, visit};

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;
    use crate::host::layout::Release;
    use crate::host::panics::attempt;

    const JOBS: [u32; 6] = [0, 2, 1, 1, 0, 0];
    const ALL: [u32; 7] = [1, 0, 1, 0, 1, 0, 0];
    const QOS: [u32; 7] = [0, 0, 1, 0, 0, 0, 0];
    const LATER: Release = Release::new(24, 11, 5);

    /// Each test has a thread of its own, and so locks of its own; the arrows are everybody's.
    #[test]
    fn the_right_order_is_allowed() {
        for _ in 0..2 {
            take_slurmctld(&JOBS);
            for _ in 0..2 {
                take_assoc(&ALL);
                let outer = take_own(1);
                let inner = take_own(2);
                drop(outer);
                drop(inner);
                leave_assoc();
            }
            leave_slurmctld();
        }
    }

    #[test]
    fn a_slurmctld_lock_after_one_of_associations_is_noticed() {
        take_assoc(&QOS);
        assert!(attempt(|| take_slurmctld(&JOBS)).is_none());
    }

    #[test]
    fn taking_either_lock_twice_is_noticed() {
        take_slurmctld(&JOBS);
        assert!(attempt(|| take_slurmctld(&JOBS)).is_none());
        take_assoc(&QOS);
        assert!(attempt(|| take_assoc(&QOS)).is_none());
        leave_assoc();
        take_assoc(&ALL);
    }

    #[test]
    fn a_lock_of_the_host_after_one_of_our_own_is_noticed() {
        {
            // Somebody takes ours under both.
            take_slurmctld(&JOBS);
            take_assoc(&ALL);
            drop(take_own(8));
            leave_assoc();
            leave_slurmctld();
        }
        let own = take_own(8);
        assert!(attempt(|| take_slurmctld(&JOBS)).is_none());
        assert!(attempt(|| take_assoc(&ALL)).is_none());
        drop(own);
        take_slurmctld(&JOBS);
        take_assoc(&ALL);
    }

    #[test]
    fn our_own_locks_out_of_order_or_twice_are_noticed() {
        let _second = take_own(2);
        assert!(attempt(|| take_own(1)).is_none());
        assert!(attempt(|| take_own(2)).is_none());
        let _third = take_own(3);
    }

    #[test]
    fn a_lock_that_the_phase_of_a_cycle_does_not_have_is_noticed() {
        let phase = PhaseLocks {
            phase: "Gather",
            jobs: Level::Read,
            associations: Level::Read,
            qos: Level::None,
            tres: Level::None,
        };
        enter(Some(phase));
        take_slurmctld(&[0, 1, 1, 1, 0, 0]);
        take_assoc(&[1, 0, 0, 0, 0, 0, 0]);
        leave_assoc();
        assert!(attempt(|| take_assoc(&QOS)).is_none());
        leave_slurmctld();
        assert!(attempt(|| take_slurmctld(&JOBS)).is_none(), "for writing");
        enter(None);
        take_slurmctld(&JOBS);
        take_assoc(&QOS);
    }

    /// The deadlock of sprio: slurmctld asks with its lock for QOS, and takes associations before QOS elsewhere.
    #[test]
    fn waiting_for_associations_to_answer_sprio_is_noticed_from_23_02_on() {
        const EXPORT: &str = "priority_p_get_priority_factors_list";
        for (release, deadlock) in
            [(Release::new(22, 5, 8), false), (Release::new(23, 2, 0), true), (LATER, true)]
        {
            let entered = Entered::new(release, EXPORT);
            assert_eq!(attempt(|| take_assoc(&[1, 0, 0, 0, 0, 0, 0])).is_none(), deadlock, "{release}");
            leave_assoc();
            drop(entered);
            take_assoc(&ALL);
            leave_assoc();
        }
    }

    /// And its second way.
    #[test]
    fn asking_mcs_account_to_answer_sprio_is_noticed() {
        let _entered = Entered::new(LATER, "priority_p_get_priority_factors_list");
        visit(LATER, "mcs_g_check_mcs_label", |case| !case.starts_with("mcs/account"));
        assert!(attempt(|| visit(LATER, "mcs_g_check_mcs_label", |_| true)).is_none());
    }
}
