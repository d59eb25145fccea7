"""What a Python side gets: tensors over the judge's memory that behave like a user's own."""

from __future__ import annotations

import numpy as np
import torch

from kernelevolve.evaluation.python_arguments import Argument, ArgumentPlan, tensor_at
from kernelevolve.tasks import load_task


def state_argument() -> Argument:
    plan = ArgumentPlan.of(load_task("gated_delta_packed_decode"))
    return next(argument for argument in plan.arguments_ if argument.name == "state")


def test_arguments_lie_in_the_memory_and_are_no_views() -> None:
    memory = np.zeros(4096, dtype=np.uint8)
    argument = state_argument()
    state = tensor_at(memory, 256, argument, {"S": 2, "HV": 1, "V": 4, "K": 8, "SP": 32})
    assert state._base is None
    assert state.shape == (2, 1, 4, 8)
    state[1, 0, 3, 7] = 1.0
    assert memory[256 : 256 + 4 * 64].view(np.float32)[-1] == 1.0


def test_a_compiled_function_may_change_an_argument_in_place() -> None:
    """A state that was a view of bytes was refused, and the strongest baseline with it."""
    memory = np.zeros(1024, dtype=np.uint8)
    argument = state_argument()
    state = tensor_at(memory, 64, argument, {"S": 1, "HV": 1, "V": 2, "K": 4, "SP": 8})

    def step(held: torch.Tensor) -> torch.Tensor:
        held.add_(1.0)
        return held * 2

    out = torch.compile(step, backend="aot_eager")(state)
    assert out.flatten().tolist() == [2.0] * 8
    assert memory[64:96].view(np.float32).tolist() == [1.0] * 8
