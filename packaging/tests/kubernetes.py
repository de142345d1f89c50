"""Tests manifests, chart and containers: kubernetes.py IMAGE WARMSET (called by kubernetes.sh)."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import kubernetes_validate
import yaml

# cluster.py, which uses parts of this, has more arguments.
IMAGE, WARMSET = sys.argv[1:3]
DIRECTORY = pathlib.Path("packaging/kubernetes")
VERSIONS = ["1.30", "1.33", "1.37"]
NODE_EXPORTER = "/var/lib/node_exporter/textfile_collector"
# For each variant: the paths of the node that it can write to, its capabilities, and the chart's options for it.
VARIANTS = {
    "observe": (set(), set(), []),
    "textfile": ({NODE_EXPORTER}, set(), ["--set", f"textfile={NODE_EXPORTER}"]),
    "guard": (
        {"/proc/sys/vm", "/sys/devices/system/node", "/run/warmset"},
        {"SYS_CHROOT", "KILL", "SYS_PTRACE", "DAC_READ_SEARCH", "IPC_LOCK", "SYS_RESOURCE", "SYS_NICE"},
        ["--set", "mode=guard"],
    ),
}
# Numbers of capabilities, and the set that this machine can grant.
CAPABILITY = {
    "DAC_READ_SEARCH": 2,
    "KILL": 5,
    "IPC_LOCK": 14,
    "SYS_CHROOT": 18,
    "SYS_PTRACE": 19,
    "SYS_NICE": 23,
    "SYS_RESOURCE": 24,
}

HERE = int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("CapBnd")), 16)


def granted(names):
    """The capabilities among `names` that this machine can grant."""
    return [name for name in names if HERE >> CAPABILITY[name] & 1]


def run(*command, **options):
    """The standard output of `command`, which must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}: {done.stderr}{done.stdout}"
    return done.stdout


def parsed(text):
    return {it["kind"]: it for it in yaml.safe_load_all(text) if it}


def kustomized(variant):
    directory = DIRECTORY / ("base" if variant == "observe" else f"overlays/{variant}")
    return parsed(run("kubectl", "kustomize", str(directory)))


def templated(*options):
    return parsed(run("helm", "template", "warmset", str(DIRECTORY / "chart"), *options))


def pod(objects):
    return objects["DaemonSet"]["spec"]["template"]["spec"]


def normal(spec):
    """A pod without the order of its lists, and without the name of its ConfigMap, which Kustomize derives from the content."""
    spec = json.loads(json.dumps(spec))
    for volume in spec["volumes"]:
        volume.get("configMap", {}).pop("name", None)
    spec["volumes"].sort(key=lambda it: it["name"])
    spec["containers"][0]["volumeMounts"].sort(key=lambda it: it["mountPath"])
    return spec


def check_schema(objects):
    for version in VERSIONS:
        for it in objects.values():
            kubernetes_validate.validate(it, version, strict=True)


def check_rights(spec, variant):
    """Checks that the pod asks for exactly the rights of its variant."""
    writes, capabilities, _ = VARIANTS[variant]
    assert "hostNetwork" not in spec and "hostIPC" not in spec and spec["automountServiceAccountToken"] is False
    (container,) = spec["containers"]
    rights = container["securityContext"]
    assert "privileged" not in rights and rights["allowPrivilegeEscalation"] is False and rights["readOnlyRootFilesystem"] is True
    assert rights["capabilities"]["drop"] == ["ALL"] and set(rights["capabilities"].get("add", [])) == capabilities
    assert rights["runAsNonRoot"] is (variant == "observe")
    paths = {it["name"]: it["hostPath"]["path"] for it in spec["volumes"] if "hostPath" in it}
    written = {paths[it["name"]] for it in container["volumeMounts"] if it["name"] in paths and not it.get("readOnly")}
    assert written == writes, written
    assert container["resources"]["limits"] == {"memory": "64Mi"} and "cpu" in container["resources"]["requests"]


def check_configuration(objects, scratch):
    """Checks that `warmset check` accepts the configuration; returns it."""
    text = objects["ConfigMap"]["data"]["warmset.toml"]
    file = scratch / "check.toml"
    file.write_text(text)
    run(WARMSET, "check", str(file))
    return text


