"""The bench: `make bench`, or one part of it with `make bench PART=a`. Never a timed test of the suite."""
