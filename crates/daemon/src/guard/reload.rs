//! Another configuration, while it runs.

use super::Guard;
use crate::hooks::Hooks;
use crate::logger::Topic;
use host::Permission;
use pressure::config::Mode;
use pressure::{Config, Sample};

impl Guard {
    /// A wrong configuration leaves the one in force.
    pub(super) fn reload(&mut self, read: Result<Config, String>) {
        self.notify.reloading();
        match read {
            Ok(config) => {
                self.logger.set_verbosity(config.verbosity);
                self.history.go_on_by(&config);
                self.machine.rule(&config.guard);
                if let Some(recorder) = &self.recorder {
                    recorder.reconfigure(&config);
                }
                self.config = config;
                self.tell_mode();
                self.obey_mode();
                self.hold_if_asked();
                self.hook_if_asked();
                self.open_to_users();
                self.logger.say(Topic::Action, "configuration read again");
            }
            Err(error) => self.logger.say(
                Topic::Error,
                format_args!("{error}; the old configuration stays in force"),
            ),
        }
        self.notify.ready();
    }

    fn tell_mode(&self) {
        let mut status = self.shared_status.read();
        (status.mode, status.predictor) = (self.config.mode, self.config.predictor);
    }

    /// What a run may do it may do less of from one moment to the next, but more only from its start.
    fn obey_mode(&mut self) {
        match (self.machine.permission().clone(), self.config.mode) {
            (Permission::Act, Mode::Observe) => {
                self.tally.put_back += self.machine.only_observe().back.len() as u64;
                self.hooks.take().into_iter().for_each(Hooks::let_go);
                self.users = None;
                // What was ours in the last sample is nobody's now, and is not looked at again.
                self.sample = Sample::default();
                let why = "the configuration says so, and to act again takes a restart";
                self.shared_status.read().only_observes = Some(why.to_owned());
                self.logger.say(
                    Topic::Action,
                    format_args!("only observes from now on: {why}"),
                );
            }
            (Permission::Observe(why), mode) if mode != Mode::Observe => {
                self.logger.say(
                    Topic::Action,
                    format_args!(
                        "still only observes ({why}): the mode counts from the next start"
                    ),
                );
            }
            _ => {}
        }
    }
}