def refused():
    """Checks that the schemas and the chart refuse wrong input."""
    wrong = kustomized("observe")["DaemonSet"]
    pod({"DaemonSet": wrong})["containers"][0]["securityContext"]["runAsNonRot"] = True
    try:
        kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)
        raise SystemExit("kubernetes.py: the schema accepts a misspelt field")
    except kubernetes_validate.ValidationError:
        pass
    for wrong in ["mode=tune", "textfile=relative", "imagee.tag=1", "spare=one"]:
        done = subprocess.run(
            ["helm", "template", "warmset", str(DIRECTORY / "chart"), "--set", wrong], capture_output=True, check=False
        )
        assert done.returncode != 0, wrong


def volume(scratch, it, text):
    """The directory to mount for a volume: the node's own for /proc and /sys, else one below `scratch`."""
    directory = scratch / it["name"]
    if "hostPath" in it and it["hostPath"]["path"].startswith(("/proc", "/sys")):
        return it["hostPath"]["path"]
    directory.mkdir()
    if "configMap" in it:
        # As the kubelet does it: a symbolic link to a symbolic link.
        (directory / "..2026").mkdir()
        (directory / "..2026/warmset.toml").write_text(text)
        (directory / "..data").symlink_to("..2026")
        (directory / "warmset.toml").symlink_to("..data/warmset.toml")
    elif "emptyDir" in it:
        directory.chmod(0o777)
    return str(directory)


def runtime(bundle, spec, text, scratch, options):
    """Writes runc's configuration for the pod, on top of runc's defaults. The guard's command line ends with `options`."""
    (container,) = spec["containers"]
    (bundle / "config.json").unlink(missing_ok=True)
    run("runc", "spec", "--bundle", str(bundle))
    config = json.loads((bundle / "config.json").read_text())
    process, rights = config["process"], container["securityContext"]
    process["terminal"] = False
    process["args"] = container.get("command", ["/usr/sbin/warmsetd"]) + options
    process["user"] = {"uid": rights["runAsUser"], "gid": rights["runAsGroup"]}
    names = [f"CAP_{name}" for name in granted(rights["capabilities"].get("add", []))]
    process["capabilities"] = {kind: names for kind in ("bounding", "effective", "permitted")}
    process["noNewPrivileges"] = True
    config["root"] = {"path": "rootfs", "readonly": True}
    config["linux"]["namespaces"] = [it for it in config["linux"]["namespaces"] if it["type"] != "pid"]
    config["linux"].pop("resources", None)
    sources = {it["name"]: volume(scratch, it, text) for it in spec["volumes"]}
    for it in sorted(container["volumeMounts"], key=lambda it: it["mountPath"]):
        # runc knows `rro` since 1.1, as a kubelet asks for it where the runtime offers it.
        right = "rro" if it.get("recursiveReadOnly") else "ro" if it.get("readOnly") else "rw"
        options = ["rbind", "rprivate", right]
        config["mounts"].append(
            {"destination": it["mountPath"], "type": "bind", "source": sources[it["name"]], "options": options}
        )
    (bundle / "config.json").write_text(json.dumps(config))
    return sources


def writable_copy(sources, scratch):
    """A copy of the node's vm settings, which a guard can write to without harm."""
    copy = scratch / "vm-copy"
    copy.mkdir()
    for file in pathlib.Path(sources["vm"]).iterdir():
        try:
            (copy / file.name).write_bytes(file.read_bytes())
        except OSError:
            pass
    return str(copy)


def inside(enter, *command):
    """Runs a command in a container; `enter` is how."""
    return subprocess.run([*enter, *command], capture_output=True, text=True, check=False)


def probe(enter, spec):
    """Runs the liveness probe until it succeeds; returns its command."""
    command = spec["containers"][0]["livenessProbe"]["exec"]["command"]
    for _ in range(20):
        done = inside(enter, *command)
        if done.returncode == 0:
            return command
        time.sleep(0.2)
    raise SystemExit(f"kubernetes.py: {enter}: {command}: {done.stdout}{done.stderr}")


