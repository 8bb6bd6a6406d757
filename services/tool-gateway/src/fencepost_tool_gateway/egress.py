"""Where requests may go: addresses are judged after the name is resolved, and the judged one is dialled.

A name that resolves to a link-local, metadata or other special address is refused unless the operator allows
it (FENCEPOST_EGRESS_ALLOW), whatever document named it; a name that changes between the look and the call
changes nothing, since the connection goes to the address that was looked at.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx
from fencepost_domain.errors import FencepostError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# Special though they look private or global: cloud metadata outside the link-local range.
METADATA: Final = tuple(
    ipaddress.ip_network(text) for text in ("100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::254/128")
)
IN_SIX: Final = ("64:ff9b::/96",)  # NAT64: the last 32 bits are an IPv4 address


class EgressRefused(FencepostError):
    """The address is not one that requests may go to. Nothing was sent."""

    code = "egress_refused"

    def __init__(self, host: str, why: str) -> None:
        super().__init__(f"{host}: {why}")


@dataclass(frozen=True, slots=True)
class Egress:
    """allowed: special networks that requests may go to all the same."""

    allowed: tuple[Network, ...] = ()

    async def resolve(self, host: str, port: int) -> str:
        """The address to dial. Raises EgressRefused, OSError (the name is unknown)."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [str(one[4][0]) for one in found]
        # All of them: which one is dialled must not be the other side's to choose.
        for address in addresses:
            self.check(host, ipaddress.ip_address(address.partition("%")[0]))
        return addresses[0]

    def check(self, host: str, address: Address) -> None:
        """Raises EgressRefused."""
        real = plain(address)
        if any(real in network for network in self.allowed if network.version == real.version):
            return
        if any(real in network for network in METADATA if network.version == real.version):
            raise EgressRefused(host, f"{real} is a metadata address")
        if real.is_link_local or real.is_multicast or real.is_unspecified or real.is_reserved:
            raise EgressRefused(host, f"{real} is a special address; FENCEPOST_EGRESS_ALLOW may allow it")


def plain(address: Address) -> Address:
    """An IPv4 address that is dressed as IPv6 is judged as what it is."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if any(address in ipaddress.ip_network(prefix) for prefix in IN_SIX):
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """Raises ValueError."""
    return tuple(ipaddress.ip_network(text) for text in texts)


async def dial_checked(egress: Egress, request: Any) -> None:
    """Point a request (httpx's or httpx2's) at the judged address; name and certificate stay the host's."""
    url = request.url
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        address = await egress.resolve(url.host, port)
    except OSError as error:
        raise httpx.ConnectError(f"{url.host} is not known: {error.strerror}") from None
    if address != url.host:
        request.extensions = {**request.extensions, "sni_hostname": url.host}
        request.url = url.copy_with(host=address)


class GuardedTransport(httpx.AsyncBaseTransport):
    """httpx's transport behind the guard."""

    def __init__(self, egress: Egress, inner: httpx.AsyncBaseTransport | None = None, **more: Any) -> None:
        self._egress = egress
        self._inner = inner or httpx.AsyncHTTPTransport(trust_env=False, **more)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            await dial_checked(self._egress, request)
        except EgressRefused as error:
            raise httpx.UnsupportedProtocol(str(error)) from error  # nothing was sent: no other error says so
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()
