//! Texts that nobody printed: those of real commands, cut, doubled and with other bytes in them. See also the fuzz targets.

use std::fmt::Write as _;

use multifactor2_command::answers::check::{findings, here};
use multifactor2_command::input::anonymise::anonymise;
use multifactor2_command::input::assemble;
use multifactor2_command::input::dump;
use multifactor2_command::input::parse::shares;
use multifactor2_command::input::texts::Texts;
use multifactor2_core::settings::Settings;
use multifactor2_snapshot::format;

use crate::recorded::{directory, texts, RELEASES};

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below.max(1)
    }

    fn spoil(&mut self, text: &str) -> String {
        const PIECES: [&str; 14] = [
            "|",
            "\n",
            "|q7x2kd|",
            "\0",
            "-1",
            "NaN",
            "inf",
            "1e999",
            "99999999999999999999",
            "(",
            ")",
            "\u{202e}",
            "=",
            "parent",
        ];
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=self.roll(8) {
            let (at, to) = (self.roll(bytes.len()), self.roll(bytes.len()));
            let piece = PIECES[self.roll(PIECES.len())];
            match self.roll(4) {
                0 => bytes.truncate(at),
                1 => drop(bytes.splice(at..at, piece.bytes())),
                2 => drop(bytes.drain(at.min(to)..(at.min(to) + self.roll(200)).min(bytes.len()))),
                _ => {
                    let copy = bytes[at.min(to)..(at.min(to) + 400).min(bytes.len())].to_vec();
                    drop(bytes.splice(to..to, copy));
                }
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[track_caller]
fn assert_sound(texts: &Texts) {
    let Ok(snapshot) = assemble(texts, None) else { return };
    for (at, row) in snapshot.associations.iter().enumerate() {
        assert!(row.usage.is_finite() && row.usage >= 0.0, "{row:?}");
        assert!(
            row.parent == 0 || snapshot.associations[..at].iter().any(|above| above.id == row.parent),
            "{row:?}"
        );
    }
    let _ = findings::all(&snapshot, Some(&Settings::default()));
    let _ = here::other_slurm_conf(&snapshot, texts.text("local-weights"), None);
    for snapshot in [anonymise(&snapshot), snapshot] {
        let mut bytes = Vec::new();
        format::write(&snapshot, &mut bytes).unwrap();
        assert_eq!(format::read(&*bytes).unwrap(), snapshot);
    }
}

#[test]
fn spoilt_texts_never_crash_and_what_is_read_of_them_is_sound() {
    let mut dice = Dice(19);
    for release in RELEASES {
        let good = texts(release, "multifactor2-root");
        for _ in 0..150 {
            let mut bad = good.clone();
            for text in bad.texts.values_mut() {
                *text = dice.spoil(text);
            }
            assert_sound(&bad);
        }
        let good = std::fs::read_to_string(directory(release).join("sacctmgr-dump.cfg")).unwrap();
        for _ in 0..150 {
            let dump = dump::snapshot(&dice.spoil(&good));
            assert!(dump.associations.iter().skip(1).all(|row| row.parent < row.id));
        }
    }
}

#[test]
fn what_cannot_be_read_is_counted_and_told() {
    let mut bad = texts("24.11.5", "multifactor2-root");
    bad.texts.get_mut("shares").unwrap().push_str("nonsense\n7|x|y\n");
    let said = assemble(&bad, None).unwrap().about.hidden.join("\n");
    assert!(said.contains("sshare: 2 of its lines cannot be read (the first is 18)"), "{said}");
}

#[test]
fn an_association_that_is_its_own_ancestor_is_left_out() {
    let mut bad = texts("24.11.5", "multifactor2-root");
    let known = bad.texts.get_mut("associations").unwrap();
    *known = known.replace("ParentAccount=root(1)", "ParentAccount=theory(7)");
    assert_sound(&bad);
    assert!(assemble(&bad, None).unwrap().associations.len() < 16);
}

#[test]
fn a_thousand_levels_and_a_hundred_thousand_lines_are_read_in_time() {
    let mut text = String::new();
    for id in 1..=100_000_usize {
        let blanks = " ".repeat(id % 1000);
        writeln!(text, "{id}|1|0.5|1|0.1|0.1||1.0||| {blanks}a{id}").unwrap();
    }
    let (rows, unread) = shares::shares(&text);
    assert_eq!((rows.len(), unread.count), (100_000, 0));
    let mut many = texts("24.11.5", "multifactor2-root");
    many.texts.insert("shares".to_owned(), text);
    many.texts.remove("associations");
    assert_eq!(assemble(&many, None).unwrap().associations.len(), 100_000);
}
