//! Makes the plugin believe something false, for tests only: they see that its checks notice before anything is written.
//!
//! | variable | effect |
//! |---|---|
//! | `MULTIFACTOR2_TEST_LAYOUT=24.11.1` | the layout of that group of releases |
//! | `MULTIFACTOR2_TEST_LAYOUT=23.02.0:part` | only that group's partition record (`job`, `part`) |
//! | `MULTIFACTOR2_TEST_RELEASE=32.05.0` | the release that runs |
//! | `MULTIFACTOR2_TEST_MISSING=find_part_record` | the host has no such symbol |

use std::env;
use std::ffi::CStr;

use super::layout::{Layout, Release, LAYOUTS};

/// The layout to be used instead.
pub fn layout(right: &'static Layout) -> &'static Layout {
    let Ok(wish) = env::var("MULTIFACTOR2_TEST_LAYOUT") else { return right };
    let (group, record) = wish.split_once(':').unwrap_or((&wish, ""));
    let group = parse(group);
    let Some(wrong) = LAYOUTS.iter().find(|layout| Some(Release(layout.group.first)) == group) else {
        return right;
    };
    match record {
        "job" => Box::leak(Box::new(Layout { job: wrong.job, ..*right })),
        "part" => Box::leak(Box::new(Layout { part: wrong.part, ..*right })),
        _ => wrong,
    }
}

/// The release to be seen instead.
pub fn release() -> Option<Release> {
    parse(&env::var("MULTIFACTOR2_TEST_RELEASE").ok()?)
}

/// Whether a symbol is to be missing.
pub fn is_missing(name: &CStr) -> bool {
    env::var("MULTIFACTOR2_TEST_MISSING").is_ok_and(|missing| missing.as_bytes() == name.to_bytes())
}

fn parse(text: &str) -> Option<Release> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    Some(Release::new(parts.next()??, parts.next()??, parts.next()??))
}
