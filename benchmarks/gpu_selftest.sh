#!/usr/bin/env bash
# Device code on this machine's GPU: what is there, the lane's own tests, and the whole corpus before the judge.
#   benchmarks/gpu_selftest.sh FOLDER_FOR_RESULTS [naive]      naive: also show that the naive harness falls for it
# Where there is no registry, wheels in .whl/ are installed first. Every step runs even when one before it failed.
set -u
out=${1:?a folder for the results}
cd "$(dirname "$0")/.."
mkdir -p "$out"
export PYTHONUNBUFFERED=1 KERNELEVOLVE_CACHE=${KERNELEVOLVE_CACHE:-$PWD/.cuda-cache}
python=${PYTHON:-python3}
if compgen -G ".whl/*.whl" > /dev/null; then
    "$python" -m pip install -q --no-index --no-deps --no-compile .whl/*.whl || exit 1
    "$python" -m pip install -q --no-index --no-deps --no-build-isolation -e . || exit 1
fi
if [ "${2:-}" = naive ]; then
    "$python" benchmarks/naive_harness_cuda.py --out "$out" 2>&1 | tee "$out/naive_cuda.log"
    exit
fi
"$python" -m kernelevolve.interfaces.cli.main doctor --platform cuda 2>&1 | tee "$out/doctor.log"
"$python" -m pytest -q -m device -p no:cacheprovider tests/evaluation 2>&1 | tail -60 | tee "$out/device_tests.log"
for task in row_scale row_sum; do
    "$python" -m kernelevolve.interfaces.cli.main evaluate "tests/attacks/tasks/$task" \
        "tests/attacks/naive/honest_cuda/$task/kernel.cu" --platform cuda --json > "$out/honest_$task.json"
done
"$python" -m kernelevolve.interfaces.cli.main selftest --lane cuda --json > "$out/selftest_cuda.json" 2> >(tee "$out/selftest_cuda.log" >&2)
echo "selftest ended with $?"
cp "$KERNELEVOLVE_CACHE"/machines/*.json "$out/" 2> /dev/null
cp "$KERNELEVOLVE_CACHE"/judge.log "$out/" 2> /dev/null
exit 0
