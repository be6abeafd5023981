//! Pages and pictures as text: nothing in them but what is ours, well-formed, with a policy that holds, and colours that can be read.

use std::collections::HashMap;

use base64::prelude::{Engine, BASE64_STANDARD};
use multifactor2_command::output::html::{svg, Cell, Column, HtmlRow, Page, Table};
use sha2::{Digest, Sha256};

use crate::hostile;
use crate::outputs::Sample;
use crate::site::{self, Size};
use crate::targets;

/// What writes a page.
pub const PAGES: [&[&str]; 4] =
    [&["tree"], &["what-if"], &["what-if", "--weight", "age=5000", "--plugin", "stock"], &["queue"]];

/// What writes a page of jobs and users of the example.
pub const OF_EXAMPLE: [&[&str]; 4] = [
    &["why", "1001"],
    &["why", "1001", "1002"],
    &["why", "-j", "1001,1002"],
    &["why", "--user", "user2", "user5"],
];

/// A page that says everything that the toolkit can say, with a text everywhere.
pub fn everything(text: &str) -> String {
    let columns = [
        Column::text("Name").about("What it is called."),
        Column::bars("Bars"),
        Column::bars("Mark"),
        Column::bars("Columns"),
        Column::number("Number").about("How many."),
        Column::number("Change"),
        Column::text("Word"),
    ];
    let mut table = Table::new(text, &columns);
    for level in 0..14 {
        let row = HtmlRow::new(text).level(level).note(text).strong().cell(Cell::bars(0.5, f64::NAN));
        table.row(
            row.cell(Cell::marked(f64::NAN, 0.5))
                .cell(Cell::columns(&[0.0, 1.0, f64::NAN]))
                .cell(Cell::number(f64::NAN, text))
                .cell(Cell::change(1.0, text, true))
                .cell(Cell::text(text)),
        );
    }
    let axis = svg::Axis { name: "Time", unit: |value| format!("{value:.1}") };
    let line = |from: f64| svg::SvgLine {
        name: text.to_owned(),
        points: vec![(0.0, from), (1.0, f64::NAN), (2.0, 1.0)],
    };
    Page::new(text, text)
        .lead(text)
        .warning(text)
        .section(text)
        .paragraph(text)
        .list(&[text])
        .facts(&[(text, text.to_owned())])
        .chart(&svg::bars(text, text, &[text, "b"], &[(text.to_owned(), vec![1.0, f64::NAN])], |_| {
            "1".to_owned()
        }))
        .chart(&svg::lines(text, text, axis, axis, &[line(0.0), line(3.0)], true))
        .chart(&svg::histogram(text, text, axis, &[1.0, 2.0, 2.0, f64::INFINITY], 4))
        .table(&table)
        .data(&[text])
        .unwrap()
        .finish()
}

/// What a terminal says is in the page, word by word, whatever its width: tables become lists of cards on a phone.
#[test]
fn a_page_says_what_a_terminal_says() {
    let sample = Sample::new(&site::example());
    for question in PAGES.iter().chain(&OF_EXAMPLE) {
        let mut words = question.to_vec();
        // A page of a job has all of it.
        if question.len() == 2 {
            words.push("--long");
        }
        let text = sample.ask(&words).out;
        let page = sample.written(question, "--html");
        let (_, main) = page.split_once("<h1>").unwrap();
        let main = main.split("<script").next().unwrap();
        let mut shown = String::new();
        let mut is_tag = false;
        for letter in main.chars() {
            match letter {
                '<' => is_tag = true,
                '>' => {
                    is_tag = false;
                    shown.push(' ');
                }
                letter if !is_tag => shown.push(letter),
                _ => (),
            }
        }
        let shown =
            shown.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        let of_page: std::collections::HashSet<&str> = shown.split_whitespace().collect();
        // Unknown numbers and the marks of lists are the terminal's. A page of its own has other sentences, and every number and name.
        let is_own = ["tree", "what-if"].contains(&question[0]);
        let counts =
            |word: &&str| *word != "-" && (!is_own || word.contains(|letter: char| letter.is_ascii_digit()));
        let missing: Vec<&str> =
            text.split_whitespace().filter(counts).filter(|word| !of_page.contains(word)).collect();
        assert!(missing.is_empty(), "{question:?}: {missing:?}\n{text}\n{shown}");
    }
}

