//! What is kept of associations besides the metric, in columns: the usage of all jobs for each TRES, then that of jobs in the partitions of
//! each book. A removed book stays after them until half of its usage has decayed, so that it goes on if it is added again.

use super::Recipe;

/// What a column is of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    /// The book; `None` for all jobs.
    pub book: Option<String>,
    /// `billing`, or a TRES.
    pub of: String,
    /// What is left, with decay, of what there was when its book was removed; 1 where it was not.
    pub left: f64,
}

/// What books are measured by where there are no TRES.
pub const BILLING: &str = "billing";

/// What is counted of a job, for all and for its book.
pub fn measures(recipe: &Recipe) -> Vec<&str> {
    if recipe.tres.is_empty() {
        vec![BILLING]
    } else {
        recipe.tres.iter().map(String::as_str).collect()
    }
}

/// The first column of a book, by its number among those of the recipe.
pub fn first_of(recipe: &Recipe, book: usize) -> usize {
    recipe.tres.len() + book * recipe.tres.len().max(1)
}

/// How many columns a recipe has.
pub fn count(recipe: &Recipe) -> usize {
    first_of(recipe, recipe.books.len())
}

/// The columns of a recipe.
pub(crate) fn of(recipe: &Recipe) -> Vec<Column> {
    let column =
        |book: Option<&String>, of: &str| Column { book: book.cloned(), of: of.to_owned(), left: 1.0 };
    let all = recipe.tres.iter().map(|name| column(None, name));
    let of_books = recipe
        .books
        .iter()
        .flat_map(|book| measures(recipe).into_iter().map(move |of| column(Some(book), of)));
    all.chain(of_books).collect()
}

/// The columns where those of a recipe take the place of others, and where each was before. Those of books that are no more follow.
pub(super) fn replaced(before: &[Column], recipe: &Recipe) -> (Vec<Column>, Vec<Option<usize>>) {
    let mut columns = of(recipe);
    let same = |a: &Column, b: &Column| (&a.book, &a.of) == (&b.book, &b.of);
    let mut places: Vec<Option<usize>> =
        columns.iter().map(|column| before.iter().position(|known| same(known, column))).collect();
    for (at, column) in before.iter().enumerate() {
        if column.book.as_ref().is_some_and(|book| !recipe.books.contains(book)) {
            columns.push(column.clone());
            places.push(Some(at));
        }
    }
    (columns, places)
}

/// Amounts by column, where these are now the ones that were at such places. New ones are 0.
pub(super) fn rearrange(amounts: &mut Vec<f64>, places: &[Option<usize>]) {
    if !amounts.is_empty() {
        let at = |place: &Option<usize>| place.and_then(|at| amounts.get(at).copied()).unwrap_or(0.0);
        *amounts = places.iter().map(at).collect();
    }
}
