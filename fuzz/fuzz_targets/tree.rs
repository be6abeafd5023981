//! Trees of any shape with any numbers: cycles, orphans, chains of thousands of levels, NaN, infinities.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use multifactor2_core::settings::Settings;
use multifactor2_core::{FairShare, NodeSpec, ShareTree, USE_PARENT};

#[derive(Arbitrary, Debug)]
enum Parent {
    None,
    Before,
    Itself,
    Any(u16),
    Outside(u32),
}

#[derive(Arbitrary, Debug)]
enum Shares {
    Zero,
    One,
    Parent,
    Most,
    Any(u32),
}

#[derive(Arbitrary, Debug)]
struct Association {
    parent: Parent,
    shares: Shares,
    user: bool,
    usage: f64,
    waiting: u8,
}

#[derive(Arbitrary, Debug)]
struct Input {
    /// Associations one below the other, put before the others.
    chain: u16,
    /// Which settings.
    rule: u8,
    associations: Vec<Association>,
}

fuzz_target!(|input: Input| {
    // Few are long: they cost a hundred times as much as the others.
    let chain = u32::from(input.chain) % if input.chain % 64 == 0 { 20_000 } else { 16 };
    let mut specs: Vec<NodeSpec> = (0..chain)
        .map(|at| NodeSpec { parent: at.checked_sub(1), shares: 1 + at % 7, user: at + 1 == chain })
        .collect();
    let mut usage = vec![1.0; specs.len()];
    let mut waiting = vec![1; specs.len()];
    for association in &input.associations {
        let at = specs.len() as u32;
        specs.push(NodeSpec {
            parent: match association.parent {
                Parent::None => None,
                Parent::Before => Some(at.saturating_sub(1)),
                Parent::Itself => Some(at),
                Parent::Any(index) => Some(u32::from(index)),
                Parent::Outside(index) => Some(index),
            },
            shares: match association.shares {
                Shares::Zero => 0,
                Shares::One => 1,
                Shares::Parent => USE_PARENT,
                Shares::Most => u32::MAX - 1,
                Shares::Any(shares) => shares,
            },
            user: association.user,
        });
        usage.push(association.usage);
        waiting.push(u32::from(association.waiting));
    }
    let tree = ShareTree::build(&specs);
    assert!(tree.len() <= specs.len());
    let mut by_node = (vec![0.0; tree.len()], vec![0; tree.len()]);
    for at in 0..specs.len() {
        if let Some(node) = tree.position(at) {
            by_node.0[node.index()] = usage[at];
            by_node.1[node.index()] = waiting[at];
        }
    }
    let rule = usize::from(input.rule);
    let text = format!(
        "Distribution={}\nFairShareScale={}\nParentUsers={}",
        ["tickets", "standing", "strict"][rule % 3],
        ["linear", "log"][rule / 3 % 2],
        ["each", "split"][rule / 6 % 2]
    );
    let mut fair_share = FairShare::new();
    fair_share.configure(&Settings::parse(&text, "input").unwrap().settings);
    // The second time with what the first has left in the buffers.
    for _ in 0..2 {
        fair_share.distribute(&tree, &by_node.0, &by_node.1);
    }
    let mut handed_down = vec![0.0; tree.len()];
    let mut best = 0.0_f64;
    for node in tree.nodes() {
        let unit = 0.0..=1.0;
        assert!(unit.contains(&tree.shares_norm(node)), "S {}", tree.shares_norm(node));
        assert!(unit.contains(&fair_share.competition().usage_norm(node)));
        assert!(unit.contains(&fair_share.competition().usage_effective(&tree, node)));
        assert!(
            unit.contains(&fair_share.level_share(&tree, node)),
            "{}",
            fair_share.level_share(&tree, node)
        );
        assert!((0.0..=100.000_001).contains(&fair_share.competition().level_fs(&tree, node)));
        assert!(unit.contains(&fair_share.priority(node)), "{}", fair_share.priority(node));
        assert!(fair_share.tickets(node).is_finite() && fair_share.tickets(node) >= 0.0);
        if fair_share.competition().is_active(node) {
            if tree.is_user(node) {
                best = best.max(fair_share.priority(node));
            }
            if let Some(parent) = tree.fair_share_parent(node).filter(|_| !tree.uses_parent(node)) {
                handed_down[parent.index()] += fair_share.tickets(node);
            }
        }
    }
    if fair_share.max_tickets() > 0.0 {
        assert_eq!(best, 1.0);
    }
    // Whoever comes now.
    for node in tree.nodes().filter(|node| tree.is_user(*node)) {
        assert!((0.0..=1.0).contains(&fair_share.submit(&tree, node, true)));
    }
    // The other rules do not divide what there is.
    for node in tree.nodes().filter(|_| rule % 3 == 0) {
        let tickets = fair_share.tickets(node);
        assert!(handed_down[node.index()] <= tickets * (1.0 + 1e-9) + 1e-9, "more handed down than there is");
    }
});