def check_alive(enter, variant, spec, sources):
    """Checks that the container has the rights of its manifest, and reads the node's values; returns its guard's status and rights."""
    command = probe(enter, spec)
    status = json.loads(inside(enter, *command, "--json").stdout)
    guard = status.get("status", status)
    own = pathlib.Path(f"/proc/{guard['pid']}/status").read_text()
    told = dict(line.split(":\t", 1) for line in own.splitlines() if ":\t" in line)
    mask = sum(1 << CAPABILITY[it] for it in granted(VARIANTS[variant][1]))
    assert int(told["CapEff"], 16) == mask and int(told["CapBnd"], 16) == mask and told["NoNewPrivs"] == "1", own
    assert told["Uid"].split()[1] == str(spec["containers"][0]["securityContext"]["runAsUser"])
    memory = pathlib.Path("/proc/meminfo").read_text().split()[1]
    assert guard["sample"]["memory"]["total"] == int(memory) * 1024 and guard["mode"] == "observe"
    touch = inside(enter, "/bin/busybox", "touch", "/x")
    assert touch.returncode != 0 and "Read-only" in touch.stderr, touch
    if variant == "textfile":
        file = pathlib.Path(sources["textfile"]) / "warmset.prom"
        assert "\nwarmset_samples_total " in file.read_text() and file.stat().st_uid == 0
    if variant == "guard":
        again = "v=$(busybox cat /host/proc/sys/{0}) && echo $v > /host/proc/sys/{0}"
        for knob, writable in [("vm/swappiness", True), ("kernel/panic", False), ("fs/file-max", False)]:
            done = inside(enter, "/bin/busybox", "sh", "-c", again.format(knob))
            assert (done.returncode == 0) is writable, (knob, done)
    return guard, told


def start(variant, objects, text, scratch):
    """Starts the container, checks it, and waits until it ends by itself."""
    name, bundle = f"warmset-test-{os.getpid()}-{variant}", scratch / "bundle"
    scratch = scratch / variant
    scratch.mkdir()
    spec = pod(objects)
    # For 6 s and without a write, whatever its configuration says.
    sources = runtime(bundle, spec, text, scratch, ["--observe", "--for", "6s"])
    log = scratch / "log"
    with log.open("w") as output:
        container = subprocess.Popen(["runc", "run", "--bundle", str(bundle), name], stdout=output, stderr=output)
    try:
        guard, _ = check_alive(["runc", "exec", name], variant, spec, sources)
        if variant == "guard":
            check_mounts(["runc", "exec", name], spec)
        assert container.wait(timeout=20) == 0, log.read_text()
    except BaseException:
        print(log.read_text(), file=sys.stderr)
        raise
    finally:
        subprocess.run(["runc", "delete", "--force", name], capture_output=True, check=False)
    assert "0 writes" in log.read_text(), log.read_text()
    assert not (pathlib.Path(sources.get("textfile", "/nowhere")) / "warmset.prom").exists()
    # The key on the socket keeps its old name.
    print(f"kubernetes: {variant}: Kustomize and the chart agree, valid for {', '.join(VERSIONS)}, started ({len(guard['troubles'])} warnings)")


def check_mounts(enter, spec):
    """Checks that of the node's /proc and /sys, with all that is mounted below, only what the manifest says can be written to."""
    (container,) = spec["containers"]
    granted_paths = {it["mountPath"] for it in container["volumeMounts"] if not it.get("readOnly")}
    mounts = [line.split() for line in inside(enter, "/bin/busybox", "cat", "/proc/self/mountinfo").stdout.splitlines()]
    below = {it[4]: it[5].split(",") for it in mounts if it[4].startswith(("/host/proc", "/host/sys"))}
    assert len(below) > 4, below
    writable = {path for path, options in below.items() if "rw" in options} - granted_paths
    assert not writable, f"the container can write to {sorted(writable)}"


def podman_options(spec, sources):
    """The options of `podman run` that say what the pod says."""
    (container,) = spec["containers"]
    rights = container["securityContext"]
    options = [
        # The pod has a network of its own, and no use for it. The memory limit is the manifest's, in podman's words.
        "--network=none",
        f"--user={rights['runAsUser']}:{rights['runAsGroup']}",
        f"--memory={container['resources']['limits']['memory'].removesuffix('i').lower()}",
        "--cap-drop=all",
        *(f"--cap-add={name}" for name in granted(rights["capabilities"].get("add", []))),
        f"--entrypoint={json.dumps(container.get('command', ['/usr/sbin/warmsetd']))}",
    ]
    if spec["hostPID"]:
        options.append("--pid=host")
    if rights["readOnlyRootFilesystem"]:
        options.append("--read-only")
    if not rights["allowPrivilegeEscalation"]:
        options.append("--security-opt=no-new-privileges")
    if not granted(["SYS_RESOURCE"]):
        # podman raises these limits, which needs the capability.
        options += ["--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"]
    for it in sorted(container["volumeMounts"], key=lambda it: it["mountPath"]):
        options.append(f"--volume={sources[it['name']]}:{it['mountPath']}:{'ro' if it.get('readOnly') else 'rw'}")
    return options


