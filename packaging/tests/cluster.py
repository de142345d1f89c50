"""Applies manifests and chart to a cluster of one node: cluster.py IMAGE WARMSET SCRATCH GROUP (called by cluster.sh)."""

import json
import os
import pathlib
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time

import kubernetes as offline

IMAGE, _, scratch, GROUP = sys.argv[1:]
SCRATCH = pathlib.Path(scratch)
# An address for documentation (RFC 5737): in this network namespace it is the node's.
ADDRESS = "192.0.2.1"
SERVER = "https://127.0.0.1:6443"
NODE = "node"
# What the kubelet would set on the machine. Files with these values are mounted over them, so that it finds nothing to change.
TUNABLES = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
# Why each level of pod security refuses a pod of each variant.
REFUSED = {
    "baseline": {
        "observe": {"host namespaces"},
        "textfile": {"host namespaces", "hostPath volumes"},
        "guard": {"host namespaces", "hostPath volumes", "non-default capabilities", "forbidden AppArmor profile"},
    },
    "restricted": {
        "observe": {"host namespaces"},
        "textfile": {"host namespaces", "restricted volume types", "runAsNonRoot != true", "runAsUser=0"},
        "guard": {"host namespaces", "restricted volume types", "runAsNonRoot != true", "runAsUser=0", "unrestricted capabilities",
                  "forbidden AppArmor profile"},
    },
}

tokens = {name: secrets.token_hex(16) for name in ("admin", NODE)}
started = {}


def run(*command, status=0, text=None):
    """What `command` prints on both outputs; it must end with `status`."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == status, f"{command}: {done.returncode}: {done.stderr}{done.stdout}"
    return done.stdout + done.stderr


def kubectl(*arguments, **options):
    return run("kubectl", f"--kubeconfig={SCRATCH}/admin.json", *arguments, **options)


def helm(*arguments):
    return run("helm", f"--kubeconfig={SCRATCH}/admin.json", "--namespace=warmset", *arguments)


def get(*arguments):
    return json.loads(kubectl("get", "--output=json", *arguments))


def start(name, *command):
    log = (SCRATCH / f"{name}.log").open("w")
    started[name] = subprocess.Popen(command, stdout=log, stderr=log)


def wait(what, answers, seconds=90):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name, child in started.items():
            if child.poll() is not None:
                tail = (SCRATCH / f"{name}.log").read_text().splitlines()[-5:]
                raise SystemExit(f"cluster.py: {name} ended with status {child.returncode}: " + "\n".join(tail))
        try:
            if found := answers():
                return found
        except (OSError, AssertionError, KeyError, ValueError):
            pass
        time.sleep(0.3)
    raise SystemExit(f"cluster.py: waited {seconds} s for {what}")


def config(name):
    """A kubeconfig with the token of a user."""
    file = SCRATCH / f"{name}.json"
    certificate = str(SCRATCH / "certs/apiserver.crt")
    told = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": SERVER, "certificate-authority": certificate}}],
        "users": [{"name": name, "user": {"token": tokens[name]}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
        "current-context": "test",
    }
    file.write_text(json.dumps(told))
    return str(file)


def prepare_namespaces():
    """Makes this mount and network namespace a node's."""
    socket.sethostname(NODE)
    for directory in ("/run", "/var/lib", "/var/log"):
        run("mount", "-t", "tmpfs", "none", directory)
    for name, value in TUNABLES.items():
        file = SCRATCH / name.replace("/", ".")
        file.write_text(f"{value}\n")
        run("mount", "--bind", str(file), f"/proc/sys/{name}")
        run("mount", "-o", "remount,bind,ro", f"/proc/sys/{name}")
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "cluster", "type", "bridge")
    run("ip", "address", "add", f"{ADDRESS}/24", "dev", "cluster")
    run("ip", "link", "set", "cluster", "up")


