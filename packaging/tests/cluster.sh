#!/bin/sh
# Runs the manifests and the chart on a cluster of one node: cluster.sh TARGET
#
# etcd, the API server, the controllers, the scheduler and the kubelet are compiled from Go modules (packaging/tests/cluster);
# containerd is Debian's. All of it runs in namespaces of its own: no packet leaves, each mount and process ends with the test. The
# node's /proc/sys is this machine's, so no guard acts here: the variant guard is started with --observe.
#
# It is not a part of `make test`: the first time, it compiles 2,500 packages, a quarter of an hour of two CPUs.
set -eu
cd "$(dirname "$0")/../.."
target=$PWD/$1
tools=$target/tools/cluster

skip() {
    echo "SKIPPED: cluster: $1" >&2
    exit 0
}
[ "$(id -u)" = 0 ] || skip "it needs root, for namespaces and a container runtime"
command -v go >/dev/null 2>&1 || skip "there is no Go compiler of 1.25 or newer on PATH"
[ -x "$target/tools/kubernetes/kubectl/kubectl" ] || skip "kubectl and helm are missing: make kubernetes downloads them"
[ -x /usr/lib/cni/bridge ] || skip "containernetworking-plugins is not installed, which comes with podman"
[ -d "$target/image/warmset" ] || skip "there is no image: make kubernetes builds it"

release=$(sed -n 's|^\tk8s.io/kubernetes \(v.*\)$|\1|p' packaging/tests/cluster/go.mod)
minor=${release#v1.}
minor=${minor%%.*}
mkdir -p "$tools"
version=k8s.io/component-base/version
# The compiler's cache makes this a matter of seconds if nothing changed.
(cd packaging/tests/cluster && GOTOOLCHAIN=local nice -n 10 go build -trimpath -buildvcs=false -o "$tools/cluster" \
    -ldflags "-s -w -X $version.gitVersion=$release -X $version.gitMajor=1 -X $version.gitMinor=$minor" .) || {
    echo "cluster.sh: Kubernetes $release cannot be compiled" >&2
    exit 1
}
if ! command -v containerd >/dev/null 2>&1 && [ ! -x "$tools/usr/bin/containerd" ]; then
    # Installed, it would start a service.
    (cd "$tools" && apt-get download -qq containerd && dpkg -x containerd_*.deb . && rm containerd_*.deb) ||
        skip "containerd cannot be downloaded (try apt-get update)"
fi

PATH=$tools:$tools/usr/bin:$target/tools/kubernetes/kubectl:$target/tools/kubernetes/helm:$PATH
export PATH
# The control groups are the machine's. What the kubelet makes there is removed at the end.
group=warmset-cluster-$$
scratch=$(mktemp -d)
clean() {
    find /sys/fs/cgroup -depth -type d -path "*/$group*" -exec rmdir {} + 2>/dev/null || true
    rm -rf "$scratch"
}
trap clean EXIT
timeout --kill-after=10 500 unshare --mount --net --ipc --uts --pid --fork --kill-child --mount-proc \
    "$target/tools/kubernetes/bin/python3" packaging/tests/cluster.py "$target/image/warmset" "$target/release/warmset" "$scratch" "$group" || {
    status=$?
    mkdir -p "$target/cluster-logs"
    cp "$scratch"/*.log "$target/cluster-logs/" 2>/dev/null || true
    echo "cluster.sh: ended with status $status; the logs are in $target/cluster-logs" >&2
    exit 1
}
