//! Parameters and settings as a table.

use super::{close, for_programs, Show};
use crate::answers::settings::Settings;
use crate::answers::About;
use crate::cli::Printed;
use crate::output::{Form, Page, Table, Terminal};

impl Show for Settings {
    fn show(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<String, String> {
        let mut table = Table::new(&["Name", "Value", "From"]);
        for row in self.settings.iter().flatten().chain(&self.parameters) {
            table.row(vec![row.name.clone(), row.value.clone(), row.from.clone()]);
        }
        let (table, text) = for_programs(table, printed, terminal)?;
        if let Some(text) = text {
            return Ok(text);
        }
        let mut page = Page::new(terminal);
        page.headline("What is in force on the controller, and where it was written.");
        page.ready("\n");
        page.ready(&table.show(Form::Columns, !printed.noheader, terminal));
        close(&mut page, about);
        Ok(page.finish())
    }
}
