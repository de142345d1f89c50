//! What users without rights and containers can do to others by the guard, on a Debian with systemd and the installed package:
//! each actor tries each act. The table of both is in `SECURITY.md`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use common::{Machine, debian_with, package, store};
use warmset_vmlab::image;
use warmset_vmlab::vm::guest_program;

const ACTORS: &str = include_str!("data/actors.sh");

/// Three users with managers, a program of joe's that holds memory, and a guard that acts early.
const STAGE: &str = r#"
mkdir -p /run/lab
user joe 1000
user eve 1001
user ada 1002
sed -i 's/^warmset:.*/&ada/' /etc/group
echo eve:200000:65536 >/etc/subuid
echo eve:200000:65536 >/etc/subgid
echo 1 >/proc/sys/vm/overcommit_memory
echo "of nobody else" >/home/joe/secret
chmod 600 /home/joe/secret
chown joe /home/joe/secret
# eve's own copy of a program, under the name of one that is exempt.
install -o eve -m 755 /lab/guest /home/eve/sshd
of joe systemd-run --user --quiet --unit=victim --setenv=WARMSET_UNTIL=99999999 /lab/guest work touch 60
systemctl restart warmsetd
goes_on
mkdir -p /home/eve/src /home/eve/mnt /home/eve/lxc
install -o eve -m 755 /lab/guest /home/eve/src/sshd
for directory in usr proc sys dev run/lab lab etc tmp; do mkdir -p "/home/eve/box/$directory"; done
for link in bin sbin lib lib64; do ln -s "usr/$link" "/home/eve/box/$link"; done
chown -R 200000:200000 /home/eve/box
chown eve:eve /home/eve/src /home/eve/mnt /home/eve/lxc
cat >/run/lab/lxc.conf <<'LXC'
lxc.rootfs.path = dir:/home/eve/box
lxc.idmap = u 0 200000 65536
lxc.idmap = g 0 200000 65536
lxc.net.0.type = empty
lxc.mount.auto = proc:mixed
lxc.mount.entry = /usr usr none ro,bind 0 0
lxc.mount.entry = /run/lab run/lab none ro,bind 0 0
lxc.mount.entry = /lab lab none ro,bind 0 0
lxc.apparmor.profile = unconfined
LXC
# An administrator's choice, which a distribution does not make: servers of users answer all users, root too.
echo user_allow_other >>/etc/fuse.conf
chmod 666 /dev/fuse
cat >/run/lab/connect <<'PERL'
use Socket;
socket(S, PF_UNIX, SOCK_STREAM, 0) or exit 1;
connect(S, sockaddr_un("/run/warmset/notice.sock")) or exit 2;
$SIG{ALRM} = sub { exit 7 };
alarm shift;
1 while sysread(S, $_, 4096);
PERL
sed 's/^1 while .*/sleep 1 while 1;/' /run/lab/connect >/run/lab/deaf
victim=$(of joe systemctl --user show -P ControlGroup victim)
{
    echo "guard=$(systemctl show -P MainPID warmsetd)"
    echo "holder=$(pid_of warmset-hold)"
    echo "victim=/sys/fs/cgroup$victim"
    echo "alive=$(of joe systemctl --user show -P MainPID victim)"
} >/run/lab/env
cat /run/lab/env
signalled
"#;

