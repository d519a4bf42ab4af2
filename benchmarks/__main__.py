"""Every table, one after the other: python -m benchmarks.  Takes many hours; python -m benchmarks NAME makes one."""

import subprocess
import sys

# Small measurements first, then tables of one training after the other, then what needs several methods.  Those that
# train ELIAS, LightXML, GUDN and variants of DECAF and LightDXML leave alone what was run before.
EVERYTHING: tuple[tuple[str, ...], ...] = (
    ("loading",),
    ("opening",),
    ("unchanged", "after"),
    ("metrics",),
    ("tfidf",),
    ("latency",),
    ("clusters",),
    ("million",),
    ("mscm",),
    ("nearest",),
    ("steps",),
    ("training",),
    ("distributed",),
    ("elias_scaling",),
    ("scale", "curve"),
    ("ray_predict",),
    ("transformer",),
    ("transformer_answers",),
    ("linear",),
    ("eurlex4k",),
    ("frugal",),
    ("decaf_claims",),
    ("lightdxml_claims",),
    ("elias",),
    ("claims",),
    ("claims_figures",),
    ("combinations",),
    ("precision",),
    ("adding", "--model", "decaf=runs/precision/decaf-debian-related/model"),
    ("auto", "--peers"),
    # 64 tokens of a text and three epochs: what a plain CPU can do in hours.
    (
        "deep",
        "eurlex57k",
        "--set",
        "transformer.max_tokens=64",
        "--set",
        "optim.epochs=3",
        "--for-gudn",
        "label_tokens=32",
    ),
    ("ensemble",),
    ("flood",),
    ("serve",),
    ("new_labels",),
)  # fmt: skip

if __name__ == "__main__":
    one = (tuple(sys.argv[1:]),) if sys.argv[1:] else ()
    for name, *words in one or EVERYTHING:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *words], check=True)
