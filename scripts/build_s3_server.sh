#!/usr/bin/env bash
# Build a real S3 server for the conformance suite of the artifact store: SeaweedFS, from Go modules alone.
# It takes Go 1.26, some 20 minutes on two cores and 250 MB; the tests find it where it is put.
set -euo pipefail
version=v0.0.0-20261109003541-7506e5f91cd6
target=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/fencepost/weed}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
source=$(go mod download -json "github.com/seaweedfs/seaweedfs@$version" | sed -n 's/^\s*"Dir": "\(.*\)",$/\1/p')
# `go install` refuses a module with replace directives: ours takes them over and requires the server.
sed 's#^module .*#module fencepost.test/s3server#' "$source/go.mod" > go.mod
cp "$source/go.sum" go.sum
printf '\nrequire github.com/seaweedfs/seaweedfs %s\n' "$version" >> go.mod
mkdir -p "$(dirname "$target")"
GOFLAGS="-mod=mod -buildvcs=false ${GOFLAGS:-}" go build -o "$target" github.com/seaweedfs/seaweedfs/weed
"$target" version
