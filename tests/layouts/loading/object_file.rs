//! Names and flags in the ELF file.

use std::collections::BTreeSet;
use std::fs;

use object::elf::{FileHeader64, DT_FLAGS_1, DT_NEEDED, STB_WEAK};
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol};

/// `DF_1_NODELETE`: the object stays mapped after `dlclose`.
const NODELETE: u64 = 0x8;

/// What slurmctld looks up in one release or another, and nothing else.
const EXPORTS: [&str; 13] = [
    "fini",
    "init",
    "plugin_name",
    "plugin_type",
    "plugin_version",
    "priority_p_calc_fs_factor",
    "priority_p_get_priority_factors_list",
    "priority_p_job_end",
    "priority_p_reconfig",
    "priority_p_recover",
    "priority_p_set",
    "priority_p_set_assoc_usage",
    "priority_p_thread_start",
];

/// Libraries of the C runtime, which are in every process that can load a plugin.
const RUNTIME: [&str; 7] = [
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
];

fn bytes() -> Vec<u8> {
    let path = slurm_fakehost::plugin_file();
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Entries of the dynamic section: tag and value.
fn dynamic(bytes: &[u8]) -> Vec<(u64, u64)> {
    let header = FileHeader64::<Endianness>::parse(bytes).expect("an ELF file");
    let endian = header.endian().expect("an endianness");
    let segments = header.program_headers(endian, bytes).expect("program headers");
    let section =
        segments.iter().find_map(|s| s.dynamic(endian, bytes).expect("readable")).expect("a dynamic section");
    section.iter().map(|entry| (entry.d_tag(endian), entry.d_val(endian))).collect()
}

#[test]
fn exactly_the_names_that_slurm_looks_up_are_exported() {
    let bytes = bytes();
    let file = ElfFile64::<Endianness>::parse(&*bytes).expect("an ELF file");
    let exported: BTreeSet<&str> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition() && symbol.is_global())
        .map(|symbol| symbol.name().expect("a name"))
        .collect();
    assert_eq!(exported, EXPORTS.into_iter().collect());
}

#[test]
fn every_undefined_symbol_is_of_the_c_runtime_or_weak() {
    let bytes = bytes();
    let file = ElfFile64::<Endianness>::parse(&*bytes).expect("an ELF file");
    let header = file.elf_header();
    let endian = header.endian().expect("an endianness");
    let sections = header.sections(endian, &*bytes).expect("sections");
    let versions = sections.versions(endian, &*bytes).expect("readable versions").expect("versions");
    let (mut seen, mut unexpected) = (0, Vec::new());
    for symbol in file.dynamic_symbols().filter(ObjectSymbol::is_undefined) {
        let name = symbol.name().expect("a name");
        if name.is_empty() || symbol.elf_symbol().st_bind() == STB_WEAK {
            continue;
        }
        seen += 1;
        let version =
            versions.version(versions.version_index(endian, symbol.index())).expect("a known version");
        let version = version.map_or_else(String::new, |v| String::from_utf8_lossy(v.name()).into_owned());
        if !["GLIBC_", "GCC_"].iter().any(|runtime| version.starts_with(runtime)) {
            unexpected.push(format!("{name}@{version}"));
        }
    }
    assert!(seen > 0, "the object needs something of libc");
    assert_eq!(unexpected, Vec::<String>::new());
}

#[test]
fn only_the_c_runtime_is_needed() {
    let bytes = bytes();
    let file = ElfFile64::<Endianness>::parse(&*bytes).expect("an ELF file");
    let strings = file
        .elf_header()
        .sections(Endianness::Little, &*bytes)
        .expect("sections")
        .symbols(Endianness::Little, &*bytes, object::elf::SHT_DYNSYM)
        .expect("dynamic symbols")
        .strings();
    let needed: Vec<&str> = dynamic(&bytes)
        .iter()
        .filter(|(tag, _)| *tag == u64::from(DT_NEEDED))
        .map(|(_, at)| strings.get(u32::try_from(*at).expect("small")).expect("a name"))
        .map(|name| std::str::from_utf8(name).expect("text"))
        .collect();
    assert!(needed.contains(&"libc.so.6"), "{needed:?}");
    assert!(needed.iter().all(|name| RUNTIME.contains(name)), "{needed:?}");
}

#[test]
fn the_object_stays_mapped_after_it_is_closed() {
    let flags = dynamic(&bytes()).into_iter().find(|(tag, _)| *tag == u64::from(DT_FLAGS_1));
    let (_, flags) = flags.expect("flags");
    assert_ne!(flags & NODELETE, 0, "{flags:#x}");
}

/// Variables that only builds for tests read (features `faults` and `test-overrides`).
#[test]
fn nothing_for_tests_is_in_it() {
    let bytes = bytes();
    for variable in [&b"MULTIFACTOR2_TEST_"[..], b"MULTIFACTOR2_FAULTS"] {
        let found = bytes.windows(variable.len()).any(|window| window == variable);
        assert!(!found, "{}", String::from_utf8_lossy(variable));
    }
}
