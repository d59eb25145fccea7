#!/usr/bin/env bash
# Device code on this machine's GPU: what is there, the lane's own tests, and the whole corpus before the judge: attacks
# and honest kernels, in CUDA and in Triton, task by task, so that a task's answers and baselines are made once.
#   benchmarks/gpu_selftest.sh FOLDER_FOR_RESULTS          doctor, tests, self-test
#   benchmarks/gpu_selftest.sh FOLDER_FOR_RESULTS naive    instead: does the naive harness fall for the attacks?
#   benchmarks/gpu_selftest.sh FOLDER_FOR_RESULTS honest   instead: two plain kernels against both baselines, confirmed
#   benchmarks/gpu_selftest.sh FOLDER_FOR_RESULTS host     instead: Python host code: its tests, then its lane of the corpus,
#                                                          in as many parts as there are GPUs, one on each
# ONLY=T12 takes entries whose name starts so; STEPS="selftest" leaves out the doctor and the tests.
# Where there is no registry, wheels in .whl/ are installed first. Every step runs even when one before it failed; the
# exit code is the self-test's.
set -u
out=${1:?a folder for the results}
cd "$(dirname "$0")/.."
mkdir -p "$out"
export PYTHONUNBUFFERED=1 KERNELEVOLVE_CACHE=${KERNELEVOLVE_CACHE:-$PWD/.cuda-cache}
python=${PYTHON:-python3}
steps=" ${STEPS:-doctor tests selftest} "
started=$SECONDS
if compgen -G ".whl/*.whl" > /dev/null; then
    "$python" -m pip install -q --no-index --no-deps --no-compile .whl/*.whl || exit 1
    "$python" -m pip install -q --no-index --no-deps --no-build-isolation -e . || exit 1
fi
kernelevolve() { "$python" -m kernelevolve.interfaces.cli.main "$@"; }
step() { echo "== $1 at $((SECONDS - started)) s" | tee -a "$out/steps.log" >&2; }

if [ "${2:-}" = naive ]; then
    "$python" benchmarks/naive_harness_cuda.py --out "$out" --only "${ONLY:-}" 2>&1 | tee "$out/naive_cuda.log"
    exit "${PIPESTATUS[0]}"
fi
if [ "${2:-}" = host ]; then
    timeout 150 "$python" -m pytest -q -m device --durations=10 -p no:cacheprovider tests/evaluation/test_python_device.py \
        tests/evaluation/test_outside_side.py > "$out/host_tests.log" 2>&1
    echo "tests of host code ended with $? at $((SECONDS - started)) s: $(tail -1 "$out/host_tests.log")"
    n=$(nvidia-smi -L | wc -l) pids=()
    for gpu in $(seq 1 "$n"); do
        [ "$gpu" = 1 ] || cp -r "$KERNELEVOLVE_CACHE" "$KERNELEVOLVE_CACHE.$gpu"
        CUDA_VISIBLE_DEVICES=$((gpu - 1)) KERNELEVOLVE_CACHE=$KERNELEVOLVE_CACHE$([ "$gpu" = 1 ] || echo ".$gpu") \
            "$python" -m kernelevolve.interfaces.cli.main selftest --lane cuda_python --part "$gpu/$n" --only "${ONLY:-}" --json \
            > "$out/selftest_host.$gpu.json" 2> "$out/selftest_host.$gpu.log" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid"; echo "a part ended with $? at $((SECONDS - started)) s"; done
    grep -h "^WRONG\|not judged" "$out"/selftest_host.*.log
    exit
fi
if [ "${2:-}" = honest ]; then
    for task in row_scale row_sum; do
        kernelevolve evaluate "tests/attacks/tasks/$task" "tests/attacks/naive/honest_cuda/$task/kernel.cu" \
            --platform cuda --json > "$out/honest_$task.json"
    done
    exit
fi
if [[ $steps == *" doctor "* ]]; then
    step doctor
    kernelevolve doctor --platform cuda 2>&1 | tee "$out/doctor.log"
fi
if [[ $steps == *" tests "* ]]; then
    step "device tests"
    timeout 120 "$python" -m pytest -q -m device -p no:cacheprovider tests/evaluation 2>&1 | tail -60 | tee "$out/device_tests.log"
fi
code=0
if [[ $steps == *" selftest "* ]]; then
    step "self-test"
    kernelevolve selftest --lane cuda --only "${ONLY:-}" --json \
        > "$out/selftest_cuda.json" 2> >(tee "$out/selftest_cuda.log" >&2)
    code=$?
    echo "selftest ended with $code"
fi
cp "$KERNELEVOLVE_CACHE"/machines/*.json "$out/" 2> /dev/null
cp "$KERNELEVOLVE_CACHE"/judge.log "$out/" 2> /dev/null
step done
exit "$code"
