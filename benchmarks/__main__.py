"""Every table, one after the other: python -m benchmarks.  Takes hours; python -m benchmarks.NAME makes one."""

import subprocess
import sys

for name in ("loading", "metrics", "tfidf", "nearest", "linear", "frugal"):
    print(f"== {name}", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)
