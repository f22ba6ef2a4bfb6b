"""ICU's data without what the engine does not use, and packed: of 31 MB, the converters of charsets and their names, 5 MB; packed
1.3 MB.

All converters stay, because a document may name any that ICU knows. parts/icu.cc unpacks them when the extension is loaded.
"""
import shutil
import subprocess

ASSEMBLY = """
  .section .rodata
packed: .incbin "small.zst"
  .bss
  .balign 16
  .globl {symbol}
  .type {symbol},%object
  .size {symbol},{size}
{symbol}: .zero {size}
  .section .data.rel.ro,"aw"
  .balign 8
  .globl doppel_icu_data
doppel_icu_data: .quad packed, {packed}, {symbol}, {size}
  .section .note.GNU-stack,"",%progbits
"""


def library(target, folder, whole):
    """A static library that has less data than the library `whole`."""
    icupkg = shutil.which("icupkg") or "/usr/sbin/icupkg"
    folder = folder / "icu"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()

    def run(*command):
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout

    target.run("ar", "x", whole, cwd=folder)
    object_file, = folder.glob("*.o")
    symbol, = (line.split()[-1] for line in target.run("nm", object_file, cwd=folder).splitlines())  # for example icudt72_dat
    data = f"{symbol.removesuffix('_dat')}l.dat"
    target.run("objcopy", "-O", "binary", "-j", ".rodata", object_file, data, cwd=folder)
    unused = [name for name in run(icupkg, "-l", data).split() if not name.endswith(".cnv") and name != "cnvalias.icu"]
    (folder / "unused.txt").write_text("\n".join(unused))
    small = folder / "small" / data  # icupkg takes the name of the package from that of the file
    small.parent.mkdir()
    run(icupkg, "-r", "unused.txt", data, small)
    run("zstd", "--quiet", "--ultra", "-22", small, "-o", "small.zst")
    (folder / "small.s").write_text(ASSEMBLY.format(
        symbol=symbol, size=small.stat().st_size, packed=(folder / "small.zst").stat().st_size))
    target.compile("-c", "small.s", "-o", "small.o", cwd=folder)
    target.run("ar", "rcs", "libicudata.a", "small.o", cwd=folder)
    return folder / "libicudata.a"
