//! Other users of a device, as guards report them when nothing on it will be destroyed.

use super::{
    Consent, Error, Objection, Target, Watch,
    claim::look_again,
    guard::{self, GuardScene},
    uses::Uses,
};

/// Users of a device with our stamp: another program may since have put something on a part of it.
/// The content of the device itself is ours, so no program is asked for signatures.
pub(super) fn of_ours(target: &Target, consent: &Consent) -> Vec<Objection> {
    // A stamp on the first of several combined devices says nothing about the others.
    uses(
        target,
        consent,
        &["kind", "mounted", "swap", "held", "stacked"],
    )
}

/// Refuses to mount a device that others use, whoever created its file system: two uncoordinated
/// writers would destroy it.
pub(super) fn refuse_shared(
    target: &Target,
    consent: &Consent,
    watch: &dyn Watch,
) -> Result<(), Error> {
    if consent.has_made(&target.identity) {
        return Ok(());
    }
    let look = || {
        let evidence = uses(
            target,
            consent,
            &["mounted", "swap", "held", "stacked", "open"],
        );
        if evidence.is_empty() {
            return Ok(());
        }
        Err(Error::Refused {
            device: target.identity.describe(),
            evidence,
        })
    };
    look_again(target, watch, look, |looked| match looked {
        Err(Error::Refused { evidence, .. }) => evidence,
        _ => &[],
    })
}

/// What some of the guards have against a device by its uses.
fn uses(target: &Target, consent: &Consent, guards: &[&str]) -> Vec<Objection> {
    let scene = GuardScene {
        target,
        reached: std::slice::from_ref(&target.identity),
        consent,
        uses: &Uses::look(),
        is_own: false,
        signatures: Ok(Vec::new()),
        reserved: Ok(None),
    };
    let mut all = guard::refusals(&scene);
    all.retain(|objection| guards.contains(&objection.guard));
    all
}
