from __future__ import annotations

import pytest

from kernelevolve.errors import RecordError
from kernelevolve.proposers.builtin.recipe import RECIPES, Knob, load_recipe, parse_recipe
from kernelevolve.testing.proposer_case import SAMPLE_FACTS
from kernelevolve.testing.samples import sample_task

GOOD = """\
// recipe: hash_gather
// family: double
// summary: probe, then gather
// isa: avx512f avx512dq
// dtype: float32
// fastmath: no
// knob UNROLL = 4 1 2 8
// knob LOAD = wide narrow
// order: 20
//
// prose: anything goes below a bare comment
int x;
"""
SHIPPED = sorted(RECIPES.glob("*/*.cpp"))


def test_reads_every_key_of_the_header() -> None:
    recipe = parse_recipe(GOOD, where="here")
    assert recipe.title == "double/hash_gather"
    assert recipe.summary == "probe, then gather"
    assert recipe.order == 20
    assert recipe.isa == ("avx512f", "avx512dq")
    assert recipe.dtypes == ("float32",)
    assert not recipe.fast_math
    assert recipe.knobs == (
        Knob(name="UNROLL", values=("4", "1", "2", "8")),
        Knob(name="LOAD", values=("wide", "narrow")),
    )
    assert recipe.source == GOOD


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("// order: 20\n", "", "here: the header has no 'order'"),
        ("// recipe: hash_gather", "// recipe:", "here:1: 'recipe' is empty"),
        ("// dtype: float32", "// order: 3", "here:9: 'order' is given twice"),
        ("// dtype: float32", "// color: red", "here:5: unknown key 'color'"),
        ("// dtype: float32", "// this is prose", "here:5: expected '// key: value'"),
        ("order: 20", "order: soon", "here: order 'soon' is not a whole number"),
        ("fastmath: no", "fastmath: maybe", "here: fastmath is 'yes' or 'no', not 'maybe'"),
        ("LOAD = wide narrow", "LOAD =", "here:8: knob LOAD has no values"),
        ("LOAD = wide narrow", "UNROLL = 1", "here:8: knob UNROLL is given twice"),
        ("LOAD = wide narrow", "LOAD = 4 4", "here:8: knob LOAD has a value twice"),
        ("LOAD = wide narrow", "LOAD = a;b", "here:8: knob LOAD: 'a;b' is not a plain word or number"),
        ("LOAD = wide narrow", "KE_THREADS = 2", "here:8: knob KE_THREADS: names that start with KE_"),
    ],
)
def test_a_malformed_header_gives_one_clear_error(before: str, after: str, message: str) -> None:
    with pytest.raises(RecordError) as caught:
        parse_recipe(GOOD.replace(before, after), where="here")
    assert str(caught.value).startswith(message)


def test_fits_by_family_instructions_and_dtype() -> None:
    recipe, task = parse_recipe(GOOD, where="here"), sample_task()
    assert recipe.fits(task, SAMPLE_FACTS)
    assert not recipe.fits(task, SAMPLE_FACTS.model_copy(update={"isa": ("avx512f",)}))
    assert not recipe.fits(task.model_copy(update={"dtype": "bfloat16"}), SAMPLE_FACTS)
    assert not recipe.fits(sample_task("triple"), SAMPLE_FACTS)
    assert recipe.fits(sample_task("triple").model_copy(update={"family": "double"}), SAMPLE_FACTS)


def test_recipes_are_shipped() -> None:
    assert SHIPPED


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_shipped_recipe_parses_and_uses_its_knobs(path) -> None:  # type: ignore[no-untyped-def]
    recipe = load_recipe(path)
    _, _, body = recipe.source.partition("\n\n")
    assert f"int {recipe.family}(" in recipe.source
    unused = [knob.name for knob in recipe.knobs if recipe.source.count(knob.name) < 2]
    assert unused == []
