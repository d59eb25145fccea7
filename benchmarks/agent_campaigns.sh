#!/usr/bin/env bash
# What a coding agent proposed against the built-in proposer: the same tasks, as many candidates for either, judged one
# campaign after the other on this machine, each with its claim on sealed shapes. Nothing else should run meanwhile.
#   benchmarks/agent_campaigns.sh FOLDER [CANDIDATES]
set -u
out=${1:?a folder for the results}
n=${2:-24}
cd "$(dirname "$0")/.."
mkdir -p "$out"
ke=${KERNELEVOLVE:-.venv/bin/kernelevolve}
run() { # name, task, proposer
    "$ke" run "$2" --proposer "$3" --max-candidates "$n" --max-seconds 240 --store "$out/store" --json \
        > "$out/$1.json" 2> "$out/$1.log"
    echo "$1: exit $?"
}
for pair in "swish_norm docs/examples/kernelbench_swish_norm.py" "leaky_gate docs/examples/leaky_gate" "conv1d conv1d" \
    "reverse_cumsum docs/examples/reverse_cumsum" "running_mean docs/examples/running_mean" "cummax docs/examples/cummax"; do
    [[ " ${ONLY:-$pair} " == *" ${pair%% *} "* ]] || continue
    set -- $pair
    run "$1-builtin" "$2" builtin
    run "$1-agent" "$2" "replay:docs/replays/$1_agent.jsonl"
done
