"""Linear tree methods on the same TF-IDF rows: python -m benchmarks.linear [CORPUS ...] [--only CONTENDER].

libpecos needs NumPy 1 and so an environment of its own (`make .venv-pecos`); without it, it is left out aloud.
"""

import sys

from benchmarks.side_by_side import PEERS, compare

CORPORA = ("eurlex57k", "wordnet-glosses", "debian-related", "wordnet-related", "yso-finna-en")
OURS = {
    "longtail linear": (sys.executable, "benchmarks.contenders.ours", "linear"),
    "longtail linear, 3 trees": (sys.executable, "benchmarks.contenders.ours", "linear", "trees=3"),
    "longtail centroid": (sys.executable, "benchmarks.contenders.ours", "centroid"),
}

if __name__ == "__main__":
    compare("linear", "Linear tree methods, same features, same run", CORPORA, OURS | PEERS)
