#!/usr/bin/env bash
# Kubernetes' own programs and etcd, built from their published Go modules (go.mod here) into a cache outside of the tree:
# tests/kubernetes/build.sh [FOLDER]. Takes 4 to 15 minutes of two cores and 5 GB of disk once. It needs Go 1.26.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/smartmig-k8s/bin}
version=$(sed -n 's#^\tk8s.io/kubernetes \(v[0-9.]*\).*#\1#p' "$here/go.mod")
mkdir -p "$out"
cd "$here"
export CGO_ENABLED=0
for package in go.etcd.io/etcd/server/v3 k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-scheduler \
  k8s.io/kubernetes/cmd/kube-controller-manager; do
  name=$(basename "$package")
  [ "$name" = v3 ] && name=etcd
  [ -x "$out/$name" ] && continue
  nice -n 15 go build -p 2 -trimpath -buildvcs=false -mod=readonly -o "$out/$name.new" \
    -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" "$package"
  mv "$out/$name.new" "$out/$name"
done
ls "$out"
