"""What pages name is there: settings, commands with their options, routes, failpoints, files; and the other
way round where a reader would miss it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

import click
import typer
from fencepost_cli.main import build
from fencepost_runtime.failpoints import FAILPOINTS
from fencepost_runtime.settings import ApiSettings, GatewaySettings, ReconcilerSettings, WorkerSettings

from tests.architecture.shape import our_sources

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in sorted(
        chain(ROOT.glob("*.md"), (ROOT / "docs").rglob("*.md"), (ROOT / "bench").rglob("*.md"))
    )
}
SERVICES: Final = {
    "api": ApiSettings,
    "tool-gateway": GatewaySettings,
    "worker": WorkerSettings,
    "reconciler": ReconcilerSettings,
}
EXAMPLES: Final = {"FENCEPOST_SECRET_CRM_KEY"}  # a secret's own variable, in an example
TREES: Final = ("docs", "libs", "services", "tests", "bench", "modules", "scripts")


def default_of(field: Any) -> str:
    """As the page writes it."""
    if field.is_required():
        return "must be set"
    value = field.default
    if value is None or value == ():
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def settings() -> Iterator[tuple[str, str, str]]:
    """(variable, service, default) of every service."""
    for service, kind in SERVICES.items():
        for name, field in kind.model_fields.items():
            yield f"FENCEPOST_{name.upper()}", service, default_of(field)


def test_the_page_of_settings_has_every_setting_with_its_services_and_default() -> None:
    listed = re.findall(
        r"^\| `(FENCEPOST_\w+)` \| ([\w, -]+) \| (.+?) \|", PAGES["docs/settings.md"], re.MULTILINE
    )
    assert {
        (name, service, default)
        for name, services, default in listed
        for service in (SERVICES if services == "all" else services.split(", "))
    } == set(settings())


def test_every_variable_that_a_page_names_is_read_somewhere() -> None:
    code = "\n".join(path.read_text() for path in [*our_sources(".py"), *(ROOT / "tests").rglob("*.py")])
    known = {name for name, _, _ in settings()} | {
        f"FENCEPOST_{s}_" for s in ("API", "GATEWAY", "WORKER", "RECONCILER")
    }
    for page, text in PAGES.items():
        named = set(re.findall(r"\bFENCEPOST_[A-Z0-9_]*[A-Z0-9]", text)) - EXAMPLES - known
        lost = [name for name in sorted(named) if f'"{name}"' not in code and not _of_a_service(name, known)]
        assert lost == [], page


def _of_a_service(name: str, known: set[str]) -> bool:
    own = re.fullmatch(r"FENCEPOST_(?:API|GATEWAY|WORKER|RECONCILER)_(DATABASE_\w+)", name)
    return own is not None and f"FENCEPOST_{own[1]}" in known


def commands() -> dict[str, click.Command]:
    """Every command by its words, without the program's."""
    found: dict[str, click.Command] = {}

    def walk(command: click.Command, before: tuple[str, ...]) -> None:
        for name, below in getattr(command, "commands", {}).items():
            found[" ".join((*before, name))] = below
            walk(below, (*before, name))

    walk(typer.main.get_command(build()), ())
    return found


def test_options_that_pages_give_commands_exist() -> None:
    known = commands()
    for page, text in PAGES.items():
        for line in re.findall(r"\bfencepost ([a-z][a-z-]+ [^\n`|#&;]*)", text):
            words = line.split()
            command = known.get(" ".join(words[:2])) or known.get(words[0])
            if command is None or getattr(command, "commands", None):
                continue
            options = {one for given in command.params for one in (*given.opts, *given.secondary_opts)}
            asked = {word.partition("=")[0].rstrip(".,:;)") for word in words if word.startswith("--")}
            assert asked <= options | {"--help", "--"}, f"{page}: fencepost {line}"


def test_commands_that_pages_show_exist() -> None:
    known = {name.split()[0] for name in commands()}
    for page, text in PAGES.items():
        shown = set(re.findall(r"`(?:\./)?fencepost ([a-z][a-z-]+)[^`]*`", text))
        assert shown <= known, page


def test_routes_that_pages_name_exist() -> None:
    source = "\n".join(path.read_text() for path in (ROOT / "services/api/src").rglob("*.py"))
    routes = {
        (method.upper(), re.sub(r"\{\w+\}", "{}", path))
        for method, path in re.findall(r'@\w+\.(get|post|put|patch|delete)\(\s*"([^"]+)"', source)
    }
    for page, text in PAGES.items():
        named = re.findall(r"\b(GET|POST|PUT|PATCH|DELETE) (/v1/[\w/{}-]+)", text)
        assert {(method, re.sub(r"\{\w+\}", "{}", path)) for method, path in named} <= routes, page


def test_failpoints_that_pages_name_exist() -> None:
    heads = "|".join(sorted({name.partition(".")[0] for name in FAILPOINTS}))
    for page, text in PAGES.items():
        named = re.findall(rf"`((?:{heads})\.\w+\.(?:before|after)_\w+)`", text)
        assert set(named) <= set(FAILPOINTS), page


def test_files_that_pages_link_or_name_exist() -> None:
    for page, text in PAGES.items():
        here = (ROOT / page).parent
        linked = [one for one in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in one]
        assert [one for one in linked if not (here / one).exists()] == [], page
        named = re.findall(
            rf"(?<![\w/])((?:{'|'.join(TREES)})/[\w./-]*\w\.(?:md|py|sql|yaml|json|jsonl|toml))\b", text
        )
        assert [one for one in named if not (ROOT / one).exists()] == [], page


def test_the_index_of_decisions_has_each_with_its_title_and_others_are_named_nowhere() -> None:
    decisions = {page[9:13]: text for page, text in PAGES.items() if re.match(r"docs/adr/\d{4}-", page)}
    titles = {number: text.split("\n", 1)[0] for number, text in decisions.items()}
    listed = re.findall(
        r"^\| \[(\d{4})\]\(\1-[\w-]+\.md\) \| (.+) \|$", PAGES["docs/adr/README.md"], re.MULTILINE
    )
    assert {number: f"# ADR-{number}: {title}" for number, title in listed} == titles
    said = "\n".join([*PAGES.values(), *(path.read_text() for path in our_sources(".py", ".sql"))])
    assert set(re.findall(r"\bADR-(\d{4})\b", said)) <= set(decisions)


def test_every_page_can_be_found_from_the_readme() -> None:
    seen: set[str] = set()
    todo = ["README.md"]
    while todo:
        page = todo.pop()
        if page in seen or page not in PAGES:
            continue
        seen.add(page)
        here = (ROOT / page).parent
        links = re.findall(r"\]\(([^)#\s]+\.md)", PAGES[page]) + re.findall(
            r"\bdocs/[\w/-]+\.md\b", PAGES[page]
        )
        for one in links:
            for target in (here / one, ROOT / one):
                if target.exists():
                    todo.append(str(target.resolve().relative_to(ROOT)))
    kept = {
        page for page in PAGES if page.startswith(("docs/guides/", "docs/runbooks/")) or page.count("/") == 1
    }
    assert sorted(kept - seen) == []
