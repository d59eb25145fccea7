#!/usr/bin/env bash
# One operator in every language, compiled where the compilers are and run where the GPU is.
#   benchmarks/gpu_languages.sh build ARTIFACTS          no GPU: machine code of each example into the folder
#   benchmarks/gpu_languages.sh run ARTIFACTS RESULTS    on a GPU: each through the judge as a finalist would be
# CUDA C++ and Python bring no machine code along: NVRTC and PyTorch are there wherever the GPU is.
set -u
what=${1:?build or run} artifacts=${2:?a folder for the artifacts}
cd "$(dirname "$0")/.."
examples=tests/toolchains/dsl_examples
kernelevolve() { "${PYTHON:-python3}" -m kernelevolve.interfaces.cli.main "$@"; }
if [ "$what" = build ]; then
    for language in triton gluon tlx cutedsl cutile; do
        kernelevolve build rms_norm "$examples/$language/rms_norm" --language "$language" --out "$artifacts" || exit 1
    done
    exit
fi
results=${3:?a folder for the results}
mkdir -p "$results"
export KERNELEVOLVE_ARTIFACTS=$artifacts
for language in cuda triton gluon tlx cutedsl cutile python; do
    timeout 60 "${PYTHON:-python3}" -m kernelevolve.interfaces.cli.main evaluate rms_norm "$examples/$language/rms_norm" \
        --language "$language" --platform cuda --json > "$results/language_$language.json" 2> "$results/language_$language.err"
    echo "$language: exit code $?"
done
"${PYTHON:-python3}" - "$results" << 'PYTHON'
import json, pathlib, sys
for path in sorted(pathlib.Path(sys.argv[1]).glob("language_*.json")):
    text = path.read_text()
    found = json.loads(text) if text.strip() else {}
    verdict = found.get("verdict", found)
    timing = verdict.get("timing") or {}
    shapes = " ".join(
        f"{one['latency_us']:.2f} us (floor {one['floor_us'] or 0:.2f}; "
        + ", ".join(f"{rival['baseline']} {rival['baseline_us']:.2f}" for rival in one["comparisons"]) + ")"
        for one in timing.get("shapes", ())
    )
    print(f"{path.stem.removeprefix('language_'):8} {verdict.get('outcome')} {verdict.get('message', '')[:200]} {shapes}")
PYTHON
