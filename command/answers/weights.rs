//! `multifactor2 weights`: derives `TRESBillingWeights` of partitions from their nodes, so that memory, CPUs and GPUs bill alike, and
//! faster GPUs more. These are the "Modern" weights of the University of Maryland's page on priorities (UMIACS). Nothing is changed.
//!
//! A GB of memory has the weight 1. Take a partition with M GB, C CPUs, and n GPUs of each type with a factor f. A CPU has the weight M /
//! C, and a GPU of a type M · f / Σ n f, rounded to whole numbers. Without GPUs a CPU has the rounded M / C divided by 10. A factor is the
//! FP32 performance over that of the baseline. Both are rounded to one decimal and their quotient to two; it is at least 1.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use slurm_text::lines::{field, records, whole};

use super::{Answer, Ask, Bare};
use crate::error::Error;
use crate::input::ask::{Until, TIMEOUT};
use crate::input::commands::Call;
use crate::options::AsJson;
use crate::output::{escape, Printout, Schema, Terminal};

const HELP: &str = "\
FILE has a line per GPU type with its FP32 performance in TFLOPS, and comments after #:
  rtx2080ti 13.4
  a100      19.5
  h100      67
Types are those of Gres in slurm.conf. Slower GPUs and those without a type get the factor of TYPE.

It prints a slurm.conf line per partition and the AccountingStorageTRES that these need. Put the lines below those of the \
partitions, or merge them. It changes nothing. Run it again when nodes come or go.

Examples:
  multifactor2 weights --fp32 gpus --baseline rtx2080ti
  multifactor2 weights --fp32 gpus --baseline a100 --nodes nodes.txt --partition gpu,gpu-long";

/// Print TRESBillingWeights: in a partition with GPUs, all its memory, CPUs and GPUs bill alike, and faster GPUs more
#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = HELP)]
#[group(skip)]
#[allow(missing_docs, clippy::doc_markdown)] // shown as help
pub struct Arguments {
    /// FP32 performance of GPUs by type
    #[arg(long, value_name = "FILE")]
    pub fp32: PathBuf,
    /// The GPU type with factor 1
    #[arg(long, value_name = "TYPE")]
    pub baseline: String,
    /// Read saved output of 'scontrol show node' instead of asking Slurm
    #[arg(long, value_name = "FILE")]
    pub nodes: Option<PathBuf>,
    /// Only these partitions
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub partition: Vec<String>,
    #[command(flatten)]
    pub form: AsJson,
}

impl Ask for Arguments {
    const ANSWERS: &'static str = "`TRESBillingWeights` from what nodes have, so that memory, CPUs and GPUs of a partition bill alike";
    const EXAMPLE: &'static str = "multifactor2 weights --fp32 gpus --baseline rtx2080ti";

    fn schemas() -> Vec<Schema> {
        vec![Schema::of::<Bare<WeightsAnswer>>(WeightsAnswer::NAME, WeightsAnswer::VERSION)]
    }

    fn ask(&self, _: Terminal) -> Result<Printout, Error> {
        let fp32 = Fp32::read(&self.fp32, &self.baseline)?;
        let text = match &self.nodes {
            Some(path) => fs::read_to_string(path).map_err(|error| Error::of_source(path, &error))?,
            None => nodes(TIMEOUT)?,
        };
        let answer = weights(&text, &fp32, &self.partition)?;
        if self.form.json {
            return Printout::json(&Bare::new(answer));
        }
        Ok(Printout::text(answer.text()))
    }
}

/// What `scontrol show node` prints.
fn nodes(within: Duration) -> Result<String, Error> {
    let arguments = ["-o", "show", "node"].map(str::to_owned).to_vec();
    let answer = Until::within(within).run(&Call { name: "nodes", program: "scontrol", arguments })?;
    if !answer.is_good {
        let said = answer.said.lines().next().unwrap_or_default();
        return Err(Error::Source(format!("scontrol show node: {said}: see whether slurmctld runs, or give --nodes")));
    }
    Ok(answer.text)
}

/// The weights of partitions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WeightsAnswer {
    /// By name.
    pub partitions: Vec<PartitionWeights>,
    /// What `AccountingStorageTRES` has to have besides its defaults; empty without GPUs.
    pub tres: Vec<String>,
}

