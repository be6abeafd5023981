//! What is written in several places agrees: the version and the licences.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use multifactor2_fixtures::project::{read, top};
use serde_json::Value;

/// The text behind `name` at the beginning of a line of the spec file.
fn tag(name: &str) -> String {
    let spec = read("packaging/slurm-multifactor2.spec");
    let line = spec.lines().find_map(|line| line.strip_prefix(name)).expect("the tag is in the spec file");
    line.trim().to_owned()
}

#[test]
fn the_version_is_that_of_the_workspace() {
    assert_eq!(tag("Version:"), env!("CARGO_PKG_VERSION"));
    assert!(
        read("packaging/slurm-multifactor2.spec").contains(&format!(" - {}-1\n", env!("CARGO_PKG_VERSION")))
    );
    assert!(read("CHANGELOG.md").contains(env!("CARGO_PKG_VERSION")));
}

/// What a program prints.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(top()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What cargo knows of all crates. Those for other platforms alone are not at hand, offline.
fn crates() -> Vec<Value> {
    let target = "x86_64-unknown-linux-gnu";
    let arguments =
        ["metadata", "--locked", "--offline", "--filter-platform", target, "--format-version", "1"];
    let mut metadata: Value = serde_json::from_str(&said(env!("CARGO"), &arguments)).unwrap();
    metadata["packages"].as_array_mut().map(std::mem::take).unwrap()
}

/// Licences of the crates that are linked into what a package of ours makes on Linux, the alternatives of each in one order.
fn linked_licences(package: &str) -> BTreeSet<BTreeSet<String>> {
    let linked = said(top().join("packaging/linked-crates").to_str().unwrap(), &[package]);
    let linked: BTreeSet<(String, String)> = linked
        .lines()
        .filter_map(|line| {
            let (name, version) = line.trim().split_once(' ')?;
            Some((name.to_owned(), version.to_owned()))
        })
        .collect();
    assert!(linked.len() > 5, "{linked:?}");
    crates()
        .iter()
        .filter(|package| {
            let text = |key: &str| package[key].as_str().unwrap().to_owned();
            linked.contains(&(text("name"), text("version")))
        })
        .map(|package| alternatives(package["license"].as_str().expect("a crate without licence")))
        .collect()
}

fn alternatives(expression: &str) -> BTreeSet<String> {
    let plain = expression.replace(['(', ')'], "").replace('/', " OR ");
    plain.split(" OR ").map(|licence| licence.trim().to_owned()).collect()
}

#[test]
fn the_licence_of_the_rpm_names_all_that_is_linked_in() {
    let spec = read("packaging/slurm-multifactor2.spec");
    let tags: Vec<&str> = spec.lines().filter_map(|line| line.strip_prefix("License:")).collect();
    let packages = ["slurm-multifactor2", "multifactor2-command"];
    assert_eq!(tags.len(), packages.len());
    for (tag, package) in tags.into_iter().zip(packages) {
        // A bracket holds alternatives together, so AND is never within one.
        let named: BTreeSet<BTreeSet<String>> = tag.split(" AND ").map(alternatives).collect();
        for licence in linked_licences(package) {
            assert!(named.contains(&licence), "{licence:?} of {package} is not in License: of the spec file");
        }
    }
}

/// Otherwise no package can be made: cargo-about stops at the first licence that it may not take.
#[test]
fn the_licences_of_all_that_is_linked_are_accepted_for_packages() {
    let about = read("packaging/about.toml");
    let accepted = about.lines().find_map(|line| line.strip_prefix("accepted = ")).unwrap();
    let accepted: BTreeSet<&str> = accepted.split('"').skip(1).step_by(2).collect();
    for package in ["slurm-multifactor2", "multifactor2-command"] {
        for licence in linked_licences(package) {
            // Our own are left out of the list.
            let is_ours = licence.contains("GPL-2.0-or-later");
            let is_accepted = licence.iter().any(|one| accepted.contains(one.as_str()));
            assert!(is_ours || is_accepted, "{licence:?} of {package} is not in packaging/about.toml");
        }
    }
}