def start_control_plane():
    run("ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-m", "PEM", "-N", "", "-f", str(SCRATCH / "accounts"))
    users = SCRATCH / "tokens.csv"
    users.write_text(
        f'{tokens["admin"]},admin,1,"system:masters"\n{tokens[NODE]},system:node:{NODE},2,"system:nodes"\n'
    )
    start("etcd", "cluster", "etcd", f"--data-dir={SCRATCH}/etcd", "--unsafe-no-fsync", "--log-level=warn")
    start(
        "kube-apiserver", "cluster", "kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", "--bind-address=127.0.0.1",
        f"--advertise-address={ADDRESS}", f"--cert-dir={SCRATCH}/certs", f"--token-auth-file={users}", "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction", "--service-account-issuer=https://cluster.test",
        f"--service-account-key-file={SCRATCH}/accounts", f"--service-account-signing-key-file={SCRATCH}/accounts",
        "--service-cluster-ip-range=198.51.100.0/24", "--kubelet-preferred-address-types=InternalIP",
        # A container that is `privileged` would be refused.
        "--allow-privileged=false",
    )
    wait("the API server", lambda: kubectl("get", "--raw=/readyz") == "ok")
    accounts = f"--service-account-private-key-file={SCRATCH}/accounts"
    start("kube-controller-manager", "cluster", "kube-controller-manager", f"--kubeconfig={config('admin')}", "--leader-elect=false",
          accounts, f"--root-ca-file={SCRATCH}/certs/apiserver.crt")
    start("kube-scheduler", "cluster", "kube-scheduler", f"--kubeconfig={config('admin')}", "--leader-elect=false")


def start_runtime():
    """Starts containerd with our image, and with one in the place of the pause image, which is in a registry only."""
    directory = SCRATCH / "containerd"
    directory.mkdir()
    network = SCRATCH / "net.d"
    network.mkdir()
    addresses = {"type": "host-local", "subnet": "192.0.2.0/24", "rangeStart": "192.0.2.10"}
    (network / "test.conflist").write_text(json.dumps({
        "cniVersion": "0.4.0",
        "name": "test",
        "plugins": [{"type": "bridge", "bridge": "cluster", "ipam": addresses}],
    }))
    may_lower = "false" if offline.granted(["SYS_RESOURCE"]) else "true"
    (directory / "config.toml").write_text(
        f'version = 2\nroot = "{directory}/root"\nstate = "{directory}/state"\n[grpc]\naddress = "{directory}/socket"\n'
        '[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "docker.io/library/pause:1"\n'
        # Without the capability, nothing may have a lower oom_score_adj than containerd.
        f'restrict_oom_score_adj = {may_lower}\n'
        '[plugins."io.containerd.grpc.v1.cri".cni]\nbin_dir = "/usr/lib/cni"\n'
        f'conf_dir = "{network}"\n[plugins."io.containerd.internal.v1.opt"]\npath = "{directory}/opt"\n'
    )
    start("containerd", "containerd", f"--config={directory}/config.toml", "--log-level=warn")
    ctr = ("ctr", f"--address={directory}/socket", "--namespace=k8s.io")
    wait("containerd", lambda: run(*ctr, "version"))
    layout = SCRATCH / "image"
    shutil.copytree(IMAGE, layout)
    tag = run("umoci", "ls", "--layout", str(layout)).strip()
    run(*ctr, "images", "import", "--base-name=docker.io/library/warmset", archive(layout))
    # busybox waits; with one tag in the layout, the import has one name.
    waits = ("--config.entrypoint=/bin/busybox", "--config.cmd=sleep", "--config.cmd=99999999")
    run("umoci", "config", "--image", f"{layout}:{tag}", "--tag=1", *waits)
    run("umoci", "rm", "--image", f"{layout}:{tag}")
    run(*ctr, "images", "import", "--base-name=docker.io/library/pause", archive(layout))
    names = run(*ctr, "images", "ls", "--quiet").split()
    assert f"docker.io/library/warmset:{tag}" in names and "docker.io/library/pause:1" in names, names
    return f"unix://{directory}/socket"


def archive(layout):
    file = f"{layout}.tar"
    run("tar", "-c", "-C", str(layout), "-f", file, ".")
    return file