/// Every page of a sample, and one of everything, with what it is.
fn pages(sample: &Sample, text: &str) -> Vec<(String, String)> {
    let pages = PAGES.iter().map(|question| (question.join(" "), sample.written(question, "--html")));
    pages.chain([("everything".to_owned(), everything(text))]).collect()
}

#[derive(Debug)]
struct Tag {
    name: String,
    attributes: Vec<(String, String)>,
    is_end: bool,
    /// What is between it and the next tag.
    text: String,
}

impl Tag {
    fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// All tags of a page. A `<` in text is a mistake of the page, and makes the names of tags wrong.
fn tags(page: &str) -> Vec<Tag> {
    let mut tags: Vec<Tag> = Vec::new();
    let mut rest = page.strip_prefix("<!DOCTYPE html>").unwrap();
    while let Some(start) = rest.find('<') {
        if let Some(tag) = tags.last_mut() {
            rest[..start].clone_into(&mut tag.text);
        }
        let (inside, behind) = rest[start + 1..].split_once('>').unwrap();
        let (is_end, inside) = inside.strip_prefix('/').map_or((false, inside), |inside| (true, inside));
        let (name, mut list) = inside.split_once(' ').unwrap_or((inside, ""));
        let mut attributes = Vec::new();
        while !list.is_empty() {
            let end = list.find([' ', '=']).unwrap_or(list.len());
            let (attribute, value) = list.split_at(end);
            list = value.trim_start();
            let value = value.strip_prefix("=\"").map(|quoted| quoted.split_once('"').unwrap());
            if let Some((_, more)) = value {
                list = more.trim_start();
            }
            attributes.push((attribute.to_owned(), value.unwrap_or_default().0.to_owned()));
        }
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "<{inside}>");
        tags.push(Tag { name: name.to_owned(), attributes, is_end, text: String::new() });
        rest = behind;
        if !is_end && matches!(name, "style" | "script") {
            let (text, _) = rest.split_once(&format!("</{name}>")).unwrap();
            text.clone_into(&mut tags.last_mut().unwrap().text);
            rest = &rest[text.len()..];
            tags.push(Tag {
                name: name.to_owned(),
                attributes: Vec::new(),
                is_end: true,
                text: String::new(),
            });
            rest = rest.split_once('>').unwrap().1;
        }
    }
    tags
}

#[test]
fn no_name_does_harm_in_a_page() {
    let sample = Sample::new(&hostile::snapshot());
    for (what, page) in pages(&sample, hostile::NAME) {
        let is_bad = |character: char| character.is_control() && character != '\n' || character == '\u{202e}';
        assert!(!page.contains(is_bad), "{what}");
        assert!(!page.lines().any(|line| line.starts_with("next")), "{what}");
        assert!(
            page.contains("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;'&amp;\\u{1b}]0;title"),
            "{what}"
        );
        let tags = tags(&page);
        let scripts: Vec<&Tag> = tags.iter().filter(|tag| tag.name == "script" && !tag.is_end).collect();
        assert_eq!(scripts.len(), 2, "{what}");
        let data: serde_json::Value = serde_json::from_str(&scripts[0].text).unwrap();
        assert_eq!(scripts[0].get("type"), Some("application/json"));
        assert!(!scripts[0].text.contains(['<', '>', '&']));
        let name = if what == "everything" { &data[0] } else { &data["about"]["cluster"] };
        assert_eq!(name, hostile::NAME, "{what}");
    }
}

#[test]
fn a_page_has_the_answer_that_json_has() {
    let sample = Sample::new(&site::random(Size { associations: 80, jobs: 60 }, 5));
    for question in PAGES {
        let page = sample.written(question, "--html");
        let tags = tags(&page);
        let data = tags.iter().find(|tag| tag.get("id") == Some("data")).unwrap();
        let json = sample.ask(&[question, &["--json"]].concat()).out;
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&data.text), value(&json), "{question:?}");
    }
}

#[test]
fn what_is_new_or_gone_has_no_gain() {
    let sample = Sample::new(&site::example());
    let new = sample.written(&["what-if", "--submit", "-A c -p main", "--as", "user2"], "--html");
    assert!(new.contains("<td class=\"n\">new</td>"));
    let gone = sample.written(&["what-if", "--without-account", "c"], "--html");
    assert!(gone.contains("<td class=\"n\">gone</td>"));
}

