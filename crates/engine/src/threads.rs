//! Clients that are OS threads, one each.

use crate::{
    Error,
    anatomy::Dissector,
    clock::Clock,
    context::{ClientSeed, Draws, PhaseContext},
    pacer::Waiter,
    recorder::RecorderChannels,
    roles::Background,
};
use pollster::block_on;
use std::{num::NonZeroU64, rc::Rc};

impl<C: Clock> PhaseContext<'_, C> {
    /// Starts a thread for each client.
    pub fn spawn<'scope>(
        &'scope self,
        scope: &'scope std::thread::Scope<'scope, '_>,
        streams: Vec<(u32, Draws)>,
        channels: &RecorderChannels,
    ) -> Result<(), Error> {
        for (index, draws) in streams {
            let session = self.spec.database.session()?;
            let (seed, channels) = (
                ClientSeed {
                    index,
                    draws,
                    session,
                },
                channels.clone(),
            );
            let client = move || {
                // Sleeps end on time. If the kernel refuses this, they end 50 us late.
                let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
                if let Some(measure) = self.await_start() {
                    let is_background = self.roles.role(index).is_background;
                    let recorder = self.recorder(measure, is_background, channels);
                    let waiter = Waiter::Thread { spin: self.spin };
                    let closing = if is_background {
                        let recorder = Background(recorder);
                        block_on(self.client(seed, measure, waiter, recorder).run())
                    } else if let Some(anatomist) = self.spec.anatomy {
                        let apart =
                            Dissector::new(anatomist, &Rc::default(), measure, (index, true));
                        let client = self.client(seed, measure, waiter, recorder);
                        block_on(client.taken_apart(apart).run())
                    } else {
                        block_on(self.client(seed, measure, waiter, recorder).run())
                    };
                    self.observer.session_closed(closing);
                }
            };
            let thread = std::thread::Builder::new().name(format!("client-{index}"));
            let started = thread.spawn_scoped(scope, client);
            started.map_err(|source| Error::Thread {
                threads: self.spec.threads,
                source,
            })?;
        }
        Ok(())
    }
}
