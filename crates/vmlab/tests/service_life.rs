//! The life of the installed service on a Debian with systemd, while the guard holds a knob, a floor and locked files: reload,
//! SIGKILL, `daemon-reexec`, upgrade, downgrade, undo logs of other versions, soft-reboot.
//!
//! Whatever happens, the undo log keeps the value that the boot had, and at the end every knob has it.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use common::{Machine, debian, package, store};
use std::time::{Duration, Instant};
use warmset_vmlab::frame::Frame;
use warmset_vmlab::image;
use warmset_vmlab::vm::guest_program;

/// Most time from the order to reboot until the lab's listener serves again.
const SOFT_REBOOT: Duration = Duration::from_secs(180);

/// Most time for three shortages, or to unpack, pack and install a package.
const LONG: Duration = Duration::from_secs(600);

/// Functions of all steps.
///
/// The watchdog has eight seconds and not ninety: so a step sees whether it is fed, without a wait of minutes.
const PRELUDE: &str = r#"
cluster=/proc/sys/vm/page-cluster
log=/run/warmset/undo
conf=/etc/warmset/conf.d/life.toml
within() {
    end=$(($(date +%s) + $1))
    shift
    while ! "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt "$end" ] || { echo "not within: $*"; cat $log; journalctl -b --no-pager -u warmsetd -u 'warmset-hold*' | tail -n 40; exit 1; }
        sleep 1
    done
}
is() { [ "$(cat "$2")" = "$1" ]; }
active() { systemctl is-active -q "$@"; }
main() { systemctl show -P MainPID warmsetd; }
pid_of() { grep -lsx "$1" /proc/[0-9]*/comm | cut -d / -f 3; }
floor() { cat /sys/fs/cgroup/system.slice/warm.service/memory.min; }
holds_floor() { [ "$(floor)" -gt 0 ]; }
# The files that the holder has mapped; it is static, so none is its own.
files() { grep -o ' /usr/lib/.*\| /usr/bin/.*' "/proc/$(pid_of warmset-hold | head -n 1)/maps" | sort -u; }
holds_knob() { is "$1" $cluster; }
# found: the value of the knob that the undo log would put back.
found() { sed -n 's,^proc/sys/vm/page-cluster\t\([0-9]*\)\t.*,\1,p' $log; }
said() { journalctl -b --no-pager -u warmsetd --since "@$since" | grep -q "$1"; }
# setting VALUE: the configuration, with this value of the knob.
setting() {
    mkdir -p /etc/warmset/conf.d
    cat >$conf <<TOML
[protect]
floors = "15 %"
units = ["warm.service"]
programs = ["/usr/lib/systemd/systemd", "/usr/bin/dbus-daemon"]
release-after = "30 min"
[[tunable]]
knob = "vm.page-cluster"
value = $1
on = "start"
TOML
}
# shortage: memory runs short, and the guard kills what fills it, until it holds a floor. It then does for half an hour. If it
# comes to files of programs in time, it holds those, too: on a slow machine a shortage may be over before.
no_hog() { ! systemctl is-active -q hog; }
shortage() {
    for round in 1 2 3; do
        systemctl start hog
        within 150 no_hog
        if holds_floor; then files; return; fi
    done
    within 0 holds_floor
}
knobs() {
    for knob in $(warmsetd --list-writes | grep -o '/proc/sys/[^ ]*\|/sys/kernel/mm/lru_gen/[^ ]*' | sort -u); do
        [ -f "$knob" ] && echo "$knob $(cat "$knob")"
    done
    true
}
# repack VERSION: another package of this version. Its programs are others to the kernel, and say the same.
repack() {
    rm -rf /var/tmp/deb
    dpkg-deb -R /lab/warmset.deb /var/tmp/deb
    sed -i "s/^Version: .*/Version: $1/" /var/tmp/deb/DEBIAN/control
    for program in usr/sbin/warmsetd usr/libexec/warmset-hold; do
        echo "$1" >>"/var/tmp/deb/$program"
    done
    dpkg-deb -Znone -b /var/tmp/deb /var/tmp/other.deb >/dev/null
    rm -rf /var/tmp/deb
}
runs_installed() { [ "$(stat -L -c %i "/proc/$(main)/exe")" = "$(stat -c %i /usr/sbin/warmsetd)" ]; }
since=$(cat /run/since 2>/dev/null || echo 0)
"#;

/// A unit with a floor, a hog, and a short watchdog.
const UNITS: &str = r#"
unit() {
    printf '[Service]\nEnvironment=WARMSET_UNTIL=99999999\nExecStart=/lab/guest work %s\n' "$2" >/etc/systemd/system/$1.service
}
unit warm 'touch 24'
unit hog 'ramp 15 100000'
mkdir -p /etc/systemd/system/warmsetd.service.d
printf '[Service]\nWatchdogSec=8s\n' >/etc/systemd/system/warmsetd.service.d/watchdog.conf
echo 1 >/proc/sys/vm/overcommit_memory
systemctl daemon-reload
systemctl start warm
setting 1
systemctl restart warmsetd
within 30 holds_knob 1
"#;

