"""The paper's searches and seeds on Ray Tune: trials that are commands of this package, ranked at the end."""
