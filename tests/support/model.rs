//! The definition of shares and tickets, written down as slowly and literally as possible: the yardstick
//! for the engine and for what a cluster reports. It shares no code with either; recursion and repeated
//! work are fine here, small trees only.
#![allow(dead_code)] // every test crate looks at another part of the outcome

/// An association. A list of them is a tree with the root first.
#[derive(Clone, Debug)]
pub struct Association {
    /// Index in the list; `None` for the root.
    pub parent: Option<usize>,
    /// `None` is `Fairshare=parent`.
    pub shares: Option<u32>,
    pub user: bool,
    /// Raw usage, that of the children included.
    pub usage: f64,
    /// The user has a waiting job.
    pub waiting: bool,
}

/// The numbers of one association.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub s: f64,
    pub u: f64,
    pub u_eff: f64,
    pub f: f64,
    pub active: bool,
    /// Of 1000 at the root; prospective where it is not active.
    pub tickets: f64,
    /// `PriorityFS`, for users.
    pub factor: f64,
}

/// The outcome of every association of a list.
pub fn outcomes(associations: &[Association]) -> Vec<Outcome> {
    let model = Model(associations);
    let largest = (0..associations.len())
        .filter(|&n| associations[n].user && model.active(n))
        .map(|n| model.tickets(n))
        .fold(0.0, f64::max);
    (0..associations.len())
        .map(|n| {
            let tickets = model.tickets(n);
            let factor = if largest > 0.0 {
                f64::min(1.0, tickets / largest)
            } else if tickets > 0.0 {
                1.0
            } else {
                0.0
            };
            Outcome {
                s: model.s(n),
                u: model.u(n),
                u_eff: model.u_eff(n),
                f: model.f(n),
                active: model.active(n),
                tickets,
                factor,
            }
        })
        .collect()
}

struct Model<'a>(&'a [Association]);

impl Model<'_> {
    fn is_root(&self, n: usize) -> bool {
        self.0[n].parent.is_none()
    }

    fn uses_parent(&self, n: usize) -> bool {
        !self.is_root(n) && self.0[n].shares.is_none()
    }

    fn children(&self, n: usize) -> Vec<usize> {
        (0..self.0.len()).filter(|&child| self.0[child].parent == Some(n)).collect()
    }

    fn fsp(&self, n: usize) -> usize {
        let parent = self.0[n].parent.expect("the root has no fair-share parent");
        if self.uses_parent(parent) {
            self.fsp(parent)
        } else {
            parent
        }
    }

    /// Who competes for the tickets of `n`.
    fn competitors(&self, n: usize) -> Vec<usize> {
        self.children(n)
            .into_iter()
            .flat_map(|child| if self.uses_parent(child) { self.competitors(child) } else { vec![child] })
            .collect()
    }

    fn siblings(&self, n: usize) -> Vec<usize> {
        self.competitors(self.fsp(n))
    }

    fn s(&self, n: usize) -> f64 {
        if self.is_root(n) {
            return 1.0;
        }
        if self.uses_parent(n) {
            return self.s(self.fsp(n));
        }
        let shares = |n: usize| f64::from(self.0[n].shares.expect("siblings have shares"));
        let level: f64 = self.siblings(n).into_iter().map(shares).sum();
        if level == 0.0 {
            0.0
        } else {
            self.s(self.fsp(n)) * (shares(n) / level)
        }
    }

    fn u(&self, n: usize) -> f64 {
        let all = self.0[0].usage;
        if all == 0.0 {
            0.0
        } else {
            f64::min(1.0, self.0[n].usage / all)
        }
    }

    fn u_eff(&self, n: usize) -> f64 {
        if self.uses_parent(n) {
            self.u_eff(self.fsp(n))
        } else {
            f64::max(self.u(n), 0.01 * self.s(n))
        }
    }

    fn f(&self, n: usize) -> f64 {
        if self.uses_parent(n) {
            self.f(self.fsp(n))
        } else if self.s(n) == 0.0 {
            0.0
        } else {
            self.s(n) / self.u_eff(n)
        }
    }

    fn active(&self, n: usize) -> bool {
        self.0[n].user && self.0[n].waiting || self.children(n).into_iter().any(|child| self.active(child))
    }

    /// T, and for what is not active the walk "if it began to wait now".
    fn tickets(&self, n: usize) -> f64 {
        if self.is_root(n) {
            return 1000.0;
        }
        let available = self.tickets(self.fsp(n));
        if self.uses_parent(n) {
            return available;
        }
        let demand: f64 = self
            .siblings(n)
            .into_iter()
            .filter(|&sibling| sibling == n || self.active(sibling))
            .map(|sibling| self.s(sibling) * self.f(sibling))
            .sum();
        if demand == 0.0 {
            0.0
        } else {
            available * (self.s(n) * self.f(n)) / demand
        }
    }
}
