//! The fake host itself: a field that it keeps elsewhere is noticed by a plugin that checks it.

use slurm_fakehost::{in_shifted_layouts, one_of_each_layout, Shift};

#[test]
fn a_plugin_type_that_was_moved_is_refused() {
    in_shifted_layouts(
        &one_of_each_layout(),
        |_| [-8, 8].map(|bytes| Shift { record: "conf", field: "priority_type", bytes }).into(),
        |slurmctld, _| {
            // By itself it would read the same.
            slurmctld.conf.put_decoy("priority_type", std::ptr::null_mut::<u8>());
            let refused = slurmctld.load().unwrap_err();
            assert!(refused.contains("slurm_conf.priority_type does not read back"), "{refused}");
        },
    );
}
