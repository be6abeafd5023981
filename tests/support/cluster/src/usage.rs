//! Exact known usage: slurmctld's state file `assoc_usage`.
//!
//! Real jobs give usage that depends on the clock. slurmctld keeps the accumulated usage of every
//! leaf of the association tree in a state file and sums it up the tree when it starts, so a
//! file written between two starts gives any usage exactly.

/// Usage of one association, to be written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LeafUsage {
    /// The association's id in the database.
    pub(crate) id: u32,
    /// Raw usage in seconds of the billable resource, `RawUsage` of `sshare`; at least 0.
    pub(crate) seconds: f64,
}

/// The bytes of `assoc_usage`, and of `qos_usage`, which has QOS in their place. Numbers are big-endian; a string is its length including the final
/// NUL, then the bytes. TRES 1 is the CPU.
pub(crate) fn assoc_usage(protocol: u16, now: i64, usage: &[LeafUsage]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(protocol.to_be_bytes());
    bytes.extend(now.to_be_bytes());
    for leaf in usage {
        bytes.extend(leaf.id.to_be_bytes());
        put_string(&mut bytes, &format!("{:.6}", leaf.seconds));
        put_string(&mut bytes, &format!("1={:.6}", leaf.seconds));
        bytes.extend(0_u32.to_be_bytes());
    }
    bytes
}

fn put_string(bytes: &mut Vec<u8>, text: &str) {
    let length = u32::try_from(text.len() + 1).unwrap_or(u32::MAX);
    bytes.extend(length.to_be_bytes());
    bytes.extend(text.as_bytes());
    bytes.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_slurms_byte_order_and_string_form() {
        let bytes = assoc_usage(38 << 8, 1, &[LeafUsage { id: 5, seconds: 2.5 }]);
        let mut expected = vec![38, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5];
        expected.extend([0, 0, 0, 9]);
        expected.extend(b"2.500000\0");
        expected.extend([0, 0, 0, 11]);
        expected.extend(b"1=2.500000\0");
        expected.extend([0, 0, 0, 0]);
        assert_eq!(bytes, expected);
    }
}
