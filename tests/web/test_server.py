"""Where the pages are served."""

from __future__ import annotations

import socket

import pytest

from orienteer.errors import InputError
from orienteer.web.server import listening


def test_the_next_free_port_is_taken() -> None:
    with listening("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with listening("127.0.0.1", port, n_tried=20) as second:
            assert port < second.getsockname()[1] < port + 20
        with pytest.raises(InputError, match=f"port {port} cannot be used: Address already in use"):
            listening("127.0.0.1", port)


def test_small_answers_are_sent_at_once() -> None:
    """asyncio sets TCP_NODELAY only on what calls itself TCP."""
    with listening("localhost", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize("port", [-1, 65_536])
def test_what_is_no_port(port: int) -> None:
    with pytest.raises(InputError, match=f"--port is {port}; a port is a number from 0"):
        listening("127.0.0.1", port)
