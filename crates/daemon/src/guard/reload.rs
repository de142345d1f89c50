//! SIGHUP: another configuration while the guard runs.

use super::Guard;
use crate::logger::Topic;
use host::Permission;
use pressure::config::Mode;
use pressure::{Config, Sample};

impl Guard {
    /// Takes over a configuration that was read again; an error leaves the one in force.
    pub(super) fn reload(&mut self, read: Result<Config, String>) {
        self.notify.reloading();
        match read {
            Ok(config) => self.take_over(config),
            Err(error) => self.logger.say(
                Topic::Error,
                format_args!("{error}; the old configuration stays in force"),
            ),
        }
        self.leave_startup();
        self.notify.ready();
    }

    /// Gives back the code and tables that only a start or a reload needs, and brings in the rest. Also in a run that observes:
    /// so it costs what it will cost when it acts.
    pub fn leave_startup(&self) {
        if let Err(error) = host::leave_startup() {
            self.logger.say(
                Topic::Error,
                format_args!("warmsetd keeps the code of its start in memory: {error}"),
            );
        }
    }

    fn take_over(&mut self, config: Config) {
        self.logger.set_verbosity(config.verbosity);
        self.history.go_on_by(&config);
        self.machine.rule(&config.guard);
        if let Some(recorder) = &self.recorder {
            recorder.reconfigure(&config);
        }
        self.config = config;
        self.publish_mode();
        self.obey_mode();
        self.start_protection_if_configured();
        self.squeeze_if_configured();
        self.start_hooks_if_configured();
        self.open_notice_server_if_guarding();
        self.logger.say(Topic::Action, "configuration read again");
    }

    fn publish_mode(&self) {
        let mut status = self.shared_status.read();
        status.mode = self.config.mode;
        status.predictor = self.config.predictor;
    }

    /// Follows a changed mode. A reload can take rights away; more rights need a restart, which takes the lock and reads
    /// the undo log.
    fn obey_mode(&mut self) {
        let observes = self.config.mode == Mode::Observe;
        match self.machine.permission().clone() {
            Permission::Act if observes => self.stop_acting(),
            Permission::Observe(why) if !observes => self.logger.say(
                Topic::Action,
                format_args!("still only observes ({why}): the new mode needs a restart"),
            ),
            Permission::Act | Permission::Observe(_) => {}
        }
    }

    fn stop_acting(&mut self) {
        let restored = self.machine.only_observe();
        self.tally.put_back += restored.back.len() as u64;
        self.detach_hooks();
        self.notice_server = None;
        // The last sample still has values that this guard had set.
        self.sample = Sample::default();
        let why = "the configuration says so, and to act again takes a restart";
        self.shared_status.read().only_observes = Some(why.to_owned());
        self.logger.say(
            Topic::Action,
            format_args!("only observes from now on: {why}"),
        );
    }
}
