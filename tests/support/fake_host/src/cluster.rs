//! What is in the cluster: TRES, QOS, partitions, accounts, users and jobs, as records of the release.

use crate::lists;
use crate::memory::{self, allocate, Arena, Owner};
use crate::record::{set_long_double, Record};
use crate::slurmctld::{layout, shared, Slurmctld};
use crate::specs::{Association, Job, Partition, Qos, NICE_OFFSET, NO_VAL};

const JOB_MAGIC: u32 = 0xf0b7_392c;
const DETAILS_MAGIC: u32 = 0x0dea_84e7;
const PART_MAGIC: u32 = 0xaefe_8495;
const NULL: *mut u8 = std::ptr::null_mut();

/// An array in a block.
pub fn array<T: Copy>(arena: Arena, what: &str, values: &[T]) -> *mut u8 {
    let address = allocate(arena, size_of_val(values), Owner::Host, what, "of the host");
    // SAFETY: a fresh block of that size.
    unsafe { std::ptr::copy_nonoverlapping(values.as_ptr().cast(), address, size_of_val(values)) };
    address
}

fn named_array<T: Copy>(arena: Arena, what: &str, name: &str, values: &[T]) -> *mut u8 {
    let address = allocate(arena, size_of_val(values), Owner::Host, what, name);
    // SAFETY: a fresh block of that size.
    unsafe { std::ptr::copy_nonoverlapping(values.as_ptr().cast(), address, size_of_val(values)) };
    address
}

fn named_long_doubles(arena: Arena, what: &str, name: &str, values: &[f64]) -> *mut u8 {
    let address = allocate(arena, values.len() * 16, Owner::Host, what, name);
    for (at, value) in values.iter().enumerate() {
        // SAFETY: a fresh block of that size.
        set_long_double(unsafe { address.add(at * 16) }, *value);
    }
    address
}

fn shifted(value: i32) -> u32 {
    NICE_OFFSET.wrapping_add_signed(value)
}

/// What the run seconds of a limit begin with, by TRES: more than any test uses.
pub const RUN_SECONDS: u64 = 1_000_000_000;

