"""The table of locomotion runs is made from what the runs left."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from benchmarks.locomotion_results import Keep, main
from vision_pwil import train_locomotion
from vision_pwil.errors import InputError
from vision_pwil.run import Run


def make_run(folder, name, agent, steps, task_return):
    np.savez(folder / "Hopper-v5.npz", returns=np.array([10.0, 30.0]))
    config = train_locomotion.defaults(train_locomotion.Choice("Hopper-v5", agent))
    config = replace(config, demos=str(folder / "Hopper-v5.npz"), run=name, num_demos=4)
    config = replace(config, training=replace(config.training, steps=steps, seed=3))
    with Run(folder / name, {**asdict(config), "checksum": "abc"}) as run:
        first = {"step": 0, "return": 1.0, "task_return": 99.0, "steps": 5.0, "w1": 9.0, "greedy_w1": 9.5}
        run.write_curve([first, {**first, "step": steps, "task_return": task_return, "w1": 1.25, "greedy_w1": 1.5}])
    return run.path


def test_runs_become_a_table(tmp_path):
    runs = [make_run(tmp_path, "clone", "bc", 20_000, 7.0), make_run(tmp_path, "d4pg", "d4pg", 50_000, 18.25)]
    out = tmp_path / "results"
    main(Keep((runs[0],), "it fell", "abc1234", out))
    page = out / "README.md"
    page.write_text(f"# Hand-written\n\n{page.read_text()}\nAlso hand-written.\n")
    main(Keep((runs[1],), "", "abc1234", out))

    text = page.read_text()
    assert text.startswith("# Hand-written\n") and text.endswith("\nAlso hand-written.\n")
    rows = [line for line in text.splitlines() if line.startswith("| [")]
    command = "python -m vision_pwil.train_locomotion --env Hopper-v5 --agent"
    options = "--demos Hopper-v5.npz --num-demos 4"
    assert rows == [
        f"| [Hopper-v5](d4pg/summary.json) | d4pg | 4 | 3 | 50k | 18.25 | 20 | 1.25 | 1.5 "
        f"| `{command} d4pg {options} --steps 50000 --seed 3` |",
        f"| [Hopper-v5](clone/summary.json) | bc | 4 | 3 | 20k | 7 | 20 | 1.25 | 1.5 "
        f"| `{command} bc {options} --steps 20000 --seed 3` (it fell) |",
    ]
    summary = json.loads((out / "d4pg" / "summary.json").read_text())
    assert (summary["commit"], summary["best"]["step"], summary["last"]["step"]) == ("abc1234", 0, 50_000)
    assert (out / "d4pg" / "curve.csv").read_text() == (runs[1] / "curve.csv").read_text()
    assert (out / "d4pg" / "panels.png").stat().st_size > 1_000


def test_a_page_without_a_place_for_the_table_is_left_alone(tmp_path):
    (tmp_path / "README.md").write_text("mine\n")
    with pytest.raises(InputError, match="no place for the table"):
        main(Keep(out=tmp_path))
    assert (tmp_path / "README.md").read_text() == "mine\n"
