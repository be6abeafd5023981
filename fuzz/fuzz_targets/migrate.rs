//! Configurations of Maui and Grid Engine: any text gives an answer whose lines of ours can be read, or errors that name what is wrong. No name
//! ends a line, or a word of a command.
#![no_main]

#[path = "../../tests/command/support/migrated.rs"]
mod migrated;

use libfuzzer_sys::fuzz_target;
use migrated::check;
use multifactor2_command::answers::migrate::{of_grid_engine, of_maui};

fuzz_target!(|input: (u8, &str, &str)| {
    let (which, text, other) = input;
    check(&match which % 8 {
        0 => of_maui("fuzz", text, false),
        1 => of_maui("fuzz", text, true),
        2 => of_grid_engine(&[("ssconf", "fuzz".into(), text.into())]),
        3 => of_grid_engine(&[("sstree", "fuzz".into(), text.into()), ("sprj", "fuzz".into(), other.into())]),
        4 => of_grid_engine(&[("sprj", "fuzz".into(), text.into()), ("su", "fuzz".into(), other.into())]),
        5 => of_grid_engine(&[("suser", "fuzz".into(), text.into()), ("sconf", "fuzz".into(), other.into())]),
        6 => of_maui("fuzz", &format!("USERCFG[{text}] PRIORITY=1 FSTARGET={other} MAXJOB=1"), false),
        _ => of_maui("fuzz", &format!("FSTREE[{text}] SHARES={other} MAXJOB=1 MEMBERLIST=user:{text},{other}"), true),
    });
});
