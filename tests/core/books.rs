//! Books: shares, usage and tickets of each, against their definition; their usage in our own sums, exactly once.

use std::sync::Arc;

use multifactor2_core::books::{BookAt, BookLines, BookSet, Books};
use multifactor2_core::settings::Settings;
use multifactor2_core::{FairShare, Node, NodeSpec, ShareTree, USE_PARENT};
use multifactor2_fixtures::assert_near;
use multifactor2_fixtures::books_model::{below, in_book, Account};
use proptest::prelude::*;

fn settings(text: &str) -> Settings {
    Settings::parse(text, "f").unwrap_or_else(|errors| panic!("{errors}")).settings
}

fn account(parent: usize, name: &str, shares: u32) -> Account {
    let (own, waiting) = (vec![0.0; 4], vec![false; 4]);
    Account { parent: Some(parent), shares: Some(shares), name: name.to_owned(), own, waiting }
}

fn tree_of(all: &[Account]) -> Arc<ShareTree> {
    let node = |account: &Account| NodeSpec {
        parent: account.parent.map(|at| u32::try_from(at).unwrap()),
        shares: account.shares.unwrap_or(USE_PARENT),
        user: account.name.is_empty(),
    };
    Arc::new(ShareTree::build(&all.iter().map(node).collect::<Vec<_>>()))
}

fn place(tree: &ShareTree, at: usize) -> Node {
    tree.position(at).unwrap()
}

/// All books of a list, distributed by the usage of each.
fn distributed(all: &[Account], settings: &Settings) -> Books {
    let (lines, tree) = (BookLines::of(settings), tree_of(all));
    let mut books = Books::default();
    books.configure(settings);
    let mut names = vec![None; all.len()];
    for (at, account) in all.iter().enumerate().filter(|(_, account)| !account.name.is_empty()) {
        names[place(&tree, at).index()] = Some(account.name.as_str());
    }
    books.plant(&tree, &lines, |node| names[node.index()]);
    books.clear_waiting();
    let count = lines.names().len() + 1;
    let mut usage = vec![vec![0.0; all.len()]; count];
    let at: Vec<BookAt> = BookSet::from_numbers(0..count).iter().collect();
    for (index, account) in all.iter().enumerate() {
        let node = place(&tree, index);
        for book in 0..count {
            if account.waiting[book] {
                books.note_waiting(node, BookSet::one(at[book]));
            }
            usage[book][node.index()] = below(all, index).iter().map(|at| all[*at].own[book]).sum();
        }
    }
    books.distribute(|book| &usage[book.index()]);
    books
}

/// Partition 1 is shared by engineering and research, all may use 2, and 3 is for research and sales.
#[test]
fn moabs_example() {
    let settings = settings(
        "Book=one Partitions=p1 Shares=engineering:3,research:1\n\
         Book=two Partitions=p2 Shares=engineering:50,research:25,sales:15,*:10\n\
         Book=three Partitions=p3 Shares=research:1,sales:1",
    );
    let user = |parent: usize| Account { waiting: vec![true; 4], ..account(parent, "", 1) };
    let root = Account { parent: None, ..account(0, "root", 1) };
    let mut all = vec![root];
    all.extend(["engineering", "research", "sales", "admin"].map(|name| account(0, name, 1)));
    all.extend((1..5).map(user));
    let books = distributed(&all, &settings);
    let book = BookLines::of(&settings);
    for (partition, shares, factors) in [
        ("p0", [0.25; 4], [1.0; 4]),
        ("p1", [0.75, 0.25, 0.0, 0.0], [1.0, 1.0 / 3.0, 0.0, 0.0]),
        ("p2", [0.5, 0.25, 0.15, 0.1], [1.0, 0.5, 0.3, 0.2]),
        ("p3", [0.0, 0.5, 0.5, 0.0], [0.0, 1.0, 1.0, 0.0]),
    ] {
        let book = books.get(book.of_partition(partition));
        for at in 0..4 {
            assert_near(book.tree.shares_norm(place(&book.tree, 1 + at)), shares[at], partition);
            assert_near(book.fair_share.priority(place(&book.tree, 5 + at)), factors[at], partition);
        }
    }
    assert_eq!(book.of_partition("P1"), BookAt::DEFAULT, "names of partitions are exact");
    assert_eq!((book.name(book.of_partition("p3")), book.name(BookAt::DEFAULT)), ("three", "default"));
}

#[test]
fn shares_are_for_levels_with_a_named_account() {
    let lines = "Book=g Partitions=p Shares=b:2,c1:5,nobody:7,*:1";
    let root = Account { parent: None, ..account(0, "root", 1) };
    // Beside b are a, with users of its own, and a user of the root; beside c1 is c2, in c, which is beside b.
    let parent = Account { shares: None, ..account(6, "", 1) };
    let all = [
        root,
        account(0, "a", 8),
        account(0, "b", 8),
        account(0, "", 8),
        account(0, "c", 8),
        account(4, "c1", 8),
        account(4, "c2", 9),
        account(1, "", 3),
        parent,
    ];
    let books = distributed(&all, &settings(lines));
    let tree = &books.get(BookLines::of(&settings(lines)).of_partition("p")).tree;
    let shares: Vec<u32> = (0..all.len()).map(|at| tree.shares(place(tree, at))).collect();
    assert_eq!(shares, [1, 1, 2, 1, 1, 5, 1, 3, USE_PARENT]);
    let none = distributed(&all, &settings("Book=g Partitions=p Shares=nobody:7,*:1"));
    let tree = &none.get(BookLines::of(&settings(lines)).of_partition("p")).tree;
    assert_eq!((1..8).map(|at| tree.shares(place(tree, at))).collect::<Vec<_>>(), [8, 8, 8, 8, 8, 9, 3]);
}

