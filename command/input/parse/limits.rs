//! Reads limits and their usage from `scontrol show assoc_mgr`: `GrpJobs=5(2)`, `GrpTRES=cpu=N(2),mem=100(10)`, where `N` means no limit.
//!
//! The same lines have names, which users choose. Text that could be part of a name is not read: a limit that appears twice counts as none.

use std::collections::{BTreeMap, HashMap};

use slurm_text::lines::{number, whole};

/// A limit, where there is one, and what is used, where that is told.
pub type Amount = (Option<f64>, Option<f64>);

/// By field, such as `GrpJobs` or `GrpTRES=cpu`.
pub type Amounts = BTreeMap<String, Amount>;

/// What a QOS limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfQos {
    /// All its jobs together.
    pub all: Amounts,
    /// By uid.
    pub users: HashMap<u32, Amounts>,
    /// By account.
    pub accounts: HashMap<String, Amounts>,
}

/// All limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// By the id of the association.
    pub associations: HashMap<u32, Amounts>,
    /// By the name of the QOS.
    pub qos: HashMap<String, OfQos>,
}

/// Reads them.
pub fn limits(text: &str) -> Limits {
    let mut limits = Limits::default();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("ClusterName=") {
            limits.associations.extend(association(line));
        } else if let Some(name) = line.strip_prefix("QOS=").and_then(|rest| rest.split_once(" UsageRaw=")) {
            let name = name.0.trim().rsplit_once('(').map_or(name.0, |(name, _)| name).to_owned();
            // Limits by account and user are on lines of their own in some releases.
            let mut block = line.to_owned();
            while let Some(more) = lines.next_if(|line| {
                let line = line.trim();
                line.starts_with(['{', '}'])
                    || line.starts_with("Account Limits")
                    || line.starts_with("User Limits")
            }) {
                block.push(' ');
                block += more.trim();
            }
            limits.qos.insert(name, of_qos(&block));
        }
    }
    limits
}

/// What is between two marks of which each is there once.
fn only<'t>(text: &'t str, from: &str, to: &str) -> Option<&'t str> {
    let (before, rest) = text.split_once(from)?;
    let (found, after) = rest.split_once(to)?;
    (!before.contains(to) && !rest.contains(from) && !after.contains(to)).then_some(found)
}

fn association(line: &str) -> Option<(u32, Amounts)> {
    let id = only(line, " ID=", " SharesRaw/")?;
    Some((whole(id)?, of_all(line)?))
}

/// The fields that associations and QOS have.
fn of_all(line: &str) -> Option<Amounts> {
    only(line, " GrpJobs=", " MinPrioThresh=").map(|fields| amounts(&format!("GrpJobs={fields}")))
}

fn of_qos(block: &str) -> OfQos {
    let mut of = OfQos { all: of_all(block).unwrap_or_default(), ..OfQos::default() };
    // Accounts have names, uids have none.
    let Some((rest, users)) = block.rsplit_once("User Limits=") else { return of };
    // `7`, from 24.11 on `ada(7)`.
    let uid = |name: &str| whole(name.trim_end_matches(')').rsplit('(').next().unwrap_or_default());
    of.users = groups(users).into_iter().filter_map(|(name, amounts)| Some((uid(&name)?, amounts))).collect();
    let accounts = rest.split_once("Account Limits=").map_or("", |(_, accounts)| accounts);
    for (account, amounts) in groups(accounts) {
        // What is there twice is none of both.
        of.accounts.entry(account).and_modify(Amounts::clear).or_insert(amounts);
    }
    of
}

/// `name={Field=1(0) Field=N(1)} name={…}`
fn groups(text: &str) -> Vec<(String, Amounts)> {
    let mut groups = Vec::new();
    for part in text.split('}') {
        if let Some((name, fields)) = part.rsplit_once("={") {
            groups.push((name.trim().to_owned(), amounts(fields)));
        }
    }
    groups
}

fn amounts(fields: &str) -> Amounts {
    let mut found = Amounts::new();
    for field in fields.split_whitespace() {
        let Some((name, value)) = field.split_once('=') else { continue };
        if value.contains('=') {
            for (tres, value) in value.split(',').filter_map(|pair| pair.split_once('=')) {
                found.insert(format!("{name}={tres}"), amount(value));
            }
        } else if !value.is_empty() {
            found.insert(name.to_owned(), amount(value));
        }
    }
    found
}

/// `5(2)`, `N(2)`, `5`
fn amount(text: &str) -> Amount {
    match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((limit, used)) => (number(limit), number(used)),
        None => (number(text), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_scontrol_prints_them() {
        let text = "ClusterName=c Account=chem UserName=ada(7) Partition= Priority=0 ID=8 SharesRaw/Norm/Level/Factor=1/0/0/0 \
                    ParentAccount= DefAssoc=Yes GrpJobs=N(2) GrpWall=N(0.50) GrpTRES=cpu=10(4),mem=N(10),gres/gpu:a100=2(0) MaxJobs=2(2) \
                    MaxWallPJ= MaxTRESPJ=cpu=4 MinPrioThresh= Comment=(null)\n\
                    QOS=high(2) UsageRaw=0 GrpJobs=5(3) GrpTRES=cpu=N(4) MinPrioThresh=  PreemptMode=OFF\n\
                    Account Limits=\n  chem={MaxJobsPA=N(1)}\n";
        let found = limits(text);
        let ada = &found.associations[&8];
        assert_eq!(ada["MaxJobs"], (Some(2.0), Some(2.0)));
        assert_eq!(ada["GrpTRES=cpu"], (Some(10.0), Some(4.0)));
        assert_eq!(ada["GrpTRES=gres/gpu:a100"], (Some(2.0), Some(0.0)));
        assert_eq!(ada["MaxTRESPJ=cpu"], (Some(4.0), None));
        assert_eq!((ada["GrpJobs"], ada.get("MaxWallPJ")), ((None, Some(2.0)), None));
        assert_eq!(found.qos["high"].all["GrpJobs"], (Some(5.0), Some(3.0)));
    }

    /// Names belong to users.
    #[test]
    fn a_name_that_reads_as_a_limit_is_no_limit() {
        let line = "ClusterName=c Account=x GrpJobs=1(1) MinPrioThresh= UserName= Partition= Priority=0 ID=8 SharesRaw/x GrpJobs=5(2) \
                    MinPrioThresh=\n";
        assert!(limits(line).associations.is_empty());
        let block = " GrpJobs=5(3) MinPrioThresh= Account Limits= a={MaxJobsPA=1(0)} User Limits= a={MaxJobsPA=2(1)} User Limits= \
                     7={MaxJobsPU=3(1)}";
        let of = of_qos(block);
        assert_eq!(of.users.len(), 1);
        assert_eq!(of.users[&7]["MaxJobsPU"], (Some(3.0), Some(1.0)));
        let named = of_qos(&block.replace(" 7={", " ada(7)={"));
        assert_eq!(named.users, of.users, "as 24.11 has it");
        // No account is called so, and who reads this sees it.
        assert!(of.accounts.contains_key("User Limits= a"));
    }
}
