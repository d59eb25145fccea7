"""What stands between a cheat and a good verdict, by name. Only tests may build a judge without one of them: that shows
which attacks each of them is there for (`benchmarks/bypass_hunt.py`). No job, task or command line reaches this."""

from __future__ import annotations

DEFENCES = {
    "inspection": "source files, includes and flags are looked at before anything is compiled",
    "poison": "outputs are filled with 0xFF before every call",
    "guard_bands": "256 bytes on either side of every tensor are checked after a call",
    "gaps": "rows of tensors with a pitch lie apart in the check, and what is between them is compared after a call",
    "inputs_unchanged": "every input byte is compared after a call",
    "decoys": "a slot that is not called must keep its poison",
    "edge_shapes": "small and odd shapes at the corners of the domain, never shown",
    "variants": "the task's input distributions besides the nominal one",
    "scales": "inputs times 3, 0.01 and -1, mixed scales, spikes",
    "listed_variants": "other distributions than the nominal one on the timed shapes too",
    "honest_error": "the error may be a few times that of the reference in the task's own dtype, not more",
    "rollout": "many steps of a stateful operator against the oracle's",
    "timed_outputs": "what the timed calls wrote is compared, all of it",
    "fresh_content": "no timed call sees content that this process has seen before",
    "freeze": "the process stands still whenever the clock does not run: while inputs are written and answers are read",
    "glance": "outputs are looked at when the clock stops and must not change afterwards",
    "cpu_clock": "processor time beyond the allowed threads disputes the clock",
    "physics_floor": "nothing moves its bytes faster than this machine's cache can",
    "seccomp": "system calls that no kernel needs kill the process",
    "namespaces": "no network, no other processes, no files but its own",
    "admission": "a task that a control passes is refused",
    "a_a_quarantine": "a machine on which a kernel differs from itself gives no verdicts",
}


class Defences:
    """All of them, or for a test all but some. Raises KeyError for a name that is no defence."""

    @property
    def complete(self) -> bool:
        return not self._without

    def __init__(self, *, without: tuple[str, ...] = ()) -> None:
        for name in without:
            DEFENCES[name]  # noqa: B018 - an unknown name is a fault of the test
        self._without = frozenset(without)

    def __contains__(self, name: str) -> bool:
        return DEFENCES[name] != "" and name not in self._without


ALL = Defences()
