"""Command lines: arguments in, one call, words out. `vision-pwil` and `python -m vision_pwil` are one program."""

COMMANDS = {
    "train": "learn a policy from demonstrations: videos, or states and actions",
    "evaluate": "play the policy of a run: a table and a video",
    "audit": "does a reward rank behaviour? Asked before training on it",
    "score": "how far, and how like the demonstrations, is a video? Progress, ranking, films, with no RL",
    "report": "one page to look at and to mail: of a training, or of scored videos",
    "export": "a run's policy as ONNX, for other runtimes",
    "plot": "draw the learning curves of runs",
    "demonstrations": "inspect, convert, render, record and fetch demonstrations",
    "encoder": "learn a frame encoder from videos, measure and look at it",
    "sweep": "many runs: the paper's searches and seeds, on Ray Tune",
}
"""Each is a module here with a `main`, and what it does."""
