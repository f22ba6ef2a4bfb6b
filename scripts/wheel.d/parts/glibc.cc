// What Debian 12's libraries take from glibc and cannot have in what is linked for glibc 2.28.

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#undef stdin
#undef stdout
#undef stderr

extern "C" {

// Variables. The code of static libraries is that of a program, which has such variables in its own part of
// memory.
FILE* stdin;
FILE* stdout;
FILE* stderr;
char __libc_single_threaded = 0;  // there are threads
// ICU's functions for time zones, which doppel does not call, read these.
long __timezone;
char* tzname[2];

__attribute__((constructor(101))) static void take_streams() {
  auto take = [](const char* name) { return *static_cast<FILE**>(dlsym(RTLD_DEFAULT, name)); };
  stdin = take("stdin");
  stdout = take("stdout");
  stderr = take("stderr");
}

// Functions that came later, in terms of older ones.
#ifdef __x86_64__
constexpr int kStat = 1;  // which `struct stat`
#else
constexpr int kStat = 0;
#endif
int __xstat(int, const char*, struct stat*);
int __lxstat(int, const char*, struct stat*);
int __fxstat(int, int, struct stat*);

int stat(const char* path, struct stat* out) { return __xstat(kStat, path, out); }
int lstat(const char* path, struct stat* out) { return __lxstat(kStat, path, out); }
int fstat(int file, struct stat* out) { return __fxstat(kStat, file, out); }
static_assert(sizeof(struct stat) == sizeof(struct stat64));
int stat64(const char* path, struct stat64* out) { return stat(path, reinterpret_cast<struct stat*>(out)); }
int fstat64(int file, struct stat64* out) { return fstat(file, reinterpret_cast<struct stat*>(out)); }

unsigned arc4random() {
  unsigned out = 0;
  if (getentropy(&out, sizeof out) != 0) std::abort();
  return out;
}

// The older function waits for the time of day, which may be set meanwhile. So this wakes its caller every
// second, as a condition may at any time.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  constexpr long kSecond = 1'000'000'000;
  timespec now, day;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &day);
  const long seconds = std::clamp<long>(until->tv_sec - now.tv_sec, -2, 3);
  const long left = seconds * kSecond + until->tv_nsec - now.tv_nsec;
  if (left <= 0) return ETIMEDOUT;
  const long end = day.tv_nsec + std::min(left, kSecond);
  day.tv_sec += end / kSecond;
  day.tv_nsec = end % kSecond;
  const int waited = pthread_cond_timedwait(condition, mutex, &day);
  return waited == ETIMEDOUT && left > kSecond ? 0 : waited;
}
}