class Podman:
    """A container engine whose state is all below one directory."""

    def __init__(self, directory):
        places = [f"--root={directory}/root", f"--runroot={directory}/run", f"--tmpdir={directory}/tmp"]
        # vfs copies the image, and so works on every file system. Without systemd there is no other manager of cgroups.
        self.command = ["podman", *places, "--storage-driver=vfs", "--cgroup-manager=cgroupfs", "--runtime=runc", "--events-backend=none"]
        tag = run("umoci", "ls", "--layout", IMAGE).strip()
        self.image = run(*self.command, "pull", "--quiet", f"oci:{IMAGE}:{tag}").strip()

    def start(self, variant, objects, text, scratch):
        """Starts the pod's container with podman's defaults for all else, checks it, and stops it as a kubelet would."""
        name, scratch = f"warmset-test-{variant}", scratch / f"podman-{variant}"
        scratch.mkdir()
        spec = pod(objects)
        sources = {it["name"]: volume(scratch, it, text) for it in spec["volumes"]}
        options = podman_options(spec, sources)
        run(*self.command, "run", "--detach", f"--name={name}", *options, self.image, "--observe", "--for", "60s")
        try:
            _, rights = check_alive([*self.command, "exec", name], variant, spec, sources)
            # 2: the engine's profile of system calls, which stands for RuntimeDefault.
            assert spec["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault" and rights["Seccomp"] == "2", rights
            run(*self.command, "stop", f"--time={spec['terminationGracePeriodSeconds']}", name)
            ended = json.loads(run(*self.command, "inspect", name))[0]["State"]
            log = subprocess.run([*self.command, "logs", name], capture_output=True, text=True, check=False)
        finally:
            subprocess.run([*self.command, "rm", "--force", name], capture_output=True, check=False)
        # 137 would be a guard that did not end on SIGTERM.
        assert ended["ExitCode"] == 0 and "0 writes" in log.stdout + log.stderr, (ended, log)
        print(f"kubernetes: {variant}: podman starts the image under its own seccomp profile, and ends it by SIGTERM")


def acts(objects, text, scratch):
    """Checks that a guard with the rights of its manifest can act: on copies of the settings, in mode tune, which kills no process."""
    bundle, scratch = scratch / "bundle", scratch / "acts"
    scratch.mkdir()
    sources = runtime(bundle, pod(objects), text, scratch, ["--mode", "tune", "--for", "3s"])
    config = json.loads((bundle / "config.json").read_text())
    copy = writable_copy(sources, scratch)
    for mount in config["mounts"]:
        if mount["destination"] == "/host/proc/sys/vm":
            mount["source"] = copy
        if mount["destination"] == "/host/sys/devices/system/node":
            mount["options"] = ["rbind", "ro"]
    (bundle / "config.json").write_text(json.dumps(config))
    done = subprocess.run(["runc", "run", "--bundle", str(bundle), f"warmset-test-{os.getpid()}-acts"], capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "warmset ran for" in said and "observing only" not in said, said
    print("kubernetes: the guard's container can write to its knobs")


def main():
    scratch = pathlib.Path(tempfile.mkdtemp())
    try:
        refused()
        can_start = os.geteuid() == 0 and shutil.which("runc") is not None
        if can_start:
            tag = run("umoci", "ls", "--layout", IMAGE).strip()
            run("umoci", "unpack", "--image", f"{IMAGE}:{tag}", str(scratch / "bundle"))
        else:
            print("SKIPPED: kubernetes: no container is started, because that needs root and runc", file=sys.stderr)
        podman = None
        if can_start and shutil.which("podman"):
            podman = Podman(scratch / "podman")
        elif can_start:
            print("SKIPPED: kubernetes: podman is not installed; runc alone starts containers", file=sys.stderr)
        for variant, (_, _, options) in VARIANTS.items():
            objects, chart = kustomized(variant), templated(*options)
            assert normal(pod(objects)) == normal(pod(chart)), f"{variant}: Kustomize and the chart differ"
            for rendered in (objects, chart):
                check_schema(rendered)
                check_rights(pod(rendered), variant)
                text = check_configuration(rendered, scratch)
            if can_start:
                start(variant, objects, text, scratch)
                if podman:
                    podman.start(variant, objects, text, scratch)
                if variant == "guard":
                    acts(objects, text, scratch)
        run("helm", "lint", str(DIRECTORY / "chart"))
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
