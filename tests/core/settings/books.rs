//! `Book` lines: what they may say.

use std::path::Path;

use multifactor2_core::settings::Settings;

fn read(text: &str) -> Settings {
    let loaded = Settings::parse(text, "f").unwrap_or_else(|errors| panic!("{text}: {errors}"));
    assert!(loaded.warnings.is_empty(), "{text}: {:?}", loaded.warnings);
    let lines = loaded.settings.books.iter().map(|book| format!("Book={book}\n"));
    let again = Settings::parse(&lines.collect::<String>(), "f").expect("as it was written").settings;
    assert_eq!(again.books.len(), loaded.settings.books.len());
    loaded.settings
}

#[test]
fn a_book_has_partitions_and_perhaps_shares() {
    let settings = read(
        "Book=gpu Partitions=gpu,gpu-long\nBook=h100 Partitions=H100 Shares=\"*:0, Chem:3,bio:2147483646\"",
    );
    let [gpu, h100] = &settings.books[..] else { panic!("{:?}", settings.books) };
    assert_eq!(
        (gpu.name.as_str(), &gpu.partitions[..]),
        ("gpu", &["gpu".to_owned(), "gpu-long".to_owned()][..])
    );
    assert_eq!(gpu.shares_of_accounts(), None);
    let shares =
        [("chem", 3), ("bio", 2_147_483_646), ("*", 0)].map(|(name, shares)| (name.to_owned(), shares));
    assert_eq!(h100.shares_of_accounts(), Some(shares.to_vec()));
    assert!(Settings::default().books.is_empty());
}

#[test]
fn what_is_wrong_is_said_with_line_and_value() {
    for (text, said) in [
        ("Book=gpu", "f line 2: Book=gpu: Partitions is missing"),
        ("Book= Partitions=a", "a name of at most 64 letters"),
        ("Book=default Partitions=a", "other than default"),
        ("Book=a,b Partitions=a", "a name of at most 64 letters"),
        ("Book=g Partitions=a,a", "names separated by commas, each once"),
        ("Book=g Partitions=a Book=h Partitions=b", "Book=h: unknown key"),
        (
            "Book=g Partitions=a\nBook=G Partitions=b",
            "f line 3: Book=G: f line 2 has a book of this name, too",
        ),
        (
            "Book=g Partitions=a,b\nBook=h Partitions=c,b",
            "f line 3: Partitions=b: a partition can be in one book only, and f line 2 has it in g, too",
        ),
        ("Book=g Partitions=a Shares=", "Shares: a value is missing"),
        ("Book=g Partitions=a Shares=x", "whole number from 0 to 2147483646"),
        ("Book=g Partitions=a Shares=chem", "Shares=chem"),
        ("Book=g Partitions=a Shares=chem:1,CHEM:2", "each account once"),
        ("Book=g Partitions=a Shares=chem:-1", "Shares=chem:-1"),
        ("Book=g Partitions=a Shares=chem:+1", "Shares=chem:+1"),
        ("Book=g Partitions=a Shares=chem:1.5", "Shares=chem:1.5"),
        ("Book=g Partitions=a Shares=chem:2147483647", "Shares=chem:2147483647"),
        ("Book=g Partitions=a Shares=*:1", "Shares=*:1"),
        ("Book=g Partitions=a Share=chem:1", "did you mean Shares?"),
    ] {
        let errors = Settings::parse(&format!("\n{text}"), "f").expect_err(text).to_string();
        assert!(errors.contains(said), "{text}: {errors}");
    }
    let line = |at: usize| format!("Book=b{at} Partitions=p{at}");
    let lines = |count: usize| {
        (0..count).map(line).collect::<Vec<_>>().join(
            "
",
        )
    };
    assert_eq!(read(&lines(31)).books.len(), 31);
    let errors = Settings::parse(&lines(33), "f").unwrap_err().to_string();
    assert!(errors.contains("f line 32: Book=b31: at most 31 books are allowed"), "{errors}");
    let errors = Settings::load(Some("Book=gpu"), Path::new("/nonexistent")).unwrap_err().to_string();
    assert!(errors.contains("allowed in multifactor2.conf only"), "{errors}");
}
