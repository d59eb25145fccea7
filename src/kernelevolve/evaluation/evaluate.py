"""Job -> Verdict: inspect, build, check, measure, in this order; the first failure stops. Default: failure."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kernelevolve.errors import MachineError, RecordError, TaskError
from kernelevolve.evaluation.bench import BUSY_DEVICE, Bench
from kernelevolve.evaluation.cuda_runner import CudaRunner
from kernelevolve.evaluation.fault import CandidateFault, StrangeWork
from kernelevolve.evaluation.lane import Lane
from kernelevolve.evaluation.launch import CudaLaunch, Launch, make_launch
from kernelevolve.evaluation.looking import AnyArena
from kernelevolve.evaluation.runner import Runner, runner_binary
from kernelevolve.evaluation.side import Side
from kernelevolve.evaluation.spares import Spares
from kernelevolve.evaluation.stages.build import Built, build
from kernelevolve.evaluation.stages.check import check
from kernelevolve.evaluation.stages.measure import (
    PLANS,
    QUARANTINE,
    RESTARTS,
    Samples,
    as_request,
    collect,
    combine,
    doubted_on,
    pick_baselines,
    self_difference,
    shape_timing,
    shared_work,
)
from kernelevolve.evaluation.stock import Feed
from kernelevolve.evaluation.template import Templates
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.job import Job
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Shape
from kernelevolve.model.value import canonical_json, sha256_text
from kernelevolve.model.verdict import BUSY, LaneName, Outcome, ShapeTiming, Stage, StageReport, Timing, Verdict
from kernelevolve.toolchains import make_toolchain
from kernelevolve.toolchains.base import Artifact, BuildFailure
from kernelevolve.toolchains.cpp import find_compiler
from kernelevolve.toolchains.cubin import static_bytes
from kernelevolve.toolchains.device_artifact import machine_code_id

FLOOR_MARGIN = 1.5
"""How much faster than the measured copy in the nearest cache something may look before it is called impossible: loads
alone run faster than copies, and clocks vary."""
N_SUSPICIONS = 2
"""Processes of a candidate's in which the device is seen working for somebody else: once it may have been anybody."""
CONTEXT_BYTES = 4 * 2**30
"""What a process on a device has before it asks for any: its context, libraries' workspaces, what the judge itself took
meanwhile."""
FORKED = ("check", "screen")
"""Levels whose Python candidates share a process' memory layout."""
QUIET = 0.4
"""Other runnable threads, on average, up to which a machine counts as doing nothing else."""

OTHER_CLOCK: dict[LaneName, str] = {
    "host": "this baseline is device code, which has a clock of its own; a candidate in Python is timed from outside, "
    "and the two cannot be compared: give a baseline in Python",
    "device_code": "this baseline is Python, which is timed from outside; device code has a clock of its own, "
    "and the two cannot be compared: give a baseline in device code",
}

AnyRunner = Runner | CudaRunner


