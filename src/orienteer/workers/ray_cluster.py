"""Join a running Ray cluster, or start one on this machine for a crawl.

    local-ray            on this machine, for this crawl only
    HOST:PORT            a cluster that this machine is a node of: the address of its head, often with port 6379
    ray://HOST[:PORT]    Ray Client, through a server on the head (port 10001), from any machine

Any process that can connect to a Ray cluster can run code on its nodes and its clients. So a cluster that is not on
this machine must use Ray's token authentication.
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
_TRIES = 3  # a second apart, once the cluster is reachable; by default Ray retries a wrong token for twenty seconds
_NO_SERVER = "Starting Ray client server failed"  # on the head: gRPC may crash in a forked process
_STORE_BYTES = 100 << 20  # object store of a local cluster


class ClusterAddress(NamedTuple):
    host: str
    port: int
    is_client: bool

    @property
    def is_loopback(self) -> bool:
        try:
            return self.host == "localhost" or ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False


def address_of(on: str) -> ClusterAddress | None:
    """Parse an address; None is a local cluster started for this crawl.

    >>> address_of("ray://head.example")
    ClusterAddress(host='head.example', port=10001, is_client=True)
    """
    if on == LOCAL:
        return None
    is_client = on.startswith(_CLIENT)
    host, colon, port = on.removeprefix(_CLIENT).rpartition(":")
    if is_client and not colon:
        host, port = port, str(_CLIENT_PORT)
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise InputError(f"no place for workers is named {on!r} (choices: {LOCAL}, HOST:PORT, ray://HOST:PORT)")
    return ClusterAddress(host, int(port), is_client)


def expect_usable(on: str, environment: Mapping[str, str] = os.environ) -> None:
    """Raise the errors that need no cluster: Ray is not installed, the address is invalid, no authentication is set."""
    address = address_of(on)
    if importlib.util.find_spec("ray") is None:
        raise MissingExtraError("a crawl on Ray", "ray", "ray")
    if address is None:
        return
    if address.is_client and importlib.util.find_spec("grpc") is None:
        raise MissingExtraError("ray://", "grpcio", "ray")
    if not address.is_loopback and not has_token(environment):
        raise InputError(_needs_token_message(on))


def has_token(environment: Mapping[str, str]) -> bool:
    """Whether Ray uses token authentication and has a token."""
    if environment.get("RAY_AUTH_MODE", "").lower() != "token":
        return False
    path = environment.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token"
    return bool(environment.get("RAY_AUTH_TOKEN", "").strip()) or Path(path).is_file()


def join_cluster(on: str) -> int:
    """Make this process a driver of the cluster; returns the number of CPUs."""
    address = address_of(on)
    if address is None:
        _start()
    else:
        _connect(on, address)
    import ray

    nodes = [node for node in ray.nodes() if node["Alive"]]
    if address is not None and not has_token(os.environ) and len({node["NodeManagerAddress"] for node in nodes}) > 1:
        raise InputError(_needs_token_message(on))
    return int(sum(node["Resources"].get("CPU", 0.0) for node in nodes))


def _start() -> None:
    # Even a local cluster listens on all addresses of the machine: only this process tree has the token.
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    import ray

    try:
        ray.init(
            address="local", include_dashboard=False, object_store_memory=_STORE_BYTES, log_to_driver=False,
            logging_level="ERROR",
        )  # fmt: skip
    except Exception as error:
        raise ProcessError(f"Ray cannot be started on this machine: {_first_line(error)}") from None


def _connect(on: str, address: ClusterAddress) -> None:
    _expect_reachable(on, address)
    os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", str(_TRIES))  # read when Ray is imported
    import ray

    location = on if address.is_client else f"{address.host}:{address.port}"
    for n_left in reversed(range(_TRIES)):
        try:
            ray.init(address=location, log_to_driver=False, logging_level="ERROR")
            return
        except Exception as error:
            if not n_left or _NO_SERVER not in str(error):
                raise ProcessError(f"--cluster {on}: {_explain(error)}") from None


def _expect_reachable(on: str, address: ClusterAddress) -> None:
    """Fail early: Ray itself retries for minutes."""
    try:
        socket.create_connection((address.host.strip("[]"), address.port), _CONNECT_S).close()
    except OSError as error:
        raise ProcessError(f"--cluster {on}: no Ray cluster answers there: {error.strerror or error}") from None


def _explain(error: BaseException) -> str:
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


def _needs_token_message(on: str) -> str:
    return (
        f"--cluster {on}: a cluster on other machines must have authentication; set RAY_AUTH_MODE=token on all of them,"
        " and give them the same token (`ray get-auth-token --generate` writes ~/.ray/auth_token)"
    )
