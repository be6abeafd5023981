//! Shows two jobs compared.

use crate::answers::why::compare::{Compare, Parting};
use crate::answers::why::Competitor;
use crate::answers::About;
use crate::error::Error;
use crate::options::Printed;
use crate::output::numbers::{addend, number};
use crate::output::show::{close, optional, Paged, Show};
use crate::output::{Page, Table, Terminal};

impl Show for Compare {
    fn show(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<String, Error> {
        self.pages(about, printed, terminal).map(Page::finish)
    }
}

impl Paged for Compare {
    fn pages(&self, about: &About, _printed: &Printed, terminal: Terminal) -> Result<Page, Error> {
        let mut page = Page::new(terminal);
        page.headline(&self.sentence);
        if let Some(step) = self.step {
            page.paragraph(&format!("Decided by {}.", step.described()));
        }
        self.details.iter().for_each(|detail| page.paragraph(detail));
        if !self.addends.is_empty() {
            page.title("Their priorities");
            let mut table = Table::new(&["Addend", "First>", "Second>", "Difference>"]);
            table.row(vec!["Job".to_owned(), self.first.clone(), self.second.clone(), String::new()]);
            let (mut first, mut second) = (0.0, 0.0);
            for pair in &self.addends {
                (first, second) = (first + pair.first, second + pair.second);
                if pair.first != 0.0 || pair.second != 0.0 {
                    table.row(row(&pair.name, pair.first, pair.second));
                }
            }
            table.row(row("Sum", first, second));
            page.table(&table, true);
        }
        if let Some(Parting { above, first, second }) = &self.parting {
            page.title(&format!("Their fair-share parts below {above}"));
            let mut table = Table::new(&["Job", "Name", "S>", "U>", "LevelFS>", "Tickets>"]);
            table.row(branch(&self.first, first));
            table.row(branch(&self.second, second));
            page.table(&table.without_unknown(), true);
        }
        close(&mut page, about);
        Ok(page)
    }
}

fn row(name: &str, first: f64, second: f64) -> Vec<String> {
    vec![name.to_owned(), addend(first), addend(second), addend(first - second)]
}

pub(in crate::answers::why) fn branch(job: &str, branch: &Competitor) -> Vec<String> {
    let name = if branch.user.is_empty() { &branch.account } else { &branch.user };
    vec![
        job.to_owned(),
        name.clone(),
        number(branch.shares_norm),
        number(branch.usage_norm),
        optional(branch.level_fs),
        optional(branch.tickets),
    ]
}
