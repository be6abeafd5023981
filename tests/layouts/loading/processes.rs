//! Made-up processes that load the object: a program, a library in the place of libslurmfull, and plugins of the host.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Once;

use tempfile::TempDir;

/// Loads the libraries that are named for all to see (`+file`) or for itself (`-file`), then the plugin as Slurm's loader
/// does: lazily, looking at `plugin_version`, calling `init`. Does the last part as often as asked.
const LOADER: &str = r#"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments)
{
	for (int i = 3; i < count; i++)
		if (!dlopen(arguments[i] + 1, RTLD_LAZY | (*arguments[i] == '+' ? RTLD_GLOBAL : RTLD_LOCAL)))
			return fprintf(stderr, "%s\n", dlerror()), 2;
	for (int times = atoi(arguments[2]); times; times--) {
		void *plugin = dlopen(arguments[1], RTLD_LAZY);
		if (!plugin)
			return fprintf(stderr, "%s\n", dlerror()), 3;
		printf("plugin_version %x\n", *(uint32_t *) dlsym(plugin, "plugin_version"));
		printf("init %d\n", ((int (*)(void)) dlsym(plugin, "init"))());
		((int (*)(void)) dlsym(plugin, "fini"))();
		dlclose(plugin);
	}
	return 0;
}
"#;

/// A Slurm release as a number, as `SLURM_VERSION_NUMBER`.
pub const fn release(major: u32, minor: u32, micro: u32) -> u32 {
    major << 16 | minor << 8 | micro
}

const ACCEPTED: &str = "MULTIFACTOR2_CANDIDATE";

