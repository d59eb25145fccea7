#!/usr/bin/env bash
# Campaigns of the built-in operators on this machine's GPU, most important first, until the time is up.
#   benchmarks/gpu_campaigns.sh FOLDER_FOR_RESULTS SECONDS
# Leaves the store (trees, verdicts, claims), what each run printed, packages with their dispatchers, and the table of
# Gated DeltaNet decode beside vLLM where one is on PYTHONPATH.
set -u
out=${1:?a folder for the results}
until=$((SECONDS + ${2:?seconds}))
cd "$(dirname "$0")/.."
mkdir -p "$out/packages"
export PYTHONUNBUFFERED=1 KERNELEVOLVE_CACHE=${KERNELEVOLVE_CACHE:-$PWD/.cuda-cache}
ke="${PYTHON:-python3} -m kernelevolve.interfaces.cli.main"
store="$out/store"
campaign() { # limit, search seconds, task, more options
    local left=$((until - SECONDS)) limit=$1
    [ "$left" -lt 25 ] && echo "== no time for $3" && return
    [ "$left" -lt "$limit" ] && limit=$left
    local started=$SECONDS
    timeout "$limit" $ke run "$3" --platform cuda --store "$store" --max-seconds "$2" "${@:4}" 2>&1 | tee -a "$out/campaigns.log"
    echo "== $3 ${*:4}: $((SECONDS - started)) s" | tee -a "$out/campaigns.log"
}
campaign 260 100 gated_delta_packed_decode --path all
${PYTHON:-python3} benchmarks/gdn_decode.py --store "$store" --out "$out/gdn_decode.json" ${CLOCKS:+--rates "$CLOCKS"} 2>&1 | tee "$out/gdn_decode.log"
campaign 75 14 conv1d
campaign 60 10 wukong_optimized_fm
campaign 60 12 map_id
campaign 50 10 merge_bucketized_dense
campaign 50 8 batch_event_truncate
campaign 75 12 interformer_pffn
campaign 50 8 rms_norm_backward
campaign 45 8 sigrid_hash
campaign 45 8 jagged_pooled_embedding
campaign 45 8 jagged_to_padded_dense
campaign 45 8 dlrm_dot_interaction
campaign 45 8 rms_norm