def start_kubelet(endpoint):
    told = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        # The API server reaches it in this network namespace only.
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "containerRuntimeEndpoint": endpoint,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{GROUP}",
        # Since 1.35 it refuses cgroup v1 unless it is told not to.
        "failCgroupV1": False,
        "failSwapOn": False,
        "protectKernelDefaults": True,
        "makeIPTablesUtilChains": False,
        "podLogsDir": str(SCRATCH / "pods"),
        # A machine that is short of space must not evict the pods of a test.
        "evictionHard": {"memory.available": "1Mi", "nodefs.available": "0%", "imagefs.available": "0%"},
    }
    (SCRATCH / "kubelet.json").write_text(json.dumps(told))
    for directory in controllers():
        directory.mkdir()
    start("kubelet", "cluster", "kubelet", f"--config={SCRATCH}/kubelet.json", f"--kubeconfig={config(NODE)}",
          f"--root-dir={SCRATCH}/kubelet", f"--hostname-override={NODE}", f"--node-ip={ADDRESS}", f"--cert-dir={SCRATCH}/kubelet-certs")
    wait("the node", lambda: is_ready(get("node", NODE)))


def controllers():
    """The kubelet's directory in each hierarchy of control groups."""
    root = pathlib.Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        return [root / GROUP]
    return sorted({it.resolve() / GROUP for it in root.iterdir() if (it / "cgroup.procs").exists()})


def is_ready(node):
    return any(it["type"] == "Ready" and it["status"] == "True" for it in node["status"]["conditions"])


def lost(sent, stored, where=""):
    """The paths of `sent` that `stored` lacks or has otherwise."""
    if isinstance(sent, dict):
        if not isinstance(stored, dict):
            return [where]
        return [path for key, value in sent.items() for path in lost(value, stored.get(key), f"{where}.{key}")]
    if isinstance(sent, list):
        if not isinstance(stored, list) or len(sent) != len(stored):
            return [where]
        return [path for at, (one, other) in enumerate(zip(sent, stored)) for path in lost(one, other, f"{where}[{at}]")]
    # An empty value is the same as none.
    return [] if sent == stored or not sent and stored is None else [where]


def directory(variant):
    return str(offline.DIRECTORY / ("base" if variant == "observe" else f"overlays/{variant}"))


def check_stored(variant, rendered):
    """Checks that the API server stored all that was sent, and that the pod has no token for the API."""
    for kind, sent in rendered.items():
        space = sent["metadata"].get("namespace")
        stored = get(kind, sent["metadata"]["name"], *([f"--namespace={space}"] if space else []))
        missing = [path for path in lost(sent, stored) if not path.startswith(".metadata.creationTimestamp")]
        assert not missing, (variant, kind, missing)
    offline.check_rights(stored_pod(), variant)


def stored_pod():
    return get("daemonset", "warmset", "--namespace=warmset")["spec"]["template"]["spec"]


def check_server_side():
    """Applies each variant without and with storing it."""
    # Every object of the base, and its namespace, before there is one.
    for variant in offline.VARIANTS:
        rendered = offline.kustomized(variant)
        kubectl("apply", "--server-side", "--validate=strict", "--kustomize", directory(variant))
        check_stored(variant, rendered)
        assert kubectl("diff", "--server-side", "--kustomize", directory(variant)) == "", "what is stored differs from what was applied"
        # Another name than the applied DaemonSet, which has another selector.
        chart = run("helm", "template", "chart", str(offline.DIRECTORY / "chart"), "--namespace=warmset", *offline.VARIANTS[variant][2])
        said = kubectl("apply", "--dry-run=server", "--server-side", "--validate=strict", "--namespace=warmset", "--filename=-", text=chart)
        assert "Warning" not in said, said
    wrong = json.dumps(offline.kustomized("observe")["DaemonSet"]).replace('"runAsNonRoot"', '"runAsNonRot"')
    said = kubectl("apply", "--dry-run=server", "--validate=strict", "--filename=-", text=wrong, status=1)
    assert "unknown field" in said, said
    privileged = json.dumps(offline.kustomized("observe")["DaemonSet"]).replace('"allowPrivilegeEscalation": false', '"privileged": true')
    said = kubectl("apply", "--server-side", "--force-conflicts", "--dry-run=server", "--filename=-", text=privileged, status=1)
    assert "disallowed by cluster policy" in said, said
    print("cluster: the API server takes and keeps all fields of each variant; it refuses a misspelt one and a privileged container")