struct Life {
    machine: Machine,
    /// The value of the knob before any guard ran.
    original: String,
}

impl Life {
    fn begin() -> Self {
        let image = image::debian(&store(), &guest_program().unwrap(), &package()).unwrap();
        let mut life = Self {
            machine: debian(image),
            original: String::new(),
        };
        life.sh("systemctl stop warmsetd; knobs >/var/tmp/knobs");
        life.original = life.sh("cat $cluster");
        assert!(
            !["1", "2"].contains(&life.original.as_str()),
            "the test's own values"
        );
        life.sh(UNITS);
        life
    }

    fn sh(&mut self, script: &str) -> String {
        self.machine.sh(&format!("{PRELUDE}{script}"))
    }

    /// The same for what takes long on a busy host.
    fn sh_long(&mut self, script: &str) -> String {
        let script = format!("{PRELUDE}{script}");
        let (status, said) = self.machine.try_sh(&script, LONG).unwrap();
        assert_eq!(status, 0, "{said}");
        said
    }

    /// Memory runs short, until the guard holds a floor, and files if it comes to them.
    fn shortage(&mut self) {
        let said = self.sh_long("shortage");
        println!("held files: {said:?}");
    }

    /// A step begins: what the guard says from now on is of this step.
    fn step(&mut self, name: &str) {
        println!("{name}");
        self.sh("date +%s >/run/since; sleep 1");
    }

    /// The undo log would put the value back that the boot had.
    fn original_is_known(&mut self) {
        assert_eq!(self.sh("found"), self.original);
    }

    fn reload(&mut self) {
        self.step("reload");
        let held_before = self.sh("main; files");
        self.sh("setting 2; systemctl reload warmsetd; within 20 holds_knob 2; within 5 said 'configuration read again'");
        self.original_is_known();
        let held = "holds_floor && active warmsetd && main && files";
        assert_eq!(self.sh(held), held_before, "the same guard");

        self.step("reload of a configuration that is no TOML");
        self.sh("echo 'mode = [' >$conf; systemctl reload warmsetd; within 20 said 'old configuration stays in force'");
        // It still obeys the old one: a knob that drifts is not touched, and what is held stays.
        assert_eq!(self.sh(&format!("holds_knob 2 && {held}")), held_before);
        self.original_is_known();

        self.step("reload of a value that the kernel would refuse");
        self.sh("setting 99999; systemctl reload warmsetd; within 20 said 'old configuration stays in force'");
        assert_eq!(self.sh(&format!("holds_knob 2 && {held}")), held_before);
        self.sh("setting 1; systemctl reload warmsetd; within 20 holds_knob 1");
        self.original_is_known();
    }

    fn reexec(&mut self) {
        self.step("daemon-reexec");
        let held_before = self.sh("main; files");
        self.sh("systemctl daemon-reexec; active warmset-hold.socket");
        // Two spans of the watchdog: one that is not fed would have ended the guard.
        let state = "sleep 17; holds_knob 1 && holds_floor && main && files";
        assert_eq!(self.sh(state), held_before);
        assert_eq!(self.sh("said 'Watchdog timeout' && echo told; true"), "");
        self.original_is_known();
    }

