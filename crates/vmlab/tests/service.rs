//! The installed package on a Debian with systemd: it starts, feeds the watchdog, protects, warns, puts everything back,
//! and leaves nothing when it is purged.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Machine, debian, package, store};
use warmset_vmlab::image;
use warmset_vmlab::vm::guest_program;

fn machine() -> Machine {
    debian(image::debian(&store(), &guest_program().unwrap(), &package()).unwrap())
}

const PAGE_CLUSTER: &str = "cat /proc/sys/vm/page-cluster";

/// One boot for all of it: without KVM a machine takes half a minute to boot.
#[test]
#[ignore = "boots a machine: make vm"]
fn the_unit_starts_feeds_the_watchdog_restores_and_is_purged() {
    let mut machine = machine();
    let sh = |machine: &mut Machine, script: &str| machine.sh(script);
    sh(
        &mut machine,
        "systemctl is-active warmsetd || { systemctl status warmsetd; journalctl -u warmsetd | tail -n 20; df; df -i; exit 1; }",
    );
    assert_eq!(
        sh(
            &mut machine,
            "systemctl show -P StatusText warmsetd | wc -l"
        ),
        "1"
    );

    // It holds a knob that the configuration names. After kill -9, ExecStopPost puts the knob back.
    let found = sh(&mut machine, PAGE_CLUSTER);
    sh(
        &mut machine,
        "mkdir -p /etc/warmset/conf.d && printf '[[tunable]]\\nknob = \"vm.page-cluster\"\\nvalue = 1\\non = \"start\"\\n' >/etc/warmset/conf.d/t.toml
         systemctl restart warmsetd; for i in $(seq 50); do [ $(cat /proc/sys/vm/page-cluster) = 1 ] && exit 0; sleep 0.2; done
         systemctl status warmsetd; exit 1",
    );
    sh(
        &mut machine,
        "rm /etc/warmset/conf.d/t.toml; systemctl kill -s KILL warmsetd; sleep 1; systemctl is-active warmsetd; true",
    );
    assert_eq!(
        sh(
            &mut machine,
            "for i in $(seq 50); do systemctl is-active -q warmsetd && break; sleep 0.2; done; cat /proc/sys/vm/page-cluster"
        ),
        found
    );
    assert_eq!(
        sh(&mut machine, "systemctl show -P NRestarts warmsetd"),
        "1",
        "Restart=on-failure"
    );

    // After SIGSTOP it no longer feeds the watchdog.
    sh(&mut machine, "mkdir -p /run/systemd/system/warmsetd.service.d && printf '[Service]\\nWatchdogSec=4s\\n' >/run/systemd/system/warmsetd.service.d/w.conf
        systemctl daemon-reload && systemctl restart warmsetd && systemctl kill -s STOP warmsetd");
    let result = sh(&mut machine, "for i in $(seq 100); do journalctl -u warmsetd | grep -q -i watchdog && break; sleep 0.3; done
        for i in $(seq 50); do systemctl is-active -q warmsetd && break; sleep 0.2; done; journalctl -u warmsetd | grep -c -i 'watchdog timeout'; systemctl is-active warmsetd");
    assert_eq!(result, "1\nactive");

    sh(&mut machine, "dpkg --purge warmset");
    assert_eq!(sh(&mut machine, PAGE_CLUSTER), found);
    let left = sh(
        &mut machine,
        "ls -d /etc/warmset /var/lib/warmset /run/warmset /usr/sbin/warmsetd 2>/dev/null; for p in /proc/[0-9]*; do readlink $p/exe; done | grep -c warmsetd; true",
    );
    assert_eq!(left, "0");
}

/// A worker as a service, a guard that protects, a program that waits for something.
const PROTECTING: &str = r#"
unit() {
    printf '[Service]\nEnvironment=WARMSET_UNTIL=99999999\nExecStart=/lab/guest work %s\n' "$2" >/etc/systemd/system/$1.service
}
unit warm 'touch 24'
unit hog 'ramp 20 100000'
mkdir -p /etc/warmset/conf.d
cat >/etc/warmset/conf.d/protect.toml <<'TOML'
[gap]
enabled = false
[protect]
programs = []
floors = "15 %"
units = ["warm.service"]
release-after = "2 min"
TOML
echo 1 >/proc/sys/vm/overcommit_memory
systemctl daemon-reload
systemctl start warm
# It looks for units when it starts, and then twice a minute.
systemctl restart warmsetd
systemctl enable --now --quiet warmset-low-memory
"#;

/// Defines `within SECONDS COMMAND...` and `floor`.
const WAITING: &str = r#"
within() {
    end=$(($(date +%s) + $1))
    shift
    while ! "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt "$end" ] || { echo "not within: $*"; journalctl -b --no-pager -u warmsetd -u warmset-low-memory | tail -n 30; exit 1; }
        sleep 0.1
    done
}
floor() { cat /sys/fs/cgroup/system.slice/$1memory.min; }
kept() { [ "$(floor $1)" -gt 0 ]; }
"#;

/// A user in the group, one that is not, a hot file of a tenth of memory, and a disk to stream.
const USERS: &str = r"
# The image is too small for useradd.
printf 'joe:x:1000:1000::/home/joe:/bin/sh\neve:x:1001:1001::/home/eve:/bin/sh\n' >>/etc/passwd
printf 'joe:x:1000:\neve:x:1001:\n' >>/etc/group
sed -i 's/^warmset:.*/&joe/' /etc/group
install -d -o 1000 -g 1000 /home/joe
install -d -o 1001 -g 1001 /home/eve
head -c 50M /dev/urandom >/home/joe/hot
chmod 644 /home/joe/hot
chmod 444 /dev/vda
sync
";

/// Defines the three workers of le9uo's page, as commands of a user, and what became of them. Each has a unit, so that the
/// kernel counts the refaults of the reader alone.
const WORKERS: &str = r#"
unit() { systemd-run --quiet --uid=joe --unit="$1" sh -c "$2"; }
refaults() { sed -n 's/^workingset_refault_file //p' /sys/fs/cgroup/system.slice/reader.service/memory.stat; }
reads() { wc -l </home/joe/reads; }
start() {
    unit reader 'while :; do cat /home/joe/hot >/dev/null; echo >>/home/joe/reads; sleep 0.5; done'
    unit stream 'while :; do cat /dev/vda >/dev/null; done'
    unit bystander 'exec sleep 1000'
    sleep 15
    refaults >/run/refaults
    reads >/run/reads
    unit hog 'exec tail /dev/zero'
}
no_hog() { ! systemctl is-active --quiet hog; }
# Of all pages that were read since the hog began, the share that had been evicted, in per cent.
lost() {
    pages=$((12800 * ($(reads) - $(cat /run/reads))))
    echo $((100 * ($(refaults) - $(cat /run/refaults)) / (pages > 0 ? pages : 1)))
}
pid_of() { for p in /proc/[0-9]*; do [ "$(cat $p/comm 2>/dev/null)" = "$1" ] && echo "${p#/proc/}"; done; true; }
"#;

/// What a user sees who installs the package and does nothing else.
#[test]
#[ignore = "boots a machine: make vm"]
fn as_packaged_it_is_armed_within_a_minute_and_keeps_what_is_in_use() {
    let mut machine = machine();
    let mut sh = |script: &str| machine.sh(&format!("{WAITING}{WORKERS}{script}"));
    sh(
        "armed() { warmset status | grep -q '^armed'; }; within 60 armed; within 10 systemctl is-active --quiet 'warmset-hold@*'",
    );
    let status = sh("warmset status");
    println!("{status}");
    assert!(status.contains("mode protect"), "{status}");
    // Debian 13's kernel has every means, and each is armed in the units' own sandboxes.
    assert!(
        !status.contains("not armed") && status.contains("events of the page cache"),
        "{status}\n{}",
        sh("journalctl -b --no-pager -u warmsetd -u 'warmset-hold@*' | tail -n 40")
    );
    // The right to open the events is given up.
    let rights = sh("grep CapPrm /proc/$(pid_of warmset-hold)/status | cut -f 2");
    let rights = u64::from_str_radix(&rights, 16).unwrap();
    assert_eq!(rights >> 21 & 1, 0, "CAP_SYS_ADMIN: {rights:x}");

    // Who is in the group may ask, and nobody else.
    sh(USERS);
    let of_joe = sh("runuser -u joe -- warmset status; runuser -u joe -- warmset why");
    assert!(of_joe.contains("warmsetd 0.1.0"), "{of_joe}");
    let of_eve = sh("runuser -u eve -- warmset status 2>&1");
    assert!(of_eve.contains("the group warmset"), "{of_eve}");
    assert_eq!(
        sh(
            "runuser -u eve -- ls /var/lib/warmset 2>/dev/null; runuser -u joe -- ls /var/lib/warmset"
        ),
        "recordings"
    );

    sh("start");
    sh("within 150 no_hog; sleep 5");
    let lost = sh("lost");
    assert!(
        lost.parse::<u64>().is_ok_and(|share| share <= 5),
        "{lost} % of the hot file was read again from the disk: {}",
        sh(
            "reads; cat /run/reads; refaults; warmset why; journalctl -b --no-pager -u warmsetd | tail -n 30"
        )
    );
    let ended = sh(
        "journalctl -b --no-pager -u warmsetd | grep -o 'SIG[A-Z]* to [^(]*' | sed 's/^SIG[A-Z]* to //' | sort -u",
    );
    assert_eq!(
        ended.trim(),
        "tail",
        "and nobody else: {}",
        sh(
            "journalctl -b --no-pager -u warmsetd | tail -n 25; journalctl -b -k | tail -n 5; systemctl status hog"
        )
    );
    assert_eq!(
        sh(
            "systemctl is-active reader stream bystander; journalctl -b -k | grep -c 'Out of memory'; true"
        ),
        "active\nactive\nactive\n0"
    );
    println!("hot file: {lost} % read again; ended: {ended}");

    // It ends with the guard, and so do its locks.
    sh("systemctl stop warmsetd; gone() { [ -z \"$(pid_of warmset-hold)\" ]; }; within 5 gone");
}

/// The same as the faults without systemd, but in the unit's sandbox, and under a manager that sets limits, too.
#[test]
#[ignore = "boots a machine: make vm"]
fn in_its_unit_a_guard_keeps_kills_warns_and_puts_back() {
    let mut machine = machine();
    let mut sh = |script: &str| machine.sh(&format!("{WAITING}{script}"));
    sh(PROTECTING);
    sh("within 60 busctl --system status org.freedesktop.LowMemoryMonitor");
    sh(
        "busctl --system monitor --match \"type='signal',member='LowMemoryWarning'\" >/run/heard 2>&1 & systemctl start hog",
    );
    sh("within 120 kept warm.service/; within 10 kept ''");

    // DAMON sees what the warm service touches, and is off when the command has ended.
    sh("mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing");
    let damon = sh(
        "warmset --json top --damon --once >/run/top; grep -o '\"name\":\"warm.service\"[^}]*' /run/top; cat /sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds; ls /sys/kernel/tracing/instances",
    );
    let digits = damon
        .split("\"warm\":")
        .nth(1)
        .and_then(|rest| rest.split(|byte: char| !byte.is_ascii_digit()).next());
    let warm: Option<u64> = digits.and_then(|digits| digits.parse().ok());
    assert!(
        damon.contains("\"known_by\":\"damon\"") && damon.ends_with("\n0"),
        "DAMON reports, and is off then: {damon}"
    );
    assert!(
        warm.is_some_and(|warm| warm >= 12 << 20),
        "it touches 24 MiB: {damon}"
    );

    // systemd sets all limits of that unit anew, and does not know of the guard's floor.
    sh(
        "systemctl set-property --runtime warm.service MemoryLow=0 IOWeight=200; systemctl daemon-reload; within 60 kept ''; within 60 kept warm.service/",
    );

    sh("gone() { ! systemctl is-active hog; }; within 120 gone");
    // SIGTERM, and SIGKILL if the process did not end in time: two signals, one process.
    let ended = sh(
        "journalctl -b --no-pager -u warmsetd | grep -o 'SIG[A-Z]* to [^(]*([0-9]*)' | sed 's/^SIG[A-Z]* //' | sort -u | wc -l",
    );
    assert_eq!(ended, "1", "processes that got a signal");
    sh("within 30 grep LowMemoryWarning /run/heard");
    assert_eq!(
        sh("systemctl is-active warm warmset-low-memory"),
        "active\nactive"
    );

    sh("systemctl stop warmsetd");
    assert_eq!(sh("floor warm.service/; floor ''; ls /run/warmset"), "0\n0");

    let left = "ls /etc/systemd/system/multi-user.target.wants | grep -c warmset; systemctl is-active warmset-low-memory; true";
    assert_eq!(
        sh(&format!("dpkg --purge warmset >/dev/null 2>&1; {left}")),
        "0\ninactive"
    );
}
