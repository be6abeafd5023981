//! The pictures of pages in the documentation: what the browser shows, by day and by night. `make screenshots` writes them. Fonts differ
//! between machines, so a test compares no pixels: it looks that each page opens and that each picture is there.

use std::fs;

use multifactor2_fixtures::project::{is_writing, top};

use super::driver::Browser;
use super::{example, replay};

#[test]
fn screenshots_of_the_pages_are_there() {
    let Some(browser) = Browser::start("browser") else { return };
    let pages = [("tree", example(&["tree"])), ("replay", replay::page())];
    for (name, page) in &pages {
        browser.size(1000, false);
        browser.open(&page.path());
        for scheme in ["light", "dark"] {
            browser.scheme(scheme);
            let file = top().join(format!("docs/figures/{name}-{scheme}.png"));
            let shot = browser.screenshot();
            if is_writing() {
                fs::write(&file, &shot).unwrap();
            }
            for png in [shot, fs::read(&file).unwrap()] {
                assert!(
                    png.starts_with(b"\x89PNG") && png.len() > 10_000,
                    "{}: run 'make screenshots'",
                    file.display()
                );
            }
        }
    }
}
