//! Models slurmctld with our own sums of usage, in any order of events, to show that every second that a job runs is counted once. A kill
//! loses what slurmctld loses too: jobs that have ended since the last cycle.

use multifactor2_accounting::sums::Cycle;
use multifactor2_accounting::tally::TallyPlace;
use multifactor2_accounting::tally::{Charge, Tally};
use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Event {
    /// Time passes.
    Run(u8),
    /// A job starts, with so many processors.
    Start(u8),
    /// The oldest job ends.
    End,
    /// slurmctld saves its jobs: ends that came before are remembered from now on.
    SaveJobs,
    /// A cycle.
    Cycle {
        /// Seconds from its time until it counts, and whether a job ends in between.
        counts_after: (u8, bool),
        /// Killed before it counts, before it saves, or after.
        killed: Option<u8>,
    },
    Kill,
    /// A regular end, and a start with windows of another length, and with the book where that is even.
    Stop {
        length: u8,
    },
    /// Killed before the first cycle, twice.
    KillTwice,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..40_u8).prop_map(Event::Run),
        3 => (1..9_u8).prop_map(Event::Start),
        3 => Just(Event::End),
        2 => Just(Event::SaveJobs),
        6 => ((0..9_u8, any::<bool>()), prop_oneof![5 => Just(None), 2 => (0..3_u8).prop_map(Some)])
            .prop_map(|(counts_after, killed)| Event::Cycle { counts_after, killed }),
        1 => Just(Event::Kill),
        1 => (1..50_u8).prop_map(|length| Event::Stop { length }),
        1 => Just(Event::KillTwice),
    ]
}

#[derive(Clone, Debug)]
struct Job {
    id: u32,
    start: i64,
    rate: i64,
    end: Option<i64>,
    /// slurmctld has saved that it has ended.
    remembered: bool,
    /// Seconds at its end that a kill has lost.
    lost: i64,
    /// Seconds that it did not run, between an end that slurmctld has forgotten and the cycle from which on it runs again.
    gap: i64,
}

struct Cluster {
    now: i64,
    jobs: Vec<Job>,
    own: OwnUsage,
    length: i64,
    /// Up to when the file that lies there counts.
    saved: i64,
    directory: tempfile::TempDir,
}

impl Cluster {
    fn new() -> Self {
        // Where writing costs nothing.
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let directory = tempfile::tempdir_in(place).unwrap();
        let mut model = Self {
            now: 1000,
            jobs: Vec::new(),
            own: OwnUsage::default(),
            length: 30,
            saved: 1000,
            directory,
        };
        model.start();
        model.own.save(Some(&model.file()));
        model
    }

    fn file(&self) -> std::path::PathBuf {
        self.directory.path().join("priority_last_decay_ran")
    }

    /// With what slurmctld remembers of its jobs.
    fn start(&mut self) {
        for job in self.jobs.iter_mut().filter(|job| !job.remembered) {
            job.gap += job.end.take().map_or(0, |end| (self.saved - end).max(0));
        }
        self.own = OwnUsage::default();
        let recipe = Recipe {
            metric: "cpu".to_owned(),
            halflife: true,
            windows: Some((self.length, 100_000)),
            tres: vec!["cpu".to_owned(), "gres/gpu".to_owned()],
            books: if self.length % 2 == 0 { vec!["odd".to_owned()] } else { Vec::new() },
            steps: false,
        };
        let times = Times { last_ran: 1000, last_reset: 1 };
        self.own.configure(
            Some((&recipe, &Arc::default())),
            Some(&self.file()),
            Loaded { times, ..Loaded::default() },
        );
    }

    fn kill(&mut self) {
        for job in self.jobs.iter_mut().filter(|job| job.remembered) {
            if let Some(end) = job.end.filter(|end| *end > self.saved) {
                job.lost = job.lost.max(end - job.start.max(self.saved));
            }
        }
        self.start();
    }

    #[allow(clippy::cast_precision_loss)] // small numbers
    fn charge(job: &Job, since: i64, until: i64) -> Charge {
        let start = job.start.max(since);
        let run = (until - start).max(0) as f64;
        let rate = job.rate as f64;
        Charge { start, run, rate, decayed: run * rate }
    }

    /// By TRES: as much as of the metric, and three times that. The same again in the book that every job with an odd rate is in.
    fn used(job: &Job, charge: &Charge) -> Vec<f64> {
        #[allow(clippy::cast_precision_loss)] // 0 or 1
        let is_odd = (job.rate % 2) as f64;
        [1.0, 3.0, is_odd, 3.0 * is_odd].map(|times| times * charge.decayed).to_vec()
    }

