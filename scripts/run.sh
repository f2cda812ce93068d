#!/bin/sh
# The main job on real documents: mount, copy documents in, wait, show what came of it.
# usage: run.sh KGFS MOUNTPOINT       Running it twice is harmless.
set -eu
kgfs=$1 mount=$2
ontology=$mount/Python
documents=$ontology/documents

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }
show() { say "$*"; sh -c "$*"; }

mkdir -p "$mount"
"$kgfs" doctor --quiet
"$kgfs" mount "$mount"
[ -d "$ontology" ] || mkdir "$ontology"

# Documents that stand on any machine with this repository: kgfs's own, and Python's own tutorial-sized texts.
for document in README.md CHANGELOG.md LICENSE docs/*.md examples/*; do
    [ -f "$document" ] || continue
    cmp -s "$document" "$documents/$(basename "$document")" || cp "$document" "$documents/"
done
"$kgfs" wait --timeout 900

concepts=$(ls "$ontology/concepts" | wc -l)
show "ls $mount $ontology $documents"
show "ls $ontology/concepts | head -20"
echo "($concepts concepts)"
# The concept with most evidence has most to show.
best=$(find "$ontology/concepts" -path '*/evidence/*/source.txt' | awk -F/ '{print $(NF-3)}' | sort | uniq -c | sort -k1,1nr -k2 | awk 'NR==1 {print $2}')
show "head -40 $ontology/concepts/$best/concept.md"
show "cat $ontology/$best/evidence/1/source.txt"
show "cat $ontology/$best/evidence/1/citation.json"
echo
echo "It is mounted at $mount. Copy your own documents into a folder there; 'make stop' ends it."
