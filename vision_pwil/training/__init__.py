"""The loop: rollouts, replay, evaluations, checkpoints."""