/// A site builds with the Rust that the pages ask for.
#[test]
fn no_crate_wants_a_newer_rust() {
    let version = |text: &str| text.split('.').map(|part| part.parse::<u32>().unwrap()).collect::<Vec<_>>();
    let manifest = read("Cargo.toml");
    let ours = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap();
    let ours = version(ours.trim_matches('"'));
    let crates = crates();
    assert!(crates.len() > 50, "{}", crates.len());
    let newer = |package: &&Value| {
        package["rust_version"].as_str().is_some_and(|wanted| version(wanted)[..2] > ours[..2])
    };
    let newer: Vec<String> = crates
        .iter()
        .filter(newer)
        .map(|package| format!("{} {}", package["name"], package["rust_version"]))
        .collect();
    assert!(newer.is_empty(), "{newer:?} want more than Rust {ours:?}");
}

/// All files below a directory, links among them.
fn files(directory: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                found.insert(entry.path().strip_prefix(directory).unwrap().display().to_string());
            }
        }
    }
    found
}

/// The command alone, and everything; whatever is installed goes again.
#[test]
fn what_make_installs_it_removes() {
    let directory = tempfile::tempdir().unwrap();
    let built = directory.path().join("built");
    fs::create_dir(&built).unwrap();
    // Any program with debug information serves.
    for name in ["libpriority_multifactor2.so", "multifactor2"] {
        fs::copy(env::current_exe().unwrap(), built.join(name)).unwrap();
    }
    for file in [
        "man/man1/multifactor2.1",
        "man/man1/multifactor2-why.1",
        "man/man1/swhy.1",
        "bash-completion/completions/swhy",
        "zsh/site-functions/_multifactor2",
        "fish/vendor_completions.d/multifactor2.fish",
        "slurm-multifactor2/schema/why.json",
    ] {
        let path = built.join("share").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let stage = directory.path().join("stage");
    fs::create_dir(&stage).unwrap();
    let make = |target: &str| {
        let output = format!("OUTPUT={}", built.display());
        let stage = format!("DESTDIR={}", stage.display());
        // Nothing is built.
        said("make", &["-o", "build", "-o", "command", target, &output, &stage, "PLUGINDIR=/plugins"]);
    };
    make("install-command");
    let command = files(&stage);
    for file in [
        "usr/local/bin/multifactor2",
        "usr/local/bin/swhy",
        "usr/local/share/man/man1/multifactor2.1",
        "usr/local/share/man/man1/swhy.1",
        "usr/local/share/bash-completion/completions/swhy",
        "usr/local/share/zsh/site-functions/_multifactor2",
        "usr/local/share/fish/vendor_completions.d/multifactor2.fish",
        "usr/local/share/slurm-multifactor2/schema/why.json",
    ] {
        assert!(command.contains(file), "no {file}: {command:?}");
    }
    let of_plugin = |file: &&String| file.contains("priority_") || file.contains("trial");
    assert_eq!(command.iter().find(of_plugin), None);
    make("install");
    let all = files(&stage);
    assert!(all.is_superset(&command));
    for file in ["plugins/priority_multifactor2.so", "usr/local/sbin/multifactor2-trial"] {
        assert!(all.contains(file), "no {file}: {all:?}");
    }
    let size = |file: PathBuf| fs::metadata(file).unwrap().len();
    for (name, installed) in [
        ("libpriority_multifactor2.so", "plugins/priority_multifactor2.so"),
        ("multifactor2", "usr/local/bin/multifactor2"),
    ] {
        let debug = size(built.join(format!("{name}.debug")));
        assert!(debug > size(stage.join(installed)), "{installed} is not stripped");
    }
    make("uninstall");
    assert_eq!(files(&stage), BTreeSet::new());
}

/// What a controller gets. It was 2.76 MB before grants with exact numbers and the rows of other schedulers; what they add is to become less.
#[test]
fn the_installed_plugin_is_small() {
    let Some(plugin) = env::var_os("MULTIFACTOR2_PLUGIN") else {
        slurm_testcluster::skip(
            "the_installed_plugin_is_small",
            "MULTIFACTOR2_PLUGIN names no release build",
        );
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("plugin");
    fs::copy(plugin, &copy).unwrap();
    said("packaging/strip", &[&copy.display().to_string()]);
    let size = fs::metadata(copy.with_extension("stripped")).unwrap().len();
    assert!(size <= 3_500_000, "{size} bytes");
}

/// The packages have a manual page and completions of all that the command is called.
#[test]
fn the_command_is_complete_in_both_packages() {
    let (spec, rules) = (read("packaging/slurm-multifactor2.spec"), read("packaging/debian/rules"));
    for name in ["multifactor2", "swhy"] {
        assert!(spec.contains(&format!("\n%{{_bindir}}/{name}\n")), "{name}");
        assert!(rules.contains(&format!("/{name}\n")), "{name}");
    }
    assert!(spec.contains("\ncp -r share/. %{buildroot}%{_datadir}\n"));
    for part in
        ["share/man/man1/*", "share/bash-completion", "share/fish", "share/slurm-multifactor2", "share/zsh/"]
    {
        assert!(rules.contains(&format!(" {part}")), "{part}");
    }
    for text in [spec, rules] {
        for part in ["packaging/monitoring", "docs/command.md", "vendor/tools/THIRD-PARTY-LICENSES"] {
            assert!(text.contains(part), "{part}");
        }
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let spec = read("packaging/slurm-multifactor2.spec");
    let commands: Vec<&str> = spec.lines().filter_map(|line| line.strip_prefix("%{_sbindir}/")).collect();
    assert_eq!(commands, ["multifactor2-trial"]);
    let rules = read("packaging/debian/rules");
    let makefile = read("Makefile");
    for command in commands {
        let page = read(&format!("packaging/man/{command}.8"));
        assert!(page.starts_with(&format!(".TH {} 8", command.to_uppercase())), "{command}");
        assert!(rules.contains(command), "the Debian package lacks {command}");
        assert!(makefile.contains(command), "make install lacks {command}");
    }
}

/// The RPM holds back the Slurm after the last series that README says is supported.
#[test]
fn the_rpm_conflicts_with_the_series_after_the_last() {
    let readme = read("README.md");
    let said =
        readme.split_once("serves every release from 20.11 to ").expect("README says which releases").1;
    let (year, month) = said.split_once('.').unwrap();
    let next = format!("{year}.{:02}", month[..2].parse::<u8>().unwrap() + 1);
    let spec = read("packaging/slurm-multifactor2.spec");
    for name in ["slurm", "slurm-ohpc"] {
        for bound in [format!("{name} < 20.11"), format!("{name} >= {next}")] {
            assert!(spec.contains(&format!("\nConflicts:      {bound}\n")), "no conflict with {bound}");
        }
    }
}

#[test]
fn the_recipes_name_the_version() {
    let tarball = concat!("slurm-multifactor2-", env!("CARGO_PKG_VERSION"), ".tar.gz");
    assert!(read("docs/install.md").contains(tarball));
    let version = env!("CARGO_PKG_VERSION");
    let spack = read("packaging/spack/package.py");
    assert!(
        spack.contains(&format!("version(\"{version}\")")) && spack.contains(&format!("when=\"@{version}\""))
    );
    assert!(read(&format!("packaging/easybuild/slurm-multifactor2-{version}.eb"))
        .contains(&format!("version = '{version}'")));
    let log = concat!("slurm-multifactor2 ", env!("CARGO_PKG_VERSION"), " in Slurm ");
    assert!(read("README.md").contains(log) && read("docs/install.md").contains(log));
}

/// For the administrator who has ten minutes; what is longer is a page of its own.
#[test]
fn the_readme_is_short_and_its_links_lead_somewhere() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 150, "README.md has {lines} lines");
    for page in pages() {
        let text = read(&page);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            if path.starts_with("http") {
                continue;
            }
            let target = if path.is_empty() { page.clone() } else { format!("{}/{path}", directory(&page)) };
            let target = target.trim_start_matches("./");
            assert!(top().join(target).exists(), "{page}: there is no {link}");
            let found = heading.is_empty() || headings(&read(target)).any(|found| found == heading);
            assert!(found, "{page}: there is no heading for {link}");
        }
    }
}