impl Slurmctld {
    /// Names the TRES. Before the first record.
    pub fn tres_names(&mut self, names: &[&'static str]) -> &mut Self {
        self.tres = names.to_vec();
        let texts: Vec<*mut u8> =
            names.iter().map(|name| memory::text(Arena::Common, "name of a TRES", name)).collect();
        self.set("assoc_mgr_tres_name_array", array(Arena::Common, "names of TRES", &texts));
        let records: Vec<*mut u8> = names
            .iter()
            .map(|name| Record::new("tres", Arena::Tres, name).set("count", 0_u64).complete().address)
            .collect();
        self.set("assoc_mgr_tres_array", array(Arena::Tres, "records of TRES", &records));
        self.set("slurmctld_tres_cnt", i32::try_from(names.len()).expect("few"))
    }

    /// What the cluster has of each TRES.
    pub fn tres_totals(&mut self, counts: &[u64]) -> &mut Self {
        for (at, count) in counts.iter().enumerate() {
            self.tres_record(at).set("count", *count);
        }
        self
    }

    /// The record of a TRES.
    pub fn tres_record(&self, at: usize) -> Record {
        assert!(at < self.tres.len(), "there are {} TRES", self.tres.len());
        // SAFETY: the array has one for each.
        let address = unsafe { self.get::<*mut *mut u8>("assoc_mgr_tres_array").add(at).read() };
        Record { kind: "tres", address }
    }

    /// Number of TRES.
    pub fn tres_count(&self) -> usize {
        self.tres.len()
    }

    /// Adds a QOS.
    pub fn add_qos(&mut self, spec: &Qos) -> Record {
        let name = format!("QOS {}", spec.name);
        let zeros = vec![0.0; self.tres.len()];
        let usage = Record::new("qos_usage", Arena::Qos, &name)
            .set("acct_limit_list", lists::new(None))
            .set("user_limit_list", lists::new(None))
            .set("grp_used_tres_run_secs", self.run_seconds(Arena::Qos, &name))
            .set("grp_used_wall", 0.0)
            .set("norm_priority", spec.priority.1)
            .set_ld("usage_raw", 0.0)
            .set("usage_tres_raw", named_long_doubles(Arena::Qos, "usage_tres_raw", &name, &zeros))
            .complete();
        let qos = Record::new("qos", Arena::Qos, &name)
            .set("id", spec.id)
            .set("name", memory::text(Arena::Qos, "name of QOS", spec.name))
            .set("flags", spec.flags)
            .set("priority", spec.priority.0)
            .set("usage", usage.address)
            .set("usage_factor", spec.usage_factor)
            .set("usage_thres", spec.usage_threshold.unwrap_or(f64::from(NO_VAL)))
            .complete();
        lists::push(self.get("assoc_mgr_qos_list"), qos.address);
        self.qos.push(qos);
        qos
    }

    fn run_seconds(&self, arena: Arena, name: &str) -> *mut u8 {
        named_array(arena, "grp_used_tres_run_secs", name, &vec![RUN_SECONDS; self.tres.len()])
    }

    /// Adds a partition.
    pub fn add_partition(&mut self, spec: &Partition) -> Record {
        let name = format!("partition {}", spec.name);
        let partition = Record::new("part", Arena::Partitions, &name)
            .set("magic", PART_MAGIC)
            .set("name", memory::text(Arena::Partitions, "name of partition", spec.name))
            .set("norm_priority", spec.priority.1)
            .set("priority_job_factor", spec.priority.0)
            .set("priority_tier", spec.tier)
            .set("state_up", 3_u16)
            .set("billing_weights_str", memory::text(Arena::Partitions, "billing weights", "CPU=1.0"))
            .set("qos_ptr", spec.qos.map_or(NULL, |qos| qos.address))
            .set("tres_cnt", named_array(Arena::Partitions, "tres_cnt", &name, &spec.tres))
            .set("max_time", spec.max_time)
            .set_where_it_is("qos_char", Self::name_of(spec.qos))
            .complete();
        shared(|shared| shared.tiers.insert(partition.address as usize, spec.tier));
        lists::push(self.get("part_list"), partition.address);
        self.partitions.push(partition);
        partition
    }

    /// Adds an association; the one without parent is the root.
    pub fn add_association(&mut self, spec: &Association) -> Record {
        let name = spec.user.map_or_else(
            || format!("account {}", spec.account),
            |user| format!("user {user} of {}", spec.account),
        );
        let text = |what: &str, text: &str| memory::text(Arena::Associations, what, text);
        let usage = self.association_usage(spec, &name);
        let association = Record::new("assoc", Arena::Associations, &name)
            .set("acct", text("name of account", spec.account))
            .set("id", spec.id)
            .set("partition", NULL)
            .set("priority", spec.priority.0)
            .set("shares_raw", spec.shares)
            .set("usage", usage.address)
            .set("user", spec.user.map_or(NULL, |user| text("name of user", user)));
        let uid = if spec.user.is_some() { 1000 + spec.id } else { NO_VAL };
        association.set_where_it_is("uid", uid);
        if association.has("leaf_usage") {
            let leaf = if spec.leaf {
                self.association_usage(spec, &format!("{name}, leaf")).address
            } else {
                usage.address
            };
            association.set("leaf_usage", leaf);
        }
        association.complete();
        if spec.parent.is_none() {
            self.set("assoc_mgr_root_assoc", association.address);
        }
        lists::push(self.get("assoc_mgr_assoc_list"), association.address);
        self.associations.push(association);
        association
    }

    fn association_usage(&self, spec: &Association, name: &str) -> Record {
        let tres: Vec<f64> = (0..self.tres.len()).map(|_| spec.usage).collect();
        Record::new("assoc_usage", Arena::Associations, name)
            .set("grp_used_tres_run_secs", self.run_seconds(Arena::Associations, name))
            .set("grp_used_wall", spec.usage)
            .set("fs_factor", 0.0)
            .set("parent_assoc_ptr", spec.parent.map_or(NULL, |parent| parent.address))
            .set("priority_norm", spec.priority.1)
            .set("shares_norm", 0.0)
            .set_ld("usage_efctv", 0.0)
            .set_ld("usage_norm", 0.0)
            .set_ld("usage_raw", spec.usage)
            .set("usage_tres_raw", named_long_doubles(Arena::Associations, "usage_tres_raw", name, &tres))
            .set_ld("level_fs", 0.0)
            .complete()
    }

    /// A copy of the name of a QOS.
    fn name_of(qos: Option<Record>) -> *mut u8 {
        qos.map_or(NULL, |qos| memory::text(Arena::Partitions, "name of QOS", &qos.text("name")))
    }

    /// Adds a job.
    ///
    /// # Panics
    /// For several QOS before 24.11.
    pub fn add_job(&mut self, spec: &Job) -> Record {
        let name = format!("job {}", spec.id);
        let tres = |what: &str, counts: &[u64]| named_array(Arena::Jobs, what, &name, counts);
        let list = |records: &[Record]| {
            if records.len() < 2 {
                return NULL;
            }
            let list = lists::new(None);
            let mut sorted = records.to_vec();
            if self.since(24, 11, 0) && records[0].kind == "part" {
                // The host keeps the list sorted.
                sorted.sort_by_key(|part| {
                    shared(|shared| std::cmp::Reverse(shared.tiers[&(part.address as usize)]))
                });
            }
            for record in sorted {
                lists::push(list, record.address);
            }
            list
        };
        let text =
            |what: &str, text: Option<&str>| text.map_or(NULL, |text| memory::text(Arena::Jobs, what, text));
        let first = |records: &[Record]| records.first().map_or(NULL, |record| record.address);
        let details = (!spec.without_details).then(|| {
            Record::new("details", Arena::Jobs, &name)
                .set("magic", DETAILS_MAGIC)
                .set("accrue_time", spec.waits.2)
                .set("begin_time", spec.waits.1)
                .set("submit_time", spec.waits.0)
                .set("max_cpus", spec.cpus.2)
                .set("min_cpus", spec.cpus.1)
                .set("min_nodes", spec.nodes)
                .set("nice", shifted(spec.nice))
                .set("pn_min_tmp_disk", spec.tmp_disk)
                .complete()
        });
        let job = Record::new("job", Arena::Jobs, &name)
            .set("magic", JOB_MAGIC)
            .set("account", memory::text(Arena::Jobs, "account of job", spec.account))
            .set("assoc_id", spec.association.map_or(0_u32, |association| association.get("id")))
            .set("assoc_ptr", spec.association.map_or(NULL, |association| association.address))
            .set("details", details.map_or(NULL, |details| details.address))
            .set("direct_set_prio", u16::from(spec.direct))
            .set("start_time", spec.times.0)
            .set("end_time", spec.times.1)
            .set("end_time_exp", spec.times.2)
            .set("job_id", spec.id)
            .set("job_state", spec.state)
            .set("mcs_label", text("label", spec.mcs_label))
            .set("wckey", text("wckey", spec.wckey))
            .set("admin_comment", text("comment", spec.admin_comment))
            .set("array_job_id", spec.array.0)
            .set("array_task_id", spec.array.1)
            .set("het_job_id", spec.het_leader)
            .set("resv_name", text("reservation", spec.reservation.0))
            // Nobody reads the record.
            .set(
                "resv_ptr",
                if spec.reservation.1 { text("record of a reservation", Some("")) } else { NULL },
            )
            .set("restart_cnt", spec.restarts)
            .set("deadline", spec.deadline)
            .set("preempt_time", spec.suspended.2)
            .set("pre_sus_time", spec.suspended.1)
            .set("suspend_time", spec.suspended.0)
            .set("state_reason", spec.reason)
            .set("part_ptr", first(&spec.partitions))
            .set("part_ptr_list", list(&spec.partitions))
            .set_where_it_is("prio_mult", NULL)
            .set_where_it_is("priority_array", NULL)
            .set("prio_factors", NULL)
            .set("priority", spec.priority)
            .set_where_it_is("qos_list", list(&spec.qos))
            .set_where_it_is("qos_id", spec.qos.first().map_or(0_u32, |qos| qos.get("id")))
            .set("qos_ptr", first(&spec.qos))
            .set("site_factor", shifted(spec.site))
            .set("time_limit", spec.limit)
            .set("total_cpus", spec.cpus.0)
            .set(
                "tres_alloc_cnt",
                spec.allocated.as_ref().map_or(NULL, |counts| tres("tres_alloc_cnt", counts)),
            )
            .set("tres_req_cnt", tres("tres_req_cnt", &spec.requested))
            .set("group_id", spec.group_id)
            .set("user_id", spec.user_id);
        assert!(spec.qos.len() < 2 || job.has("qos_list"), "several QOS come with 24.11");
        if job.has("step_id") {
            let mut step = [0x11; 24];
            step[8..12].copy_from_slice(&spec.id.to_ne_bytes());
            job.set("step_id", step);
        }
        job.complete();
        lists::push(self.get("job_list"), job.address);
        shared(|shared| {
            shared.jobs.insert(spec.id, job);
            shared.billable.insert(spec.id, spec.billable);
        });
        job
    }

    /// A job by its id.
    ///
    /// # Panics
    /// Where there is none.
    pub fn job(&self, id: u32) -> Record {
        shared(|shared| *shared.jobs.get(&id).unwrap_or_else(|| panic!("no job {id}")))
    }

    /// Frees a job as slurmctld purges it, with what the plugin has put into its record.
    pub fn purge(&mut self, id: u32) {
        let job = self.job(id);
        shared(|shared| shared.jobs.remove(&id));
        lists::remove(self.get("job_list"), job.address);
        let free = |address: *mut u8| {
            if !address.is_null() {
                memory::free(address);
            }
        };
        if let Some(factors) = job.follow("prio_factors", "factors") {
            free(factors.get("priority_tres"));
            free(factors.get("tres_weights"));
            free(factors.address);
        }
        if job.has("priority_array") {
            free(job.get("priority_array"));
        }
        if let Some(several) =
            layout().field("job", "prio_mult").and_then(|_| job.follow("prio_mult", "prio_mult"))
        {
            free(several.get("priority_array"));
            free(several.get("priority_array_names"));
            free(several.address);
        }
        for field in [
            "account",
            "admin_comment",
            "details",
            "mcs_label",
            "resv_name",
            "tres_alloc_cnt",
            "tres_req_cnt",
            "wckey",
        ] {
            free(job.get(field));
        }
        for field in ["part_ptr_list", "qos_list"] {
            let list = if job.has(field) { job.get(field) } else { NULL };
            if !list.is_null() {
                lists::destroy(list);
            }
        }
        memory::free(job.address);
    }

    pub(crate) fn free_jobs(&mut self) {
        for id in shared(|shared| shared.jobs.keys().copied().collect::<Vec<u32>>()) {
            self.purge(id);
        }
    }
}
