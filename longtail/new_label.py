"""A label to add to a trained model."""

from __future__ import annotations

from dataclasses import dataclass

from longtail.corpus import Label


@dataclass(frozen=True)
class NewLabel:
    """A label that no training document had, and texts that should get it, where there are any."""

    id: str
    name: str
    text: str = ""
    examples: tuple[str, ...] = ()

    @property
    def label(self) -> Label:
        """As the label sets of corpora and models hold it."""
        return Label(self.id, self.name, self.text)

    def texts(self) -> list[str]:
        """All that describes it: its own words first, then the examples."""
        return [self.label.words, *self.examples]