/// Pages for people, from the top of the project.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned(), "CONTRIBUTING.md".into(), "SECURITY.md".into()];
    for folder in ["docs", "slurm-headers"] {
        let files = fs::read_dir(top().join(folder)).unwrap().flatten();
        let names = files.map(|file| format!("{folder}/{}", file.file_name().to_string_lossy()));
        pages.extend(names.filter(|name| Path::new(name).extension().is_some_and(|end| end == "md")));
    }
    pages
}

/// The book has every page of docs once. Where mdbook is missing, `make book` says how to get it.
#[test]
fn the_book_has_every_page() {
    let summary = read("docs/SUMMARY.md");
    let mut chapters: Vec<&str> =
        summary.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    chapters.retain(|path| !path.starts_with("../"));
    let pages = fs::read_dir(top().join("docs")).unwrap().flatten();
    let pages = pages.map(|page| page.file_name().into_string().unwrap());
    let is_page =
        |name: &String| Path::new(name).extension().is_some_and(|end| end == "md") && name != "SUMMARY.md";
    let mut pages: Vec<String> = pages.filter(is_page).collect();
    pages.sort();
    chapters.sort_unstable();
    assert_eq!(chapters, pages);
    let empty = tempfile::tempdir().unwrap();
    // As much of the project as the script needs, without the tools that may have been built here.
    let tree = empty.path().join("tree/packaging");
    fs::create_dir_all(&tree).unwrap();
    fs::copy(top().join("packaging/book"), tree.join("book")).unwrap();
    let output = Command::new("sh").arg(tree.join("book")).env("PATH", "/usr/bin:/bin").output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("cargo install --locked mdbook"), "{error}");
}

