//! Ticket policies: how tickets come to those who have work waiting. One file a policy.

pub mod share_tree;
