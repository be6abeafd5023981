//! The engine of `priority/multifactor2`: shares, tickets, decay, usage charges, priorities, and the plugin's settings.
//!
//! Everything here works on plain values and knows nothing of Slurm's records, locks or log. So the plugin, the command, the fuzzers and
//! the benchmarks all link it, and it runs without a cluster. Whatever the input, the arithmetic never panics, loops for ever, or returns
//! NaN or an infinity. In a cycle it allocates nothing once its buffers have grown to the size of the site.
//!
//! **Shares, tickets, fair-share.** Two accounts have 60 and 40 shares; the first has used 3/4 of all. Tickets are proportional to S·F,
//! where F is S over the account's part of the usage:
//!
//! ```
//! use multifactor2_core::{FairShare, NodeSpec, ShareTree};
//!
//! let root = NodeSpec { parent: None, shares: 1, user: false };
//! let account = |shares| NodeSpec { parent: Some(0), shares, user: false };
//! let user = |account| NodeSpec { parent: Some(account), shares: 1, user: true };
//! let tree = ShareTree::build(&[root, account(60), account(40), user(1), user(2)]);
//! let [alice, bob] = [3, 4].map(|at| tree.position(at).unwrap());
//!
//! // Usage and waiting jobs by the places in the tree.
//! let (mut usage, mut waiting) = (vec![0.0; tree.len()], vec![0; tree.len()]);
//! for (at, used) in [(0, 100.0), (1, 75.0), (2, 25.0), (3, 75.0), (4, 25.0)] {
//!     usage[tree.position(at).unwrap().index()] = used;
//! }
//! waiting[alice.index()] = 1;
//! waiting[bob.index()] = 1;
//!
//! let mut fair_share = FairShare::new();
//! fair_share.distribute(&tree, &usage, &waiting);
//! // 0.6 · 0.6/0.75 = 0.48 and 0.4 · 0.4/0.25 = 0.64: bob is the best.
//! assert_eq!(fair_share.priority(bob), 1.0);
//! assert!((fair_share.priority(alice) - 0.75).abs() < 1e-12);
//! ```
//!
//! **Points.** The priority function of Maui, configured by lines of `multifactor2.conf`:
//!
//! ```
//! use multifactor2_core::policy::points::{Points, PointsJob};
//! use multifactor2_core::settings::Settings;
//!
//! let lines = "PointsWeight=1\nComponent=SERV Weight=2 QueueTime=1";
//! let points = Points::configured(&Settings::parse(lines, "example").unwrap().settings).unwrap();
//! // Two points for each minute that it has waited.
//! let job = PointsJob { wait: 1800.0, ..PointsJob::default() };
//! assert_eq!(points.value(&job), 60);
//! ```
//!
//! **A charge.** `Charge` lines say by how much usage of some jobs counts more or less:
//!
//! ```
//! use multifactor2_core::rules::charge_rules::ChargeRules;
//! use multifactor2_core::settings::Settings;
//!
//! let lines = "Charge=QOS Name=night Factor=0.5";
//! let rules = ChargeRules::of(&Settings::parse(lines, "example").unwrap().settings);
//! assert_eq!(rules.qos.of("night").usage, 0.5);
//! assert_eq!(rules.qos.of("normal").usage, 1.0);
//! ```

#![forbid(unsafe_code)]
// What says `pub` can be used by other crates.
#![warn(unreachable_pub)]

pub mod books;
pub mod calendar;
pub mod competition;
pub mod decay;
pub mod evaluator;
pub mod factors;
pub mod facts;
pub mod policy;
pub mod rules;
pub mod seldom;
pub mod settings;
pub mod ties;
pub mod tree;

pub use policy::FairShare;
pub use tree::{Node, NodeSpec, ShareTree, USE_PARENT};