/// Folders of Slurm's source, which pages name, too.
const OF_SLURM: [&str; 4] = ["src/common", "src/interfaces", "src/slurmctld", "src/sshare"];

/// A page once named a `src/bin` that had gone long before.
#[test]
fn the_files_and_modules_that_pages_name_are_there() {
    let top = top();
    let folders: Vec<String> = fs::read_dir(&top)
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            (entry.path().is_dir() && name != "target").then_some(name)
        })
        .collect();
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    let mut named = 0;
    for page in pages() {
        let text = read(&page);
        for word in text.split('`').skip(1).step_by(2) {
            let begin = word.split('/').next().unwrap_or_default();
            let is_there = if word.contains('/')
                && word.chars().all(is_name)
                && folders.iter().any(|name| name == begin)
            {
                let is_slurms = OF_SLURM.iter().any(|folder| word.starts_with(folder));
                is_slurms || top.join(word).exists() || top.join(directory(&page)).join(word).exists()
            } else if word.starts_with("host::") || word.starts_with("plugin::") {
                is_module_or_its_item(word)
            } else {
                continue;
            };
            named += 1;
            assert!(is_there, "{page}: there is no {word}");
        }
    }
    assert!(named > 50, "{named} names are too few: are they still written so?");
}

/// `host::reply`, or `host::reply::answer`, which is written in that module; of the program, or of the test crate of that
/// name. An ellipsis ends what begins the item's name.
fn is_module_or_its_item(word: &str) -> bool {
    let file = |module: &str| {
        let path = module.replace("::", "/");
        let rooms = ["src", "tests"].map(|room| top().join(room).join(&path));
        rooms
            .iter()
            .flat_map(|path| [path.with_extension("rs"), path.join("mod.rs")])
            .find(|file| file.exists())
    };
    let (module, item) = word.trim_end_matches('…').rsplit_once("::").unwrap_or((word, ""));
    let is_written = |file: PathBuf| fs::read_to_string(file).unwrap().contains(item);
    file(word).is_some() || file(module).is_some_and(is_written)
}

