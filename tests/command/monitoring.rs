//! What the package has for Prometheus and Grafana: the dashboard and the rules ask for metrics that exist, say something with those of a cluster, and
//! the page names all.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use multifactor2_command::answers::metrics::{names, Arguments, Users};
use multifactor2_fixtures::project;
use multifactor2_snapshot::records::{Usage, Window};
use multifactor2_snapshot::Snapshot;
use serde_json::Value;

use crate::{of, site};

/// Prometheus' own tool, which tests/install-deps.sh installs.
pub fn promtool(arguments: &[&str], input: &str) {
    let name = std::env::var("PROMTOOL").unwrap_or_else(|_| "promtool".into());
    let started = Command::new(&name)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            slurm_testcluster::skip("promtool", "prometheus is not installed");
            return;
        }
        Err(error) => panic!("{name}: {error}"),
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success() && !said.contains("error"), "{arguments:?}\n{said}");
}

/// Names of metrics in a text that queries them.
fn queried(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    words.filter(|word| word.starts_with("multifactor2_")).map(str::to_owned).collect()
}

#[test]
fn the_dashboard_asks_for_metrics_that_exist() {
    let known: BTreeSet<String> = names().map(str::to_owned).collect();
    let dashboard = dashboard();
    let mut ids = BTreeSet::new();
    let mut asked = BTreeSet::new();
    let mut covered = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        assert!(panel["title"].is_string(), "{panel}");
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        assert!(x + w <= 24, "{panel}");
        for place in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(covered.insert(place), "over another: {panel}");
        }
        for target in panel["targets"].as_array().unwrap() {
            let query = target["expr"].as_str().unwrap();
            let of_query = queried(query);
            assert!(!of_query.is_empty(), "{query}");
            // Each selects the cluster's host, so that several can be in one Prometheus.
            assert!(query.contains("{instance=~\"$instance\""), "{query}");
            asked.extend(of_query);
        }
    }
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        asked.extend(queried(variable["query"].as_str().unwrap_or_default()));
    }
    let unknown: Vec<_> = asked.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    let rules = queried(&project::read("packaging/monitoring/alerts.yml"));
    // These are for queries that a site writes itself.
    let aside = [
        "windows_are_unknown",
        "windows_begin_timestamp_seconds",
        "windows_length_seconds",
        "windows_depth",
        "window_used_seconds",
        "targets",
    ];
    let aside: BTreeSet<String> = aside.iter().map(|name| format!("multifactor2_{name}")).collect();
    let of_targets =
        |name: &&String| ["_target", "_window", "_grant_"].iter().any(|part| name.contains(part));
    let unseen: Vec<_> = known
        .iter()
        .filter(of_targets)
        .filter(|name| !asked.contains(*name) && !rules.contains(*name) && !aside.contains(*name))
        .collect();
    assert!(unseen.is_empty(), "{unseen:?}");
}

fn dashboard() -> Value {
    serde_json::from_str(&project::read("packaging/monitoring/grafana-dashboard.json")).unwrap()
}

/// The example with targets, windows and a grant: the account e is beyond its cap, c is below its floor and has a job that waits, and users are beyond
/// caps.
fn cluster() -> Snapshot {
    let mut snapshot = site::example();
    for line in [
        "Component=FS FSUser=10 FSAccount=10",
        "Target=Account Name=e Percent=20 Type=cap",
        "Target=Account Name=c Percent=40 Type=floor",
        "Target=Account Name=b Percent=10 Type=floor",
        "Target=User Name=* Percent=20 Type=cap",
        "Target=User Name=user5 Percent=10",
        "Target=Partition Name=gpu Percent=50 Window=yes",
    ] {
        site::set(&mut snapshot, line);
    }
    for (of, key, amount) in [("partition", "gpu", 60.0), ("all", "", 100.0)] {
        let (of, key) = (of.to_owned(), key.to_owned());
        snapshot.usage.push(Usage { model: "window".to_owned(), of: of.clone(), key: key.clone(), amount });
        let (length, told) = if of == "all" { (43_200, 14) } else { (0, 0) };
        snapshot.windows.push(Window { of, key, amounts: vec![amount], length, told, ..Window::default() });
    }
    snapshot.grants.push(site::grant());
    snapshot
}

/// What a Prometheus would have of it: series with the host, as the input of `promtool test rules`, as many samples as said.
fn series(snapshot: &Snapshot, samples: usize) -> Vec<Value> {
    let users = Some(Users::Named(["user5".to_owned()].into()));
    let text = of(snapshot, &Arguments { users, ..Arguments::default() }).to_string();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let series = lines.map(|line| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        let name = match name.split_once('{') {
            Some((name, labels)) => format!("{name}{{instance=\"head\",{labels}"),
            None => format!("{name}{{instance=\"head\"}}"),
        };
        serde_json::json!({ "series": name, "values": format!("{value}x{}", samples - 1) })
    });
    series.collect()
}

