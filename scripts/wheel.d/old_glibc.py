"""Links against glibc 2.28 on a system with a newer one.

glibc keeps the old versions of a function beside the new one, and a linker takes the newest. So this makes libraries with
glibc's names that have only the versions up to LIMIT. parts/glibc.cc has what they lack.
"""
import pathlib
import re

LIMIT = (2, 28)
SYMBOL = re.compile(r" (FUNC|IFUNC|OBJECT|NOTYPE) +(?:GLOBAL|WEAK) +\S+ +[0-9]+ (\w+)@@?(GLIBC_([0-9.]+))$", re.M)


def number(version):
    return tuple(map(int, version.split(".")))


def stub(target, real, made):
    """Makes a library with the newest version up to LIMIT of every symbol of `real`."""
    newest = {}
    for kind, name, version, digits in SYMBOL.findall(target.run("readelf", "--dyn-syms", "-W", real)):
        if number(digits) <= LIMIT and number(digits) > newest.get(name, ((),))[0]:
            newest[name] = (number(digits), version, "object" if kind == "OBJECT" else "function")
    script, code = made.with_suffix(".map"), made.with_suffix(".s")
    script.write_text("".join(f"{version} {{}};\n" for _, version in sorted({entry[:2] for entry in newest.values()})))
    code.write_text(".data\n" + "".join(
        f".globl {name}\n.type {name},@{kind}\n.size {name},8\n{name}: .quad 0\n.symver {name},{name}@@@{version}\n"
        for name, (_, version, kind) in newest.items()))
    target.compile("-shared", "-nostdlib", f"-Wl,-soname,{made.name}", f"-Wl,--version-script={script}", code, "-o", made)


def stubs(target, folder):
    """A folder for -L, in which -lc and -lm are such libraries."""
    made = folder / "glibc"
    made.mkdir(exist_ok=True)
    for name in ("libc", "libm"):
        file = pathlib.Path(target.library(f"{name}.so"))
        script = f"GROUP ( {file} )" if file.read_bytes().startswith(b"\x7fELF") else file.read_text()
        script = re.sub(rf"(?<=\s)/(?!{target.root[1:]}/)", f"{target.root}/", script) if target.root else script
        real = re.search(rf"\S+/{name}\.so(\.6)?(?=\s)", script)[0]
        stub(target, real, made / f"{name}.so.6")
        (made / f"{name}.so").write_text(script.replace(real, str(made / f"{name}.so.6")))
    return made


def check(target, extension, libraries):
    """0, or 1 with a message if `extension` needs what neither glibc of LIMIT, nor Python, nor `libraries` have."""
    others = {line.split()[-1] for library in libraries for line in target.run("nm", "-D", "--defined-only", library).splitlines()}
    missing = []
    for line in target.run("nm", "-D", "--undefined-only", extension).splitlines():
        kind, name = line.split()[-2:]
        version = re.search(r"@GLIBC_([0-9.]+)", name)
        if kind in "wv" or "@" not in name and (name in others or name.startswith(("Py", "_Py"))):
            continue
        if "@" not in name or version and number(version[1]) > LIMIT:
            missing.append(name)
    for name in missing:
        print(f"{extension}: glibc {'.'.join(map(str, LIMIT))} does not have {name}")
    return 1 if missing else 0