def pod_of(variant, namespace):
    """A pod of the variant's template."""
    told = offline.kustomized(variant)["DaemonSet"]["spec"]["template"]
    metadata = {"name": "warmset", "namespace": namespace, **told["metadata"]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": told["spec"]})


def check_pod_security():
    """Checks that namespaces of stricter levels refuse each variant, and for the reasons that the page gives."""
    for level, variants in REFUSED.items():
        kubectl("create", "namespace", level)
        kubectl("label", "namespace", level, f"pod-security.kubernetes.io/enforce={level}")
        wait("the service account", lambda: get("serviceaccount", "default", f"--namespace={level}"))
        for variant, expected in variants.items():
            said = kubectl("create", "--dry-run=server", "--filename=-", text=pod_of(variant, level), status=1)
            told = re.search(rf'violates PodSecurity "{level}:latest": (.*)', said)
            assert told, said
            found = {it.strip() for it in re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)", "", told[1]).split(",")}
            assert found == expected, (level, variant, found ^ expected, said)
    # The namespace of the manifests admits them.
    for variant in offline.VARIANTS:
        kubectl("create", "--dry-run=server", "--filename=-", text=pod_of(variant, "warmset"))
    print("cluster: the levels baseline and restricted refuse each variant, for the reasons of docs/fleet.md and no other")


def can(verb, what, user, *options, allowed=False):
    said = kubectl("auth", "can-i", verb, what, f"--as={user}", *options, status=0 if allowed else 1)
    assert said.startswith("yes" if allowed else "no"), (verb, what, user, said)


def check_rights_in_cluster():
    """Checks what the pods' account may do (nothing), and what a user needs who applies the manifests."""
    account = "system:serviceaccount:warmset:default"
    for verb, what in (("get", "pods"), ("list", "secrets"), ("get", "nodes"), ("create", "pods"), ("patch", "daemonsets")):
        can(verb, what, account, "--namespace=warmset")
    kubectl("create", "rolebinding", "operators", "--clusterrole=admin", "--user=operator", "--namespace=warmset")
    can("create", "daemonsets", "operator", "--namespace=warmset", allowed=True)
    can("create", "daemonsets", "operator", "--namespace=default")
    can("create", "namespaces", "operator")
    objects = offline.kustomized("observe")
    namespace = json.dumps(objects.pop("Namespace"))
    rest = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects.values())})
    apply = ("apply", "--dry-run=server", "--server-side", "--force-conflicts", "--as=operator", "--filename=-")
    kubectl(*apply, text=rest)
    assert "forbidden" in kubectl(*apply, text=namespace, status=1)
    print("cluster: the pods' account may do nothing; an admin of the namespace may apply all but the namespace")


def pods():
    return get("pods", "--namespace=warmset", "--selector=app.kubernetes.io/name=warmset")["items"]


def rolled_out():
    """Waits until the DaemonSet's pod runs and is ready; returns it."""

    def answers():
        told = get("daemonset", "warmset", "--namespace=warmset")
        status = told["status"]
        whole = status.get("observedGeneration") == told["metadata"]["generation"] and status.get("updatedNumberScheduled") == 1
        found = pods()
        alone = len(found) == 1 and "deletionTimestamp" not in found[0]["metadata"]
        return whole and alone and status.get("numberReady") == 1 and found[0]

    try:
        return wait("a ready pod", answers, 60)
    except SystemExit:
        print(kubectl("describe", "pods", "--namespace=warmset"), file=sys.stderr)
        command = ["kubectl", f"--kubeconfig={SCRATCH}/admin.json", "--namespace=warmset", "logs", "ds/warmset"]
        print(subprocess.run(command, capture_output=True, text=True, check=False), file=sys.stderr)
        raise


