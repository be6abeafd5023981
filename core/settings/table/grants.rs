//! The lines of settings that grant amounts: budgets that pace themselves.

use num_traits::Signed as _;

use crate::rules::grants::Exact;

crate::block! {
    /// What somebody may use of a unit in some months or days, and when of that.
    pub struct Grant(kind: choice(GrantKind {
        /// Jobs of an account and all accounts below it.
        Account = "Account",
        /// A user's jobs, in all accounts.
        User = "User",
        /// Jobs that run with a Unix group, by name or number.
        Group = "Group",
        /// Jobs of a QOS.
        Qos = "QOS",
        /// Jobs of a wckey, without the `*` of a default key. No effect without `wckeys` in `AccountingStorageEnforce`.
        WcKey = "WCKey",
    })) {
        /// Each of several names has all of the amount.
        names = "Name": names() required("climate");
        /// How much is granted in all.
        amount = "Amount": text("a number from 0 to 1000000000000000, with at most 9 decimals", is_amount) required("5000000");
        /// Hours of a TRES that jobs have allocated, `cpu-hours` if unset. `node-hours` are those of allocated nodes, shared or
        /// not. `billing-hours` use the partition's `TRESBillingWeights`, in whole numbers as in `AllocTRES`.
        unit = "Unit": text("the name of a TRES followed by -hours, such as cpu-hours, node-hours, billing-hours or \
                             gres/gpu-hours", is_unit)
            unset("cpu-hours");
        /// First day of the grant, from midnight.
        from = "From": date() required("2027-01-01");
        /// Last day of the grant, to the midnight after it.
        until = "Until": end_date() required("2027-12-31");
        /// Length of the periods: calendar months or quarters, or this many days from the first one on. Months if unset.
        pace = "Pace": text("month, quarter, or a number of days from 1 to 1000 such as 7days", is_pace) unset("month");
        /// What can be used in a period.
        rule = "Rule": choice(GrantRule {
            /// Its grant, plus or minus what the period before left or used too much.
            Carry = "carry",
            /// The grants of it, the period before and the next one, minus what these have used.
            Window = "window",
            /// All that is left. What is not used in time is lost, step by step.
            Ageing = "ageing",
        }) unset("carry");
        /// The rule and numbers of a center. Other attributes of the line replace them.
        preset = "Preset": choice(GrantPreset {
            /// `Rule=carry CarryOver=1 Borrow=1 DebtCap=1.01`, by months.
            Jsc = "jsc",
            /// `Rule=carry CarryOver=1`, by quarters.
            Nhr = "nhr",
            /// `Rule=window`, by months.
            Rwth = "rwth",
            /// `Rule=ageing Interval=90`, by months.
            Nesi = "nesi",
        }) unset("jsc");
        /// How the amount is divided among the periods.
        split = "Split": choice(GrantSplit {
            /// Equally. The first and last one must be whole.
            Equal = "equal",
            /// By their length.
            Days = "days",
        }) unset("equal");
        /// With `Rule=carry`: the most of a period's unused grant that goes on to the next, as a multiple of that grant. Nothing
        /// if unset.
        carry_over = "CarryOver": text("a number from 0 to 1000, with at most 9 decimals", is_times) unset("0.5");
        /// With `Rule=carry`: the most that can be used before the next period begins, as a multiple of its grant. Nothing if
        /// unset.
        borrow = "Borrow": text("a number from 0 to 1000, with at most 9 decimals", is_times) unset("0.25");
        /// With `Rule=carry`: the most overuse taken off the next period, as a multiple of its grant. All if unset.
        debt_cap = "DebtCap": text("a number from 0 to 1000, with at most 9 decimals", is_times) unset("1");
        /// With `Rule=ageing`: days after which what should have been used by then is lost. 90 if unset.
        interval = "Interval": integer(1 ..= 10000) unset("90");
        /// Usage before the plugin counts it, in the unit: of the first period, of the second and so on. A single number is that
        /// of the period of `UsedUntil`.
        used = "Used": text("numbers from 0 to 1000000000000000 separated by commas", is_list_of_amounts) unset("40,130");
        /// When `Used` ends. From then on the plugin counts.
        used_until = "UsedUntil": date() unset("2027-03-01");
        /// The clock by which days begin. The same on all lines of a sequence.
        time_zone = "TimeZone": choice(GrantZone {
            /// The controller's.
            Local = "local",
            /// UTC.
            Utc = "UTC",
        }) unset("local");
        /// Whether usage is multiplied as slurmctld charges it: with `UsageFactor` of the QOS, `Charge` lines and
        /// `MinimumCharge`. The accounting lacks these numbers, so `multifactor2 grants --reconcile` leaves the grant out. The
        /// same on all lines of a sequence.
        factors = "Factors": yes_no() unset("no");
        /// What happens to jobs while the grant is used up. They start again, without a new submission, once there is something
        /// to use.
        beyond = "Beyond": choice(GrantBeyond {
            /// They come last, with `-PointsCap` points, and run where nobody else waits.
            Low = "low",
            /// They have ordinary fair-share, without `Within`.
            Share = "share",
            /// They do not start; see `Block` of `Target`.
            Block = "block",
        }) unset("low");
        /// Points for jobs of a grant that is not used up. Of several grants the highest counts, once; none if one is used up.
        within = "Within": decimal(0.0 ..= 1e9) unset("10000");
        /// What applies when no line of the sequence does.
        outside = "Outside": choice(GrantOutside {
            /// Jobs are treated as if a grant were used up.
            Beyond = "beyond",
            /// They have no grant.
            None = "none",
        }) unset("beyond");
        /// Limits the grant to jobs in these partitions.
        partitions = "Partition": names() unset("gpu");
        /// Limits the grant to jobs in the book's partitions.
        book = "Book": text("the name of a Book line", super::books::is_name) unset("gpu");
    }
}