/// What a process is made of.
#[derive(Debug, Clone, Default)]
pub struct Process {
    /// What `slurm_api_version()` counts majors with; without it there is no Slurm in the process.
    pub api: Option<u32>,
    /// Further functions of the library.
    pub functions: Vec<&'static str>,
    /// What Slurm calls itself, a text in the library.
    pub called: String,
    /// `MULTIFACTOR2_CANDIDATE`
    pub accepted: Option<String>,
    /// All that the library has is in the program itself, as with `configure --without-shared-libslurm`.
    pub one_piece: bool,
    /// What that program is called, where it is not slurmctld.
    pub program: Option<&'static str>,
    /// Plugins that the host has loaded: type and `plugin_version`.
    pub loaded: Vec<(&'static str, u32)>,
    /// Plugins that lie beside the library.
    pub beside: Vec<(&'static str, u32)>,
    /// How often the plugin is loaded, one after the other; 0 is once.
    pub repeat: u32,
}

/// What a process did.
#[derive(Debug)]
pub struct Observed {
    /// `plugin_version`, the results of `init`, and what was logged.
    pub lines: Vec<String>,
}

impl Observed {
    /// `plugin_version` as the host sees it.
    pub fn version(&self) -> u32 {
        let line =
            self.lines.iter().find_map(|line| line.strip_prefix("plugin_version ")).expect("it is printed");
        u32::from_str_radix(line, 16).expect("hexadecimal")
    }

    /// Error lines in the host's log.
    pub fn errors(&self) -> Vec<&str> {
        self.lines.iter().filter_map(|line| line.strip_prefix("error: ")).collect()
    }
}

impl Process {
    /// Builds the process, lets it load the plugin and tells what it printed.
    pub fn run(&self) -> Observed {
        let directory = tempfile::tempdir().expect("a directory");
        let mut arguments =
            vec![slurm_fakehost::plugin_file().display().to_string(), self.repeat.max(1).to_string()];
        let mut program = loader();
        if let Some(api) = self.api.filter(|_| self.one_piece) {
            let text = format!("{}{LOADER}", self.library(api));
            program = compile(&directory, self.program.unwrap_or("slurmctld"), &text, &["-rdynamic", "-ldl"]);
        } else if let Some(api) = self.api {
            let library = shared_object(&directory, "libslurmfull", &self.library(api));
            arguments.push(format!("+{}", library.display()));
        }
        for (kind, version) in &self.loaded {
            arguments.push(format!("-{}", host_plugin(&directory, kind, *version, "loaded").display()));
        }
        for (kind, version) in &self.beside {
            host_plugin(&directory, kind, *version, "");
        }
        let mut command = Command::new(program);
        command.args(&arguments).env("LD_BIND_NOW", "1").env_remove(ACCEPTED);
        let output = command.envs(self.accepted.iter().map(|name| (ACCEPTED, name))).output();
        let output = output.expect("the program runs");
        assert!(output.status.success() && output.stderr.is_empty(), "{self:?}: {output:?}");
        Observed { lines: String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect() }
    }

    fn library(&self, api: u32) -> String {
        let mut text = format!(
            "#include <stdarg.h>\n#include <stdio.h>\n\
             long slurm_api_version(void) {{ return {api}L << 16; }}\n\
             void slurm_error(const char *format, ...) {{ va_list a; va_start(a, format); fputs(\"error: \", stdout); \
             vprintf(format, a); puts(\"\"); va_end(a); }}\n\
             const char called[] = \"{}\";\n",
            self.called
        );
        for function in &self.functions {
            let _ = writeln!(text, "void {function}(void) {{}}");
        }
        text
    }
}

/// A plugin of the host as `<type>.so`, where `place` is a directory below the library's.
fn host_plugin(directory: &TempDir, kind: &str, version: u32, place: &str) -> PathBuf {
    let name = Path::new(place).join(kind.replace('/', "_"));
    fs::create_dir_all(directory.path().join(place)).expect("a directory");
    shared_object(
        directory,
        name.to_str().expect("text"),
        &format!("const char plugin_type[] = \"{kind}\";\nconst unsigned plugin_version = {version};\n"),
    )
}

fn shared_object(directory: &TempDir, name: &str, text: &str) -> PathBuf {
    compile(directory, &format!("{name}.so"), text, &["-shared", "-fPIC"])
}

/// The program, compiled once and kept with what else cargo has built.
fn loader() -> PathBuf {
    static COMPILED: Once = Once::new();
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("boundary/slurmctld");
    COMPILED.call_once(|| {
        fs::create_dir_all(place.parent().expect("it has one")).expect("a directory");
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let program = compile(&directory, "loader", LOADER, &["-ldl"]);
        // Another process may run the one that is there: replace the name, not the file.
        fs::rename(program, &place).expect("the same file system");
    });
    place
}

fn compile(directory: &TempDir, name: &str, text: &str, flags: &[&str]) -> PathBuf {
    let (source, result) = (directory.path().join(format!("{name}.c")), directory.path().join(name));
    fs::write(&source, text).expect("the source can be written");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let output = Command::new(compiler).arg("-o").arg(&result).arg(&source).args(flags).output();
    let output = output.expect("a C compiler is installed");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    result
}

#[test]
fn a_process_without_slurm_loads_it_with_all_symbols_bound_and_hears_nothing() {
    assert_eq!(Process::default().run().lines, ["plugin_version 0", "init 0"]);
}

/// `sshare` of 22.05: Slurm's library and plugins, and none of slurmctld's names.
fn sshare() -> Process {
    Process {
        api: Some(38),
        functions: vec!["priority_g_calc_fs_factor"],
        loaded: vec![("hash/k12", release(22, 5, 8))],
        ..Process::default()
    }
}

#[test]
fn a_process_like_sshare_loads_it_and_hears_nothing() {
    assert_eq!(sshare().run().lines, ["plugin_version 160508", "init 0"]);
}

#[test]
fn it_can_be_loaded_again_after_it_was_closed() {
    let process = Process { repeat: 3, ..sshare() };
    assert_eq!(process.run().lines, ["plugin_version 160508", "init 0"].repeat(3));
}

#[test]
fn the_real_sshare_takes_it_in() {
    let directory = tempfile::tempdir().expect("a directory");
    let conf = directory.path().join("slurm.conf");
    fs::write(&conf, "ClusterName=none\nSlurmctldHost=localhost\n").expect("a file can be written");
    let sshare = |preload: Option<&Path>| -> Output {
        let mut command = Command::new("sshare");
        command.arg("--version").env("LD_BIND_NOW", "1").env("SLURM_CONF", &conf);
        if let Some(file) = preload {
            command.env("LD_PRELOAD", file);
        }
        command.output().expect("sshare is installed; `make test` installs what tests need")
    };
    let (plain, with_plugin) = (sshare(None), sshare(Some(&slurm_fakehost::plugin_file())));
    assert!(plain.status.success() && !plain.stdout.is_empty(), "{plain:?}");
    assert_eq!(with_plugin, plain);
}
