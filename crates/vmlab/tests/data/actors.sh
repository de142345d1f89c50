#!/bin/sh
# Functions for the tests of actors and acts. In this machine joe is the user that nobody else may harm. eve attacks, as herself
# and in every container that she or root can make. ada is in the group warmset.
set -u
act=/run/lab/act

fail() {
    echo "FAILED: $*"
    journalctl -b --no-pager -u warmsetd -u 'warmset-hold*' | tail -n 40
    exit 1
}

# within SECONDS COMMAND...: waits for a command to succeed.
within() {
    end=$(($(date +%s) + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt "$end" ] || fail "not within its time: $*"
        sleep 0.3
    done
}

# user NAME NUMBER: a user with a home and a manager of services. The image has no useradd.
user() {
    echo "$1:x:$2:$2::/home/$1:/bin/sh" >>/etc/passwd
    echo "$1:x:$2:" >>/etc/group
    echo "$1:*:20000:0:99999:7:::" >>/etc/shadow
    install -d -m 0755 -o "$2" -g "$2" "/home/$1"
    systemctl start "user@$2"
    within 60 test -S "/run/user/$2/systemd/private"
}

# of USER COMMAND...: runs a command as a user.
of() {
    name=$1
    shift
    runuser -u "$name" -- env HOME="/home/$name" XDG_RUNTIME_DIR="/run/user/$(id -u "$name")" PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# Each actor runs the script $act, in the foreground, in a unit of its own as a session gives one to each program.
scope() {
    whose=$1
    shift
    of "$whose" systemd-run --user --quiet --scope -p Delegate=yes "$@" sh $act
}
plain() { scope eve; }
group() { scope ada; }
mapped() { scope eve unshare -U -r; }
# As a container without root: IDs, mounts, processes and control groups of its own.
rootless() { scope eve unshare -U -r -m -p -f -C --mount-proc; }
# A subordinate ID, as of a service in a container without root.
subordinate() { scope eve unshare -U --map-root-user --map-users=auto --map-groups=auto setpriv --reuid=7 --regid=7 --clear-groups; }
# A unit with the name and the slice of one that is exempt, or protected.
named() { of eve systemd-run --user --quiet --collect --wait --pipe --unit=ssh.service sh $act; }
desktop() { of eve systemd-run --user --quiet --collect --wait --pipe --unit=dbus-broker.service --slice=session.slice sh $act; }
nspawn() { systemd-nspawn --quiet --register=no --directory=/ --volatile=yes --bind-ro=/run/lab --bind-ro=/lab --pipe "$@" /bin/sh $act; }
nspawn_of_users() { nspawn --private-users=pick --private-users-ownership=auto; }
nspawn_of_root() { nspawn; }
lxc() { of eve systemd-run --user --quiet --scope -p Delegate=yes lxc-execute -n box -f /run/lab/lxc.conf -P /home/eve/lxc -- /bin/sh $act; }
# A unit of whose control group the user may do as they please.
delegated() { of eve systemd-run --user --quiet --collect --wait --pipe -p Delegate=yes sh $act; }
# A program on a file system of eve's own, whose server does not answer for a while once the program runs. Meanwhile the guard
# must go on.
unanswering() {
    rm -f /run/lab/hangs
    of eve bindfs -o allow_other /home/eve/src /home/eve/mnt
    {
        sleep 5
        kill -STOP "$(pid_of bindfs)"
        sleep 20
        (goes_on) || touch /run/lab/hangs
        kill -CONT "$(pid_of bindfs)"
    } &
    plain
    wait
    of eve fusermount3 -u /home/eve/mnt
}

# does: writes the script that an actor runs, from the standard input.
does() {
    cat >$act
    chmod 755 $act
}

pid_of() { grep -lsx "$1" /proc/[0-9]*/comm | cut -d / -f 3; }
samples() { warmset --json status | sed -n 's,^ *"samples": \([0-9]*\).*,\1,p'; }
# The guard takes samples, and answers.
goes_on() {
    before=$(samples)
    # shellcheck disable=SC2317
    more() { [ "$(samples)" -gt "$before" ]; }
    within 20 more
}
# The processes that the guard has signalled since the last call of this, as NAME(PID).
signalled() {
    # It tells of journals of other users that are being begun: another's file, which is none of ours.
    journalctl -b --no-pager -u warmsetd --cursor-file=/run/lab/cursor 2>/dev/null | grep -o 'SIG[A-Z]* to [^(]*([0-9]*)' | sed 's/^SIG[A-Z]* to //' | sort -u
}
