"""Makes programs and libraries of Debian 12 run with the libstdc++ of RHEL 9 and Amazon Linux 2023.

usage: older_libstdcxx.py FILE...

g++ 12 binds std::condition_variable::wait to GLIBCXX_3.4.30. Older libraries have the same function under GLIBCXX_3.4.11,
and newer ones have it under both. So this replaces the version's name in the list of versions that a file needs. A file that
needs anything else of GLIBCXX_3.4.30 is an error.
"""
import pathlib
import struct
import sys

NEW, OLD = b"GLIBCXX_3.4.30", b"GLIBCXX_3.4.11"
WAIT = b"_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"


def elf_hash(name):
    h = 0
    for c in name:
        h = (h << 4) + c
        h = (h ^ (h >> 24 & 0xF0)) & 0x0FFFFFFF
    return h


def text_at(strings, offset):
    return strings[offset : strings.index(b"\0", offset)]


def patch(path):
    data = bytearray(path.read_bytes())
    if data[:6] != b"\x7fELF\x02\x01":
        return False
    at, = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, at + i * size) for i in range(count)]
    by_kind = {section[1]: section for section in sections}
    needs, symbols, versions = (by_kind.get(kind) for kind in (0x6FFFFFFE, 11, 0x6FFFFFFF))
    if needs is None or symbols is None or versions is None:
        return False
    strings = bytes(data[sections[needs[6]][4] :][: sections[needs[6]][5]])
    changed = set()
    library = needs[4]
    while True:
        _, entries, _, first, following = struct.unpack_from("<HHIII", data, library)
        entry = library + first
        for _ in range(entries):
            _, _, index, name, next_entry = struct.unpack_from("<IHHII", data, entry)
            if text_at(strings, name) == NEW:
                old = strings.find(b"\0" + OLD + b"\0") + 1
                if old == 0:
                    sys.exit(f"{path}: needs {NEW.decode()}, and has no place for the name {OLD.decode()}")
                struct.pack_into("<I", data, entry, elf_hash(OLD))
                struct.pack_into("<I", data, entry + 8, old)
                changed.add(index)
            entry += next_entry
        if following == 0:
            break
        library += following
    for i in range(symbols[5] // 24):
        version, = struct.unpack_from("<H", data, versions[4] + 2 * i)
        if version & 0x7FFF in changed:
            name = text_at(strings, struct.unpack_from("<I", data, symbols[4] + 24 * i)[0])
            if name != WAIT:
                sys.exit(f"{path}: needs {name.decode()} of {NEW.decode()}, which older libraries do not have")
    if changed:
        mode = path.stat().st_mode
        path.write_bytes(data)
        path.chmod(mode)
    return bool(changed)


if __name__ == "__main__":
    for file in sys.argv[1:]:
        if patch(pathlib.Path(file)):
            print(f"{file}: {NEW.decode()} is {OLD.decode()}")