crate::block! {
    /// More or less of a grant, from a day on.
    pub struct Adjust(kind: choice_of(GrantKind)) {
        /// Each of several names gets all of it.
        names = "Name": names() required("climate");
        /// How much more is granted; negative for less.
        amount = "Amount": text("a number from -1000000000000000 to 1000000000000000, with at most 9 decimals", is_change) required("200000");
        /// `Unit` of the grant.
        unit = "Unit": text("the name of a TRES followed by -hours, such as cpu-hours, node-hours, billing-hours or \
                             gres/gpu-hours", is_unit)
            unset("cpu-hours");
        /// When it is granted, to the line and period of that day.
        at = "At": date() required("2027-04-01");
        /// Whether it is spread over the rest of the grant instead.
        spread = "Spread": yes_no() unset("yes");
        /// `Partition` of the grant.
        partitions = "Partition": names() unset("gpu");
        /// `Book` of the grant.
        book = "Book": text("the name of a Book line", super::books::is_name) unset("gpu");
    }
}

/// The unit of lines without one.
const UNIT: &str = "cpu-hours";

/// Behind the name of a TRES.
const HOURS: &str = "-hours";

/// How long the periods of a grant are, as a text; `None` for another one.
pub(crate) fn pace(text: &str) -> Option<crate::rules::grants::Pace> {
    use crate::rules::grants::Pace;
    let text = text.to_ascii_lowercase();
    match text.as_str() {
        "month" => Some(Pace::Month),
        "quarter" => Some(Pace::Quarter),
        _ => {
            let days = text.strip_suffix("days").or_else(|| text.strip_suffix("day"))?;
            let is_number = !days.is_empty() && days.bytes().all(|byte| byte.is_ascii_digit());
            let days = days.parse().ok().filter(|days| is_number && (1..=1000).contains(days))?;
            Some(Pace::Days(days))
        }
    }
}

/// The TRES of a unit, in small letters; `None` for another text.
pub(crate) fn tres_of_unit(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let tres = text.strip_suffix(HOURS)?;
    super::metric(tres).then(|| tres.to_owned())
}

/// An exact number of decimal digits; `None` for another text.
pub(crate) fn exact(text: &str) -> Option<Exact> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = (1..=16).contains(&whole.len())
        && are_digits(whole)
        && decimals.len() <= 9
        && are_digits(decimals)
        && (decimals.is_empty() != digits.contains('.'));
    if !is_number {
        return None;
    }
    let number: i128 = format!("{whole}{decimals}").parse().ok()?;
    let scale = 10_i128.pow(u32::try_from(decimals.len()).ok()?);
    Some(Exact::new((sign * number).into(), scale.into()))
}

fn within(text: &str, most: i64) -> Option<Exact> {
    exact(text).filter(|number| number.abs() <= Exact::from_integer(most.into()))
}

const MOST: i64 = 1_000_000_000_000_000;

fn is_change(text: &str) -> bool {
    within(text, MOST).is_some()
}

fn is_amount(text: &str) -> bool {
    within(text, MOST).is_some_and(|number| !number.is_negative())
}

fn is_times(text: &str) -> bool {
    within(text, 1000).is_some_and(|number| !number.is_negative())
}

fn is_list_of_amounts(text: &str) -> bool {
    text.split(',').all(|number| is_amount(number.trim()))
}

fn is_unit(text: &str) -> bool {
    tres_of_unit(text).is_some()
}

fn is_pace(text: &str) -> bool {
    pace(text).is_some()
}

impl Adjust {
    /// The TRES of its unit, in small letters.
    pub(crate) fn tres(&self) -> Option<String> {
        tres_of_unit(self.unit.as_deref().unwrap_or(UNIT))
    }
}

impl Grant {
    /// The TRES of its unit, in small letters.
    pub fn tres(&self) -> Option<String> {
        tres_of_unit(self.unit.as_deref().unwrap_or(UNIT))
    }

    /// Its days are those of UTC.
    pub(crate) fn is_universal(&self) -> bool {
        self.time_zone == Some(GrantZone::Utc)
    }

    /// What jobs use is multiplied as slurmctld charges it.
    pub fn has_factors(&self) -> bool {
        self.factors == Some(true)
    }

    /// Jobs beyond it do not start.
    pub(crate) fn stops(&self) -> bool {
        self.beyond == Some(GrantBeyond::Block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_or_refused() {
        let ratio = |number: i64, of: i64| Some(Exact::new(number.into(), of.into()));
        assert_eq!(
            ["0", "1.01", "-0.5", "1000000000000000", "007"].map(exact),
            [ratio(0, 1), ratio(101, 100), ratio(-1, 2), ratio(1_000_000_000_000_000, 1), ratio(7, 1)]
        );
        for text in ["", "-", ".5", "5.", "1e3", "+1", "1,0", "0.1234567890", "12345678901234567", "١"] {
            assert_eq!(exact(text), None, "{text}");
        }
        assert!(!is_amount("-1") && !is_amount("1000000000000001") && is_change("-1"));
    }

    #[test]
    fn units_and_paces() {
        assert_eq!(tres_of_unit("GRES/gpu:a100-Hours").as_deref(), Some("gres/gpu:a100"));
        assert_eq!(["cpu", "-hours", "c p-hours", "hours"].map(tres_of_unit), [const { None }; 4]);
        assert!(pace("7days").is_some() && pace("1day").is_some() && pace("Quarter").is_some());
        assert_eq!(["0days", "1001days", "days", "+7days", "week", ""].map(pace), [const { None }; 6]);
    }
}
