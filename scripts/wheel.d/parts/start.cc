// How a program begins. Before glibc 2.34 the program itself calls its constructors; what Debian 12's
// compiler puts at the start of a program leaves that to glibc.

extern "C" {
using Main = int(int, char**, char**);
using Constructor = void(int, char**, char**);

extern Constructor* const __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor* const __init_array_end[] __attribute__((visibility("hidden")));
void _init();

static void construct(int argc, char** argv, char** environment) {
  _init();
  for (Constructor* const* each = __init_array_start; each != __init_array_end; ++each)
    (*each)(argc, argv, environment);
}

int __real___libc_start_main(Main*, int, char**, Constructor*, void (*)(), void (*)(), void*);

// The linker puts this in place of glibc's function (--wrap).
int __wrap___libc_start_main(Main* main, int argc, char** argv, Constructor*, void (*fini)(),
                             void (*rtld_fini)(), void* end) {
  return __real___libc_start_main(main, argc, argv, construct, fini, rtld_fini, end);
}
}