/// The weights of a partition.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PartitionWeights {
    /// Its name.
    pub partition: String,
    /// Its nodes.
    pub nodes: usize,
    /// What they have: memory in GB.
    pub memory: f64,
    /// CPUs.
    pub cpus: u64,
    /// GPUs by type; the empty type are those without one.
    pub gpus: Vec<GpuWeight>,
    /// The weight of a CPU.
    pub cpu: f64,
    /// `TRESBillingWeights`
    pub line: String,
}

/// The weight of a type of GPU.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GpuWeight {
    /// The type; empty for none.
    #[serde(rename = "type")]
    pub kind: String,
    /// How many there are.
    pub count: u64,
    /// Its factor relative to the baseline.
    pub factor: f64,
    /// Its weight.
    pub weight: f64,
}

impl Answer for WeightsAnswer {
    const NAME: &'static str = "weights";
}

/// FP32 performance by type, and what counts 1.
#[derive(Clone, Debug)]
struct Fp32 {
    known: BTreeMap<String, f64>,
    baseline: f64,
    file: String,
}

impl Fp32 {
    fn read(path: &Path, baseline: &str) -> Result<Self, Error> {
        let text = fs::read_to_string(path).map_err(|error| Error::of_source(path, &error))?;
        Self::parse(&text, &path.display().to_string(), baseline)
    }

    fn parse(text: &str, file: &str, baseline: &str) -> Result<Self, Error> {
        let mut known = BTreeMap::new();
        for (line, number) in text.lines().zip(1..) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let wrong = |allowed: &str| Error::Question(format!("{file} line {number}: {line:?}: {allowed}"));
            let [kind, performance] = line.split([' ', '\t', ',']).filter(|word| !word.is_empty()).collect::<Vec<_>>()[..] else {
                return Err(wrong("must be a type and a number of TFLOPS; correct the line"));
            };
            let performance = performance.parse().ok().filter(|number: &f64| *number >= 0.05 && number.is_finite());
            let performance = performance.ok_or_else(|| wrong("the number must be 0.1 or more; correct it"))?;
            if known.insert(kind.to_lowercase(), rounded(performance, 10.0)).is_some() {
                return Err(wrong("an earlier line has this type; remove one of the two"));
            }
        }
        let Some(baseline) = known.get(&baseline.to_lowercase()).copied() else {
            return Err(Error::Question(format!("--baseline {baseline}: {file} has no such type: add it, or name another")));
        };
        Ok(Self { known, baseline, file: file.to_owned() })
    }

    /// What a GPU of a type counts; those without a type count 1.
    fn factor(&self, kind: &str, partition: &str) -> Result<f64, Error> {
        if kind.is_empty() {
            return Ok(1.0);
        }
        let performance = self.known.get(&kind.to_lowercase()).copied();
        let missing = || {
            Error::Question(format!(
                "partition {partition} has GPUs of type {kind}, but {} does not list it: add a line with its FP32 \
                 performance",
                self.file
            ))
        };
        Ok(rounded(performance.ok_or_else(missing)? / self.baseline, 100.0).max(1.0))
    }
}

fn rounded(number: f64, parts: f64) -> f64 {
    (number * parts).round() / parts
}

/// What the nodes of a partition have.
#[derive(Clone, Debug, Default)]
struct Sum {
    nodes: usize,
    /// MB
    memory: u64,
    cpus: u64,
    gpus: BTreeMap<String, u64>,
}

/// The weights by what `scontrol show node` printed.
fn weights(text: &str, fp32: &Fp32, only: &[String]) -> Result<WeightsAnswer, Error> {
    let (found, _) = records(text, "NodeName=");
    let mut sums = BTreeMap::<String, Sum>::new();
    for (_, record) in &found {
        let number = |name| field(record, name).and_then(whole::<u64>);
        let cpus = number("CPUEfctv").or_else(|| number("CPUTot")).unwrap_or_default();
        let gpus = field(record, "Gres").map(gpus).unwrap_or_default();
        for partition in field(record, "Partitions").unwrap_or_default().split(',').filter(|name| !name.is_empty()) {
            let sum = sums.entry(partition.to_owned()).or_default();
            sum.nodes += 1;
            sum.memory = sum.memory.saturating_add(number("RealMemory").unwrap_or_default());
            sum.cpus = sum.cpus.saturating_add(cpus);
            for (kind, count) in &gpus {
                let all = sum.gpus.entry(kind.clone()).or_default();
                *all = all.saturating_add(*count);
            }
        }
    }
    if sums.is_empty() {
        return Err(Error::Source("no node is in a partition: see 'scontrol show node'".to_owned()));
    }
    if let Some(missing) = only.iter().find(|name| !sums.contains_key(*name)) {
        return Err(Error::Question(format!("--partition {missing}: no node is in it: correct the name")));
    }
    let wanted = sums.into_iter().filter(|(name, _)| only.is_empty() || only.contains(name));
    let partitions = wanted.map(|(name, sum)| one(name, &sum, fp32)).collect::<Result<Vec<_>, Error>>()?;
    let kinds: BTreeSet<&str> =
        partitions.iter().flat_map(|partition| &partition.gpus).map(|gpu| gpu.kind.as_str()).collect();
    let mut tres: Vec<String> = kinds.iter().filter(|kind| !kind.is_empty()).map(|kind| format!("gres/gpu:{kind}")).collect();
    if !kinds.is_empty() {
        tres.insert(0, "gres/gpu".to_owned());
    }
    Ok(WeightsAnswer { partitions, tres })
}

/// GPUs of a node by type: `gpu:a100:4(S:0-1),gpu:2`. Other generic resources are left out.
fn gpus(gres: &str) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let parts = gres.split(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => (),
        }
        letter == ',' && depth == 0
    });
    for part in parts {
        let part = part.split('(').next().unwrap_or_default();
        let words: Vec<&str> = part.split(':').collect();
        match words[..] {
            ["gpu", kind, count] => found.extend(whole(count).map(|count| (kind.to_owned(), count))),
            ["gpu", count] => match whole(count) {
                Some(count) => found.push((String::new(), count)),
                None => found.push((count.to_owned(), 1)),
            },
            ["gpu"] => found.push((String::new(), 1)),
            _ => (),
        }
    }
    found
}

fn one(partition: String, sum: &Sum, fp32: &Fp32) -> Result<PartitionWeights, Error> {
    #[allow(clippy::cast_precision_loss)] // megabytes, CPUs and GPUs of a cluster
    let (memory, cpus) = (sum.memory as f64 / 1024.0, sum.cpus.max(1) as f64);
    let mut gpus = Vec::new();
    for (kind, count) in &sum.gpus {
        let factor = fp32.factor(kind, &partition)?;
        gpus.push(GpuWeight { kind: kind.clone(), count: *count, factor, weight: 0.0 });
    }
    #[allow(clippy::cast_precision_loss)]
    let counted: f64 = gpus.iter().map(|gpu| gpu.count as f64 * gpu.factor).sum();
    let plain = (memory / cpus).round();
    let cpu = if counted > 0.0 { plain } else { plain / 10.0 };
    for gpu in &mut gpus {
        gpu.weight = if counted > 0.0 { (memory / counted * gpu.factor).round() } else { 0.0 };
    }
    let mut line = format!("CPU={cpu:?},Mem=1.0G");
    for GpuWeight { kind, weight, .. } in &gpus {
        let colon = if kind.is_empty() { "" } else { ":" };
        let _ = write!(line, ",GRES/gpu{colon}{kind}={weight:?}");
    }
    Ok(PartitionWeights { partition, nodes: sum.nodes, memory, cpus: sum.cpus, gpus, cpu, line })
}

