//! What each measure means, where it comes from, and in which direction it is better.

use schemars::JsonSchema;
use serde::Serialize;

/// A measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Definition {
    /// What it is called.
    pub measure: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// Where it is described; empty if it needs no source.
    pub source: &'static str,
}

/// What the measures are made of, and what else a report has; [`super::measures::definitions`] has the others.
pub const WORDS: [Definition; 15] = [
    Definition { measure: "wait", meaning: "start − Eligible of sacct, in seconds", source: "" },
    Definition {
        measure: "time before",
        meaning: "Eligible − Submit of sacct, in seconds: begin times, dependencies and holds. It is replayed as it was recorded, so no policy changes it",
        source: "",
    },
    Definition { measure: "flow", meaning: "end − submission, in seconds", source: "" },
    Definition {
        measure: "bounded slowdown",
        meaning: "max(1, (wait + run) / max(10 s, run)): how many times longer a job takes than it runs",
        source: "Feitelson and others, JSSPP 1997",
    },
    Definition {
        measure: "normalised wait",
        meaning: "the sum of a user's waits over the sum of its CPUs times run times; its spread over users says how evenly they are treated",
        source: "Klusáček and Rudová, 2013",
    },
    Definition {
        measure: "share",
        meaning: "the part of the machine that an account is configured to have: its part of the shares among its siblings, times that of the account above",
        source: "NormShares of sshare",
    },
    Definition {
        measure: "usage",
        meaning: "CPU seconds that an account had in contended time, in parts of what all had. Over time: usage that decays by the half-life, in parts of all. Charge rules, minimums and books change who is next, not this number",
        source: "",
    },
    Definition {
        measure: "entitled",
        meaning: "what an account would have had if everything had been divided by shares among those who wanted some: x = min(demand, λ · shares) at each level of the tree, so that what an idle account leaves goes to its siblings",
        source: "water-filling",
    },
    Definition {
        measure: "share error",
        meaning: "½ Σ |decayed usage in parts of all − share| over the accounts below the root: 0 is as configured, 1 is as far away as possible",
        source: "",
    },
    Definition {
        measure: "shortfall",
        meaning: "Σ max(0, entitled − had) over users, in parts of what was used: 0 is fair. Unlike the share error it does not count idle accounts as cheated",
        source: "",
    },
    Definition {
        measure: "Jain's index",
        meaning: "(Σ r)² / (n Σ r²) over users, where r = had / entitled: 1 if all got the same part of what they were entitled \
         to, 1/n if one got everything",
        source: "Jain, Chiu, Hawe, 1984",
    },
    Definition {
        measure: "unfairness",
        meaning: "max(0, start − fair start) of a job, in seconds: its fair start is when it would start if nothing had been \
         submitted after it. On a sample of jobs (--fair-start), because each takes a replay",
        source: "Sabin, Kochhar, Sadayappan, ICPP 2004",
    },
    Definition {
        measure: "order inversions",
        meaning: "pairs of jobs that started one right after the other under the first policy and start in the other order under the second, in parts of all such pairs",
        source: "",
    },
    Definition {
        measure: "gaming gain",
        meaning: "CPU seconds of a user who games the policy, divided by those of an honest twin with the same work, account and \
         shares, while both have jobs waiting: 1 is no gain",
        source: "",
    },
    Definition {
        measure: "gain by entitlement",
        meaning: "service relative to entitlement of a user who games the policy, divided by that of its twin: a second account \
         entitles a user to more, which is no gain",
        source: "",
    },
];
