// The program `python` for glibc 2.31: what Debian 12's libpython needs and that glibc lacks.

#include <errno.h>

struct stat64;
int Py_BytesMain(int, char**);
int __xstat64(int, const char*, struct stat64*);
int __lxstat64(int, const char*, struct stat64*);
int __fxstat64(int, int, struct stat64*);
int __fxstatat64(int, int, const char*, struct stat64*, int);

#ifdef __x86_64__
enum { which = 1 };
#else
enum { which = 0 };
#endif

int stat64(const char* path, struct stat64* out) { return __xstat64(which, path, out); }
int lstat64(const char* path, struct stat64* out) { return __lxstat64(which, path, out); }
int fstat64(int file, struct stat64* out) { return __fxstat64(which, file, out); }
int fstatat64(int folder, const char* path, struct stat64* out, int flags) {
  return __fxstatat64(which, folder, path, out, flags);
}

static int missing(void) {
  errno = ENOSYS;
  return -1;
}
int mknod(void) { return missing(); }
int mknodat(void) { return missing(); }
int close_range(void) { return missing(); }

int main(int argc, char** argv) { return Py_BytesMain(argc, argv); }