impl WeightsAnswer {
    /// Lines of slurm.conf, with comments.
    fn text(&self) -> String {
        let mut text = String::new();
        if !self.tres.is_empty() {
            text += "# Add these to AccountingStorageTRES and restart slurmctld.\n";
            let _ = writeln!(text, "AccountingStorageTRES={}", escape::terminal(&self.tres.join(","), false));
        }
        for PartitionWeights { partition, nodes, memory, cpus, gpus, cpu, line } in &self.partitions {
            let _ = write!(text, "# {nodes} nodes: {memory:.0} GB, {cpus} CPUs");
            for GpuWeight { kind, count, factor, .. } in gpus {
                let kind = if kind.is_empty() { "GPUs" } else { kind };
                let _ = write!(text, ", {count} {} (each {factor})", escape::terminal(kind, false));
            }
            text.push('\n');
            if *cpu == 0.0 || gpus.iter().any(|gpu| gpu.weight == 0.0) {
                text += "# A weight rounds to 0, so that resource costs nothing: there is little memory for each.\n";
            }
            let _ = writeln!(text, "PartitionName={} TRESBillingWeights=\"{}\"", escape::terminal(partition, false), escape::terminal(line, false));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fp32() -> Fp32 {
        Fp32::parse("base 13.44 # rounded\nFAST, 31.5\n\nslow\t8\n", "gpus", "BASE").unwrap()
    }

    /// The example of docs/coming-from.md: 1,024 GB, 128 CPUs, 4 GPUs of the base type and 4 that are 2.35 times as fast.
    #[test]
    fn the_numbers_of_the_page() {
        let text = "NodeName=n1 CPUTot=64 Gres=gpu:base:4(S:0-1) RealMemory=524288 Partitions=modern-gpu,all\n\
                    NodeName=n2 CPUTot=64 Gres=gpu:fast:4(S:0,1),tmp:7 RealMemory=524288 Partitions=modern-gpu,all\n\
                    NodeName=c1 CPUTot=128 Gres=(null) RealMemory=1048576 Partitions=modern-cpu,all\n\
                    NodeName=x CPUTot=1 RealMemory=1\n";
        let answer = weights(text, &fp32(), &["modern-gpu".to_owned(), "modern-cpu".to_owned()]).unwrap();
        let lines: Vec<&str> = answer.partitions.iter().map(|partition| partition.line.as_str()).collect();
        assert_eq!(lines, ["CPU=0.8,Mem=1.0G", "CPU=8.0,Mem=1.0G,GRES/gpu:base=76.0,GRES/gpu:fast=180.0"]);
        assert_eq!(answer.tres, ["gres/gpu", "gres/gpu:base", "gres/gpu:fast"]);
        let page = include_str!("../../docs/coming-from.md");
        for line in lines {
            assert!(page.contains(&format!("TRESBillingWeights=\"{line}\"")), "{line}");
        }
    }

    #[test]
    fn slower_gpus_and_those_without_a_type_count_as_the_baseline() {
        assert_eq!(fp32().factor("slow", "p").unwrap().to_bits(), 1.0_f64.to_bits());
        assert_eq!(fp32().factor("", "p").unwrap().to_bits(), 1.0_f64.to_bits());
        let text = "NodeName=n1 CPUEfctv=10 CPUTot=12 Gres=gpu:2,gpu:slow:1,gpu:base RealMemory=102400 Partitions=p";
        let answer = weights(text, &fp32(), &[]).unwrap();
        assert_eq!(answer.partitions[0].line, "CPU=10.0,Mem=1.0G,GRES/gpu=25.0,GRES/gpu:base=25.0,GRES/gpu:slow=25.0");
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_do() {
        for (text, baseline, why) in [
            ("base", "base", "line 1: \"base\": must be a type and a number"),
            ("base 0", "base", "the number must be 0.1 or more"),
            ("base 1\nBASE 2", "base", "line 2: \"BASE 2\": an earlier line has this type"),
            ("base 1", "other", "--baseline other: gpus has no such type"),
        ] {
            let error = Fp32::parse(text, "gpus", baseline).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let node = "NodeName=n1 CPUTot=4 Gres=gpu:new:1 RealMemory=1024 Partitions=p";
        let error = weights(node, &fp32(), &[]).unwrap_err().to_string();
        assert!(error.contains("partition p has GPUs of type new, but gpus does not"), "{error}");
        let error = weights(node, &fp32(), &["q".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("--partition q: no node is in it"), "{error}");
        assert!(weights("No nodes in the system", &fp32(), &[]).is_err());
    }
}
