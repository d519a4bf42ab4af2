"""python -m longtail: the command line, where its script is not on the path."""

from longtail.cli import main

main()
