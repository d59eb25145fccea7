"""Names that can be used in Python and in C++ at the same time."""

from __future__ import annotations

import keyword
import re

CPP_WORDS = frozenset(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class
    compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype
    default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int
    long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template
    this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
    while xor xor_eq NULL NAN INFINITY EOF errno stdin stdout stderr assert
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t""".split()  # noqa: SIM905  a hundred quoted strings read worse
)
"""Keywords, type names and macros: unusable for arguments and for the entry point."""

C_FUNCTIONS = frozenset(
    """main abs labs div ldiv exit abort atoi rand srand malloc calloc realloc free qsort bsearch system getenv index
    rindex memcpy memmove memset memcmp memchr strlen strcpy strcmp strcat printf scanf puts read write open close
    time clock signal raise sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2
    log10 log1p logb sqrt cbrt pow hypot erf erfc gamma tgamma lgamma ceil floor round trunc rint fabs fmod fma fmax
    fmin fdim modf frexp ldexp remainder nan j0 j1 jn y0 y1 yn signbit isnan isinf isfinite""".split()  # noqa: SIM905  a hundred quoted strings read worse
)
"""C library functions: a C entry point of that name would be a conflicting declaration."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def argument_fault(name: str) -> str | None:
    """Why `name` cannot name an argument, or None."""
    if not _IDENTIFIER.fullmatch(name):
        return f"{name!r} must be an ASCII identifier"
    if name in CPP_WORDS or keyword.iskeyword(name):
        return f"'{name}' is a reserved word in C++ or Python; choose another name"
    if name.startswith("ke_"):
        return f"'{name}': names starting with ke_ are taken; choose another name"
    return None


def entry_fault(name: str) -> str | None:
    """Why `name` cannot name the C entry point, or None."""
    if name in C_FUNCTIONS:
        return f"'{name}' is a C library function; set entry = \"my_{name}\""
    return argument_fault(name)


def as_argument(text: str, taken: set[str]) -> str:
    """An argument name made from `text`, different from those in `taken`, and added to them."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text) or "x"
    name = name if _IDENTIFIER.fullmatch(name) else f"x{name}"
    while argument_fault(name) or name in taken:
        name = f"{name}_" if not name.startswith("ke_") else f"x_{name}"
    taken.add(name)
    return name


def as_entry(text: str) -> str:
    """An entry point and task name made from a file name: `19_ReLU` becomes `k19_relu`."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").lower() or "task"
    name = f"k{name}" if name[0].isdigit() else name
    return f"{name}_op" if entry_fault(name) else name
