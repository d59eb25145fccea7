"""The border: every failure becomes one line and an exit code. No traceback reaches the user unasked."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kernelevolve.errors import KernelEvolveError, UsageError
from kernelevolve.interfaces.cli.output import print_json

OK, USAGE, REJECTED, MACHINE, INTERRUPTED = 0, 2, 3, 4, 130


def guarded(call: Callable[[], object], arguments: Sequence[str], *, command: str) -> int:
    """Run `call` and return its exit code. `command` names the JSON schema of an error."""
    debug = "--debug" in arguments or bool(os.environ.get("KERNELEVOLVE_DEBUG"))
    try:
        code = call()
        sys.stdout.flush()
        return code if isinstance(code, int) else OK
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED, arguments, command)
    except BrokenPipeError:
        # The reader has seen enough. Point stdout elsewhere so that the exit does not stumble over it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KernelEvolveError as error:
        if debug:
            traceback.print_exc()
        return _fail(str(error), USAGE if isinstance(error, UsageError) else MACHINE, arguments, command)
    except Exception as error:  # noqa: BLE001 - the border
        if (text := _usage_text(error)) is not None:
            return _fail(text, USAGE, arguments, command)
        if debug:
            traceback.print_exc()
            return _fail(f"internal: {type(error).__name__}: {error}", MACHINE, arguments, command)
        kept = _keep_traceback()
        text = f"internal: {type(error).__name__}: {error} (traceback in {kept}; --debug prints it)"
        return _fail(" ".join(text.split()), MACHINE, arguments, command)


def _usage_text(error: Exception) -> str | None:
    """The message of a parse error. Known by its shape: which module defines it depends on typer's version."""
    describe = getattr(error, "format_message", None)
    if describe is None:
        return None
    context = getattr(error, "ctx", None)
    hint = f" (see: {context.command_path} --help)" if context is not None else ""
    return f"{' '.join(str(describe()).split())}{hint}"


def _fail(text: str, code: int, arguments: Sequence[str], command: str) -> int:
    from kernelevolve.interfaces.wording import printable

    lines = printable(text).splitlines() or ["unknown"]
    for line in lines:
        print(f"error: {line}", file=sys.stderr)
    if "--json" in arguments:
        print_json(command, {"error": {"message": "\n".join(lines), "exit_code": code}})
    return code


def _keep_traceback() -> Path:
    with tempfile.NamedTemporaryFile("w", prefix="kernelevolve-", suffix=".log", delete=False) as handle:
        handle.write(traceback.format_exc())
    return Path(handle.name)


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """A scheduler's SIGTERM ends a run as cleanly as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():  # signals belong to the main thread
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
