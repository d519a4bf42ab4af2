"""From files to a trusted score: write a corpus as JSON lines, train with a resumable run, evaluate, save, open."""

import json
import random
import tempfile
from pathlib import Path

import longtail

KINDS = {"cat": ["fur", "whiskers", "purrs"], "fish": ["fins", "gills", "swims"], "bird": ["feathers", "beak", "sings"]}
DRAW = random.Random(0)


def line() -> str:
    """One document: two kinds of animal described by their words."""
    kinds = DRAW.sample(sorted(KINDS), 2)
    words = [DRAW.choice(KINDS[kind]) for kind in kinds for _ in range(3)]
    return json.dumps({"text": " ".join(words), "labels": kinds})


with tempfile.TemporaryDirectory() as place:
    directory = Path(place)
    for split, documents in (("train", 200), ("test", 40)):
        (directory / f"{split}.jsonl").write_text("\n".join(line() for _ in range(documents)))

    corpus = longtail.load(directory)
    model = longtail.fit("linear", corpus.train, run=directory / "run")  # run it again: it resumes
    result = longtail.evaluate(model, corpus.test, ks=(1, 2))
    print({name: round(result.metrics[name], 1) for name in ("P@1", "P@2", "PSP@1")})

    again = longtail.open(directory / "run" / "model")
    print([label.name for label in again.predict(["it purrs and has fins"], k=2)[0]])
