"""Build the documentation site: `python tools/site.py` writes site/, and fails where a link leads nowhere.

Pages lie in docs/, in results/ and beside this folder, and link to each other by their places in the repository. So
they are gathered in the same places under build/pages, with the files that they link to.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "build" / "pages"
PARTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "docs", "results", "notebooks", "vision_pwil")
API = "# Python\n\nWhat `import vision_pwil` shows, imported when it is first used.\n\n"


def gather() -> None:
    """Copy the pages, and write the one of the package's verbs from their docstrings."""
    import vision_pwil

    shutil.rmtree(PAGES, ignore_errors=True)
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, PAGES / part, ignore=shutil.ignore_patterns("__pycache__", "assets"))
        else:
            PAGES.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / part, PAGES / part)
    verbs = (f"::: {getattr(vision_pwil, name).__module__}.{name}\n" for name in vision_pwil.__all__)
    (PAGES / "docs" / "api.md").write_text(API + "\n".join(verbs))


def main() -> None:
    """Gather, and build."""
    gather()
    raise SystemExit(subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict"], cwd=ROOT).returncode)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
