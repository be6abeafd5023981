//! One declaration a setting: what `settings!` makes of every kind, and that the pages say what the declarations say.

use std::path::Path;
use std::time::Duration;

use multifactor2_core::settings::schema::{check, Absent};
use multifactor2_core::settings::text::parse;
use multifactor2_core::settings::value::{Date, Kind};
use multifactor2_core::settings::WrittenAt;

#[path = "../../../core/examples/docs/render.rs"]
mod render;

multifactor2_core::settings! {
    /// Settings of every kind.
    pub struct Every in EVERY {
        /// A colour. It may be `red`.
        colour = "Colour": choice(Colour {
            /// Like blood.
            Red = "red",
            /// Like grass.
            Green = "green",
        }) default("green");
        /// A count.
        count = "Count": integer(-1..=10) default("3");
        /// A weight.
        weight = "Weight": decimal(0.0..) default("0.5");
        /// A part.
        part = "Part": decimal(0.0..=1.0) unset("0.25");
        /// A size.
        size = "Size": positive_decimal() default("2");
        /// A brake.
        brake = "Brake": zero_or_decimal(1.0..) default("0");
        /// A switch.
        on = "On": yes_no() default("yes");
        /// A span.
        span = "Span": duration() default("1-12");
        /// A pause.
        pause = "Pause": positive_duration() default("5");
        /// A last day.
        last = "Last": end_date() unset("2027-01-31");
        /// A day.
        day = "Day": date() unset("2027-01-31");
        /// Some names.
        names = "Names": names() unset("alice,bob");
        /// Some weights.
        weights = "Weights": weights(0.0..=9.0) default("a:1,b:2.5");
        /// A word.
        word = "Word": text("a word", |text| !text.contains(' ')) default("x");
        /// An exception for somebody.
        exceptions = "Exception": block(Exception, target: choice(Target {
            /// One user.
            User = "User",
            /// One account.
            Account = "Account",
        }), {
            /// Who it is.
            who = "Name": names() required("alice");
            /// How many.
            tickets = "Tickets": integer(0..=100) default("5");
            /// How long.
            until = "Until": date() unset("2027-12-31");
            /// In which way.
            way = "Way": choice(Way {
                /// Upwards.
                Up = "up",
                /// Downwards.
                Down = "down",
            }) unset("up");
        }) unset("User");
    }
}

fn every(text: &str) -> Every {
    Every::from(&check(parse(text, "f"), EVERY).unwrap().0)
}

#[test]
fn what_is_not_written_has_its_default() {
    let expected = Every {
        colour: Colour::Green,
        count: 3,
        weight: 0.5,
        part: None,
        size: 2.0,
        brake: 0.0,
        on: true,
        span: Duration::from_secs(36 * 3600),
        pause: Duration::from_secs(300),
        last: None,
        day: None,
        names: None,
        weights: vec![("a".into(), 1.0), ("b".into(), 2.5)],
        word: "x".into(),
        exceptions: Vec::new(),
    };
    assert_eq!(every(""), expected);
    assert_eq!(Every::default(), expected);
}

#[test]
fn what_is_written_is_what_the_program_has() {
    let settings = every(
        "colour=RED count=-1 weight=7 part=1 size=.5 brake=1.5 on=no span=90 pause=0:01 last=2028-02-29 day=2028-02-29T12:30 names=a,b weights=c:3 word=y\n\
         exception=account name=x,y tickets=9 until=2027-01-01 way=down\n\
         exception=user name=z\n",
    );
    let day = Date { year: 2028, month: 2, day: 29, hour: 12, minute: 30, second: 0 };
    let until = Date { year: 2027, month: 1, day: 1, ..Date::default() };
    let expected = Every {
        colour: Colour::Red,
        count: -1,
        weight: 7.0,
        part: Some(1.0),
        size: 0.5,
        brake: 1.5,
        on: false,
        span: Duration::from_secs(5400),
        pause: Duration::from_secs(1),
        last: Some(Date { hour: 23, minute: 59, second: 59, ..day }),
        day: Some(day),
        names: Some(vec!["a".into(), "b".into()]),
        weights: vec![("c".into(), 3.0)],
        word: "y".into(),
        exceptions: vec![
            Exception {
                place: WrittenAt::default(),
                target: Target::Account,
                who: vec!["x".into(), "y".into()],
                tickets: 9,
                until: Some(until),
                way: Some(Way::Down),
            },
            Exception {
                place: WrittenAt::default(),
                target: Target::User,
                who: vec!["z".into()],
                tickets: 5,
                until: None,
                way: None,
            },
        ],
    };
    assert_eq!(settings, expected);
    let shown = settings.to_string();
    assert_eq!(
        shown,
        "Colour=red Count=-1 Weight=7 Part=1 Size=0.5 Brake=1.5 On=no Span=01:30:00 Pause=00:00:01 \
         Last=2028-02-29T23:59:59 Day=2028-02-29T12:30:00 Names=a,b Weights=c:3 Word=y Exception=Account Name=x,y Tickets=9 Until=2027-01-01T00:00:00 Way=down Exception=User Name=z Tickets=5"
    );
    // Of the log line what can be read again is the same again.
    let lines = shown.replace(" Exception", "\nException");
    assert_eq!(every(&lines), settings);
    assert_eq!(every(&Every::default().to_string()), Every::default());
}