/// Fair Tree normalises shares among those beside each other: bars of user2 in c were too long there.
#[test]
fn bars_are_parts_of_the_account_above_in_every_algorithm() {
    let ours = site::example();
    let mut fair_tree = site::example();
    "priority/multifactor".clone_into(&mut fair_tree.about.priority_type);
    let mut classic = fair_tree.clone();
    classic.parameters.insert("PriorityFlags".to_owned(), "NO_FAIR_TREE".to_owned());
    for mut snapshot in [ours, fair_tree, classic] {
        site::show(&mut snapshot);
        let page = Sample::new(&snapshot).written(&["tree"], "--html");
        for (name, shares, usage) in
            [("root", 100.0, 100.0), ("c", 25.0, 900.0 / 16.2), ("user2", 50.0, 100.0), ("d", 60.0, 25.0)]
        {
            let row = page.split("<tr").skip(1).find(|row| row.contains(&format!(">{name}<"))).unwrap();
            let widths: Vec<f64> = row
                .split("width=\"")
                .skip(1)
                .map(|text| text.split('%').next().unwrap().parse().unwrap())
                .collect();
            let is_near = |one: f64, other: f64| (one - other).abs() < 0.01;
            assert!(is_near(widths[0], shares) && is_near(widths[1], usage), "{name}: {widths:?}");
        }
    }
}

#[test]
fn no_name_does_harm_in_a_picture() {
    for snapshot in
        [site::example(), hostile::snapshot(), site::random(Size { associations: 300, jobs: 10 }, 3)]
    {
        let picture = Sample::new(&snapshot).written(&["tree"], "--svg");
        let document = roxmltree::Document::parse(&picture).unwrap();
        let root = document.root_element();
        assert_eq!((root.tag_name().name(), root.attribute("role")), ("svg", Some("img")));
        for node in root.descendants().filter(roxmltree::Node::is_element) {
            let known = ["svg", "title", "desc", "style", "rect", "text", "g"];
            assert!(known.contains(&node.tag_name().name()), "{:?}", node.tag_name());
            assert!(!node
                .attributes()
                .any(|attribute| attribute.name().starts_with("on") || attribute.name() == "href"));
        }
        assert_eq!(
            root.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "g"))).count(),
            snapshot.associations.len()
        );
        assert!(!picture.contains('\u{202e}') && !picture.contains("NaN"));
    }
}

#[test]
fn the_policy_lets_in_what_is_in_the_page_and_nothing_else() {
    let sample = Sample::new(&site::example());
    for (what, page) in pages(&sample, "text") {
        let tags = tags(&page);
        let of = |name: &str, at: usize| {
            let tag = tags.iter().filter(|tag| tag.name == name && !tag.is_end).nth(at).unwrap();
            format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(&tag.text)))
        };
        let policy =
            tags.iter().find(|tag| tag.get("http-equiv") == Some("Content-Security-Policy")).unwrap();
        let policy = policy.get("content").unwrap().replace("&#39;", "'");
        assert_eq!(
            policy,
            format!(
                "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
                of("style", 0),
                of("script", 1)
            ),
            "{what}"
        );
        assert_eq!(tags.iter().filter(|tag| tag.name == "style" && !tag.is_end).count(), 1);
        for tag in &tags {
            for (name, value) in &tag.attributes {
                assert!(
                    !name.starts_with("on") && !["style", "src", "srcset", "action"].contains(&name.as_str()),
                    "{what}: {tag:?}"
                );
                assert!(name != "href" || value == "#main", "{what}: {tag:?}");
            }
            assert!(!["link", "img", "iframe", "object", "embed", "form", "base", "use", "image"]
                .contains(&tag.name.as_str()));
        }
        assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("url("), "{what}");
        assert!(!page.contains("@import"), "{what}");
        for tag in tags.iter().filter(|tag| tag.name != "script") {
            let is_number = |text: &str| !text.contains("NaN") && !text.contains("inf");
            assert!(
                is_number(&tag.text) && tag.attributes.iter().all(|(_, value)| is_number(value)),
                "{what}: {tag:?}"
            );
        }
    }
}

