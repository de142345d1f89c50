"""Tests `warmset notice` on a real D-Bus: a guard's question becomes a notice, its chosen action an answer, and a warning
reaches programs that use GLib.

notice.sh runs it below dbus-run-session, with the command as its argument. python-dbusmock plays the desktop.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time

import dbus
from gi.repository import Gio, GLib

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
PATIENCE = 20.0


def wait(what, look):
    """The first true result of `look`."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    sys.exit(f"not ok: {what}")


class Desktop:
    """A desktop that shows notices."""

    def __init__(self):
        can = json.dumps({"capabilities": "body body-markup actions"})
        command = [sys.executable, "-m", "dbusmock", "--template", "notification_daemon", "--parameters", can]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.bus = dbus.SessionBus()
        wait("the desktop does not start", lambda: self.bus.name_has_owner(NAME))
        self.mock = dbus.Interface(self.bus.get_object(NAME, PATH), "org.freedesktop.DBus.Mock")

    def shown(self):
        return self.mock.GetMethodCalls("Notify")

    def choose(self, number, action):
        signal = dbus.Array([dbus.UInt32(number), action], signature="v")
        self.mock.EmitSignal(NAME, "ActionInvoked", "us", signal)


def guard_at(run):
    """Opens a guard's socket. Returns a function that accepts the next client: how to tell it something, and its socket."""
    guard = socket.socket(socket.AF_UNIX)
    guard.bind(os.path.join(run, "notice.sock"))
    guard.listen()
    guard.settimeout(PATIENCE)

    def accept():
        client, _ = guard.accept()
        client.settimeout(PATIENCE)
        return lambda **told: client.sendall(json.dumps(told).encode() + b"\n"), client

    return accept


def warned(command):
    """Checks that GLib's memory monitor gets warnings. The session's bus stands for the system's."""
    os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = os.environ["DBUS_SESSION_BUS_ADDRESS"]
    bus = dbus.SystemBus()
    run = tempfile.mkdtemp()
    accept = guard_at(run)
    service = [command, "notice", "--low-memory-monitor", "--once", "--run", run]
    monitor = subprocess.Popen(service)
    tell, client = accept()
    assert bus.name_has_owner("org.freedesktop.LowMemoryMonitor")
    second = subprocess.run(service, stderr=subprocess.PIPE, timeout=PATIENCE)
    assert second.returncode == 1 and b"hint: another program owns the name" in second.stderr, second

    levels = []
    program = Gio.MemoryMonitor.dup_default()
    program.connect("low-memory-warning", lambda _, level: levels.append(int(level)))

    def last():
        GLib.MainContext.default().iteration(False)
        return levels[-1:]

    # GLib listens once it has found the owner of the name, so the warning is repeated.
    wait("GLib hears nothing", lambda: tell(tell="warn", room=1 << 20, left=10**9) or last() == [100])
    tell(tell="settled", id=1)
    tell(tell="ended-elsewhere", size=1 << 20)
    wait("an end is no warning", lambda: last() == [255])
    assert set(levels) == {100, 255}, levels
    client.close()
    assert monitor.wait(PATIENCE) == 0, monitor.returncode
    print("ok: a program that uses GLib is warned, and told how bad it is")


def main(command):
    warned(command)
    desktop = Desktop()
    run = tempfile.mkdtemp()
    nobody = subprocess.run([command, "notice", "--once", "--run", run], stderr=subprocess.PIPE)
    assert nobody.returncode == 3 and b"hint: " in nobody.stderr, nobody
    guard = guard_at(run)
    notice = subprocess.Popen([command, "notice", "--once", "--run", run])
    tell, client = guard()

    tell(tell="ask", id=9, unit="app-hog.scope", used=734003200, wait=15000000000, why="it grows")
    (_, asked) = wait("nothing is shown", desktop.shown)[0]
    application, _, _, title, body, actions, hints, lasts = asked
    assert application == "Warmset" and "frozen" in title, asked
    assert "app-hog.scope uses 700 MiB" in body and "is killed in 15 s" in body, body
    assert list(actions)[::2] == ["end", "keep", "go-on"], actions
    assert hints["urgency"] == 2 and lasts == 15000, asked
    desktop.choose(1, "keep")
    answer = client.makefile().readline()
    assert json.loads(answer) == {"id": 9, "answer": "keep"}, answer
    print("ok: a question is a notice with three actions, and the chosen one is the answer")

    tell(tell="ask", id=10, unit="app-hog.scope", used=1, wait=60000000000, why="it grows")
    wait("the second is not shown", lambda: len(desktop.shown()) == 2)
    children = lambda: subprocess.run(["pgrep", "-P", str(notice.pid)], stdout=subprocess.PIPE).stdout
    wait("nobody waits for an answer", children)
    tell(tell="settled", id=10)
    wait("a settled question is still waited for", lambda: not children())
    tell(tell="ended", name="<b>hog", pid=7, unit="x", signal="SIGKILL", size=1048576, why="it grows")
    (_, ended) = wait("the end is not shown", lambda: desktop.shown()[2:])[0]
    assert "&lt;b&gt;hog (7) used 1 MiB" in ended[4] and not ended[5], ended
    print("ok: a settled question goes, an end is told, and a name is no markup")

    client.close()
    assert notice.wait(PATIENCE) == 0, notice.returncode
    print("ok: it ends with the guard")
    desktop.process.terminate()


if __name__ == "__main__":
    main(sys.argv[1])
