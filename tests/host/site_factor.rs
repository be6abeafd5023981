//! A site factor plugin keeps working: its hooks are called at a submission and in each cycle, as by stock.

use slurm_inproc::{Conf, CountingSiteFactor, Host, HostResult, Options, Plugin};

use crate::setup::{waiting, FAIR_TREE};

/// Priorities of a job at its submission and after three more cycles, the last one in the second of the one before.
fn priorities(plugin: &Plugin) -> HostResult<[u32; 4]> {
    let site_factor = CountingSiteFactor::build()?;
    let mut options = Options::new(plugin.clone());
    site_factor.add_to(&mut options);
    let mut host = Host::start(&options)?;
    crate::setup::fill(&mut host)?;
    host.configure(&Conf::new().flags(FAIR_TREE).weight_age(0_u32))?;
    host.init()?;
    host.jobs(&[waiting(1)])?;
    let submitted = host.set_priority(1)?;
    let mut priorities = [submitted; 4];
    for (priority, seconds) in priorities[1..].iter_mut().zip([300, 300, 0]) {
        host.advance(seconds)?;
        host.cycle()?;
        *priority = host.dump_job(1)?.priority;
    }
    host.quit()?;
    Ok(priorities)
}

#[test]
fn the_hooks_of_a_site_factor_plugin_are_called_as_by_stock() -> HostResult<()> {
    let ours = priorities(&Plugin::multifactor2()?)?;
    assert_eq!(ours, [111, 1111, 2111, 2111]);
    assert_eq!(ours, priorities(&Plugin::stock())?);
    Ok(())
}
