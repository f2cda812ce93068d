#!/bin/sh
# The main job on real documents: mount, copy documents in, wait, show what came of it.
# usage: run.sh KGFS MOUNTPOINT       Running it twice is harmless.
set -eu
kgfs=$1 mount=$2
ontology=$mount/Python
documents=$ontology/documents

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }
show() { say "$*"; sh -c "$*"; }
# As a shell takes it for one word, whatever is in it.
word() {
    case $1 in
    '' | *[!A-Za-z0-9_./@%+=:,-]*) printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")" ;;
    *) printf %s "$1" ;;
    esac
}

# The mount of a process that was killed refuses: it is detached, or kgfs doctor would find fault with it.
[ -d "$mount" ] || mkdir -p "$mount" || "$kgfs" umount "$mount"
"$kgfs" doctor --quiet ${KGFS_CONFIG:+--create}
"$kgfs" mount "$mount"
[ -d "$ontology" ] || mkdir "$ontology"

for document in examples/*.rst; do
    cmp -s "$document" "$documents/$(basename "$document")" || cp "$document" "$documents/"
done
"$kgfs" wait --timeout 900

show "ls -F $(word "$mount") $(word "$ontology") $(word "$documents")"
show "ls $(word "$ontology/concepts") | head -20"
echo "… $(ls "$ontology/concepts" | wc -l) in all"
# The concept with most relationships, then evidence, has most to show.
best=$(for page in "$ontology"/concepts/*/concept.md; do
    echo "$(grep -c '](related/' "$page") $(grep -c '](evidence/' "$page") $page"
done | sort -k1,1nr -k2,2nr -k3 | sed -n '1s|.*/\(.*\)/concept.md$|\1|p')
show "head -n 30 $(word "$ontology/concepts/$best/concept.md")"
show "cat $(word "$ontology/$best/evidence/1/source.txt")"
show "cat $(word "$ontology/$best/evidence/1/citation.json")"
echo
echo "It is mounted at $mount. Copy your own documents into a folder there; \"make stop MOUNT=$(word "$mount")\" ends it. For 'kgfs wait' and the like:"
echo "    export PATH=$(word "$(cd "$(dirname "$kgfs")" && pwd)"):\"\$PATH\" KGFS_HOME=$(word "$KGFS_HOME")${KGFS_CONFIG:+ KGFS_CONFIG=$(word "$KGFS_CONFIG")}"
