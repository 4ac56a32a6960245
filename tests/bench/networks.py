"""Hosts for a demonstration on one machine: network namespaces on one bridge. Needs root."""

import contextlib
import os
import subprocess

NETWORK = "10.83.79"
BRIDGE = "stoker0"


def _ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


class Host:
    """A network namespace with one address, and no way out."""

    def __init__(self, name, number):
        self.name = f"stoker-{os.getpid()}-{name}"
        self.address = f"{NETWORK}.{number}"
        _ip("netns", "add", self.name)
        _ip("-n", self.name, "link", "set", "lo", "up")

    def command(self, arguments):
        """What runs these arguments there."""
        return ["ip", "netns", "exec", self.name, *map(str, arguments)]

    def close(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            _ip("netns", "del", self.name)


class Network:
    """Hosts that see one another; the first is the server, which has the bridge."""

    def __init__(self, names):
        self.hosts = []
        try:
            for number, name in enumerate(names, 1):
                self.hosts.append(Host(name, number))
            server, *others = self.hosts
            _ip("-n", server.name, "link", "add", BRIDGE, "type", "bridge")
            _ip("-n", server.name, "addr", "add", f"{server.address}/24", "dev", BRIDGE)
            _ip("-n", server.name, "link", "set", BRIDGE, "up")
            for number, host in enumerate(others):
                port = f"port{number}"
                _ip("-n", server.name, "link", "add", port, "type", "veth", "peer", "name", "eth0",
                    "netns", host.name)
                _ip("-n", server.name, "link", "set", port, "master", BRIDGE, "up")
                _ip("-n", host.name, "addr", "add", f"{host.address}/24", "dev", "eth0")
                _ip("-n", host.name, "link", "set", "eth0", "up")
        except subprocess.CalledProcessError as error:
            self.close()
            raise RuntimeError(
                f"Network namespaces need root and iproute2: {error.stderr.decode().strip()}") from error

    def close(self):
        for host in self.hosts:
            host.close()
