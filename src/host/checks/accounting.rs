//! Checks the layout of associations and QOS by questions to the host. The host makes records from messages like those of slurmdbd, and the
//! contents of a message show where its fields are, to the byte.
//!
//! A micro release never changes the form of a message.

use super::failure::{failure, Failure};
use super::messages::{Message, Unpacked, NONE};
use crate::host::symbols::{V23_02, V23_11, V24_05};
use crate::host::Host;

/// Where the host keeps what an association is, and its shares.
///
/// # Errors
/// What is elsewhere.
pub fn about_associations(host: &'static Host) -> Result<(), Failure> {
    let mut message = Message::default();
    // accounting records, account, cluster
    message.number(NONE).text("physics").nothing(1);
    if host.release >= V23_02 {
        // comment
        message.nothing(1);
    }
    // QOS by default, flags
    message.number(11);
    if host.release >= V24_05 {
        message.number(0);
    } else {
        message.short_number(0);
    }
    // shares; limits of the group: three texts, four numbers; id; whether it is the default
    message.number(12).nothing(3).numbers([13, 14, 15, 16]).number(17).short_number(0);
    if host.release >= V23_11 {
        // lineage
        message.nothing(1);
    } else {
        // lft
        message.number(18);
    }
    // limits: four texts, five numbers; parent: account, id; partition, priority, list of QOS
    message
        .nothing(4)
        .numbers([19, 20, 21, 22, 23])
        .nothing(1)
        .number(24)
        .text("batch")
        .number(25)
        .number(NONE);
    if host.release < V23_11 {
        // rgt
        message.number(26);
    }
    message.number(27).text("alice");

    let record = message.unpack(host, host.sym.unpack_assoc);
    if record.is_null() {
        return Err(failure(host, "slurmctld does not read an association as expected".to_owned()));
    }
    let layout = &host.layout.assoc;
    let mut answer = Unpacked { host, what: "an association", record, wrong: None };
    if answer.has_size(layout.size) {
        answer
            .text("the account", layout.acct, "physics")
            .number("the shares", layout.shares_raw, 12)
            .number("the id", layout.id, 17)
            .text("the partition", layout.partition, "batch")
            .number("the priority", layout.priority, 25)
            .number("the user id", layout.uid, 27)
            .text("the user", layout.user, "alice");
    }
    // SAFETY: made by the host for us.
    unsafe { (host.sym.destroy_assoc)(record.cast()) };
    answer.result()
}

/// Where the host keeps what a QOS is.
///
/// # Errors
/// What is elsewhere.
pub fn about_qos(host: &'static Host) -> Result<(), Failure> {
    let mut message = Message::default();
    // description, id, flags, grace time
    message.nothing(1).numbers([11, 12, 13]);
    // limits: of the group, then three texts, four numbers; of accounts, users and jobs seven texts, eight numbers, one text
    message
        .nothing(3)
        .numbers([14, 15, 16, 17])
        .nothing(7)
        .numbers([18, 19, 20, 21, 22, 23, 24, 25])
        .nothing(1);
    // name; what it preempts: a bitmap, a list; mode, time, priority
    message.text("normal").number(NONE).number(NONE).short_number(0).number(26).number(27);
    // From 21.08 on the limit factor follows; before, nothing reads what is left over.
    message.double(0.625).double(0.375).double(0.125);

    let record = message.unpack(host, host.sym.unpack_qos);
    if record.is_null() {
        return Err(failure(host, "slurmctld does not read a QOS as expected".to_owned()));
    }
    let layout = &host.layout.qos;
    let mut answer = Unpacked { host, what: "a QOS", record, wrong: None };
    if answer.has_size(layout.size) {
        answer
            .number("the id", layout.id, 11)
            .number("the flags", layout.flags, 12)
            .text("the name", layout.name, "normal")
            .number("the priority", layout.priority, 27)
            .double("the usage factor", layout.usage_factor, 0.625)
            .double("the usage threshold", layout.usage_thres, 0.375);
    }
    // SAFETY: as above.
    unsafe { (host.sym.destroy_qos)(record.cast()) };
    answer.result()
}