#[test]
fn pages_are_well_formed_and_say_what_everything_is() {
    const VOID: [&str; 3] = ["meta", "input", "br"];
    for snapshot in [site::example(), site::random(Size { associations: 300, jobs: 100 }, 2)] {
        let sample = Sample::new(&snapshot);
        let of_targets = Sample::new(&targets::in_windows()).written(&["tree"], "--html");
        for (what, page) in pages(&sample, "text").into_iter().chain([("targets".to_owned(), of_targets)]) {
            let tags = tags(&page);
            let mut open: Vec<&str> = Vec::new();
            let (mut ids, mut names) = (HashMap::new(), Vec::new());
            for (at, tag) in tags.iter().enumerate() {
                if tag.is_end {
                    assert_eq!(open.pop(), Some(tag.name.as_str()), "{what}");
                    continue;
                }
                let next = &tags[at + 1];
                match tag.name.as_str() {
                    "th" => assert!(matches!(tag.get("scope"), Some("col" | "row")), "{what}: {tag:?}"),
                    "table" => assert_eq!(next.name, "caption", "{what}"),
                    "button" => assert_eq!(tag.get("type"), Some("button"), "{what}"),
                    "input" => assert!(open.contains(&"label"), "{what}"),
                    "svg" if tag.get("role").is_some() => {
                        assert_eq!(
                            (next.name.as_str(), tags[at + 3].name.as_str()),
                            ("title", "desc"),
                            "{what}"
                        );
                        names.extend(tag.get("aria-labelledby").unwrap().split(' '));
                    }
                    "svg" => {
                        assert!(open.contains(&"svg") || tag.get("aria-hidden") == Some("true"), "{what}");
                    }
                    _ => (),
                }
                if let Some(id) = tag.get("id") {
                    assert_eq!(ids.insert(id, &tag.name), None, "{what}: {id}");
                }
                if !VOID.contains(&tag.name.as_str()) {
                    open.push(&tag.name);
                }
            }
            assert!(open.is_empty(), "{what}: {open:?}");
            assert!(names.iter().all(|name| ids.contains_key(name)), "{what}");
            for (name, count) in [("h1", 1), ("main", 1), ("header", 1), ("footer", 1), ("title", 1)] {
                let found = tags.iter().enumerate().filter(|(at, tag)| {
                    tag.name == name
                        && !tag.is_end
                        && (name != "title" || tags[at - 1].name != "svg" && tags[at - 1].name != "g")
                });
                assert_eq!(found.count(), count, "{what}: {name}");
            }
            assert_eq!(tags[0].get("lang"), Some("en"));
        }
    }
}

#[test]
fn colours_can_be_read_in_the_light_and_in_the_dark() {
    let page = everything("text");
    let tags = tags(&page);
    let style = &tags.iter().find(|tag| tag.name == "style").unwrap().text;
    let palettes: Vec<HashMap<&str, [f64; 3]>> = style.split(":root {").skip(1).map(palette).collect();
    assert_eq!(palettes.len(), 2);
    for palette in &palettes {
        for name in
            ["--text", "--muted", "--accent", "--first", "--second", "--third", "--fourth", "--good", "--bad"]
        {
            for ground in ["--ground", "--panel"] {
                let contrast = contrast(palette[name], palette[ground]);
                assert!(contrast >= 4.5, "{name} on {ground}: {contrast:.2}");
            }
        }
    }
    assert!((contrast([0.0; 3], [255.0; 3]) - 21.0).abs() < 1e-9);
}

fn palette(block: &str) -> HashMap<&str, [f64; 3]> {
    let lines = block.split('}').next().unwrap().split(';').filter_map(|line| line.trim().split_once(": #"));
    lines
        .map(|(name, value)| {
            (name, [0, 2, 4].map(|at| f64::from(u8::from_str_radix(&value[at..at + 2], 16).unwrap())))
        })
        .collect()
}

/// The contrast of two colours, from 1 to 21, by the formula of WCAG 2.
pub fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
    let luminance = |colour: [f64; 3]| {
        let [red, green, blue] = colour.map(|part| match part / 255.0 {
            part if part <= 0.04045 => part / 12.92,
            part => ((part + 0.055) / 1.055).powf(2.4),
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    };
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_with_the_next_step() {
    let sample = Sample::new(&site::example());
    for question in [&["tree", "--html"][..], &["tree", "--svg"], &["what-if", "--html"]] {
        let printed = sample.ask(&[question, &["/no/such/directory/file"]].concat());
        assert_eq!((printed.status, printed.out.as_str()), (4, ""));
        assert!(printed.err.contains("choose another file"), "{}", printed.err);
        let both = sample.ask(&[question, &["/no/such/directory/file", "--json"]].concat());
        assert!(both.status == 1 && both.err.contains("--json"), "{}", both.err);
    }
}
