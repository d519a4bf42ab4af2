"""What a model has compiled before the first request."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import longtail
from longtail.corpus import Splits

# In a process of its own: other tests compile the same loops.
ASKED = """
import sys, longtail
from longtail.corpus import Documents
from longtail.kernels.compiled import Kernel
from longtail.serve.labelling import neighbourhood
from longtail.serve.models import open_served, warm_up
from pathlib import Path

def compiled():
    modules = [module for name, module in sys.modules.items() if name.startswith("longtail.")]
    kernels = {id(one): one for module in modules for one in vars(module).values() if isinstance(one, Kernel)}
    return {
        f"{one.__module__}.{one.__name__}": (
            len(vars(one).get("_codes", ())), len(one.dispatcher.signatures) if "dispatcher" in vars(one) else 0
        )
        for one in kernels.values()
    }

served = open_served("linear", Path(sys.argv[1]))
predictor = served.predictor
warm_up(predictor, True)
before = compiled()
assert any(map(any, before.values()))
for text in ("", "a word", "caf\u00e9", "\u023a", "\U0001f600 \u4e2d\u6587", "a word " * 2000, "caf\u00e9 " * 2000):
    for k in (1, 5, 300):
        predictor.rank(Documents.of([text]), k)
        predictor.rank(Documents.of([text, "a word"] * 16), k)
        predictor.explain(text, k).to_json()
    served.search.find(text, 5)
neighbourhood(served, 1)
print(sorted(name for name, count in compiled().items() if count != before.get(name, (0, 0)) and any(count)))
"""


def test_no_text_makes_a_server_compile_once_it_is_ready(planted: Splits, tmp_path: Path):
    """Without a cache on disk that takes seconds, in which the event loop may be kept and deadlines go by."""
    longtail.fit("linear", planted.train).save(tmp_path / "model")
    path = os.pathsep.join([str(Path(longtail.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", ASKED, tmp_path / "model"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.stdout == "[]\n", done.stderr + done.stdout
