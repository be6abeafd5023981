//! What the model computes from what Slurm's commands have printed is what they have printed.

use multifactor2_command::input::assemble;
use multifactor2_command::input::commands::{CONFIG, QOS, QUEUE};
use multifactor2_command::input::texts::Texts;
use multifactor2_command::model::{Model, Options};
use multifactor2_command::output::Terminal;
use multifactor2_command::run::run;
use multifactor2_snapshot::records::Setting;

use crate::recorded::{self, RELEASES};

/// Bug: with `ActiveJobs=pending` only those were taken to compete whom sprio shows, which held jobs and such with a begin time are not.
#[test]
fn who_competes_goes_by_active_jobs_with_slurms_commands_too() {
    for release in RELEASES {
        let mut snapshot = recorded::snapshot(release, "multifactor2-root");
        let settings = snapshot.settings.as_ref().unwrap();
        assert!(settings.iter().any(|setting| setting.line == "ActiveJobs=pending"), "{settings:?}");
        let model = Model::of(&snapshot, Options::default());
        for (shown, computed) in snapshot.associations.iter().zip(&model.standings) {
            let (Some(shown), Some(computed)) = (shown.factor, computed.factor) else { continue };
            assert!((shown - computed).abs() < 1e-6, "{release}: {shown} {computed:?}");
        }
        for job in 0..snapshot.jobs.len() {
            assert_eq!(model.differences(job), [], "{release}: {:?}", snapshot.jobs[job]);
        }

        snapshot.settings =
            Some(vec![Setting { line: "ActiveJobs=eligible".to_owned(), ..Setting::default() }]);
        let model = Model::of(&snapshot, Options::default());
        let emmy = snapshot.associations.iter().position(|association| association.user == "emmy").unwrap();
        assert!(!model.standings[emmy].active, "{release}: her jobs are held, or wait for their time");
    }
}

/// Bug: `what-if` did not ask slurmdbd, and took the priority of every QOS for 0, so that all jobs lost their QOS addend in both queues.
#[test]
fn the_addend_of_a_qos_is_known_without_slurmdbd() {
    for release in RELEASES {
        let mut texts = recorded::texts(release, "fair-tree-root");
        texts.texts.remove(QOS);
        let snapshot = assemble(&texts, None).unwrap();
        let model = Model::of(&snapshot, Options { recompute: true, ..Options::default() });
        let mut seen = 0;
        for (job, rank) in snapshot.jobs.iter().zip(&model.jobs).filter(|(job, _)| job.is_computed) {
            let (computed, _) = rank.computed.unwrap();
            assert!((computed.qos - job.qos_addend).abs() < 1e-3, "{release}: {computed:?} {job:?}");
            seen += usize::from(job.qos_addend > 0.0);
        }
        assert!(seen > 0, "{release}");
    }
}

/// Bug: of a job that the scheduler has looked at, squeue shows how many nodes it would take, and JOBSIZE was computed from those.
#[test]
fn a_jobs_size_is_what_it_asks_for_not_what_the_scheduler_thinks_it_takes() {
    for release in RELEASES {
        let mut texts = recorded::texts(release, "fair-tree-root");
        let queue = texts.texts.get_mut(QUEUE).unwrap();
        // NumNodes of those that ask for one CPU.
        let changed = queue.replace("|1|1|1|0|0|N/A|cpu=1", "|2|1|1|0|0|N/A|cpu=1");
        assert_ne!(changed, *queue, "{release}");
        *queue = changed;
        let snapshot = assemble(&texts, None).unwrap();
        let model = Model::of(&snapshot, Options::default());
        for job in 0..snapshot.jobs.len() {
            assert_eq!(model.differences(job), [], "{release}: {:?}", snapshot.jobs[job]);
        }
    }
}

/// What an answer says is hidden, for texts with another value of `PriorityParameters`.
fn said_of_settings(mut texts: Texts, parameters: &str, question: &[&str]) -> (bool, String) {
    let config = texts.texts.get_mut(CONFIG).unwrap();
    *config = config.replace("= ActiveJobs=pending", &format!("= {parameters}"));
    let directory = tempfile::tempdir().unwrap();
    let saved = directory.path().join("saved");
    texts.save(&saved).unwrap();
    let mut words: Vec<std::ffi::OsString> = vec!["multifactor2".into()];
    words.extend(question.iter().map(Into::into));
    words.extend(["--from".into(), saved.into()]);
    let printed = run(words, Terminal { colours: false, ascii: true, width: None });
    (printed.status == 0, printed.out + &printed.err)
}

#[test]
fn settings_that_give_every_factor_that_slurm_shows_are_taken_and_others_are_not() {
    let question = ["what-if", "--usage", "ada@physics=0"];
    for release in RELEASES {
        let texts = || recorded::texts(release, "multifactor2-root");
        let (is_answered, said) = said_of_settings(texts(), "ActiveJobs=pending", &question);
        assert!(
            is_answered && said.contains("Those of PriorityParameters give every FairShare"),
            "{release}: {said}"
        );
        // Other settings would have given other factors.
        let (is_answered, said) = said_of_settings(texts(), "(null)", &question);
        assert!(!is_answered && said.contains("--conf"), "{release}: {said}");
        let (_, said) = said_of_settings(texts(), "FairShareScale=log", &["tree"]);
        assert!(said.contains("multifactor2.conf on the controller may have others"), "{release}: {said}");
    }
}
