#!/usr/bin/env bash
# Random requests, right and wrong ones, against a running daemon: every answer is what docs/openapi.yaml says.
# usage: openapi_test.sh DOPPEL OPENAPI_YAML VENV [SEED]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
doppel=$1 description=$2 venv=$3 seed=${4:-$RANDOM}
if [ ! -e "$venv/done" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" --quiet install schemathesis==4.32.5
  touch "$venv/done"
fi

work=$(mktemp -d)
daemon=
stop() {
  if [ -n "$daemon" ]; then kill "$daemon" && wait "$daemon" || true; fi
  rm -rf "$work"
}
trap stop EXIT
mkdir "$work/in"
for i in 1 2 3; do
  echo "{\"id\":\"d$i\",\"crawl\":\"weekly-17\",\"text\":\"some words of document $i and a few more of them\"}"
done > "$work/in/a.jsonl"
export DOPPEL_HTTP_TOKEN=correct-horse-battery
mkfifo "$work/log"
"$doppel" serve --state "$work/state" -o "$work/events" --set http.listen=127.0.0.1:0 --set input.tags=crawl "$work/in" 2> "$work/log" &
daemon=$!
exec 3< "$work/log"
url=
while read -r line <&3; do
  echo "$line"
  case $line in
    *listening*) url=${line##*url=} ;;
    *" ready"*) break ;;
  esac
done
cat <&3 > "$work/log.txt" &
[ -n "$url" ]

echo "seed $seed"
cd "$work"
# What a document may look like is a matter of input.format, so a body is neither right nor wrong by the description.
# One worker: Python 3.11 cannot parse source in two threads at once ("AST constructor recursion depth mismatch").
# TRACE is refused with 400 before anyone looks for its route; the other methods are tested with the server.
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 SCHEMATHESIS_HOOKS=schemathesis_hooks \
  "$venv/bin/st" run "$description" --url "$url" -H "Authorization: Bearer $DOPPEL_HTTP_TOKEN" \
  --seed "$seed" --max-examples 25 --checks all --exclude-checks unsupported_method,positive_data_acceptance,negative_data_rejection --workers 1 --no-color --warnings off
kill -0 "$daemon"