/// Tries what is nobody's but root's. One line for each: its name, and whether it was done.
const TRIES: &str = r#"
does <<'ACT'
. /run/lab/env
try() {
    name=$1
    shift
    if "$@" >/dev/null 2>&1; then echo "$name"; fi
}
# 1 is a stream, 5 has packets.
connects() { perl -MSocket -e 'socket(S, PF_UNIX, shift, 0) or exit 1; connect(S, sockaddr_un(shift)) or exit 1' "$@"; }
try notice connects 1 /run/warmset/notice.sock
try status connects 1 /run/warmset/warmset.sock
try recordings ls /var/lib/warmset/recordings
try holder connects 5 /run/warmset-hold.socket
try list ls /run/warmset
try undo cat /run/warmset/undo
try switch touch /run/warmset/disable
try rules sh -c 'echo >/run/warmset/rules.toml'
try remove mv /run/warmset/notice.sock /tmp
try record touch /var/lib/warmset/recordings/x
try configure sh -c 'echo >/etc/warmset/conf.d/x.toml'
try hook sh -c 'echo >/usr/local/bin/x'
try stop sh -c '[ "$(readlink /proc/$0/exe)" ] && kill -STOP "$0"' "$guard"
try unhold sh -c 'grep -q warmset-hold /proc/$0/comm && kill -KILL "$0"' "$holder"
try trace cat "/proc/$guard/maps"
try knob sh -c 'echo 1 >/proc/sys/vm/page-cluster'
try throttle sh -c 'echo 1M >"$0/memory.high"' "$victim"
try freeze sh -c 'echo 1 >"$0/cgroup.freeze"' "$victim"
try kill sh -c 'grep -q joe /proc/$0/environ && kill -KILL "$0"' "$alive"
try read cat /home/joe/secret
try exempt sh -c 'echo -1000 >/proc/self/oom_score_adj'
true
ACT
"#;

/// What an actor may do, of the tries above.
const MAY: &[(&str, &str)] = &[
    ("plain", "notice"),
    // By root's choice: who is in it may read the status and the recordings, and change nothing.
    ("group", "notice status recordings"),
    ("mapped", "notice"),
    ("rootless", "notice"),
    ("subordinate", "notice"),
    ("named", "notice"),
    ("nspawn_of_users", ""),
    // Root without a user namespace is root to the kernel. It sees only what the container shows.
    ("nspawn_of_root", "exempt"),
    ("lxc", ""),
];

/// Actors that fill memory, how they do it, and what their process then calls itself.
const HOGS: &[(&str, &str, &str)] = &[
    ("plain", "exec /home/eve/sshd $ramp", "sshd"),
    ("group", "exec /lab/guest $ramp", "guest"),
    (
        "mapped",
        "export WARMSET_NAME=systemd; exec /home/eve/sshd $ramp",
        "systemd",
    ),
    // Root's own file, at the path of a program that is exempt.
    (
        "rootless",
        "mount --bind /lab/guest /usr/bin/dbus-daemon && exec /usr/bin/dbus-daemon $ramp",
        "dbus-daemon",
    ),
    // The same, called as one that an upgrade has replaced.
    (
        "rootless",
        "export WARMSET_NAME=replaced; mount -t tmpfs none /usr/local/bin && f='/usr/local/bin/sshd (deleted)' && : >\"$f\" && mount --bind /lab/guest \"$f\" && exec \"$f\" $ramp",
        "replaced",
    ),
    ("subordinate", "exec /lab/guest $ramp", "guest"),
    ("named", "exec /lab/guest $ramp", "guest"),
    (
        "nspawn_of_users",
        "export WARMSET_NAME=sshd; exec /lab/guest $ramp",
        "sshd",
    ),
    ("nspawn_of_root", "exec /lab/guest $ramp", "guest"),
    ("lxc", "exec /lab/guest $ramp", "guest"),
];

/// What hinders a guard that waits for a file system, or trusts the length of a name.
const HINDERS: &[(&str, &str, &str)] = &[
    ("unanswering", "exec /home/eve/mnt/sshd $ramp", "sshd"),
    // A path almost as long as the kernel tells one.
    (
        "delegated",
        "cd \"/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)\" && for i in $(seq 15); do n=$(printf %0240d $i); mkdir $n && cd $n || exit 1; done; echo $$ >cgroup.procs; exec /lab/guest $ramp",
        "guest",
    ),
    (
        "delegated",
        "cd \"/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)\" && n=$(printf 'a\\033[31m b\\tc%%20.service') && mkdir \"$n\" && echo $$ >\"$n/cgroup.procs\"; exec /lab/guest $ramp",
        "guest",
    ),
    (
        "plain",
        "export WARMSET_NAME=\"$(printf 'a\\033[31m\\nb')\"; exec /lab/guest $ramp \"$(head -c 120000 /dev/zero | tr '\\0' x)\"",
        "a?[31m?b",
    ),
];

