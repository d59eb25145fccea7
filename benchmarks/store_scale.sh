#!/usr/bin/env bash
# The store at 1,000,000 nodes, SQLite and then PostgreSQL on a private server that is gone at the end.
#   benchmarks/store_scale.sh docs/results/store [NODES]
set -euo pipefail
out=${1:?folder for the results}
nodes=${2:-1000000}
python=${PYTHON:-.venv/bin/python}
work=$(mktemp -d /tmp/ke-scale-XXXXXX)
server=
cleanup() {
  if [ -n "$server" ]; then kill -INT "$server" && wait "$server" || true; fi
  rm -rf "$work"
}
trap cleanup EXIT
mkdir -p "$out"
"$python" benchmarks/store_scale.py --nodes "$nodes" --store "$work/sqlite" --out "$out/sqlite.json"
rm -rf "$work/sqlite"

bin=$(dirname "$(readlink -f "$(command -v initdb || ls -d /usr/lib/postgresql/*/bin/initdb | tail -1)")")
as=()
if [ "$(id -u)" = 0 ]; then # PostgreSQL refuses to run as root
  as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
  chown postgres "$work"
fi
(cd /tmp && "${as[@]}" "$bin/initdb" -D "$work/data" -U ke -A trust -E UTF8 --locale=C >/dev/null)
(cd /tmp && exec "${as[@]}" "$bin/postgres" -D "$work/data" -k "$work" -c listen_addresses= -c shared_buffers=1GB \
  -c max_wal_size=8GB >"$work/log" 2>&1) &
server=$!
for _ in $(seq 100); do "$bin/pg_isready" -q -h "$work" && break; sleep 0.2; done
"$python" benchmarks/store_scale.py --nodes "$nodes" --store "postgresql://ke@/postgres?host=$work" --out "$out/postgresql.json"
"$python" benchmarks/store_scale.py --render "$out"
