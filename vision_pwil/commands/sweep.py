"""Run one of the paper's searches, or its ten seeds, on Ray Tune: `vision-pwil sweep door-seeds --help`.

Every trial is a command of this package with a run directory of its own. Stop a sweep with Ctrl-C and start it again
with the same command: finished trials are kept, the others go on from their checkpoints. So does a trial whose node is
lost, on another one. What follows `--` is passed on to every trial, for example `door-seeds -- --steps 300000`.
"""

from collections.abc import Sequence
from pathlib import Path

from tyro.conf import OmitSubcommandPrefixes

from vision_pwil.sweep import cluster, ranking
from vision_pwil.sweep.live import LiveTable
from vision_pwil.sweep.searches import DoorSacGrid, DoorSeeds, LocomotionPaper, Search, TccPaperGrid
from vision_pwil.sweep.trial import Trial
from vision_pwil.system import cli
from vision_pwil.system.errors import InputError, Interrupted
from vision_pwil.system.run import Run


def sweep(search: Search, passed: tuple[str, ...] = ()) -> None:
    """Run what is not finished, and report."""
    trials = search.trials(passed)
    with Run(search.out, {"search": type(search).__name__}):  # one sweep at a time in a directory, of one kind
        open_trials = [trial for trial in trials if not trial.finished]
        print(f"{len(trials)} trials, {len(trials) - len(open_trials)} of them finished already, in {search.out}.")
        complaints: dict[Path, str] = {}
        if open_trials:
            with cluster.connected(search):
                complaints = cluster.run(search, open_trials, LiveTable(search, trials))
        report(search, trials, complaints)
    if any(not trial.finished and trial.folder not in complaints for trial in trials):
        raise Interrupted("Stopped; the same command goes on.")
    if complaints:
        raise InputError(f"{len(complaints)} of {len(trials)} trials failed, see above; the same command tries again.")


def report(search: Search, trials: list[Trial], complaints: dict[Path, str]) -> None:
    """The ranking in words, file and picture, and the best settings as a command."""
    for folder, complaint in complaints.items():
        print(f"Failed: {folder} (all it printed is in log.txt there): {complaint}")
    places = ranking.rank(search, trials)
    if not places[0].outcomes:
        print("Nothing has been measured yet.")
        return
    rows, table, picture = ranking.records(search, places), search.out / "ranking.csv", search.out / "ranking.png"
    ranking.write(rows, table)
    ranking.draw(search, places, picture)
    print(f"\n{ranking.tabulate(rows)}\n\nThe ranking is in {table}, drawn in {picture}. The best settings so far:")
    print(f"\n    {ranking.best_trial(search, places[0]).line}\n")
    print(f"See the runs: tensorboard --logdir {search.out}")


def main(args: Sequence[str], prog: str = "vision-pwil sweep") -> None:
    """Parse what stands before `--`, and run; what follows is for the trials."""
    end = args.index("--") if "--" in args else len(args)
    passed = tuple(args[end + 1 :])

    def command(search: OmitSubcommandPrefixes[TccPaperGrid | DoorSeeds | DoorSacGrid | LocomotionPaper]) -> None:
        sweep(search, passed)

    cli.run(command, args=args[:end], prog=prog, description=__doc__)
