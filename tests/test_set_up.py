# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The first installation into a new environment: the fastest installer there is, and pip where it fails."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[1] / "packaging" / "set_up.py"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="installers of this test are shell scripts")


@pytest.fixture(scope="module")
def set_up() -> ModuleType:
    spec = importlib.util.spec_from_file_location("set_up", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def installer(path: Path, status: int) -> Path:
    """A program that writes down how it was called, beside itself, and ends with a status."""
    path.write_text(f'#!/bin/sh\necho "$@" >> {path}.calls\necho from {path.name} >&2\nexit {status}\n')
    path.chmod(0o755)
    return path


def fake_pip(folder: Path, listed: str, status: int) -> Path:
    """A pip that lists a configuration and ends with a status whatever it is to install."""
    module = folder / "pip.py"
    module.write_text(
        "import sys\n"
        f"open({str(folder / 'pip.calls')!r}, 'a').write(' '.join(sys.argv[1:]) + chr(10))\n"
        f"if 'config' in sys.argv: print({listed!r})\n"
        f"else: print('from pip', file=sys.stderr); sys.exit({status})\n"
    )
    return module


def install(folder: Path, *, listed: str = "", uv: int | None, pip: int) -> subprocess.CompletedProcess[str]:
    """Set up an environment where uv and pip end with these statuses; no uv when None."""
    programs, modules = folder / "programs", folder / "modules"
    for made in (programs, modules):
        made.mkdir()
    if uv is not None:
        installer(programs / "uv", uv)
    fake_pip(modules, listed, pip)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(folder / "env"), "-e", "."],
        env=kept | {"PATH": str(programs), "PYTHONPATH": str(modules)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def calls(path: Path) -> list[str]:
    """How a program was called."""
    return path.read_text().splitlines() if path.exists() else []


def test_uv_on_the_path_goes_first(tmp_path):
    done = install(tmp_path, uv=0, pip=0)
    assert done.returncode == 0, done.stderr
    python = tmp_path / "env/bin/python"
    assert python.exists() and not (tmp_path / "env/bin/pip").exists()
    (call,) = calls(tmp_path / "programs/uv.calls")
    assert call.startswith(f"pip install --quiet --python {python}") and call.endswith("-e .")
    # pip tells its configuration and does nothing else
    assert [call for call in calls(tmp_path / "modules/pip.calls") if "install" in call] == []


def test_pip_does_what_uv_cannot(tmp_path):
    done = install(tmp_path, uv=2, pip=0)
    assert done.returncode == 0, done.stderr
    call = calls(tmp_path / "modules/pip.calls")[-1]
    assert call.endswith(f"--python {tmp_path / 'env/bin/python'} install --quiet --no-compile -e .")


def test_what_pip_alone_is_told_keeps_uv_out(tmp_path):
    done = install(tmp_path, listed="global.proxy='http://proxy:80'", uv=0, pip=0)
    assert done.returncode == 0, done.stderr
    assert calls(tmp_path / "programs/uv.calls") == []
    assert calls(tmp_path / "modules/pip.calls")[-1].endswith("-e .")


def test_a_failure_says_what_the_last_installer_said(tmp_path):
    done = install(tmp_path, uv=1, pip=1)
    assert done.returncode == 1
    assert "from pip" in done.stderr and f"cannot install -e . into {tmp_path / 'env'}" in done.stderr


def test_places_of_pip_are_places_of_uv(set_up, monkeypatch):
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    listed = (
        "global.index-url='https://mirror/simple'\n"
        "install.extra-index-url='\\nfile:///one file:///two'\n"
        "freeze.timeout='10'\n"
    )
    found = set_up.configuration(listed)
    assert found.keys() == {"index-url", "extra-index-url"}
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels")
    monkeypatch.setenv("PIP_INDEX_URL", "https://other/simple")
    given = set_up.places(set_up.configuration(listed))
    pairs = list(zip(given[::2], given[1::2], strict=True))
    assert pairs == [
        ("--index-strategy", "unsafe-best-match"),
        ("--default-index", "https://other/simple"),
        ("--index", "file:///one"),
        ("--index", "file:///two"),
        ("--find-links", "/wheels"),
    ]


def test_an_old_python_is_refused(set_up, monkeypatch):
    monkeypatch.setattr(set_up.sys, "version_info", (3, 10, 13))
    with pytest.raises(SystemExit, match=r"Python 3\.10 is too old, 3\.11 is needed"):
        set_up.main(["env", "-e", "."])