    fn end(&mut self) {
        let now = self.now;
        let Some(job) = self.jobs.iter_mut().find(|job| job.end.is_none()) else { return };
        (job.end, job.remembered) = (Some(now), false);
        let mut ends = self.own.ends.lock();
        let charge = Self::charge(job, ends.since.unwrap(), now);
        let (columns, association) = (Self::used(job, &charge), Some(7));
        ends.note(Ended {
            job: job.id,
            started: job.start,
            charge,
            columns,
            association,
            ..Ended::default()
        });
    }

    /// False: killed in it.
    fn cycle(&mut self, (seconds, ends): (u8, bool), killed: Option<u8>) -> bool {
        let at = self.now;
        self.now += i64::from(seconds);
        if ends {
            self.end();
        }
        if killed == Some(0) {
            return false;
        }
        {
            let mut state = self.own.state.lock();
            let sums = state.sums.as_mut().unwrap();
            let mut tally = Tally::default();
            tally.begin(sums.windows_at(at), sums.width());
            for job in self.jobs.iter().filter(|job| job.end.is_none()) {
                let charge = Self::charge(job, sums.since(), at);
                tally.add(TallyPlace::ALL, &charge, true);
                let place = sums.association(7);
                tally.add_columns(place, 0, &Self::used(job, &charge));
            }
            let mut ends = self.own.ends.lock();
            let jobs = &self.jobs;
            let mut all = ends.take(|ended| jobs.iter().any(|job| job.id == ended.job && job.end.is_none()));
            sums.settle(Cycle { now: at, decay: 1.0, last_reset: 1, tally: &tally }, &mut all);
            (ends.jobs, ends.since, ends.is_unsaved) = (all, Some(at), true);
        }
        if killed == Some(1) {
            return false;
        }
        self.own.save(Some(&self.file()));
        self.saved = at;
        killed != Some(2)
    }

    fn happen(&mut self, event: &Event) {
        match event {
            Event::Run(seconds) => self.now += i64::from(*seconds),
            Event::Start(rate) => {
                let id = u32::try_from(self.jobs.len()).unwrap();
                let (start, rate) = (self.now, i64::from(*rate));
                self.jobs.push(Job { id, start, rate, end: None, remembered: false, lost: 0, gap: 0 });
            }
            Event::End => self.end(),
            Event::SaveJobs => {
                self.jobs.iter_mut().filter(|job| job.end.is_some()).for_each(|job| job.remembered = true);
            }
            Event::Cycle { counts_after, killed } => {
                if !self.cycle(*counts_after, *killed) {
                    self.kill();
                }
            }
            Event::Kill => self.kill(),
            Event::KillTwice => {
                self.kill();
                self.kill();
            }
            Event::Stop { length } => {
                self.length = i64::from(*length);
                self.own.stop(Some(&self.file()));
                self.start();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..multifactor2_fixtures::seeded() })]

    #[test]
    fn every_second_is_counted_exactly_once(events in prop::collection::vec(event(), 1..60)) {
        let mut model = Cluster::new();
        for event in &events {
            model.happen(event);
        }
        // A last cycle counts what is left, and one more what has ended within it.
        model.cycle((0, false), None);
        let sums = |is_counted: fn(&Job) -> bool| {
            let (mut due, mut lost) = (0, 0);
            for job in model.jobs.iter().filter(|job| is_counted(job)) {
                let until = job.end.unwrap_or(model.now);
                due += (until - job.start - job.gap) * job.rate;
                lost += if job.end.is_some() { job.lost * job.rate } else { 0 };
            }
            (due, lost)
        };
        let ((due, lost), (due_odd, lost_odd)) = (sums(|_| true), sums(|job| job.rate % 2 == 1));
        for which in [super::Model::HalfLife, super::Model::Windows { decay: 1.0 }] {
            let found = model.own.readings(which).unwrap().all;
            #[allow(clippy::cast_precision_loss)]
            let (most, least) = (due as f64, (due - lost) as f64);
            prop_assert!((least - 1e-6..=most + 1e-6).contains(&found), "{:?}: {}, not {} to {}", which, found, least, most);
            let used = model.own.state.lock().sums.as_ref().unwrap().used(7).to_vec();
            for (amount, times) in used.iter().zip([1.0, 3.0]) {
                prop_assert!((amount - times * found).abs() <= 1e-6, "{:?} of {}", used, found);
            }
            prop_assert!(used.len() == 4 || found == 0.0);
            // The book goes on where it is added again, and what has waited meanwhile is in it.
            let odd = used.get(2).copied().unwrap_or(0.0);
            #[allow(clippy::cast_precision_loss)]
            let (most, least) = (due_odd as f64, (due_odd - lost_odd) as f64);
            prop_assert!((least - 1e-6..=most + 1e-6).contains(&odd), "in the book {}, not {} to {}", odd, least, most);
            prop_assert!((used.get(3).copied().unwrap_or(0.0) - 3.0 * odd).abs() <= 1e-6);
        }
    }
}
