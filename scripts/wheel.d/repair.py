"""auditwheel for wheels of any processor. usage: repair.py MACHINE ARGUMENT...

auditwheel offers the platforms of the processor that it runs on, although it can read the files of others. So MACHINE is what
it finds here: x86_64 or aarch64.
"""
import platform
import sys

from auditwheel.main import main

if __name__ == "__main__":
    machine = sys.argv.pop(1)
    platform.machine = lambda: machine
    sys.exit(main())
