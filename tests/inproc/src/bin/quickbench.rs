use slurm_inproc::*;
fn main() -> HostResult<()> {
    let jobs: u64 = std::env::args().nth(1).map_or(100_000, |a| a.parse().unwrap());
    let assocs: u32 = std::env::args().nth(2).map_or(1000, |a| a.parse().unwrap());
    let tres = std::env::args().nth(3).is_some_and(|a| a == "tres");
    for scatter in [false, true] {
        for plugin in [Plugin::stock(), Plugin::multifactor2()?] {
            let name = format!("{plugin:?}");
            let mut host = Host::start(&Options::new(plugin))?;
            let mut conf = Conf::new()
                .weight_age(1000_u32)
                .weight_fairshare(100_000_u32)
                .weight_job_size(1000_u32)
                .weight_partition(1000_u32)
                .weight_qos(1000_u32)
                .max_age(604_800_u32)
                .decay_half_life(604_800_u32)
                .flags(0x20_u32 as u16)
                .cluster_cpus(10000_u32)
                .nodes(100_u32);
            if tres {
                conf = conf.weight_tres("cpu=1000,mem=10,node=100");
            }
            host.configure(&conf)?;
            host.qos(&Qos::new(1_u32).name("normal").priority(10_u32))?;
            host.partition(&Partition::new("main").factor(10_u16).tres([
                (1, 10000),
                (2, 1000000),
                (4, 100),
            ]))?;
            let mut list = vec![Association::new(1_u32).account("root")];
            let accounts = assocs / 10;
            for a in 0..accounts {
                list.push(Association::new(2 + a).parent(1_u32).account(format!("a{a}")).shares(1 + a % 7));
            }
            for u in 0..assocs - accounts {
                list.push(
                    Association::new(2 + accounts + u)
                        .parent(2 + u % accounts)
                        .account(format!("a{}", u % accounts))
                        .user(format!("u{u}"))
                        .uid(1000 + u)
                        .shares(1 + u % 5),
                );
            }
            host.associations(&list)?;
            host.bulk_jobs(1, jobs, 7, scatter)?;
            host.check_locks(false)?;
            host.init()?;
            host.advance(300)?;
            host.cycle()?;
            host.locks(true)?;
            let mut cpu = vec![];
            for _ in 0..7 {
                host.advance(300)?;
                cpu.push(host.cycle()?.cpu);
            }
            cpu.sort();
            println!("{name} scatter={scatter} cycle cpu median {:?} min {:?}", cpu[3], cpu[0]);
            for l in host.locks(true)? {
                println!("    {l:?}");
            }
            let mut set: Vec<_> = host
                .bench_set(5)?
                .iter()
                .map(|b| format!("{:.0}", b.cpu.as_nanos() as f64 / b.jobs as f64))
                .collect();
            set.sort();
            let walk: Vec<_> = host.bench_walk(5)?.iter().map(|b| format!("{:?}", b.cpu)).collect();
            println!("    set ns {set:?} walk {walk:?}");
            host.quit()?;
        }
    }
    Ok(())
}
