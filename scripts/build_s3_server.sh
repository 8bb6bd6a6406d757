#!/usr/bin/env bash
# Build a real S3 server for the conformance suite of the artifact store: Versity's gateway over a folder, from Go
# modules alone (docs/adr/0034). It takes Go 1.25, two to four minutes on two cores and some 800 MB of Go's caches;
# the tests find it where it is put. There already in this version, nothing is done.
set -euo pipefail
module=github.com/versity/versitygw version=v1.8.0
target=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/fencepost/versitygw}
command -v go >/dev/null || { echo "a real S3 server is built with Go 1.25 or newer, and there is no go on the PATH" >&2; exit 1; }
if go version -m "$target" 2>/dev/null | grep -q "$module[[:space:]]$version"; then exit 0; fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
GOBIN=$folder CGO_ENABLED=0 go install -trimpath -ldflags='-s -w' "$module/cmd/versitygw@$version"
mkdir -p "$(dirname "$target")"
mv "$folder/versitygw" "$target"
echo "built $target"