#[test]
fn the_table_has_what_was_declared() {
    let names: Vec<_> = EVERY.iter().map(|setting| setting.name).collect();
    let expected = [
        "Colour",
        "Count",
        "Weight",
        "Part",
        "Size",
        "Brake",
        "On",
        "Span",
        "Pause",
        "Last",
        "Day",
        "Names",
        "Weights",
        "Word",
        "Exception",
    ];
    assert_eq!(names, expected);
    assert_eq!((EVERY[0].meaning, EVERY[0].example), ("A colour. It may be `red`.", "green"));
    let Kind::Choice([red, _]) = EVERY[0].kind else { panic!("{:?}", EVERY[0].kind) };
    assert_eq!((red.text, red.meaning), ("red", "Like blood."));
    let absent: Vec<_> = EVERY[14].attributes.unwrap().iter().map(|attribute| attribute.absent).collect();
    assert_eq!(absent, [Absent::Error, Absent::Default("5"), Absent::Unset, Absent::Unset]);
}

#[test]
fn pages_have_every_kind() {
    let markdown = render::markdown(EVERY);
    for row in [
        "\n### `Colour`\n\nA colour. It may be `red`.\n\n- `red`: Like blood.\n- `green`: Like grass.\n",
        "\nAllowed: `red`, `green`. Default: `green`.\n\n### `Count`\n",
        "\n### `Weight`\n\nA weight.\n\nAllowed: a number of 0 or more. Default: `0.5`.\n",
        "\nAllowed: a number from 0 to 1.\n\n    Part=0.25\n",
        "\nAllowed: a number above 0. Default: `2`.\n",
        "\nAllowed: 0, or a number of 1 or more. Default: `0`.\n",
        "\nAllowed: yes or no. Default: `yes`.\n",
        "\nAllowed: a time. Default: `1-12`.\n",
        "\nAllowed: a time above 0. Default: `5`.\n",
        "\nAllowed: a date.\n\n    Last=2027-01-31\n",
        "\nAllowed: names.\n\n    Names=alice,bob\n",
        "\nAllowed: `User`, `Account`. Only in `multifactor2.conf`.\n\n    Exception=",
        "\n\nAttributes:\n\n- `Name` (names, required): Who it is.\n- `Tickets` (a whole number from 0 to 100, default `5`): How many.\n",
        "\n- `Until` (a date): How long.\n- `Way`: In which way.\n  - `up`: Upwards.\n  - `down`: Downwards.\n",
    ] {
        assert!(markdown.contains(row), "{row}\n{markdown}");
    }
    let example = render::example(EVERY);
    let expected =
        "\n# A colour. It may be red.\n#   red    Like blood.\n#   green  Like grass.\n#Colour=green\n\n\
                    # A count.\n# Allowed: a whole number from -1 to 10. Default: 3.\n#Count=3\n";
    assert!(example.starts_with(expected), "{example}");
    // Everything in it can be written as it stands there.
    let written = example
        .lines()
        .filter_map(|line| line.strip_prefix('#').filter(|line| line.starts_with(char::is_uppercase)));
    let exception = every(&written.collect::<Vec<_>>().join("\n")).exceptions.remove(0);
    assert_eq!((exception.target, exception.tickets), (Target::User, 5));
    let manual = render::manual(EVERY);
    for part in [
        ".TP\n.BR Colour = red | green\nA colour.\nIt may be \\fBred\\fR.\n.RS\n.TP\n.B red\nLike blood.\n",
        ".B green\nLike grass.\nThis is the default.\n.RE\n",
        ".BR Brake = \\fInumber\\fP\nA brake.\n",
        ".BR Span = \\fItime\\fP\nA span.\n",
        ".BR Pause = \\fItime\\fP\nA pause.\n",
        ".BR Last = \\fIdate\\fP\nA last day.\n",
        ".RS\n.TP\n.BR Name = \\fIname\\fP[,...]\nWho it is.\nAllowed: names separated by commas, each once and at most 255 bytes long.\nRequired.\n",
    ] {
        assert!(manual.contains(part), "{part}\n{manual}");
    }
}

#[test]
fn pages_are_as_make_docs_writes_them() {
    let pages = render::pages(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap();
    assert_eq!(pages.len(), 3);
    let (_, settings, _) = &pages[0];
    for (_, title) in render::GROUPS {
        assert!(settings.contains(&format!("\n## {title}\n")), "no setting is the first of {title}");
    }
    for (path, before, after) in pages {
        let differs = before.lines().zip(after.lines()).find(|(before, after)| before != after);
        assert!(before == after, "{path} is not what `make docs` writes: {differs:?}");
    }
}
