"""From an episode's points to rewards: the coupling, its metrics, eq. 7, W1. Knows no RL and no torch."""
