"""A Ray cluster of several nodes on this machine, in a separate process that ends with the tests."""

from __future__ import annotations

import socket
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from orienteer.processes.child import Child
from tests.ready_process import TEST_TIMEOUT_S

TOKEN = "ab" * 32
_MARK = b"ray::OrienteerWorker"


class RayNodes:
    """`address` is that of the head node. All other nodes can be added and removed."""

    def __init__(self, n_nodes: int = 3, client_port: int | None = None) -> None:
        self.client_port = client_port
        self._child = Child(_serve, client_port)
        self.address: str = self._asked("address")
        for _ in range(n_nodes - 1):
            self.add()

    def add(self) -> None:
        self._asked("add")

    def remove(self) -> None:
        """Remove the last node, as if its machine had lost power."""
        self._asked("remove")

    def settle(self) -> None:
        """Wait until the cluster has noticed added and removed nodes."""
        self._asked("settle")

    def actors(self) -> list[int]:
        """The worker processes on its nodes."""
        processes = [int(location.name) for location in Path("/proc").iterdir() if location.name.isdigit()]
        return [process for process in processes if _is_worker(process) and _is_below(process, self._child.pid)]

    def close(self) -> None:
        self._asked("end")
        self._child.close()

    def _asked(self, what: str) -> Any:
        self._child.channel.send(what)
        return self._child.channel.recv()


def _serve(channel: Connection, client_port: int | None) -> None:
    from ray.cluster_utils import Cluster

    # Without services that no test needs: each takes a second to start.
    room = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_log_monitor": False}
    head = room | {"include_dashboard": False, "no_monitor": True}
    if client_port is not None:
        head["ray_client_server_port"] = client_port
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes: list[Any] = []
    while True:
        what = channel.recv()
        response: Any = None
        if what == "address":
            response = cluster.address
        elif what == "add":
            nodes.append(cluster.add_node(**room))
        elif what == "remove":
            cluster.remove_node(nodes.pop(), allow_graceful=False)
        elif what == "settle":
            cluster.wait_for_nodes(TEST_TIMEOUT_S)
        else:
            cluster.shutdown()
            channel.send(None)
            return
        channel.send(response)


def _parent(process: int) -> int:
    """The parent process; 0 if it has just ended."""
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _is_below(process: int, ancestor: int) -> bool:
    while process > 1 and process != ancestor:
        process = _parent(process)
    return process == ancestor


def _is_worker(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().startswith(_MARK)
    except OSError:
        return False


def free_port() -> int:
    with socket.socket() as location:
        location.bind(("127.0.0.1", 0))
        port: int = location.getsockname()[1]
        return port


def environment() -> dict[str, str]:
    """For the nodes and the processes that join them."""
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": TOKEN,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": str(int(TEST_TIMEOUT_S)),  # 30 on a busy machine are too few
        "GRPC_ENABLE_FORK_SUPPORT": "0",  # or the server for clients crashes now and then where it forks
        "RAY_prestart_worker_first_driver": "0",  # no process that waits for work
    }
