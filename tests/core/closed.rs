//! Hindered jobs compete among themselves, by partition: nobody else notices, and none of them gains by it.

use std::sync::Arc;

use multifactor2_core::books::{BookAt, BookLines, BookSet, Books, ClosedPartitions};
use multifactor2_core::settings::Settings;
use multifactor2_core::{FairShare, Node, ShareTree};
use multifactor2_fixtures::model::Association;
use multifactor2_fixtures::seed;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::random::{any_shares, near, trees, Engine};

/// The books of a tree where these wait in an open partition, and those before closed doors.
fn distributed(tree: &Arc<ShareTree>, usage: &[f64], open: &[Node], closed: &[Node]) -> (Books, BookAt) {
    let mut books = Books::default();
    books.configure(&Settings::default());
    books.plant(tree, &BookLines::default(), |_| None);
    let mut partitions = ClosedPartitions::default();
    let book = partitions.add("p", BookAt::DEFAULT, true);
    if closed.is_empty() {
        partitions = ClosedPartitions::default();
    }
    books.close(&partitions);
    books.clear_waiting();
    for node in open {
        books.note_waiting(*node, BookSet::DEFAULT);
    }
    for node in closed {
        books.note_waiting(*node, BookSet::one(book));
    }
    books.distribute(|_| usage);
    (books, book)
}

fn bits(fair_share: &FairShare, tree: &ShareTree) -> Vec<(u64, u64)> {
    tree.nodes()
        .map(|node| (fair_share.tickets(node).to_bits(), fair_share.priority(node).to_bits()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(seed()), ..ProptestConfig::default() })]

    #[test]
    fn who_can_start_does_not_notice_who_cannot(
        associations in trees(1..40, any_shares()),
        hindered in vec(prop::bool::weighted(0.4), 40),
    ) {
        let (engine, nodes) = Engine::run(&associations);
        let tree = Arc::new(engine.tree);
        let mut usage = vec![0.0; tree.len()];
        for (association, node) in associations.iter().zip(&nodes) {
            usage[node.index()] = association.usage;
        }
        let users = |waits: &dyn Fn(usize, &Association) -> bool| -> Vec<Node> {
            let all = associations.iter().enumerate().filter(|(at, one)| one.user && waits(*at, one));
            all.map(|(at, _)| nodes[at]).collect()
        };
        let (open, closed) = (users(&|_, one| one.waiting), users(&|at, _| hindered[at]));
        let (with, book) = distributed(&tree, &usage, &open, &closed);
        let (without, _) = distributed(&tree, &usage, &open, &[]);
        let in_default = |books: &Books| bits(&books.get(BookAt::DEFAULT).fair_share, &tree);
        prop_assert_eq!(in_default(&with), in_default(&without));

        // Those who cannot: as if they were alone, on the scale of who can.
        let (alone, _) = distributed(&tree, &usage, &closed, &[]);
        let (alone, among) = (&alone.get(BookAt::DEFAULT).fair_share, &with.get(book).fair_share);
        let open_to = &with.get(BookAt::DEFAULT).fair_share;
        let best = closed.iter().map(|node| open_to.priority(*node)).fold(0.0, f64::max);
        for node in &closed {
            prop_assert_eq!(among.tickets(*node).to_bits(), alone.tickets(*node).to_bits());
            let expected = if best > 0.0 { alone.priority(*node) * best } else { alone.priority(*node) };
            prop_assert!(near(among.priority(*node), expected), "{} {}", among.priority(*node), expected);
        }
        if open.is_empty() {
            prop_assert_eq!(bits(among, &tree), bits(alone, &tree));
        }
    }
}

#[test]
fn the_32nd_closed_partition_and_all_behind_it_share_a_competition() {
    let mut closed = ClosedPartitions::default();
    let books: Vec<BookAt> =
        (0..100).map(|at| closed.add(&format!("p{at}"), BookAt::DEFAULT, at % 2 == 0)).collect();
    let own = BookSet::from_numbers([]);
    let own = books[..32].iter().fold(own, |own, book| own.and(BookSet::one(*book)));
    assert_eq!((own.iter().count(), closed.iter().count()), (32, 32));
    assert!(books[31..].iter().all(|book| *book == books[31]) && !own.has(BookAt::DEFAULT));
    for (at, book) in books.iter().enumerate() {
        let name = format!("p{at}");
        assert_eq!(closed.find(&name), Some(*book));
        assert_eq!(closed.find_down(&name), (at % 2 == 0).then_some(*book), "{name}");
        assert_eq!(closed.add(&name, BookAt::DEFAULT, false), *book, "it is known");
    }
    assert_eq!((closed.find("P1"), closed.find_down("q")), (None, None));
}

#[test]
fn a_closed_partition_goes_by_the_shares_and_usage_of_its_book() {
    let settings = "Book=gpu Partitions=p Shares=b:3,*:1";
    let settings = Settings::parse(settings, "f").unwrap_or_else(|errors| panic!("{errors}")).settings;
    let node = |parent, shares, user| multifactor2_core::NodeSpec { parent, shares, user };
    let specs = [
        node(None, 1, false),
        node(Some(0), 1, false),
        node(Some(0), 1, false),
        node(Some(1), 1, true),
        node(Some(2), 1, true),
    ];
    let tree = Arc::new(ShareTree::build(&specs));
    let place = |at| tree.position(at).unwrap();
    let lines = BookLines::of(&settings);
    let names = |node: Node| [(1, "a"), (2, "b")].into_iter().find(|(at, _)| place(*at) == node);
    let mut books = Books::default();
    books.configure(&settings);
    books.plant(&tree, &lines, |node| names(node).map(|(_, name)| name));
    let gpu = lines.of_partition("p");
    let mut closed = ClosedPartitions::default();
    let book = closed.add("p", gpu, true);
    assert_eq!((closed.of(book), closed.of(gpu), closed.of(BookAt::DEFAULT)), (gpu, gpu, BookAt::DEFAULT));
    books.close(&closed);
    books.clear_waiting();
    for user in [3, 4] {
        books.note_waiting(place(user), BookSet::one(book));
    }
    let (mut cpu, mut of_gpu) = (vec![0.0; 5], vec![0.0; 5]);
    for (usage, used) in [(&mut cpu, [9.0, 1.0]), (&mut of_gpu, [5.0, 5.0])] {
        for ((account, user), used) in [(1, 3), (2, 4)].into_iter().zip(used) {
            usage[place(account).index()] = used;
            usage[place(user).index()] = used;
        }
        usage[place(0).index()] = 10.0;
    }
    books.distribute(|at| if at == gpu { &of_gpu } else { &cpu });
    let fair_share = &books.get(book).fair_share;
    // S is 1/4 and 3/4, U is a half: tickets go as S·S/U.
    assert!(near(fair_share.priority(place(3)), 1.0 / 9.0), "{}", fair_share.priority(place(3)));
    assert!(near(fair_share.priority(place(4)), 1.0));
    assert_eq!(books.waiting_of(place(3)), BookSet::one(book));
}
