"""The learner of TCC: its state and its update."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from vision_pwil.encoder import Encoder
from vision_pwil.tcc import losses
from vision_pwil.tcc.recipes import Recipe, resolved
from vision_pwil.tcc.sampling import VideoBatch, pad, pairs, sample

_RISE = 100  # updates over which the cosine schedule starts up
_FLOOR = 0.02  # share of the learning rate left at its end


def learning_rate(recipe: Recipe, update: int) -> float:
    """Of one update, counted from 0."""
    if recipe.schedule == "constant":
        return recipe.learning_rate
    rise = min(1.0, (update + 1) / _RISE)
    fall = _FLOOR + (1 - _FLOOR) * 0.5 * (1 + math.cos(math.pi * update / recipe.updates))
    return recipe.learning_rate * rise * fall


class Learner:
    """The learner: an encoder, the running average of its weights, and Adam.

    After `update` number n all of its state is a function of the videos, the recipe, the seed and n.
    """

    def __init__(self, videos: Sequence[np.ndarray], recipe: Recipe, seed: int, device: str = "cpu") -> None:
        torch.manual_seed(seed)
        mean = np.mean([video.mean(axis=0) for video in videos], axis=0)
        self.videos = [torch.tensor(video) for video in videos]
        self.recipe = recipe = resolved(recipe, [len(video) for video in videos])
        self.seed, self.device = seed, torch.device(device)
        self.updates = 0
        self.encoder = Encoder(mean).to(self.device)
        self.average = Encoder(mean).to(self.device)
        self.average.load_state_dict(self.encoder.state_dict())
        self.average.requires_grad_(False)
        self.optimizer = torch.optim.AdamW(
            self.encoder.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay, fused=True
        )

    def update(self) -> dict[str, float]:
        """One gradient update; returns the losses and the learning rate."""
        return self.learn(sample(self.videos, self.recipe, self.seed, self.updates).to(self.device))

    def learn(self, batch: VideoBatch) -> dict[str, float]:
        """The update, from a batch on the learner's device."""
        rate = learning_rate(self.recipe, self.updates)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        embeddings = self.encoder.network(self.encoder.normalise(batch.frames, batch.brightness))
        terms = self._losses(embeddings, batch)
        loss = torch.stack(list(terms.values())).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        self._average()
        return {"loss": loss.item(), **{name: term.item() for name, term in terms.items()}, "learning_rate": rate}

    def _losses(self, embeddings: Tensor, batch: VideoBatch) -> dict[str, Tensor]:
        recipe = self.recipe
        embeddings, composites = embeddings.split([len(batch.time), len(embeddings) - len(batch.time)])
        z, mask = pad(embeddings, batch.lengths)
        u, v = pairs(len(batch.lengths), recipe.every_pair, self.device).T
        options = {"smoothing": recipe.label_smoothing} if recipe.loss == "classification" else {}
        cycle = losses.LOSSES[recipe.loss](z[u], z[v], mask[u], mask[v], recipe.temperature, **options)
        terms = {"cycle": cycle}
        if recipe.time_contrast:
            contrast = losses.time_contrast(
                embeddings, batch.time, batch.video, recipe.temperature, recipe.time_width, composites
            )
            terms["time_contrast"] = recipe.time_contrast * contrast
        return terms

    @torch.no_grad()
    def _average(self) -> None:
        # Early on the average is young, and follows quickly.
        decay = min(self.recipe.averaging, self.updates / (self.updates + 10))
        for mine, theirs in zip(self.average.parameters(), self.encoder.parameters(), strict=True):
            mine.lerp_(theirs, 1 - decay)

    @property
    def product(self) -> Encoder:
        """The encoder to evaluate and keep: the running average where there is one."""
        return self.average if self.recipe.averaging else self.encoder

    def tensors(self) -> dict[str, Tensor]:
        """All that changes, beside the number of updates: weights, their average, and Adam's moments."""
        moments = self.optimizer.state_dict()["state"]
        return {
            **{f"encoder.{name}": tensor for name, tensor in self.encoder.state_dict().items()},
            **{f"average.{name}": tensor for name, tensor in self.average.state_dict().items()},
            **{f"adam.{i}.{name}": tensor for i, state in moments.items() for name, tensor in state.items()},
        }

    def load(self, tensors: Mapping[str, Tensor], updates: int) -> None:
        """Go on exactly where `tensors` were taken, after `updates`."""
        parts: dict[str, dict[str, Tensor]] = {"encoder": {}, "average": {}, "adam": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = tensor
        self.encoder.load_state_dict(parts["encoder"])
        self.average.load_state_dict(parts["average"])
        weights = [weight.detach() for weight in self.encoder.parameters()]
        state: dict[int, dict[str, Tensor]] = defaultdict(dict)
        for name, tensor in parts["adam"].items():
            number, _, moment = name.partition(".")
            like = weights[int(number)] if tensor.ndim else tensor
            # In the memory order of its weight: fused Adam walks through both side by side.
            state[int(number)][moment] = torch.empty_like(like).copy_(tensor)
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": dict(state)})
        self.updates = updates
