//! A site factor plugin keeps working: its hooks are called at a submission and in each cycle, as by stock.

use std::path::Path;

use slurm_inproc::{build_plugin, Conf, Host, HostResult, Options, Plugin};

use crate::setup::{waiting, FAIR_TREE};

/// Priorities of a job at its submission and after two more cycles.
fn priorities(plugin: &Plugin) -> HostResult<[u32; 3]> {
    let plugins = tempfile::tempdir()?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inproc/plugins/counting.c");
    build_plugin(&source, &plugins.path().join("site_factor_counting.so"))?;
    let mut options = Options::new(plugin.clone());
    options.more_slurm_conf.push("PrioritySiteFactorPlugin=site_factor/counting".to_owned());
    options.plugin_directories.push(plugins.path().to_owned());
    let mut host = Host::start(&options)?;
    crate::setup::fill(&mut host)?;
    host.configure(&Conf::new().flags(FAIR_TREE).weight_age(0_u32))?;
    host.init()?;
    host.jobs(&[waiting(1)])?;
    let submitted = host.set_priority(1)?;
    let mut after = [0; 2];
    for priority in &mut after {
        host.advance(300)?;
        host.cycle()?;
        *priority = host.dump_job(1)?.priority;
    }
    host.quit()?;
    Ok([submitted, after[0], after[1]])
}

#[test]
fn the_hooks_of_a_site_factor_plugin_are_called_as_by_stock() -> HostResult<()> {
    let ours = priorities(&Plugin::multifactor2()?)?;
    assert_eq!(ours, [111, 1111, 2111]);
    assert_eq!(ours, priorities(&Plugin::stock())?);
    Ok(())
}
