"""Methods that learn an encoder on a CPU, beside linear trees: python -m benchmarks.frugal [CORPUS ...] [--only NAME].

DECAF and LightDXML read texts and label texts; the others get TF-IDF rows.  One model each unless the name says more.
"""

import sys

from benchmarks.side_by_side import PEERS, compare

CORPORA = ("debian-related", "wordnet-related", "wordnet-glosses", "yso-finna-en")
OURS = {
    "longtail decaf": (sys.executable, "benchmarks.contenders.texts", "decaf"),
    "longtail lightdxml": (sys.executable, "benchmarks.contenders.texts", "lightdxml"),
    "longtail linear": (sys.executable, "benchmarks.contenders.ours", "linear"),
}

if __name__ == "__main__":
    compare("frugal", "Short texts with label texts: learned encoders beside linear trees", CORPORA, OURS | PEERS)
