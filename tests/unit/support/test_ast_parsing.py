"""A tree is parsed whole whatever a finalizer does in the middle of it."""

import ast
import gc


class ParsesWhenCollected:
    """A cycle, so that only the collector finds it; its end parses at another depth of the stack."""

    def __init__(self, parsed: list[int]) -> None:
        self.me = self
        self.parsed = parsed

    def __del__(self) -> None:
        self._deeper(40)

    def _deeper(self, left: int) -> None:
        if left:
            self._deeper(left - 1)
        else:
            self.parsed.append(len(ast.parse("1 + 1").body))


def test_a_finalizer_that_parses_does_not_break_the_parse_it_interrupts() -> None:
    source = "\n".join(f"x{n} = [a + b for a, b in zip(c, d)]" for n in range(3000))
    parsed: list[int] = []
    for _ in range(5):
        ParsesWhenCollected(parsed)
        assert len(ast.parse(source).body) == 3000
    gc.collect()
    assert parsed