def enter():
    return ["kubectl", f"--kubeconfig={SCRATCH}/admin.json", "--namespace=warmset", "exec", "ds/warmset", "--"]


def check_runs(variant, sources):
    """Checks a pod of the variant as the offline test does, through the API server and the kubelet."""
    pod = rolled_out()
    assert pod["spec"]["priorityClassName"] == "system-node-critical", pod["spec"]
    assert not any("kube-api-access" in it["name"] for it in pod["spec"]["volumes"]), pod["spec"]["volumes"]
    guard, rights = offline.check_alive(enter(), variant, pod["spec"], sources)
    assert rights["Seccomp"] == "2", rights
    return pod, guard


def container(pod):
    return pod["status"]["containerStatuses"][0]


def check_restart(guard):
    """Kills the guard; the kubelet must start another one in the same pod."""
    (before,) = pods()
    os.kill(guard["pid"], 9)

    def answers():
        (now,) = pods()
        is_same = now["metadata"]["uid"] == before["metadata"]["uid"]
        return is_same and container(now)["restartCount"] == container(before)["restartCount"] + 1 and container(now)["ready"]

    wait("the kubelet to start the guard again", answers, 60)


def check_base():
    kubectl("apply", "--server-side", "--force-conflicts", "--kustomize", directory("observe"))
    pod, guard = check_runs("observe", {})
    check_restart(guard)
    kubectl("delete", "pod", pod["metadata"]["name"], "--namespace=warmset")
    assert rolled_out()["metadata"]["uid"] != pod["metadata"]["uid"]
    print("cluster: observe: the kubelet starts the pod, starts its guard again after kill -9, and the controller replaces it")
    kubectl("delete", "--kustomize", directory("observe"))
    wait("the namespace to go", lambda: "NotFound" in kubectl("get", "namespace", "warmset", status=1))


def check_chart():
    """Installs the chart, and upgrades it from variant to variant."""
    chart = str(offline.DIRECTORY / "chart")
    kubectl("create", "namespace", "warmset")
    kubectl("label", "namespace", "warmset", "pod-security.kubernetes.io/enforce=privileged")
    helm("install", "warmset", chart)
    check_runs("observe", {})
    files = SCRATCH / "textfile"
    helm("upgrade", "warmset", chart, "--set", f"textfile={files}")
    check_runs("textfile", {"textfile": files})
    # Its settings are this machine's, which has other users.
    helm("upgrade", "warmset", chart, "--set", "mode=guard")
    observing = [{"op": "add", "path": "/spec/template/spec/containers/0/args", "value": ["--observe"]}]
    missing = [it for it in offline.VARIANTS["guard"][1] if not offline.granted([it])]
    if missing:
        print(f"SKIPPED: cluster: this machine cannot grant {', '.join(missing)}; the guard's pod is started without it", file=sys.stderr)
        path = "/spec/template/spec/containers/0/securityContext/capabilities/add"
        observing.append({"op": "replace", "path": path, "value": sorted(offline.granted(offline.VARIANTS["guard"][1]))})
    kubectl("patch", "daemonset", "warmset", "--namespace=warmset", "--type=json", f"--patch={json.dumps(observing)}")
    check_runs("guard", {})
    helm("uninstall", "warmset")
    wait("the pods to go", lambda: not pods())
    assert get("configmaps,daemonsets,secrets", "--namespace=warmset", "--field-selector=metadata.name!=kube-root-ca.crt")["items"] == []
    print("cluster: helm installs the chart, upgrades it to textfile and guard, each of which runs, and leaves nothing")


def main():
    prepare_namespaces()
    run("mkdir", "-p", str(SCRATCH / "certs"))
    config("admin")
    start_control_plane()
    check_server_side()
    check_pod_security()
    check_rights_in_cluster()
    start_kubelet(start_runtime())
    check_base()
    check_chart()
    version = get("node", NODE)["status"]["nodeInfo"]
    print(f"cluster: Kubernetes {version['kubeletVersion']} with {version['containerRuntimeVersion']}, kernel {version['kernelVersion']}")


main()
