"""Functions of libraries that the tarball's program lacks, and that it never calls: it asks libcurl for HTTP alone, and neither
for cookies nor for names of hosts in other alphabets. parts/absent.cc has those that it calls."""
import re

NAMES = re.compile(r" U ((?:gss|GSS|ldap|ber|RTMP|libssh2|psl|idn2|sasl)_\w+)$", re.M)
END = """extern "C" {
void doppel_absent() {
  static const char kText[] = "doppel: this program does not have a function that libcurl or librdkafka called\\n";
  [[maybe_unused]] auto written = write(2, kText, sizeof kText - 1);
  abort();
}
"""


def source(target, archives, parts):
    """The C++ that defines what `archives` need and the objects `parts` do not define."""
    needed = {name for archive in archives for name in NAMES.findall(target.run("nm", archive))}
    here = {line.split()[-1] for part in parts for line in target.run("nm", "--defined-only", part).splitlines()}
    lines = (f'__attribute__((weak, alias("doppel_absent"))) void {name}();\n' for name in sorted(needed - here))
    return f"#include <stdlib.h>\n#include <unistd.h>\n\n{END}{''.join(lines)}}}\n"
