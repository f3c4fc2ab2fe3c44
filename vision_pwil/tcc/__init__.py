"""Temporal cycle-consistency learning (Dwibedi et al. 2019): a frame encoder from videos alone."""