/// Runs an actor that fills memory, until it has ended. Prints the processes that the guard has signalled, by their names.
const FILL: &str = r"
signalled >/dev/null
rm -f /run/lab/ended
{ ACTOR; touch /run/lab/ended; } >/dev/null 2>&1 &
within 160 test -e /run/lab/ended
sleep 2
signalled | sed 's/ *([0-9]*)$//' | sort -u
";

struct Stage {
    machine: Machine,
}

impl Stage {
    fn set() -> Self {
        let image = image::debian_with_containers(&store(), &guest_program().unwrap(), &package());
        let mut stage = Self {
            machine: debian_with(image.unwrap(), &["fuse"]),
        };
        // Kept in the machine, as every step needs it.
        let kept =
            format!("mkdir -p /run/lab; cat >/run/lab/actors.sh <<'ACTORS'\n{ACTORS}\nACTORS");
        stage.machine.sh(&kept);
        println!("{}", stage.sh(STAGE));
        stage
    }

    fn sh(&mut self, script: &str) -> String {
        self.machine.sh(&format!(". /run/lab/actors.sh\n{script}"))
    }

    /// The guard is the one that it was, takes samples, and joe's program runs unhindered.
    fn nobody_was_harmed(&mut self, by: &str) {
        let state = self.sh(
            r#". /run/lab/env; goes_on
            [ "$(systemctl show -P MainPID warmsetd)" = "$guard" ] || echo "the guard was restarted"
            [ "$(of joe systemctl --user show -P MainPID victim)" = "$alive" ] || echo "the program was killed"
            [ "$(cat "$victim/memory.high")" = max ] || echo "it is throttled"
            [ "$(cat "$victim/cgroup.freeze")" = 0 ] || echo "it is frozen"
            # What eve calls a unit is no reason to keep memory for it.
            find /sys/fs/cgroup/user.slice/user-1001.slice -path '*/app.slice/*' -name memory.min | while read -r floor; do
                [ "$(cat "$floor")" = 0 ] || echo "memory is kept: $floor"
            done
            true"#,
        );
        assert_eq!(state, "", "by {by}");
    }

    fn tries(&mut self) {
        self.sh(TRIES);
        for (actor, may) in MAY {
            let done = self.sh(&format!("{actor} 2>/dev/null")).replace('\n', " ");
            println!("{actor}: {done}");
            assert_eq!(done, *may, "{actor}");
            self.nobody_was_harmed(actor);
        }
    }

    /// Fills memory by an actor; returns the names of the processes that were signalled.
    fn fill(&mut self, actor: &str, how: &str) -> String {
        let act = format!(
            "does <<'ACT'\nexport WARMSET_UNTIL=99999999\nramp='work ramp 60 100000'\n{how}\nACT\n"
        );
        self.sh(&(act + &FILL.replace("ACTOR", actor)))
    }

    /// These were signalled, and nobody else; otherwise what the guard says of it.
    fn only_was_signalled(&mut self, signalled: &str, wanted: &str, by: &str) {
        if signalled != wanted {
            let why = self
                .sh("warmset why | tail -n 60; journalctl -b --no-pager -u warmsetd | tail -n 60");
            panic!("{by}: {signalled:?}, not {wanted:?}\n{why}");
        }
    }

    fn fills(&mut self) {
        for (actor, how, name) in HOGS {
            let signalled = self.fill(actor, how);
            println!("{actor}, {how}: {signalled}");
            self.only_was_signalled(&signalled, name, &format!("{actor}, {how}"));
            self.nobody_was_harmed(actor);
        }
    }

    /// Root's programs in the desktop's slice are exempt, whatever they hold. Then nobody is killed in their place.
    fn exempt_ones_cost_nobody_else(&mut self) {
        let signalled = self.fill("desktop", "exec /lab/guest $ramp");
        println!("desktop: {signalled:?}");
        self.only_was_signalled(&signalled, "", "the kernel kills it, and the guard nobody");
        self.nobody_was_harmed("desktop");
    }