#[test]
fn without_lines_there_is_what_there_was() {
    let root = Account { parent: None, ..account(0, "root", 1) };
    let mut all = vec![root, account(0, "a", 2), account(0, "b", 1)];
    all.extend((0..6).map(|at: u32| {
        let own = vec![f64::from(at * at) * 7.1, 0.0, 0.0, 0.0];
        Account {
            own,
            waiting: vec![at % 3 > 0, false, false, false],
            ..account(1 + at as usize % 2, "", at)
        }
    }));
    let books = distributed(&all, &Settings::default());
    assert!(books.iter().count() == 1 && BookLines::of(&Settings::default()).is_empty());
    let tree = tree_of(&all);
    let (mut usage, mut waiting) = (vec![0.0; all.len()], vec![0; all.len()]);
    for at in 0..all.len() {
        let node = place(&tree, at).index();
        usage[node] = below(&all, at).iter().map(|at| all[*at].own[0]).sum();
        waiting[node] = u32::from(all[at].waiting[0]);
    }
    let mut fair_share = FairShare::new();
    fair_share.distribute(&tree, &usage, &waiting);
    let book = books.get(BookAt::DEFAULT);
    for node in tree.nodes() {
        assert_eq!(book.fair_share.priority(node).to_bits(), fair_share.priority(node).to_bits());
        assert_eq!(book.fair_share.tickets(node).to_bits(), fair_share.tickets(node).to_bits());
    }
}

/// Lists with the root first, four books, and the own shares of the last.
fn lists() -> impl Strategy<Value = (Vec<Account>, Vec<u32>, Option<u32>)> {
    let one = (
        any::<prop::sample::Index>(),
        0..5_u32,
        any::<bool>(),
        [0.0..1e6_f64, 0.0..1e6, 0.0..10.0, 0.0..1.0],
    );
    let list = prop::collection::vec((one, prop::array::uniform4(any::<bool>())), 1..24);
    let list = list.prop_map(|rows| {
        let mut all = vec![Account { parent: None, ..account(0, "root", 1) }];
        for ((index, shares, user, own), waiting) in rows {
            let accounts: Vec<usize> = (0..all.len()).filter(|at| !all[*at].name.is_empty()).collect();
            let name = if user { String::new() } else { format!("a{}", all.len()) };
            let own = if user { own.to_vec() } else { vec![0.0; 4] };
            // Some draw on their parents.
            let shares = Some(shares).filter(|shares| *shares < 4);
            let waiting = waiting.iter().map(|waits| *waits && user).collect();
            all.push(Account {
                parent: Some(accounts[index.index(accounts.len())]),
                shares,
                name,
                own,
                waiting,
            });
        }
        all
    });
    (list, prop::collection::vec(0..4_u32, 24), prop_oneof![Just(None), (0..3_u32).prop_map(Some)])
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    #[test]
    fn each_book_is_as_defined((all, own, others) in lists()) {
        // Every second or third account has shares of the book's own.
        let named: Vec<(String, u32)> =
            (1..all.len()).filter(|at| !all[*at].name.is_empty() && at % 3 < 2).map(|at| (all[at].name.clone(), own[at])).collect();
        let mut list: Vec<String> = named.iter().map(|(name, shares)| format!("{name}:{shares}")).collect();
        let mut of_book: Vec<(&str, u32)> = named.iter().map(|(name, shares)| (name.as_str(), *shares)).collect();
        if let Some(others) = others.filter(|_| !list.is_empty()) {
            list.push(format!("*:{others}"));
            of_book.push(("*", others));
        }
        let shares = if list.is_empty() { String::new() } else { format!(" Shares={}", list.join(",")) };
        let text = format!("Book=b1 Partitions=p1\nBook=b2 Partitions=p2\nBook=b3 Partitions=p3{shares}");
        let settings = settings(&text);
        let books = distributed(&all, &settings);
        let lines = BookLines::of(&settings);
        for book in 0..4 {
            let shares = (book == 3 && !of_book.is_empty()).then_some(&of_book[..]);
            let due = in_book(&all, book, shares);
            let found = books.get(lines.of_partition(&format!("p{book}")));
            for at in 0..all.len() {
                let node = place(&found.tree, at);
                assert_near(found.tree.shares_norm(node), due[at].s, "S");
                assert_near(found.fair_share.competition().usage_norm(node), due[at].u, "U");
                if all[at].name.is_empty() {
                    assert_near(found.fair_share.priority(node), due[at].factor, "factor");
                }
            }
        }
    }
}
