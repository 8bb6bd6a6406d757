"""A log line is JSON, carries its run, and never a secret, whoever wrote it."""

import json
import logging

import pytest
import structlog
from fencepost_runtime.keys import KeyFileError, load_key_ring, new_key_ring_text
from fencepost_runtime.logging import get_logger, log_context, set_up_logging
from fencepost_runtime.secrets import MASK, MaskedPieces, mask_registered, redact, register_secret


@pytest.fixture(autouse=True)
def _restore():  # type: ignore[no-untyped-def]
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    logging.root.handlers[:], logging.root.level = handlers, level
    structlog.reset_defaults()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_ours_and_the_standard_librarys_lines_have_one_shape(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging("worker")
    with log_context(run_id="r1"):
        get_logger("a").info("run.claimed", revision=2)
        logging.getLogger("b").warning("from %s", "elsewhere")
    ours, theirs = lines(capsys)
    assert ours["event"] == "run.claimed"
    assert ours["revision"] == 2
    assert theirs["event"] == "from elsewhere"
    assert {line["run_id"] for line in (ours, theirs)} == {"r1"}
    assert {line["service"] for line in (ours, theirs)} == {"worker"}


def test_no_secret_leaves_in_a_field_a_message_or_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging("worker")
    register_secret("hunter2hunter2")
    log = get_logger("a")
    log.info("x", password="swordfish", nested={"api_key": "swordfish"}, text=["hunter2hunter2"])
    log.info("x", thing=ValueError("hunter2hunter2"))
    try:
        raise ValueError("hunter2hunter2")
    except ValueError:
        log.exception("failed")
        logging.getLogger("b").exception("failed with hunter2hunter2")
    written = capsys.readouterr().err
    assert "hunter2" not in written
    assert "swordfish" not in written
    assert written.count("Traceback") == 2


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdefgh12345678",
        "postgresql://api:abcdefgh12345678@db/x",
        "GET /v1/runs/1/stream?ticket=abcdefgh12345678&a=b",
        "key sk-abcdefgh12345678",
    ],
)
def test_secrets_that_nobody_registered_are_known_by_their_shape(text: str) -> None:
    assert "abcdefgh12345678" not in redact(text)


def test_a_key_file_is_never_quoted_in_its_error(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "keys"
    path.write_text('{"active": "k1", "keys": {"k1": "c2hvcnQ="}}')
    with pytest.raises(KeyFileError, match="16 bytes"):
        load_key_ring(path)
    path.write_text("plainsecret")
    with pytest.raises(KeyFileError) as refused:
        load_key_ring(path)
    assert "plainsecret" not in str(refused.value)
    path.write_text(new_key_ring_text())
    assert len(load_key_ring(path).signing_key) == 32


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
def test_a_secret_in_pieces_is_masked_and_the_rest_is_shown(size: int) -> None:
    register_secret("canary-in-pieces-1")
    text = "it is canary-in-pieces-1, not canary-in-pieces-2 or canary-in. Done!"
    pieces = MaskedPieces()
    shown = "".join(pieces.feed(text[start : start + size]) for start in range(0, len(text), size))
    assert shown == text.replace("canary-in-pieces-1", MASK)


def test_a_secret_that_is_a_members_name_is_masked_too() -> None:
    register_secret("canary-as-a-name-1")
    assert mask_registered({"canary-as-a-name-1": ["canary-as-a-name-1"]}) == {MASK: [MASK]}
