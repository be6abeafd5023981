//! What the files of a trace, or another source, say of the cluster apart from its jobs.

use super::{ListedAssociation, Machine, Qos, Workload};
use crate::trace::config::Config;
use crate::trace::directory::{CONFIG, NODES, PARTITIONS, QOS};
use crate::trace::MACHINE;

/// What a source tells of the cluster; what it does not tell is empty.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// The tree, parents in any place.
    pub associations: Vec<ListedAssociation>,
    /// QOS.
    pub qos: Vec<Qos>,
    /// Parameters of slurm.conf.
    pub config: Option<Config>,
    /// Its nodes and partitions.
    pub machine: Option<Machine>,
}

impl Workload {
    /// Takes what a source tells instead of what was known; the rest stays. What was missing and is here is no longer missing.
    pub fn set_site(&mut self, site: Site) {
        if !site.associations.is_empty() {
            self.set_associations(site.associations);
        }
        if !site.qos.is_empty() {
            self.found(&[QOS]);
        }
        for qos in site.qos {
            match self.qos.iter_mut().find(|known| known.name == qos.name) {
                Some(known) => *known = super::Qos { limits: qos.limits.or(known.limits.take()), ..qos },
                None => self.qos.push(qos),
            }
        }
        if let Some(config) = site.config {
            self.found(&[CONFIG, CANNOT_BE_READ]);
            for so in config.problems() {
                self.missing.push(super::Missing { what: CANNOT_BE_READ.to_owned(), so });
            }
            self.config = config;
        }
        if let Some(machine) = site.machine {
            self.found(&[PARTITIONS, NODES, MACHINE]);
            self.machine = Some(machine);
        }
        let largest = self.config.has_flag("MAX_TRES");
        for partition in self.machine.iter_mut().flat_map(|machine| &mut machine.partitions) {
            partition.billing.largest = largest;
        }
    }

    fn found(&mut self, whats: &[&str]) {
        self.missing.retain(|missing| !whats.contains(&missing.what.as_str()));
    }
}

/// What parameters are called that cannot be read.
const CANNOT_BE_READ: &str = "slurm.conf";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Missing, Partition, QosLimits};

    fn is_missing(workload: &Workload, what: &str) -> bool {
        workload.missing.iter().any(|missing| missing.what == what)
    }

    /// `--slurm-conf` once passed over both in silence.
    #[test]
    fn flags_and_what_cannot_be_read_count_wherever_parameters_come_from() {
        let mut workload = Workload::default();
        for what in [CONFIG, PARTITIONS, NODES, MACHINE, QOS] {
            workload.missing.push(Missing { what: what.to_owned(), so: String::new() });
        }
        let machine =
            Machine { partitions: vec![Partition::plain("main", Vec::new())], ..Machine::default() };
        let config = Config::parse("PriorityFlags=MAX_TRES\nPriorityMaxAge=soon");
        workload.set_site(Site { config: Some(config), machine: Some(machine), ..Site::default() });
        assert!(workload.machine.as_ref().is_some_and(|machine| machine.partitions[0].billing.largest));
        let left: Vec<&str> = workload.missing.iter().map(|missing| missing.what.as_str()).collect();
        assert_eq!(left, [QOS, CANNOT_BE_READ]);
        // Another slurm.conf, without the machine.
        workload.set_site(Site { config: Some(Config::default()), ..Site::default() });
        assert!(workload.machine.as_ref().is_some_and(|machine| !machine.partitions[0].billing.largest));
        assert!(!is_missing(&workload, CANNOT_BE_READ));
    }

    #[test]
    fn a_qos_takes_the_place_of_the_one_that_jobs_name() {
        let mut workload = Workload { qos: vec![Qos::named(""), Qos::named("high")], ..Workload::default() };
        let high = Qos { priority: 7, usage_factor: 2.0, ..Qos::named("high") };
        workload.set_site(Site { qos: vec![Qos::named("low"), high.clone()], ..Site::default() });
        assert_eq!(workload.qos, [Qos::named(""), high.clone(), Qos::named("low")]);
        // Limits stay where another source does not tell of them.
        let limited = Qos { limits: Some(QosLimits::default()), ..high.clone() };
        for qos in [limited.clone(), high] {
            workload.set_site(Site { qos: vec![qos], ..Site::default() });
            assert_eq!(workload.qos[1], limited);
        }
    }
}