    /// joe's program is killed while all others listen.
    fn hears(&mut self) {
        let heard = self.sh(HEARS);
        println!("{heard}");
        let of = |actor: &str| -> String {
            let lines = heard.lines().filter(|line| line.starts_with(actor));
            lines.collect::<Vec<_>>().join("\n")
        };
        for actor in ["root:", "joe:"] {
            assert!(of(actor).contains("joes-secret"), "{actor} {heard}");
        }
        for actor in [
            "plain:",
            "group:",
            "mapped:",
            "subordinate:",
            "nspawn_of_users:",
        ] {
            assert!(of(actor).contains("ended-elsewhere"), "{actor} {heard}");
            assert!(!of(actor).contains("joes-secret"), "{actor} {heard}");
        }
        self.sh("of joe systemctl --user start victim 2>/dev/null; true");
        self.nobody_was_harmed("those that listen");
    }

    /// eve connects by twenty of her subordinate IDs, and as herself.
    fn takes_places(&mut self) {
        let connected = self.sh(PLACES);
        println!("{connected}");
        assert_eq!(connected, "joe\nroot", "and eve has four places");
        self.nobody_was_harmed("one that takes places");
    }

    /// Clients that do not read, while the guard has much to say.
    fn hinders(&mut self) {
        self.sh("for name in eve ada; do for i in $(seq 4); do of $name perl /run/lab/deaf 400 & done; done; sleep 5");
        for (actor, how, name) in HINDERS {
            let signalled = self.fill(actor, how);
            println!("{actor}: {signalled}");
            self.only_was_signalled(&signalled, name, actor);
            self.nobody_was_harmed(actor);
        }
        assert_eq!(
            self.sh("ls /run/lab/hangs 2>/dev/null; true"),
            "",
            "the guard waits for a user's server"
        );
        let colours = "journalctl -b -a -o cat --no-pager -u warmsetd 2>/dev/null | grep -c \"$(printf '\\033')\"; true";
        assert_eq!(self.sh(colours), "0", "no name controls a terminal");
    }
}

/// Listeners of all actors, and a hog of joe's. What each heard, after its name.
const HEARS: &str = r#"
does <<'ACT'
exec timeout 170 /lab/guest work user /run/warmset/notice.sock nothing 0
ACT
listen() { "$1" >"/run/lab/heard.$1" 2>&1 & }
root() { sh $act; }
joe() { scope joe; }
nspawn_of_users() { nspawn --private-users=pick --private-users-ownership=auto --bind=/run/warmset; }
for actor in root joe plain group mapped subordinate nspawn_of_users; do listen $actor; done
sleep 25
of joe systemd-run --user --quiet --unit=hog --setenv=WARMSET_UNTIL=99999999 --setenv=WARMSET_NAME=joes-secret /lab/guest work ramp 60 100000
within 120 grep -q joes-secret /run/lab/heard.joe
sleep 3
for actor in root joe plain group mapped subordinate nspawn_of_users; do sed "s/^/$actor: /" /run/lab/heard.$actor; done
true
"#;

/// Connections by many IDs of eve's; then joe and root connect. Prints the users that still have a connection after that.
const PLACES: &str = r"
# The shell tells of each of its children that is killed.
exec 2>/dev/null
for id in $(seq 20); do
    of eve unshare -U --map-root-user --map-users=auto --map-groups=auto setpriv --reuid=$id --regid=$id --clear-groups perl /run/lab/connect 90 &
done
of eve perl /run/lab/connect 90 &
sleep 30
for name in joe root; do
    of $name perl /run/lab/connect 5
    [ $? = 7 ] && echo $name
done
kill $(pid_of perl) 2>/dev/null
true
";
/// One boot for all of it: without KVM a machine takes half a minute to boot.
#[test]
#[ignore = "boots a machine: make vm"]
fn no_actor_harms_another_user_by_the_guard() {
    let mut stage = Stage::set();
    stage.tries();
    stage.fills();
    stage.exempt_ones_cost_nobody_else();
    stage.hears();
    stage.takes_places();
    stage.hinders();
}
