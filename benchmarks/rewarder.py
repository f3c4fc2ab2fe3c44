"""The rewarder against a plain numpy transcription of Algorithm 1, side by side in one run, at four real sizes.

    python -m benchmarks.rewarder [--out results/rewarder]

Every figure is the best of several episodes, in microseconds a step. The transcription deletes atoms as it uses them
up; at the largest size only its first steps are timed.
"""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.report import write_report
from benchmarks.transcription import Floats, transcription
from vision_pwil.rewards.coupling import GreedyCoupling
from vision_pwil.system import cli


@dataclass(frozen=True)
class Case:
    """A size to measure: D atoms, T steps, d dimensions."""

    name: str
    atoms: int
    horizon: int
    dimension: int
    plain_steps: int


CASES = (
    Case("Hopper, 1 demonstration", 50, 1000, 14, 1000),
    Case("Humanoid, 11 demonstrations", 550, 1000, 365, 1000),
    Case("door", 4925, 300, 32, 300),
    Case("large", 100_000, 1000, 64, 3),
)


def trajectories(rng: np.random.Generator, case: Case) -> tuple[Floats, Floats]:
    """Independent normal points: the hardest case for the coupling's bounds, since all distances are alike."""
    return rng.normal(size=(case.horizon, case.dimension)), rng.normal(size=(case.atoms, case.dimension))


def measure(case: Case, repeats: int) -> dict[str, float]:
    """Microseconds a step of the three, each the best of `repeats` taken in turn."""
    points, atoms = trajectories(np.random.default_rng(0), case)
    coupling = GreedyCoupling(atoms, case.horizon)
    coupling.step(points[0])  # loads the compiled kernels
    online_steps = min(case.horizon, 300)
    best = {"plain": np.inf, "online": np.inf, "episode": np.inf}
    for _ in range(repeats):
        start = perf_counter()
        plain = transcription(points[: case.plain_steps], atoms, case.horizon)
        best["plain"] = min(best["plain"], (perf_counter() - start) / case.plain_steps)
        coupling.reset()
        start = perf_counter()
        online = [coupling.step(point) for point in points[:online_steps]]
        best["online"] = min(best["online"], (perf_counter() - start) / online_steps)
        start = perf_counter()
        episode = coupling.episode(points)
        best["episode"] = min(best["episode"], (perf_counter() - start) / case.horizon)
        assert online == episode[:online_steps].tolist()
        np.testing.assert_allclose(episode[: case.plain_steps], plain, rtol=1e-6, atol=1e-12)
    return {name: 1e6 * seconds for name, seconds in best.items()}


def main(out: Path = Path("results/rewarder"), repeats: int = 20) -> None:
    """Print the table and write it, with the machine and the commit, to `out`."""
    lines = [
        "| case | D | T | d | transcription | online | times faster | whole episode | times faster |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    print("microseconds a step", *lines, sep="\n")
    summary = {}
    for case in CASES:
        best = measure(case, repeats if case.atoms < 10_000 else 2)
        online, episode = best["plain"] / best["online"], best["plain"] / best["episode"]
        summary[case.name] = {**best, "times_faster_online": online, "times_faster_episode": episode}
        lines.append(
            f"| {case.name} | {case.atoms} | {case.horizon} | {case.dimension} | {best['plain']:,.1f} | "
            f"{best['online']:,.1f} | {online:,.1f} | {best['episode']:,.1f} | {episode:,.1f} |"
        )
        print(lines[-1], flush=True)
    write_report(out, "Rewarder, microseconds a step", lines, {"microseconds_a_step": summary}, "benchmarks.rewarder")


if __name__ == "__main__":
    cli.run(main)
