"""What is kept under version control: nothing that a tool left behind."""

import subprocess

from tests.architecture.shape import ROOT

KEPT = {
    ".ci", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "GLOSSARY.md", "LICENSE", "Makefile", "README.md",
    "README.zh-CN.md", "bench", "docs", "fencepost", "libs", "modules", "pyproject.toml",
    "requirements-bootstrap.lock", "requirements.lock", "scripts", "services", "tests",
}  # fmt: skip


def test_only_what_belongs_here_lies_at_the_top() -> None:
    """An environment, a cache or a pickle that was added by accident is as large as all of ours together."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]  # whoever the clone belongs to
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {name.partition("/")[0] for name in listed.split("\0") if name} <= KEPT