fn directory(page: &str) -> &str {
    page.rsplit_once('/').map_or(".", |(directory, _)| directory)
}

/// The headings of a page as links name them.
fn headings(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines().filter(|line| line.starts_with('#')).map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
    })
}

/// slurm.conf as it is found, beside what the recipes must make of it but for the line that they put first: nothing of
/// `PriorityType`, and everything else.
const SLURM_CONFS: [(&str, &str); 8] = [
    ("", ""),
    ("PriorityType=priority/basic\n", "\n"),
    ("  prioritytype = priority/multifactor # old\n", "   # old\n"),
    ("\tPriorityType\t=\tpriority/multifactor\t# old\n", "\t\t# old\n"),
    ("PriorityType=\"priority/basic\"# old\n", "# old\n"),
    ("SlurmctldPort=1 PriorityType=priority/basic SlurmdPort=2\n", "SlurmctldPort=1  SlurmdPort=2\n"),
    ("PriorityType=priority/basic \\\n\tSlurmdPort=2\n", " \\\n\tSlurmdPort=2\n"),
    ("#PriorityType=priority/basic\n# PriorityType=x\n", "#PriorityType=priority/basic\n# PriorityType=x\n"),
];

/// Also where slurm.conf is a symbolic link, as it often is under configuration management: that stays one.
#[test]
fn the_recipes_set_the_type_in_any_slurm_conf() {
    let text = read("docs/install.md") + &read("docs/operations.md");
    let commands: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("sed ") && line.contains("slurm.conf"))
        .collect();
    assert_eq!(commands.len(), 2, "{commands:?}");
    let directory = tempfile::tempdir().unwrap();
    let [file, link] = ["shared.conf", "slurm.conf"].map(|name| directory.path().join(name));
    symlink("shared.conf", &link).unwrap();
    for command in commands {
        let wanted = command.split_once("1i ").unwrap().1.split_once('\'').unwrap().0;
        assert!(wanted.starts_with("PriorityType=priority/multifactor"), "{command}");
        for (before, rest) in SLURM_CONFS {
            fs::write(&file, format!("ClusterName=c\nPriorityTypes=kept\n{before}")).unwrap();
            let here = command.replace("/etc/slurm/slurm.conf", link.to_str().unwrap());
            assert!(Command::new("sh").args(["-c", &here]).status().unwrap().success(), "{here}");
            let after = fs::read_to_string(&file).unwrap();
            assert_eq!(after, format!("{wanted}\nClusterName=c\nPriorityTypes=kept\n{rest}"), "{command}");
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{command} replaces a link by a file");
        }
    }
}

/// What the packages' scripts and `make uninstall` ask before the plugin goes.
#[test]
fn use_of_the_plugin_is_seen_in_any_slurm_conf() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("slurm.conf");
    let in_use = |text: &str| {
        fs::write(&file, text).unwrap();
        let mut notice = Command::new(top().join("packaging/notice"));
        let output = notice.arg("configured").env("SLURM_CONF", &file).output().unwrap();
        let named = String::from_utf8_lossy(&output.stdout).trim() == file.to_str().unwrap();
        assert_eq!(output.status.success(), named, "{output:?}");
        named
    };
    for (text, rest) in SLURM_CONFS {
        for name in ["priority/basic", "priority/multifactor"] {
            assert!(!in_use(text), "{text}");
            let ours = text.replace(name, "Priority/Multifactor2");
            assert_eq!(in_use(&ours), ours != text && rest != text, "{ours}");
        }
    }
    assert!(!in_use("PriorityType=priority/multifactor20\nXPriorityType=priority/multifactor2\n"));
    let mut uninstall = Command::new("make");
    uninstall.args(["uninstall", "DESTDIR=/nonexistent", "PLUGINDIR=/nonexistent"]);
    fs::write(&file, "\tPriorityType=priority/multifactor2\n").unwrap();
    let output = uninstall.env("SLURM_CONF", &file).current_dir(top()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("still says PriorityType=priority/multifactor2"),
        "{said}"
    );
}
