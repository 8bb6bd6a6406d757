"""Published catalogs: immutable texts, kept by fingerprint (I16)."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class StoredCatalog:
    """body: the canonical text that the fingerprint is of; the reader hashes it again."""

    fingerprint: str
    body: str
    revoked: bool


async def publish_catalog(tx: Tx, *, fingerprint: str, module: str, version: str, body: str) -> bool:
    """Publish once and put in force; False when it was in force."""
    row = await tx.row("publish_catalog", fingerprint=fingerprint, module=module, version=version, body=body)
    return row is not None


async def catalog_by_fingerprint(tx: Tx, fingerprint: str) -> StoredCatalog | None:
    row = await tx.row("catalog_by_fingerprint", fingerprint=fingerprint)
    if row is None:
        return None
    return StoredCatalog(fingerprint, row["body"], row["revoked_at"] is not None)


async def unsafe_durability(tx: Tx) -> tuple[str, ...]:
    """Server settings that are off though COMMIT's promise needs them: fsync, full_page_writes, …"""
    return tuple(row["name"] for row in await tx.rows("durability"))
