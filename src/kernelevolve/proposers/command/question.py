"""A scratch copy for one run: the question, the parents' files, an empty folder for the answer."""

from __future__ import annotations

from pathlib import Path

from kernelevolve.errors import RecordError
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import MAX_BYTES, MAX_FILES, Candidate
from kernelevolve.proposers.command.handin import DESCRIPTION, PATCH, USAGE

BRIEF, ANSWER, TEMPORARY = "BRIEF.md", "ANSWER", "tmp"


def question_text(brief: Brief, rendered: str) -> str:
    return f"{rendered.rstrip()}\n\n{_how_to_hand_in(brief)}"


def write_scratch(folder: Path, brief: Brief, text: str) -> dict[str, str]:
    """Returns the places to fill into the command's arguments. Raises RecordError when a parent's files cannot stand
    beside each other on a disk."""
    (folder / BRIEF).write_text(text, encoding="utf-8")
    for name in (ANSWER, TEMPORARY):
        (folder / name).mkdir()
    for top, attempt in zip(_parent_folders(brief), brief.parents, strict=True):
        try:
            write_files(folder / top, attempt.candidate)
        except OSError as error:
            raise RecordError(f"the files of step {attempt.step} cannot be written: {error.strerror}") from error
    return {
        "brief": str(folder / BRIEF), "answer": str(folder / ANSWER), "work": str(folder), "n": str(brief.n_wanted),
        "seed": str(brief.seed),
    }  # fmt: skip


def write_files(folder: Path, candidate: Candidate) -> None:
    for file in candidate.files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8", newline="")


def _parent_folders(brief: Brief) -> list[str]:
    return ["parent" if number == 1 else f"parent{number}" for number in range(1, len(brief.parents) + 1)]


def _how_to_hand_in(brief: Brief) -> str:
    folders = _parent_folders(brief)
    lines = [
        "## How to hand in",
        "",
        "You are in a scratch folder of your own. Where the text above says how an answer is to be written, this "
        f"counts instead: write files into `{ANSWER}/`.",
        "",
        f"- The whole sources of your candidate, and `{ANSWER}/{DESCRIPTION}` with `language = \"...\"`, "
        "`flags = [...]` (compiler flags, may be left out) and `intent = \"one sentence: what you changed and why\"`.",
    ]  # fmt: skip
    if folders:
        where = " and ".join(f"`{name}/`" for name in folders)
        lines += [
            f"- The current kernel's files are in {where}.",
            f"- Instead of whole sources, `{ANSWER}/{PATCH}`: a unified diff against the files in `parent/`, paths "
            f"relative to it. `{DESCRIPTION}` may then hold the intent alone.",
        ]
    if brief.n_wanted > 1:
        lines.append(
            f"- Up to {brief.n_wanted} different candidates are wanted: one folder for each, `{ANSWER}/1/`, "
            f"`{ANSWER}/2/` and so on, each as above."
        )
    lines += [
        f"- Plain UTF-8 files only: no links, at most {MAX_FILES} files and {MAX_BYTES} bytes together. Other files "
        "than sources do not belong there.",
        f"- If you know what this took, `{ANSWER}/{USAGE}`: `tokens_in = 0`, `tokens_out = 0`, `usd = 0.0`.",
        "- Your process and everything it started is ended when its time is up; what counts is what lies there when "
        "it ends by itself with exit code 0.",
    ]
    return "\n".join(lines) + "\n"
