"""The server: texts over HTTP, in Longtail's own interface and in Annif's.

    request ──guard──► route ──fields──► Queue ─────────────► Predictor.rank ──► JSON
             token      router  checked   bounded; at once, or batched by a thread

Thin by design: parse, admit or refuse, batch, predict, render.  docs/serving.md is the page for those who run it.
"""
