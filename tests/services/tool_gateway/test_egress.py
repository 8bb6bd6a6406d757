"""Where requests may go is judged by the address that is dialled, whatever name led to it."""

from __future__ import annotations

import ipaddress

import httpx
import pytest
from fencepost_tool_gateway.egress import Egress, EgressRefused, GuardedTransport, networks

REFUSED = [
    "169.254.169.254", "169.254.1.1", "100.100.100.200", "168.63.129.16", "0.0.0.0", "224.0.0.1", "fe80::1",
    "fd00:ec2::254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "::",
]  # fmt: skip


@pytest.mark.parametrize("address", REFUSED)
def test_special_addresses_are_refused_however_they_are_dressed(address: str) -> None:
    with pytest.raises(EgressRefused):
        Egress().check("host", ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "192.168.1.1", "8.8.8.8", "2606:4700::1111"])
def test_ordinary_and_private_ones_are_not(address: str) -> None:
    Egress().check("host", ipaddress.ip_address(address))


def test_an_operator_may_allow_a_network() -> None:
    Egress(networks(["169.254.0.0/16"])).check("host", ipaddress.ip_address("169.254.169.254"))


async def test_nothing_is_sent_to_a_refused_address_and_the_judged_one_is_dialled() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200)

    guard = GuardedTransport(Egress(), httpx.MockTransport(answer))
    async with httpx.AsyncClient(transport=guard) as client:
        with pytest.raises(httpx.UnsupportedProtocol):
            await client.get("http://169.254.169.254/latest/meta-data")
        assert seen == []
        await client.get("http://localhost:1234/x")
    [request] = seen
    assert request.url.host in ("127.0.0.1", "::1") and request.headers["host"] == "localhost:1234"
    assert request.extensions["sni_hostname"] == "localhost"