/// Runs tests of rules, which are as in alerts-test.yml.
fn test_rules(tests: &Value) {
    let rules = format!("{}/../packaging/monitoring/alerts.yml", env!("CARGO_MANIFEST_DIR"));
    let all = serde_json::json!({ "rule_files": [rules], "evaluation_interval": "5m", "tests": [tests] });
    let mut file = tempfile::NamedTempFile::new().unwrap();
    write!(file, "{all}").unwrap();
    promtool(&["test", "rules", file.path().to_str().unwrap()], "");
}

/// That a query finds something.
fn finds(query: &str, at: &str) -> Value {
    let samples = [serde_json::json!({ "labels": "{}", "value": 1 })];
    serde_json::json!({ "expr": format!("count({query}) > bool 0"), "eval_time": at, "exp_samples": samples })
}

#[test]
fn each_query_of_the_dashboard_finds_something() {
    let dashboard = dashboard();
    let targets =
        dashboard["panels"].as_array().unwrap().iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let queries = targets.map(|target| {
        let query = target["expr"].as_str().unwrap();
        finds(&query.replace("$instance", "head").replace("$account", ".*"), "0m")
    });
    let queries: Vec<Value> = queries.collect();
    assert!(queries.len() > 30);
    test_rules(&serde_json::json!({
        "interval": "5m",
        "input_series": series(&cluster(), 1),
        "promql_expr_test": queries,
    }));
}

/// The alerts come by what the command writes, and not by what it writes of a cluster where all is well.
#[test]
fn alerts_come_by_what_is_written() {
    let fires = |alert: &str, labels: &str| {
        format!("ALERTS{{alertname=\"Multifactor2{alert}\",alertstate=\"firing\",{labels}}}")
    };
    let silent = |alert: &str, at: &str| serde_json::json!({ "alertname": format!("Multifactor2{alert}"), "eval_time": at, "exp_alerts": [] });
    let mut fine = cluster();
    fine.settings = Some(Vec::new());
    site::set(&mut fine, "Component=FS FSUser=10");
    site::set(&mut fine, "Target=Account Name=* Percent=90 Type=cap");
    site::set(&mut fine, "Target=Account Name=* Percent=0 Type=floor");
    for (snapshot, found, not) in [
        (
            cluster(),
            vec![
                finds(&fires("AboveCap", "kind=\"Account\",name=\"e\""), "15m"),
                finds(&fires("MoreAboveCap", "kind=\"User\""), "15m"),
                finds(&fires("BelowFloor", "kind=\"Account\",name=\"c\""), "24h"),
            ],
            vec![silent("BelowFloor", "23h59m"), silent("TargetsUnknown", "25h")],
        ),
        (
            fine,
            vec![finds("multifactor2_target_is_missed == 0", "25h")],
            ["AboveCap", "MoreAboveCap", "BelowFloor", "TargetsUnknown"]
                .map(|alert| silent(alert, "25h"))
                .to_vec(),
        ),
    ] {
        test_rules(&serde_json::json!({
            "interval": "5m",
            "input_series": series(&snapshot, 320),
            "promql_expr_test": found,
            "alert_rule_test": not,
        }));
    }
}

#[test]
fn the_rules_ask_for_metrics_that_exist() {
    let known: BTreeSet<String> = names().map(str::to_owned).collect();
    let rules = project::read("packaging/monitoring/alerts.yml");
    let unknown: Vec<String> = queried(&rules).into_iter().filter(|name| !known.contains(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    let path = |name: &str| format!("{}/../packaging/monitoring/{name}", env!("CARGO_MANIFEST_DIR"));
    promtool(&["check", "rules", &path("alerts.yml")], "");
    promtool(&["test", "rules", &path("alerts-test.yml")], "");
}

#[test]
fn the_page_has_every_alert() {
    let (page, rules) =
        (project::read("docs/monitoring.md"), project::read("packaging/monitoring/alerts.yml"));
    let alerts: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let rows: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| `Multifactor2")?.split('`').next()).collect();
    assert_eq!(rows.iter().map(|row| format!("Multifactor2{row}")).collect::<Vec<_>>(), alerts);
}

#[test]
fn the_page_has_every_metric() {
    let page = project::read("docs/monitoring.md");
    let missing: Vec<&str> = names().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
