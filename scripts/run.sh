#!/bin/sh
# The main job on real documents: mount, copy documents in, wait, show what came of it.
# usage: run.sh KGFS MOUNTPOINT       Running it twice is harmless.
set -eu
kgfs=$1 mount=$2
ontology=$mount/Python
documents=$ontology/documents

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }
show() { say "$*"; sh -c "$*"; }

mkdir -p "$mount" || true  # a dead mount refuses; kgfs mount detaches it
"$kgfs" doctor --quiet
"$kgfs" mount "$mount"
[ -d "$ontology" ] || mkdir "$ontology"

for document in examples/*.rst; do
    cmp -s "$document" "$documents/$(basename "$document")" || cp "$document" "$documents/"
done
"$kgfs" wait --timeout 900

show "ls -F $mount $ontology $documents"
show "ls $ontology/concepts | head -20"
echo "… $(ls "$ontology/concepts" | wc -l) in all"
# The concept with most relationships, then evidence, has most to show.
best=$(for page in "$ontology"/concepts/*/concept.md; do
    echo "$(grep -c '](related/' "$page") $(grep -c '](evidence/' "$page") $page"
done | sort -k1,1nr -k2,2nr -k3 | sed -n '1s|.*/\(.*\)/concept.md$|\1|p')
show "head -n 30 $ontology/concepts/$best/concept.md"
show "cat $ontology/$best/evidence/1/source.txt"
show "cat $ontology/$best/evidence/1/citation.json"
echo
echo "It is mounted at $mount. Copy your own documents into a folder there; \"make stop MOUNT='$mount'\" ends it. For 'kgfs wait' and the like:"
echo "    export PATH='$(cd "$(dirname "$kgfs")" && pwd)':\"\$PATH\" KGFS_HOME='$KGFS_HOME'${KGFS_CONFIG:+ KGFS_CONFIG='$KGFS_CONFIG'}"