    fn holder_killed(&mut self) {
        self.step("SIGKILL to the holder, after the manager has executed itself again");
        let pid = self.sh("main");
        self.sh("old=$(pid_of warmset-hold); kill -KILL $old
            another() { new=$(pid_of warmset-hold); [ -n \"$new\" ] && [ \"$new\" != \"$old\" ]; }
            within 60 another; active 'warmset-hold@*'
            armed() { warmset status | grep -q 'locks of files'; }; within 60 armed");
        assert_eq!(self.sh("main"), pid, "the guard goes on");
    }

    fn killed(&mut self) {
        self.step("SIGKILL to the guard and to its holder");
        self.shortage();
        let pid = self.sh("main");
        self.sh("systemctl kill -s KILL warmsetd 'warmset-hold@*'");
        // ExecStopPost= puts all back before the next guard starts.
        self.sh(&format!("again() {{ active warmsetd && [ $(main) != {pid} ]; }}; within 30 said 'put back vm.page-cluster 1 → {}'; within 60 again; within 30 holds_knob 1", self.original));
        assert_eq!(self.sh("floor"), "0", "the floor of the killed guard");
        self.original_is_known();
        self.sh("within 60 active 'warmset-hold@*'");
    }

    fn other_version(&mut self, name: &str, version: &str) {
        self.step(name);
        let pid = self.sh("main");
        self.sh("holds_knob 1");
        if version.is_empty() {
            self.sh_long("dpkg --install --force-downgrade /lab/warmset.deb 2>&1");
        } else {
            self.sh_long(&format!(
                "repack {version}; dpkg --install /var/tmp/other.deb 2>&1; rm /var/tmp/other.deb"
            ));
        }
        self.sh("within 60 active warmsetd; within 30 holds_knob 1");
        let state =
            "floor; runs_installed && echo installed; dpkg-query -W -f '${Version}' warmset";
        let state = self.sh(state);
        let installed = if version.is_empty() { "0.1.0" } else { version };
        assert!(state.starts_with("0\ninstalled\n"), "{state}");
        assert!(state.ends_with(installed) || version.is_empty(), "{state}");
        assert_ne!(self.sh("main"), pid);
        self.original_is_known();
        self.sh("within 60 active 'warmset-hold@*'");
    }

    /// The knob as a guard left it that was killed, with an undo log of this text, in which FOUND is its old value.
    fn left_with(&mut self, log: &str) {
        let original = &self.original;
        let script = format!(
            "systemctl stop warmsetd; systemctl reset-failed warmsetd; rm -f $conf; echo 1 >$cluster
             sed -e \"s/BOOT/$(cat /proc/sys/kernel/random/boot_id)/\" -e 's/FOUND/{original}/g' >$log <<'UNDO'\n{log}\nUNDO
             chmod 600 $log; cp $log /run/expected"
        );
        self.sh(&script);
    }

    fn foreign_logs(&mut self) {
        let line = "proc/sys/vm/page-cluster\tFOUND\t1\tFOUND";
        self.step("the undo log of an older version");
        self.left_with(&format!("warmset-undo 1 BOOT\n{line}"));
        self.sh("systemctl start warmsetd; within 10 said 'put back vm.page-cluster'");
        assert_eq!(self.sh("cat $cluster"), self.original);

        self.step("a line that only a newer version knows");
        self.left_with(&format!(
            "warmset-undo 1 BOOT\nproc/sys/vm/no-such-knob\t5\t6\t7\n{line}"
        ));
        self.sh("systemctl start warmsetd; within 10 said 'no-such-knob'");
        assert_eq!(
            self.sh("cat $cluster"),
            self.original,
            "the other line is put back"
        );
        let kept = "systemctl stop warmsetd; grep -c no-such-knob $log";
        assert_eq!(self.sh(kept), "1", "it outlives a guard");

        self.step("an undo log of a newer format");
        self.left_with("warmset-undo 2 BOOT\nknob vm.page-cluster found FOUND ours 1");
        let said = self.sh("warmset restore 2>&1; echo exit $?");
        assert!(said.ends_with("exit 1"), "{said}");
        assert!(said.contains("of a newer version"), "{said}");
        let said = self.sh("systemctl start warmsetd 2>/dev/null; within 10 said 'of a newer version'; systemctl stop warmsetd; cmp $log /run/expected && cat $cluster");
        assert_eq!(said, "1", "the log is as it was, and so is the knob");
        self.sh(&format!("echo {} >$cluster; rm $log; systemctl reset-failed warmsetd; setting 1; systemctl start warmsetd; within 30 holds_knob 1", self.original));
    }

    /// Orders a soft-reboot, and waits for the listener of the new userspace.
    fn reboot(&mut self, order: &str) {
        self.sh("systemctl show -P SoftRebootsCount >/run/reboots");
        let script = format!("exec systemd-run --quiet --no-block --on-active=1 {order}");
        self.sh(&script);
        let deadline = Instant::now() + SOFT_REBOOT;
        loop {
            let frame: Frame = match self.machine.vm().next(deadline) {
                Ok(frame) => frame,
                Err(silence) => panic!("{silence:?}\n{}", self.machine.vm().console()),
            };
            if frame.kind == "hello" {
                break;
            }
        }
        self.sh("[ $(systemctl show -P SoftRebootsCount) -gt $(cat /run/reboots) ]; within 60 active warmsetd; within 30 holds_knob 1");
    }

    fn soft_reboot(&mut self) {
        self.step("soft-reboot");
        let pid = self.sh("main");
        self.reboot("systemctl soft-reboot");
        assert_ne!(self.sh("main"), pid);
        self.original_is_known();

        // It cannot end in order, nothing runs after it, and its undo log stays in /run.
        self.step("soft-reboot with a guard that is killed by it");
        self.sh("systemctl kill -s STOP warmsetd");
        self.reboot("systemctl soft-reboot --force");
        self.original_is_known();
    }

    fn end(&mut self) {
        self.step("the end");
        self.sh("systemctl stop warmsetd; knobs >/var/tmp/after");
        let difference = self.sh("diff /var/tmp/knobs /var/tmp/after; ls $log 2>/dev/null; true");
        assert_eq!(difference, "");
        assert_eq!(self.sh("cat $cluster"), self.original);
    }
}

/// One boot for all of it: without KVM a machine takes half a minute to boot.
#[test]
#[ignore = "boots a machine: make vm"]
fn what_the_boot_had_is_never_lost() {
    let mut life = Life::begin();
    life.original_is_known();
    life.shortage();
    life.reload();
    life.reexec();
    life.sh("holds_floor");
    life.other_version("upgrade", "9.0.0");
    life.holder_killed();
    life.killed();
    life.shortage();
    life.other_version("downgrade", "");
    life.foreign_logs();
    life.soft_reboot();
    life.end();
}
