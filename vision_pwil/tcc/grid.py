"""The paper's search (appendix "Embedding"): every combination of these, the rest of the recipe as in `paper`."""

BATCH_SIZES = (1, 4, 16, 32)
SUBSAMPLINGS = (1, 4, 8)
LEARNING_RATES = (1e-2, 1e-3, 1e-4)
