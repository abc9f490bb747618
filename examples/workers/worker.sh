#!/bin/sh
# A worker for Turnwise in sh: curl talks, python3 reads and writes JSON.
#
#     TURNWISE_URL=http://127.0.0.1:7700 TURNWISE_TOKEN_FILE=turnwise-data/token sh worker.sh
#
# It counts the words of a text: kind `words`, payload {"text": "…"}. With JOBS=3 it leaves after three jobs. It works at one
# job at a time and makes one claim at a time. When the server does not know it any more, it ends: start it again.
set -eu

url=${TURNWISE_URL:-http://127.0.0.1:7700}
token_file=${TURNWISE_TOKEN_FILE:-turnwise-data/token}
left=${JOBS:-0}
session_ms=10000
files=$(mktemp -d)

# ask METHOD PATH BODY: prints the answer; fails unless the status is 2xx. The token is on no command line.
ask() {
    answer=$(printf 'header = "Authorization: Bearer %s"\n' "$(cat "$token_file")" |
        curl --silent --show-error --config - --max-time 60 --request "$1" --data "$3" \
            --write-out '\n%{http_code}' "$url$2") || return 1
    printf '%s\n' "$answer" | sed '$d'
    case $answer in *2[0-9][0-9]) ;; *) return 1 ;; esac
}

# field KEY…: what is there in the JSON that it reads; a text as it is, anything else as JSON.
field() {
    python3 -c '
import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1:]:
    value = value[int(key)] if isinstance(value, list) else value[key]
print(value if isinstance(value, str) else json.dumps(value))' "$@"
}

# text: what it reads, as a JSON text.
text() {
    python3 -c 'import json, sys; print(json.dumps(sys.stdin.read().strip()))'
}

# The work itself: reads the payload, writes the result.
work() {
    field text >"$files/text" || return 1
    printf '{"words": %d}' "$(wc -w <"$files/text")"
}

# While the job runs: says that this worker lives, and ends the job if it should stop.
watch_over() {
    trap 'kill "$resting" 2>/dev/null; exit 0' TERM
    while :; do
        sleep 2 &
        resting=$!
        wait "$resting"
        if ask POST "$worker/heartbeat" '{}' | field cancelled 2>/dev/null | grep -q "$1"; then
            kill "$2" 2>/dev/null || true
        fi
    done
}

leave() {
    trap - EXIT
    ask DELETE "$worker" '{}' || true
    rm -rf "$files"
    echo left
    exit "$1"
}

new="{\"name\": \"sh-$$\", \"kinds\": [\"words\"], \"slots\": 1, \"session_ms\": $session_ms}"
worker=/api/v1/workers/$(ask POST /api/v1/workers "$new" | field worker)
trap 'leave 1' EXIT
trap 'leave 0' INT TERM
echo "registered as sh-$$"

while :; do
    # It holds nothing now: what it was given in an answer that was lost comes back.
    ask POST "$worker/claim" '{"max": 1, "wait_ms": 5000, "held": []}' >"$files/claim"
    [ "$(field jobs <"$files/claim")" != "[]" ] || continue
    job=$(field jobs 0 id <"$files/claim")
    fence=$(field jobs 0 fence <"$files/claim")
    echo "begins words $job"
    field jobs 0 payload <"$files/claim" >"$files/payload"

    (work <"$files/payload" >"$files/result" 2>"$files/error") &
    working=$!
    (watch_over "$job" "$working") &
    watching=$!
    if wait "$working"; then
        verb=complete
        said="\"result\": $(cat "$files/result")"
    else
        verb=fail
        said="\"error\": $(text <"$files/error")"
    fi
    kill "$watching" 2>/dev/null || true
    wait "$watching" 2>/dev/null || true
    if ask POST "$worker/jobs/$job/$verb" "{\"fence\": $fence, $said}"; then
        echo "ended $job"
    else
        echo "dropped $job"
    fi

    left=$((left - 1))
    [ "$left" -ne 0 ] || leave 0
done
