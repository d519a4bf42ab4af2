"""Commands that copy models to other places and back: push, pull."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longtail.cli.output import say
from longtail.cli.words import ModelArgument, to_write


def push(
    model: ModelArgument,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A directory, or hf:OWNER/NAME.")],
    public: Annotated[
        bool, typer.Option("--public", help="A new repository of the hub can be seen by everybody.")
    ] = False,
) -> None:
    """Copy a model to a directory or to the Hugging Face hub, verified, without anything that is not part of it."""
    from longtail.predict.saving import KEPT
    from longtail.predict.sharing import HUB
    from longtail.predict.sharing import push as pushed

    if target.startswith(HUB) and any(path.is_dir() for path in model.rglob(KEPT)):
        say("careful: the model holds beginnings of training documents, which `explain` shows")
    say(f"wrote {pushed(model, target, public=public)}")


def pull(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A directory, or hf:OWNER/NAME[@REVISION].")],
    target: Annotated[Path, typer.Argument(parser=to_write, metavar="DIR", help="Where the model goes.")],
) -> None:
    """Copy a model from a directory or from the Hugging Face hub; what is damaged or could hold code is refused."""
    from longtail.predict.sharing import pull as pulled

    pulled(source, target)
    say(f"wrote {target}")
