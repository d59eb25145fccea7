from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.store.place import LOCAL_FOLDER, store_url, working_folder

ADDRESSES = [
    "postgresql://host/db",
    "postgresql://me:pw@host:5432/db?sslmode=require",
    "postgresql:///db",
    "postgresql:///db?host=/run/socket&options=-csearch_path%3Dx",
    "postgresql://me@/db?host=/run/socket",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_known_as_text_and_as_a_path(address: str) -> None:
    assert store_url(address) == address
    assert store_url(Path(address)) == address
    assert working_folder(Path(address)) == LOCAL_FOLDER


def test_old_names_of_the_scheme_are_understood() -> None:
    assert store_url("postgres://host/db") == "postgresql://host/db"
    assert store_url("postgresql+psycopg://host/db") == "postgresql://host/db"


@pytest.mark.parametrize("folder", ["kernelevolve-runs", "/tmp/postgresql", "postgresql", "./postgresql:/x", "a/b"])
def test_a_folder_is_a_folder(folder: str) -> None:
    assert store_url(folder) is None
    assert store_url(Path(folder)) is None or folder.startswith("./")
    assert working_folder(folder) == Path(folder)