class Evaluation:
    """One candidate's way through the stages."""

    def __init__(
        self,
        job: Job,
        bench: Bench,
        *,
        facts: PlatformFacts,
        cache: Path,
        lane: Lane,
        templates: Templates | None = None,
    ) -> None:
        self._job = job
        self._bench = bench
        self._facts = facts
        self._cache = cache
        self._lane = lane
        self._templates = templates if job.level in FORKED else None
        self._reports: list[StageReport] = []
        self._stage = Stage.INSPECT
        self._printed = ""
        self._isolation: tuple[str, ...] = ()
        self._kind: LaneName = "host"
        self._n_checks = 0
        self._strangers: list[int] = []

    def verdict(self, built: Built | None = None) -> Verdict:
        """`built` is what `build` gave, when it ran ahead. Raises MachineError and TaskError only."""
        job = self._job
        built = built or build(job, cache=self._cache, lane=self._lane, defences=self._bench.defences)
        self._reports += built.reports
        self._kind = built.kind
        self._stage = built.reports[-1].stage
        if built.fault is not None:
            return self._finish(built.fault.outcome, built.fault.message, fault=built.fault)
        assert built.artifact is not None
        twin = self._twin(built.artifact)
        if (known := self._bench.twins.get(twin)) is not None:
            return self._same_as(known)
        verdict = self._judged(built.artifact)
        if twin:
            self._bench.twins[twin] = verdict
        return verdict

    def _judged(self, artifact: Artifact) -> Verdict:
        """Somebody's work on the device is the candidate's only when it comes back with each process of its own."""
        before, suspicion = list(self._reports), None
        for _ in range(N_SUSPICIONS):
            self._reports, self._n_checks = list(before), 0
            try:
                timing = self._check_and_measure(make_launch(self._job.candidate.language, artifact, self._job.task))
                return self._finish(Outcome.CORRECT, "", timing=timing)
            except StrangeWork as fault:
                if not self._bench.is_quiet():
                    still = f"{fault.message}, and still does with that process gone"
                    raise MachineError(f"{BUSY_DEVICE}: {still}") from fault
                suspicion = fault
            except CandidateFault as fault:
                return self._finish(fault.outcome, fault.message, fault=fault)
        assert suspicion is not None
        return self._finish(suspicion.outcome, suspicion.message, fault=suspicion)

    @property
    def _outside(self) -> bool:
        """Host code on a device: nothing it says counts, so the clock runs around all of it."""
        return self._job.task.platform == "cuda" and self._kind == "host"

    @property
    def _host_clock(self) -> bool:
        return self._outside or self._job.task.objective.clock == "host"

    @property
    def _call_s(self) -> float:
        """Host code on a device may compile itself in its first call on a shape."""
        limits = self._job.limits
        return max(limits.call_s, limits.build_s) if self._outside else limits.call_s

    def _twin(self, artifact: Artifact) -> str:
        """A name for what was built that other sources may share; empty where every source counts as another: a claim
        is measured anew, and a host language's artifact is its source."""
        if self._kind != "device_code" or self._job.task.platform != "cuda" or self._job.level != "screen":
            return ""
        job = self._job
        asked = [job.limits.to_json(), *job.baselines, *(rival.id for rival in job.user_baselines)]
        return sha256_text(canonical_json([machine_code_id(Path(artifact.path)), job.alpha, *asked]))

    def _same_as(self, known: Verdict) -> Verdict:
        note = f"the same machine code as candidate {known.candidate_id[:12]}: not run again"
        reports = (*self._reports, StageReport(stage=Stage.CHECK, seconds=0.0, note=note))
        return known.model_copy(update={"candidate_id": self._job.candidate.id, "stages": reports})

    def _within_memory(self, launch: Launch | CudaLaunch) -> None:
        """What machine code takes when it is loaded comes off what others need. Raises CandidateFault."""
        if not isinstance(launch, CudaLaunch):
            return
        try:
            taken = sum(static_bytes(cubin.read_bytes()) for cubin in {cubin for cubin, _ in launch.kernels})
        except RecordError as error:
            raise CandidateFault(Outcome.LOAD_FAILED, str(error)) from error
        if taken > (limit := self._job.limits.memory_bytes):
            raise CandidateFault(Outcome.REFUSED, f"arrays of its own take {taken} bytes; the limit is {limit}")

    def _refuse_greed(self, taken: int) -> None:
        """Host code takes what it likes of a device; the judge's own part must not be gone. Raises CandidateFault."""
        if taken > (limit := self._job.limits.memory_bytes) + CONTEXT_BYTES:
            raise CandidateFault(Outcome.REFUSED, f"took {taken} bytes of the device's memory; the limit is {limit}")

    def _check_and_measure(self, launch: Launch | CudaLaunch) -> Timing | None:
        job, bench = self._job, self._bench
        self._within_memory(launch)
        draws = bench.exam.check_draws(job.level)
        measured = job.level != "check"
        if measured and self._outside:
            with self._lane.timing():
                bench.prepare_outside(job.level, job.baselines)
        samples: dict[str, Samples] = {}
        for restart in range(RESTARTS.get(job.level, 1)):
            arena = bench.arena(job.level)
            arena.wipe()  # what another candidate left there could be an answer
            free_bytes = bench.free_bytes()
            with self._run(launch, arena) as runner:
                spares = self._spares(launch)
                if spares is not None and (measured or restart):
                    spares.start()
                if restart == 0:
                    with self._timed(Stage.CHECK):
                        self._n_checks += check(bench, runner, arena, draws, timeout_s=self._call_s)
                    self._printed = runner.printed
                if self._outside:
                    self._refuse_greed(free_bytes - bench.free_bytes())
                if spares is not None:
                    spares.settle()
                if measured:
                    with self._timed(Stage.MEASURE), self._lane.timing(alone=self._host_clock):
                        self._measure(runner, arena, samples, restart)
        return self._timing(samples) if measured else None

    def _measure(self, runner: AnyRunner, arena: AnyArena, samples: dict[str, Samples], restart: int) -> None:
        job, bench = self._job, self._bench
        rng = random.Random(f"{job.secret}|{restart}")
        with ExitStack() as stack:
            rivals = [(name, self._rival(rival, arena, stack)) for name, rival in self._user_baselines()]
            shapes = bench.exam.shapes(job.level)
            doubted = doubted_on(shapes, job.level, restart) if "a_a_quarantine" in bench.defences else []
            for shape in shapes:
                side = bench.side("candidate", runner, arena, shape, outside=self._outside)
                baselines = pick_baselines(bench, shape, job.baselines, job.level, outside=self._outside)
                for name, rival_runner in rivals:
                    baselines.append(bench.side(name, rival_runner, arena, shape, outside=self._outside))
                    with as_request(name):
                        baselines[-1].calibrate(bench.exam.feed(shape), timeout_s=self._call_s)
                if not baselines:
                    raise TaskError(job.task.name, ["no baseline could be run, so nothing can be compared"])
                if shape in doubted:
                    self._quarantine(baselines[0], bench.exam.feed(shape), rng)
                kept = samples.setdefault(_key(shape), Samples())
                collect(kept, side, baselines, bench.exam.feed(shape), PLANS[job.level], rng, self._call_s)
                if (
                    not self._outside
                    and job.task.objective.clock == "device"
                    and (told := shared_work(kept, side.name)) is not None
                ):
                    raise CandidateFault(Outcome.CLOCK_DISPUTED, f"{told}: work is shared between calls")
                self._n_checks += side.n_checks
                self._strangers += side.strangers

    def _quarantine(self, side: Side, feed: Feed, rng: random.Random) -> None:
        """No claim on a machine that tells a kernel from itself. Raises MachineError: whoever asked tries again."""
        difference = self_difference(side, feed, rng)
        if abs(difference) > QUARANTINE:
            raise MachineError(
                f"this machine times {side.name} {100 * abs(difference):.1f} % different from itself: quarantined, "
                "try again when it is quiet"
            )

    def _spares(self, launch: Launch | CudaLaunch) -> Spares | None:
        return self._bench.runners(find_compiler() or "g++") if isinstance(launch, CudaLaunch) else None

    def _user_baselines(self) -> list[tuple[str, Candidate]]:
        names = [rival.origin.recipe or f"kernel-{rival.id[:8]}" for rival in self._job.user_baselines]
        return list(zip(names, self._job.user_baselines, strict=True))

    def _rival(self, rival: Candidate, arena: AnyArena, stack: ExitStack) -> AnyRunner:
        """A kernel of the user's, in a process like the candidate's. It must build: it is the user's claim."""
        toolchain = make_toolchain(rival.language, cache=self._cache)
        if self._job.task.platform == "cuda" and toolchain.lane != self._kind:
            raise TaskError(rival.origin.recipe or rival.language, [OTHER_CLOCK[self._kind]])
        built = toolchain.build(self._job.task, rival, timeout_s=self._job.limits.build_s)
        if isinstance(built, BuildFailure):
            first = built.messages[0]
            raise TaskError(
                rival.origin.recipe, [f"baseline does not build: {first.file}:{first.line}: {first.message}"]
            )
        runner = self._new_runner(make_launch(rival.language, built, self._job.task), arena)
        stack.enter_context(runner)
        return runner

    def _timing(self, samples: dict[str, Samples]) -> Timing:
        job, bench = self._job, self._bench
        shapes: tuple[ShapeTiming, ...] = tuple(
            shape_timing(
                shape,
                samples[_key(shape)],
                self._facts,
                n_bytes=bench.exam.stock(shape)[0].bytes_moved(job.task),
                seed=17,
                alpha=job.alpha,
                cold=job.task.objective.cache == "cold",
            )  # fmt: skip
            for shape in bench.exam.shapes(job.level)
        )
        if "physics_floor" in bench.defences and (shape := next(filter(self._impossible, shapes), None)) is not None:
            raise CandidateFault(
                Outcome.TOO_FAST,
                f"{shape.latency_us:.2f} us for {shape.bytes_moved} bytes: this machine's nearest cache is not that "
                "fast, and the reference does not; declare the operator's traffic if it needs fewer bytes",
            )
        speedup, low, high = combine(shapes)
        assert math.isfinite(low)
        assert job.level != "check"
        return Timing(
            level=job.level, shapes=shapes, speedup=speedup, low=low, high=high, alpha=job.alpha,
            left_out={**job.left_out, **bench.baseline_notes},
        )  # fmt: skip

    def _impossible(self, timing: ShapeTiming) -> bool:
        """Faster than its bytes can move at all, while the baselines are not: then the count is not what is wrong."""
        rate = self._facts.nearest_copy_gb_per_s
        if rate is None:
            return False
        floor_us = timing.bytes_moved / (rate * FLOOR_MARGIN) / 1e3
        return timing.latency_us < floor_us < min(comparison.baseline_us for comparison in timing.comparisons)

    @contextmanager
    def _run(self, launch: Launch | CudaLaunch, arena: AnyArena) -> Iterator[AnyRunner]:
        self._stage = Stage.CHECK
        with self._new_runner(launch, arena) as runner:
            self._isolation = runner.isolation
            try:
                yield runner
            finally:
                if self._stage is Stage.CHECK:  # timed content is shared by candidates: none may tell what it saw of it
                    self._printed = runner.printed

    def _new_runner(self, launch: Launch | CudaLaunch, arena: AnyArena) -> AnyRunner:
        """To be entered by the caller."""
        compiler, limits = find_compiler() or "g++", self._job.limits
        if isinstance(launch, CudaLaunch):
            return self._bench.runners(compiler).take().given(launch, limits)
        return Runner(
            binary=runner_binary(self._cache, compiler), launch=launch, arena=arena, limits=limits,
            n_threads=self._job.n_threads, defences=self._bench.defences, templates=self._templates,
        )  # fmt: skip

    @contextmanager
    def _timed(self, stage: Stage) -> Iterator[None]:
        self._stage = stage
        started = time.monotonic()
        try:
            yield
        finally:
            others = statistics.mean(self._strangers) if stage is Stage.MEASURE and self._strangers else 0.0
            note = f"{BUSY} {others:.1f}" if others > QUIET else ""
            self._reports.append(StageReport(stage=stage, seconds=round(time.monotonic() - started, 4), note=note))

    def _finish(
        self, outcome: Outcome, message: str, *, fault: CandidateFault | None = None, timing: Timing | None = None
    ) -> Verdict:
        return Verdict(
            task_id=self._job.task.content_id, candidate_id=self._job.candidate.id, outcome=outcome, stage=self._stage,
            message=message, compile_messages=fault.compile_messages if fault else (),
            mismatch=fault.mismatch if fault else None, output=self._printed, stages=tuple(self._reports),
            n_checks=self._n_checks, isolation=self._isolation, timing=timing, lane=self._kind,
        )  # fmt: skip


def _key(shape: Shape) -> str:
    return str(sorted(shape.items()))
