"""Joining a Ray cluster: one that runs, or one that is started on this machine for a crawl.

    local-ray            on this machine, for this crawl alone
    HOST:PORT            a cluster that this machine is a node of; the address of its head, often with port 6379
    ray://HOST[:PORT]    through a server on the head (Ray Client, port 10001), from any machine

Whoever can talk to a Ray cluster can run any program on it, and on those who use it. So a cluster that is not on this
machine must have Ray's authentication by a token.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import socket
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from orienteer.errors import InputError, MissingExtraError, ProcessError

LOCAL = "local-ray"

_CLIENT = "ray://"
_CLIENT_PORT = 10001
_CONNECT_S = 10.0
_TRIES = 3  # a second apart, with a cluster that answers; by default Ray tries a wrong token for twenty seconds
_NO_SERVER = "Starting Ray client server failed"  # on the head: gRPC may crash where a process is forked
_STORE_BYTES = 100 << 20  # of a local cluster, for what goes between processes


class Address(NamedTuple):
    host: str
    port: int
    is_client: bool

    @property
    def is_loopback(self) -> bool:
        try:
            return self.host == "localhost" or ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False


def address_of(on: str) -> Address | None:
    """None is a cluster of one's own.

    >>> address_of("ray://head.example")
    Address(host='head.example', port=10001, is_client=True)
    """
    if on == LOCAL:
        return None
    is_client = on.startswith(_CLIENT)
    host, colon, port = on.removeprefix(_CLIENT).rpartition(":")
    if is_client and not colon:
        host, port = port, str(_CLIENT_PORT)
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise InputError(f"no place for workers is named {on!r} (choices: {LOCAL}, HOST:PORT, ray://HOST:PORT)")
    return Address(host, int(port), is_client)


def expect_usable(on: str, environment: Mapping[str, str] = os.environ) -> None:
    """Raise what can be said without Ray: it is not installed, the address is none, there is no authentication."""
    address = address_of(on)
    if importlib.util.find_spec("ray") is None:
        raise MissingExtraError("a crawl on Ray", "ray", "ray")
    if address is None:
        return
    if address.is_client and importlib.util.find_spec("grpc") is None:
        raise MissingExtraError("ray://", "grpcio", "ray")
    if not address.is_loopback and not has_token(environment):
        raise InputError(_unsafe(on))


def has_token(environment: Mapping[str, str]) -> bool:
    """Whether Ray authenticates by a token, and has one."""
    if environment.get("RAY_AUTH_MODE", "").lower() != "token":
        return False
    path = environment.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token"
    return bool(environment.get("RAY_AUTH_TOKEN", "").strip()) or Path(path).is_file()


def joined(on: str) -> int:
    """Make this process a driver of the cluster; how many CPUs that has."""
    address = address_of(on)
    if address is None:
        _start()
    else:
        _connect(on, address)
    import ray

    nodes = [node for node in ray.nodes() if node["Alive"]]
    if address is not None and not has_token(os.environ) and len({node["NodeManagerAddress"] for node in nodes}) > 1:
        raise InputError(_unsafe(on))
    return int(sum(node["Resources"].get("CPU", 0.0) for node in nodes))


def _start() -> None:
    # Ray listens on all addresses of the machine, even here: nobody else knows this token.
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    import ray

    try:
        ray.init(
            address="local", include_dashboard=False, object_store_memory=_STORE_BYTES, log_to_driver=False,
            logging_level="ERROR",
        )  # fmt: skip
    except Exception as error:
        raise ProcessError(f"Ray cannot be started on this machine: {_first_line(error)}") from None


def _connect(on: str, address: Address) -> None:
    _expect_answer(on, address)
    os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", str(_TRIES))  # which it reads when it is imported
    import ray

    place = on if address.is_client else f"{address.host}:{address.port}"
    for n_left in reversed(range(_TRIES)):
        try:
            ray.init(address=place, log_to_driver=False, logging_level="ERROR")
            return
        except Exception as error:
            if not n_left or _NO_SERVER not in str(error):
                raise ProcessError(f"--on {on}: {_explained(error)}") from None


def _expect_answer(on: str, address: Address) -> None:
    """Ray itself tries for minutes."""
    try:
        socket.create_connection((address.host.strip("[]"), address.port), _CONNECT_S).close()
    except OSError as error:
        raise ProcessError(f"--on {on}: no Ray cluster answers there: {error.strerror or error}") from None


def _explained(error: BaseException) -> str:
    chain: BaseException | None = error
    text = ""
    while chain is not None:
        text, chain = f"{text} {type(chain).__name__} {chain}", chain.__cause__ or chain.__context__
    if "AuthenticationError" in text or "authentication token" in text:
        return "the cluster does not accept the token; all machines need the same one, and RAY_AUTH_MODE=token"
    if "node" in text and ("not found" in text or "No node" in text or "same node" in text):
        return "this machine is no node of the cluster; run `ray start --address=HOST:PORT` here, or use ray://HOST"
    if _NO_SERVER in text:
        return "the head cannot start a server for this client; run `GRPC_ENABLE_FORK_SUPPORT=0 ray start --head` there"
    return _first_line(error)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _unsafe(on: str) -> str:
    return (
        f"--on {on}: a cluster on other machines must have authentication; set RAY_AUTH_MODE=token on all of them, and "
        "give them the same token (`ray get-auth-token --generate` writes ~/.ray/auth_token)"
    )
