//! One text of Slurm's commands after the other, taken apart: any bytes give rows and a count of what was not read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multifactor2_command::input::parse::{associations, priorities, qos, queue, shares};
use multifactor2_command::input::texts::Manifest;
use slurm_text::durations::Grammar;
use slurm_text::{config, dates, dump, hosts, partitions, tres};

fuzz_target!(|text: &str| {
    let lines = text.lines().count();
    let _ = (config::parameters(text), config::time(text), config::release(text));
    let (rows, unread) = shares::shares(text);
    assert!(rows.len() + unread.count <= lines);
    let (rows, unread) = priorities::sums(text);
    assert!(rows.len() + unread.count <= lines);
    let (rows, unread) = qos::qos(text);
    assert!(rows.len() + unread.count <= lines);
    let (rows, _) = partitions::partitions(text);
    let _ = partitions::whole_cluster(&rows);
    let all = associations::all(text);
    assert!(all.users.len() + all.associations.len() + all.qos.len() + all.unread.count <= lines);
    let (jobs, unread) = queue::jobs(text, &Manifest::new(0, 0, None, "|q7x2kd|"));
    assert!(jobs.len() + unread.count <= lines.max(1) + text.matches("|q7x2kd|").count());
    let dump = dump::dump(text);
    assert!(dump.rows.len() + dump.qos.len() + dump.bad.len() <= lines);
    let _ = (hosts::names(text), tres::list(text), tres::billing_weights(text).count(), dates::time(text));
    let _ = [Grammar::Conf, Grammar::Clock, Grammar::Limit].map(|grammar| grammar.read(text));
});
