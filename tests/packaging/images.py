"""Builds the image of the Dockerfile without a daemon, from Debian's packages, for the tests of images."""
import json
import os
import pathlib
import subprocess


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    assert done.returncode == 0, f"{' '.join(map(str, command))} gave {done.returncode}:\n{(done.stdout + done.stderr)[-6000:]}"
    return done.stdout


class Store:
    """The images of one test, in a folder of its own."""

    BASE = "docker.io/library/debian:13-slim"
    # How containers run where this machine is a container: with its network and limits, without systemd.
    FLAGS = ["--pull=never", "--network=host", "--no-healthcheck", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"]

    def __init__(self, folder):
        self.folder = folder
        self.where = ["--root", folder / "images", "--runroot", folder / "run", "--storage-driver", "vfs"]
        # The Dockerfile's compiler cache.
        self.cache = pathlib.Path(os.environ.get("DOPPEL_CACHE") or pathlib.Path.home() / ".cache/doppel") / "image"
        self.cache.mkdir(parents=True, exist_ok=True)

    def podman(self, *command, **more):
        return run("podman", *self.where, "--cgroup-manager=cgroupfs", "--runtime", "runc", *command, **more)

    def buildah(self, *command, **more):
        return run("buildah", *self.where, *command, **more)

    def make_base(self, *architectures):
        """Debian 13 for these architectures under one name, as in a registry."""
        self.buildah("manifest", "create", self.BASE)
        for arch in architectures:
            tar = self.folder / f"{arch}.tar"
            run("mmdebstrap", f"--architectures={arch}", "--variant=minbase", "trixie", tar, env={**os.environ, "TMPDIR": str(self.folder)})
            self.podman("import", "--arch", arch, tar, f"localhost/base-{arch}")
            self.buildah("manifest", "add", "--arch", arch, self.BASE, f"localhost/base-{arch}")
            tar.unlink()

    def build(self, source, host, target, revision):
        """The image `doppel`, and what podman says of it. Without optimisation, which compiles in half of the time."""
        self.buildah("bud", "--platform", f"linux/{target}", "--build-arg", f"BUILDPLATFORM=linux/{host}", "--build-arg",
                     f"TARGETPLATFORM=linux/{target}", "--format", "docker", "--isolation", "chroot", "--pull-never", "-t", "doppel",
                     "--build-arg", f"REVISION={revision}", "--build-arg", "OPTIMISE=-O0", source,
                     env={**os.environ, "TMPDIR": str(self.cache)})
        (image,) = json.loads(self.podman("image", "inspect", "doppel"))
        return image
