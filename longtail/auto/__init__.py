"""The best model that a corpus, a time and a size allow: `longtail train auto`."""
