"""The C ABI of a task: the prototype a candidate must match, and the glue between it and the runner.

`header` is force-included into every candidate file, so a wrong signature is a compile error.
`shim` is our own translation unit, linked beside the candidate: it turns the runner's plain arrays into the
typed call.
"""

from __future__ import annotations

from kernelevolve.model.task import FLOAT_DTYPES, Task, TensorSpec

C_TYPES = {
    "float64": "double", "float32": "float", "float16": "uint16_t", "bfloat16": "uint16_t",
    "int64": "int64_t", "int32": "int32_t", "int16": "int16_t", "int8": "int8_t", "uint8": "uint8_t", "bool": "uint8_t",
}  # fmt: skip

HELPERS = """\
static inline float ke_bf16_to_float(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
}
static inline uint16_t ke_float_to_bf16(float value) { /* round to nearest, ties to even; NaN stays NaN */
    uint32_t wide;
    memcpy(&wide, &value, 4);
    if ((wide & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((wide >> 16) | 0x40u);
    return (uint16_t)((wide + 0x7fffu + ((wide >> 16) & 1u)) >> 16);
}
static inline float ke_half_to_float(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, mantissa = bits & 1023u, wide;
    float value;
    if (exponent == 0) {
        value = (float)mantissa * 5.9604644775390625e-8f;
        memcpy(&wide, &value, 4);
        wide |= sign;
    } else if (exponent == 31) {
        wide = sign | 0x7f800000u | (mantissa << 13);
    } else {
        wide = sign | ((exponent + 112u) << 23) | (mantissa << 13);
    }
    memcpy(&value, &wide, 4);
    return value;
}
static inline uint16_t ke_float_to_half(float value) { /* round to nearest, ties to even */
    uint32_t wide, sign, result;
    memcpy(&wide, &value, 4);
    sign = (wide >> 16) & 0x8000u;
    wide &= 0x7fffffffu;
    if (wide > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
    if (wide >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
    if (wide < 0x38800000u) { /* subnormal half: let the adder round */
        float magic = 0.5f, tiny;
        memcpy(&tiny, &wide, 4);
        tiny += magic;
        memcpy(&result, &tiny, 4);
        return (uint16_t)(sign | (result - 0x3f000000u));
    }
    result = wide - 0x38000000u;
    return (uint16_t)(sign | ((result + 0xfffu + ((result >> 13) & 1u)) >> 13));
}
"""


def is_scalar(spec: TensorSpec) -> bool:
    return not spec.dims and not spec.in_place


def scalar_type(spec: TensorSpec) -> str:
    """Scalars travel by value as double or int64_t, whatever their dtype."""
    return "double" if spec.dtype in FLOAT_DTYPES else "int64_t"


def parameters(task: Task) -> list[str]:
    """The C parameters in order: inputs, outputs, axes."""
    inputs = [
        f"{scalar_type(spec)} {spec.name}"
        if is_scalar(spec)
        else f"{'' if spec.in_place else 'const '}{C_TYPES[spec.dtype]}* {spec.name}"
        for spec in task.inputs
    ]
    outputs = [f"{C_TYPES[spec.dtype]}* {spec.name}" for spec in task.outputs]
    return inputs + outputs + [f"int64_t {axis.name}" for axis in task.axes]


def parameter_names(task: Task) -> list[str]:
    """The same order in every language: inputs, outputs, axes."""
    return [spec.name for spec in (*task.inputs, *task.outputs)] + [axis.name for axis in task.axes]


def prototype(task: Task) -> str:
    return f"int {task.entry}({', '.join(parameters(task))})"


def header(task: Task) -> str:
    """`ke_abi.h`: the prototype and conversion helpers for 16-bit floats. Valid C11 and C++17."""
    return (
        f"/* {task.name}: returns 0 when done, non-zero to refuse this shape. */\n{_pitch_lines(task)}"
        "#pragma once\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n"
        '#ifdef __cplusplus\nextern "C"\n#endif\n'
        f"{prototype(task)};\n\n{HELPERS}"
    )


def _pitch_lines(task: Task) -> str:
    return "".join(
        f"/* {spec.name}: rows {spec.pitch} elements apart; what lies between is not yours */\n"
        for spec in task.pitched
    )


def shim(task: Task) -> str:
    """`ke_call(pointers, integers, reals)`: pointers to every tensor in order; integer scalars then axes; reals."""
    arguments, pointer, integer, real = [], 0, 0, 0
    for spec in (*task.inputs, *task.outputs):
        if is_scalar(spec) and spec in task.inputs:
            if scalar_type(spec) == "double":
                arguments.append(f"reals[{real}]")
                real += 1
            else:
                arguments.append(f"integers[{integer}]")
                integer += 1
        else:
            constness = "const " if spec in task.inputs and not spec.in_place else ""
            arguments.append(f"({constness}{C_TYPES[spec.dtype]}*)pointers[{pointer}]")
            pointer += 1
    arguments += [f"integers[{integer + index}]" for index in range(len(task.axes))]
    return (
        f'extern "C" {prototype(task)};\n'
        'extern "C" __attribute__((visibility("default")))\n'
        "int ke_call(void* const* pointers, const int64_t* integers, const double* reals) {\n"
        "    (void)pointers; (void)integers; (void)reals;\n"
        f"    return {task.entry}({', '.join(arguments)});\n}}\n"
    )
