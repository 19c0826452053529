//! The place in the loop where requests can be taken apart. Without an anatomy it is `()`, of which
//! the compiler leaves nothing.

use crate::recorder::Timing;
use tailmark_driver::Session;
use tailmark_workload::Item;

/// Takes requests of one client apart.
pub trait TakeApart {
    /// Called right before a request is sent.
    fn begin(&mut self, session: &mut dyn Session, item: &Item<'_>, is_measured: bool);
    /// Called after a measured request was answered, with whether it succeeded; for a
    /// read-modify-write, after the update.
    fn end(&mut self, session: &mut dyn Session, timing: Timing, succeeded: bool);
    /// Nothing follows.
    fn hand_over(&mut self);
}

impl TakeApart for () {
    #[inline(always)]
    fn begin(&mut self, _: &mut dyn Session, _: &Item<'_>, _: bool) {}

    #[inline(always)]
    fn end(&mut self, _: &mut dyn Session, _: Timing, _: bool) {}

    #[inline(always)]
    fn hand_over(&mut self) {}
}
