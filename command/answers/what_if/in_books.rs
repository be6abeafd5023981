//! Usage of books in a changed snapshot.

use multifactor2_snapshot::records::BookAssociation;

use super::apply::Changed;

impl Changed {
    /// An association has no usage in any book.
    pub(super) fn take_from_books(&mut self, id: u32) {
        let of_it = self.snapshot.book_associations.iter_mut().filter(|one| one.association == id);
        of_it.for_each(|one| one.usage = 0.0);
    }

    /// What an association has in books is no part any more of what those above it have.
    pub(super) fn take_above_in_books(&mut self, at: usize) {
        let snapshot = &mut self.snapshot;
        let own: Vec<(String, f64)> = snapshot
            .book_associations
            .iter()
            .filter(|one| one.association == snapshot.associations[at].id)
            .map(|one| (one.book.clone(), one.usage))
            .collect();
        let mut parent = snapshot.associations[at].parent;
        for _ in 0..snapshot.associations.len() {
            let Some(above) = snapshot.associations.iter().find(|one| parent != 0 && one.id == parent) else {
                return;
            };
            for (book, usage) in &own {
                let of_it = |one: &&mut BookAssociation| one.association == above.id && one.book == *book;
                if let Some(one) = snapshot.book_associations.iter_mut().find(of_it) {
                    one.usage = (one.usage - usage).max(0.0);
                }
            }
            parent = above.parent;
        }
    }
}
