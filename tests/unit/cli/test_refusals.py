"""What the command refuses before anything starts: by the setting's name, with the way out."""

from pathlib import Path

import pytest
import typer
from fencepost.errors import ApiError
from fencepost_cli.commands.doctor import examine
from fencepost_cli.console import told_errors
from fencepost_cli.databases import admin_dsn
from fencepost_cli.embedded.supervisor import Embedded
from fencepost_cli.main import build


def test_a_database_url_that_is_none_is_told_and_not_quoted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FENCEPOST_DATABASE_URL", "host=db password=long-password")

    with pytest.raises(typer.Exit) as refused:
        admin_dsn(tmp_path)
    (database,) = [finding for finding in examine(tmp_path) if finding.check == "database"]

    said = capsys.readouterr().err
    assert refused.value.exit_code == 2
    assert "FENCEPOST_DATABASE_URL: expected postgresql://" in said
    assert "long-password" not in said
    assert (database.answer, database.detail) == ("fail", "FENCEPOST_DATABASE_URL can't be read")


async def test_a_data_folder_that_cannot_be_made_names_its_setting(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"^FENCEPOST_DATA_DIR or --data-dir: .*/file/data can't be made"):
        async with Embedded(tmp_path / "file" / "data"):
            pass


def test_a_refusal_names_the_field_or_the_parameter(capsys: pytest.CaptureFixture[str]) -> None:
    faults = [{"pointer": "/per", "detail": "no"}, {"parameter": "state", "detail": "one of a, b"}]
    with pytest.raises(typer.Exit), told_errors():
        raise ApiError(422, {"code": "invalid_request", "detail": "Some are not valid.", "errors": faults})
    assert "(invalid_request): /per: no; state: one of a, b" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["-1", "0", "65536"])
def test_a_port_that_is_none_is_a_usage_error(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        build(("up",))(["up", "--port", port])
    assert ended.value.code == 2
    assert "--port" in capsys.readouterr().err
