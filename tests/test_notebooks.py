"""The notebooks: as committed they hold their outputs and nothing of the machine; executed anew, they run."""

import ast
import json
import re
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))
SMALL = {
    "VISION_PWIL_EPISODES": "1",
    "VISION_PWIL_DOOR_STEPS": "1500",
    "VISION_PWIL_AGENT_STEPS": "600",
    "VISION_PWIL_UPDATES": "30",
}
MACHINE = re.compile(r"(?<![\w.:/])/(home|root|tmp|usr|opt|var|mnt|srv|work|workspace|Users)/")
MEGABYTE = 2**20

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code(notebook: dict) -> list[dict]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def outputs(notebook: dict) -> list[dict]:
    return [output for cell in code(notebook) for output in cell["outputs"]]


def pictures(notebook: dict) -> list[str]:
    return [output["data"]["image/png"] for output in outputs(notebook) if "image/png" in output.get("data", {})]


def words(notebook: dict) -> str:
    """All text that a reader sees, of cells and of outputs, without the pictures' bytes."""
    parts = [cell["source"] for cell in notebook["cells"]]
    for output in outputs(notebook):
        parts += [output.get("text", "")]
        parts += [text for kind, text in output.get("data", {}).items() if not kind.startswith("image/")]
    return "\n".join("".join(part) for part in parts)


def test_there_are_four():
    assert [path.stem[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04"]


@every_notebook
def test_committed_as_executed_from_top_to_bottom(path):
    notebook = json.loads(path.read_text())
    cells = code(notebook)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert not [o for o in outputs(notebook) if o["output_type"] == "error" or o.get("name") == "stderr"]
    assert pictures(notebook)
    assert not MACHINE.search(words(notebook))
    assert path.stat().st_size < 1.5 * MEGABYTE


@every_notebook
def test_what_it_imports_of_the_package_exists(path):
    source = "\n".join("".join(cell["source"]) for cell in code(json.loads(path.read_text())))
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    ours = [node for node in imports if "vision_pwil" in ast.unparse(node)]
    assert ours
    exec(compile(ast.Module(ours, []), path.name, "exec"), {})


@every_notebook
def test_links_lead_somewhere(path):
    written = "\n".join(
        "".join(c["source"]) for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "markdown"
    )
    links = [link for link in re.findall(r"\]\(([^)#]+)", written) if "://" not in link]
    assert not [link for link in links if not (path.parent / link).exists()]


@every_notebook
def test_committed_in_a_valid_format(path):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (extra `notebooks`)")
    nbformat.validate(nbformat.read(path, as_version=nbformat.NO_CONVERT))


@pytest.mark.slow
@every_notebook
def test_executes_with_small_settings(path, tmp_path):
    pytest.importorskip("nbclient", reason="nbclient is not installed (extra `notebooks`)")
    from tools.notebooks import execute

    executed = execute(path, tmp_path, **SMALL)  # raises where a cell does
    assert pictures(executed)
    assert not MACHINE.search(words(executed))
