"""Where a number was measured, so that it can be believed or repeated."""

from __future__ import annotations

import json
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

RESULTS = Path(__file__).parent / "results"
PACKAGES = (
    "longtail", "numpy", "scipy", "numba", "scikit-learn", "torch", "transformers", "napkinxc", "omikuji", "libpecos",
)  # fmt: skip


def machine() -> dict:
    """Processor, cores, memory, and the versions of what ran."""
    return {
        "processor": processor(),
        "cores": psutil.cpu_count(),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GB",
        "system": platform.platform(),
        "versions": {"python": platform.python_version()} | {name: v for name in PACKAGES if (v := installed(name))},
    }


def processor() -> str:
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def earlier(name: str) -> dict:
    """What results/NAME.json holds by now."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text("utf-8"))["results"] if path.is_file() else {}


def save(name: str, results: dict) -> Path:
    """Write results/NAME.json with the machine and the day."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    whole = {"date": time.strftime("%Y-%m-%d"), "machine": machine(), "results": results}
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path
