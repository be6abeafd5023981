//! What jobs are charged beside their billing: what settings ask for that a replay does not model.

use multifactor2_core::settings::{ActiveJobs, ChargeKind, Settings, UsageMeasure};

/// What settings ask for that is left out.
pub fn left_out(settings: &Settings) -> Vec<&'static str> {
    let charges = |kinds: &[ChargeKind]| settings.charges.iter().any(|line| kinds.contains(&line.kind));
    let others = [ChargeKind::Partition, ChargeKind::Qos, ChargeKind::Account, ChargeKind::Parent];
    let asked = [
        (charges(&others), "Charge lines: all jobs are charged their billing alone"),
        (charges(&[ChargeKind::Reservation]), "Charge=Reservation: the trace does not tell reservations"),
        (charges(&[ChargeKind::WcKey]), "Charge=WCKey: the trace does not tell wckeys"),
        (charges(&[ChargeKind::Requeued]), "Charge=Requeued: every job runs once"),
        (!settings.minimum_charge.is_zero(), "MinimumCharge: short jobs are charged what they run"),
        (!settings.books.is_empty(), "Book lines: usage in all partitions counts together"),
        (
            settings.usage_measure == UsageMeasure::Dominant,
            "UsageMeasure=dominant: usage is billing, as memory and GPUs of the cluster are not known",
        ),
        (
            settings.active_jobs != ActiveJobs::Eligible,
            "ActiveJobs: as with eligible, since the trace does not tell why jobs wait",
        ),
    ];
    asked.into_iter().filter(|(asked, _)| *asked).map(|(_, what)| what).collect()
}
