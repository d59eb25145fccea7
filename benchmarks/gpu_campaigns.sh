#!/usr/bin/env bash
# Campaigns of the built-in operators, one at a time on each GPU of this machine, until the time is up.
#   benchmarks/gpu_campaigns.sh FOLDER SECONDS [CAMPAIGN ..]
# A campaign is written as on the command line, "conv1d --path wide"; without any, the list below, longest first. Every GPU
# has a store of its own in FOLDER (trees, verdicts, claims) and a log of what was printed; a campaign that the end of
# the time cut off goes on with `kernelevolve resume`. Gated DeltaNet's winners are exported as well, and the package is
# tested and timed beside vLLM where one is on PYTHONPATH.
set -u
out=${1:?a folder for the results}
until=$((SECONDS + ${2:?seconds}))
shift 2
mkdir -p "$out" && out=$(cd "$out" && pwd)
cd "$(dirname "$0")/.."
export PYTHONUNBUFFERED=1
cache=${KERNELEVOLVE_CACHE:-$PWD/.cuda-cache}
python=${PYTHON:-python3}
decode=gated_delta_packed_decode
campaigns=("$@")
[ $# -gt 0 ] || campaigns=(
    "$decode --path all --max-seconds 100" "interformer_pffn" "conv1d --path narrow --max-seconds 10" "map_id"
    "conv1d --path wide --max-seconds 22" "merge_bucketized_dense" "wukong_optimized_fm --path narrow" "rms_norm_backward"
    "wukong_optimized_fm --path wide" "batch_event_truncate" "jagged_to_padded_dense" "jagged_pooled_embedding" "sigrid_hash"
    "dlrm_dot_interaction" "rms_norm"
)
kernelevolve() { "$python" -m kernelevolve.interfaces.cli.main "$@"; }
limited() { # a command of this script's, for as long as there is time
    local left=$((until - SECONDS))
    [ "$left" -gt 0 ] && timeout "$left" "$python" "$@"
}
exported() { # what the campaigns of one store found for Gated DeltaNet, as a package: tested, and timed on the host
    local store=$1 package=$out/packages/$decode ids
    ids=$(kernelevolve campaign list --store "$store" --json | "$python" -c '
import json, sys
print(*[one["id"] for one in json.load(sys.stdin)["campaigns"] if one["task_name"] == sys.argv[1] and one["winner"]])' "$decode")
    # shellcheck disable=SC2086 - several ids
    kernelevolve export $ids "$package" --fallback vllm --store "$store" || return
    (cd "$package" && limited "test_$decode.py") > "$out/package_test.log" 2>&1
    echo "== the package's own test ended with $?: $(tail -1 "$out/package_test.log")"
    limited benchmarks/dispatch_overhead.py "$package" > "$out/dispatch_$decode.json"
    limited benchmarks/gdn_decode.py --variants 1 --store "$store" --out "$out/gdn_rollout.json" | cut -c1-400
}
worker() {
    local store=$out/gpu$1 started words
    export CUDA_VISIBLE_DEVICES=$1 KERNELEVOLVE_CACHE=$cache
    [ "$1" = 0 ] || { export KERNELEVOLVE_CACHE=$cache.$1 && mkdir -p "$cache" "$cache.$1" && cp -r "$cache/." "$cache.$1"; }
    for number in "${!campaigns[@]}"; do
        mkdir "$out/taken.$number" 2> /dev/null || continue # somebody else's
        [ $((until - SECONDS)) -lt 25 ] && echo "== no time for ${campaigns[number]}" && continue
        read -ra words <<< "${campaigns[number]}"
        started=$SECONDS
        limited -m kernelevolve.interfaces.cli.main run "${words[0]}" --platform cuda \
            --max-seconds 10 --max-candidates 24 --drafts 8 "${words[@]:1}" --store "$store" >> "$store.log" 2>&1
        echo "== ${campaigns[number]}: exit code $? after $((SECONDS - started)) s on GPU $1" | tee -a "$store.log"
        [ "${words[0]}" = "$decode" ] && exported "$store"
    done
}
for gpu in $(seq 0 $(($(nvidia-smi -L | wc -l) - 1))); do worker "$gpu" & done
wait
rmdir "$out"/taken.*
grep -h "× as fast\|^finished" "$out"/gpu*.log
