"""What the wheel is linked for: the processor of a compiler, and the folder with its libraries if that is not this machine's."""
import pathlib
import re
import subprocess


class Target:
    def __init__(self, compiler, arguments):
        roots = [argument for argument in arguments if argument.startswith("--sysroot=")]
        self.root = roots[-1].partition("=")[2] if roots else ""
        self.compiler = (compiler, *roots)
        # aarch64-linux-gnu-g++-12 is beside aarch64-linux-gnu-nm.
        self.prefix = re.sub(r"(g\+\+|gcc|c\+\+|cc)(-[0-9]+)?$", "", pathlib.Path(compiler).name)

    def run(self, name, *arguments, **options):
        """What a program of binutils prints."""
        return self._say(f"{self.prefix}{name}", *arguments, **options)

    def compile(self, *arguments, **options):
        return self._say(*self.compiler, *arguments, **options)

    def library(self, name):
        """A cross compiler has libraries of its own, which are not those of the folder."""
        file = pathlib.Path(f"{self.root}/usr/lib/{self.prefix.removesuffix('-')}/{name}")
        return str(file) if self.root and file.exists() else self.compile(f"-print-file-name={name}").strip()

    def here(self, file):
        """The file of this machine's package that `file` belongs to, which is of the same version of Debian."""
        if not self.root:
            return file
        triplet = subprocess.run(["gcc", "-print-multiarch"], check=True, capture_output=True, text=True).stdout.strip()
        return file.removeprefix(self.root).replace(self.prefix.removesuffix("-"), triplet).replace("/gcc-cross/", "/gcc/")

    @staticmethod
    def _say(*command, **options):
        return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout
