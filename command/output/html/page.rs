//! Builds one page.

use base64::prelude::{Engine, BASE64_STANDARD};
use maud::{html, Markup, PreEscaped, DOCTYPE};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::svg::Chart;
use super::{Shown, Table, COLOURS};
use crate::answers::About;
use crate::error::Error;
use crate::output::escape;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// A page that needs nothing from elsewhere.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    about: String,
    body: Vec<Markup>,
    style: String,
    data: String,
    /// So that ids are different.
    parts: usize,
}

impl Page {
    /// With its title, and in one line what it is about.
    pub fn new(title: &str, about: &str) -> Self {
        Self {
            title: title.to_owned(),
            about: about.to_owned(),
            body: Vec::new(),
            style: [COLOURS, STYLE].concat(),
            data: String::new(),
            parts: 0,
        }
    }

    /// Of an answer: with what it is about, and what is hidden or not known.
    pub fn of(title: &str, about: &About) -> Self {
        about
            .hidden
            .iter()
            .chain(&about.notes)
            .fold(Self::new(title, &about.in_words()), |page, note| page.warning(note))
    }

    fn with(mut self, markup: Markup) -> Self {
        self.body.push(markup);
        self.parts += 1;
        self
    }

    /// The one sentence that matters most.
    #[must_use]
    pub fn lead(self, text: &str) -> Self {
        self.with(html! { p.lead { (Shown(text)) } })
    }

    /// The title of what follows.
    #[must_use]
    pub fn section(self, title: &str) -> Self {
        self.with(html! { h2 { (Shown(title)) } })
    }

    /// Running text.
    #[must_use]
    pub fn paragraph(self, text: &str) -> Self {
        self.with(html! { p { (Shown(text)) } })
    }

    /// What a reader must know before believing the rest.
    #[must_use]
    pub fn warning(self, text: &str) -> Self {
        self.with(html! { p.warning { (Shown(text)) } })
    }

    /// A list, where there is anything in it.
    #[must_use]
    pub fn list<T: AsRef<str>>(self, items: &[T]) -> Self {
        if items.is_empty() {
            return self;
        }
        self.with(html! { ul { @for item in items { li { (Shown(item.as_ref())) } } } })
    }

    /// Single numbers with what they are.
    #[must_use]
    pub fn facts(self, facts: &[(&str, String)]) -> Self {
        self.with(html! { dl.facts { @for (name, value) in facts { div { dt { (Shown(name)) } dd { (Shown(value)) } } } } })
    }

    /// A table.
    #[must_use]
    pub fn table(mut self, table: &Table) -> Self {
        self.style += &table.style(self.parts);
        let markup = table.render(self.parts);
        self.with(markup)
    }

    /// A chart, with its title and what it shows above it.
    #[must_use]
    pub fn chart(self, chart: &Chart) -> Self {
        let svg = chart.inline(self.parts);
        self.with(
            html! { figure { figcaption { (Shown(&chart.title)) span { (Shown(&chart.desc)) } } (svg) } },
        )
    }

    /// The answer itself, so that a program that has the page has the numbers.
    ///
    /// # Errors
    /// It cannot be JSON.
    pub fn data(mut self, answer: &impl Serialize) -> Result<Self, Error> {
        self.data = escape::json_line(answer)
            .map_err(|error| Error::Output(format!("the answer cannot be written as JSON: {error}")))?;
        Ok(self)
    }

    /// The page as a file.
    pub fn finish(self) -> String {
        let policy = format!(
            "default-src 'none'; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
            hash(&self.style),
            hash(SCRIPT)
        );
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="referrer" content="no-referrer";
                    meta name="generator" content={ "multifactor2 " (env!("CARGO_PKG_VERSION")) };
                    title { (Shown(&self.title)) }
                    style { (PreEscaped(&self.style)) }
                }
                body {
                    a.skip href="#main" { "Skip to the answer" }
                    header {
                        h1 { (Shown(&self.title)) }
                        p.about { (Shown(&self.about)) }
                    }
                    main #main tabindex="-1" { @for part in &self.body { (part) } }
                    footer { p { "Made by multifactor2 " (env!("CARGO_PKG_VERSION")) ". This page loads nothing from anywhere." } }
                    @if !self.data.is_empty() {
                        script #data type="application/json" { (PreEscaped(&self.data)) }
                    }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        page.into_string() + "\n"
    }
}

/// How a policy names what is in the page.
fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text)))
}
