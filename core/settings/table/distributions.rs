//! The words of `Distribution`, each with the file of `core/policy/distribution` that has its rule. A new distribution is that file, and
//! its entry here.

/// Hands all of them to a macro: what administrators read, `Variant = "word" in file: Type`.
macro_rules! distributions {
    ($to:ident) => {
        $to! {
            /// In proportion to shares times `LevelFS`, as in the original `priority/multifactor2`. Usage does not settle on the
            /// shares: large shares get more, small ones less, and accounts with many active users less per user.
            Tickets = "tickets" in tickets: Tickets,
            /// By `LevelFS` relative to the best sibling's. Usage settles on the shares, however many users an account has.
            Standing = "standing" in standing: ByStanding,
            /// As `standing`, and nobody in one account comes before anybody in an account that is further below its share.
            Strict = "strict" in strict: Strict,
        }
    };
}
pub(crate) use distributions;

macro_rules! words {
    ($($(#[doc = $meaning:literal])+ $variant:ident = $word:literal in $file:ident: $rule:ident,)+) => {
        crate::settings! { @items ["How the tickets of an account are divided among those of its users and accounts that have waiting jobs."]
            choice (Distribution {$($(#[doc = $meaning])+ $variant = $word,)+}) }
    };
}

distributions!(words);
