// C11's thread functions, which librdkafka uses, implemented by pthreads. Only for builds with
// ThreadSanitizer, which knows only pthreads: without this it does not see librdkafka's locks and crashes at
// the start.

#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <memory>

namespace {

int result(int error) {
  return error == 0           ? thrd_success
         : error == ENOMEM    ? thrd_nomem
         : error == EBUSY     ? thrd_busy
         : error == ETIMEDOUT ? thrd_timedout
                              : thrd_error;
}

pthread_mutex_t* of(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* of(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }
static_assert(sizeof(mtx_t) >= sizeof(pthread_mutex_t) && sizeof(cnd_t) >= sizeof(pthread_cond_t));

struct Start {
  thrd_start_t function;
  void* argument;
};

void* run(void* raw) {
  const std::unique_ptr<Start> start(static_cast<Start*>(raw));
  return reinterpret_cast<void*>(static_cast<intptr_t>(start->function(start->argument)));
}

}  // namespace

extern "C" {

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  auto start = std::make_unique<Start>(Start{function, argument});
  const int error = pthread_create(thread, nullptr, run, start.get());
  if (error == 0) static_cast<void>(start.release());
  return result(error);
}
int thrd_join(thrd_t thread, int* code) {
  void* value = nullptr;
  const int error = pthread_join(thread, &value);
  if (code != nullptr) *code = static_cast<int>(reinterpret_cast<intptr_t>(value));
  return result(error);
}
int thrd_detach(thrd_t thread) { return result(pthread_detach(thread)); }
thrd_t thrd_current() { return pthread_self(); }

int mtx_init(mtx_t* mutex, int kind) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if ((kind & mtx_recursive) != 0) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  const int error = pthread_mutex_init(of(mutex), &attributes);
  pthread_mutexattr_destroy(&attributes);
  return result(error);
}
int mtx_lock(mtx_t* mutex) { return result(pthread_mutex_lock(of(mutex))); }
int mtx_trylock(mtx_t* mutex) { return result(pthread_mutex_trylock(of(mutex))); }
int mtx_timedlock(mtx_t* mutex, const timespec* until) {
  return result(pthread_mutex_timedlock(of(mutex), until));
}
int mtx_unlock(mtx_t* mutex) { return result(pthread_mutex_unlock(of(mutex))); }
void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(of(mutex)); }

int cnd_init(cnd_t* condition) { return result(pthread_cond_init(of(condition), nullptr)); }
int cnd_signal(cnd_t* condition) { return result(pthread_cond_signal(of(condition))); }
int cnd_broadcast(cnd_t* condition) { return result(pthread_cond_broadcast(of(condition))); }
int cnd_wait(cnd_t* condition, mtx_t* mutex) { return result(pthread_cond_wait(of(condition), of(mutex))); }
int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  return result(pthread_cond_timedwait(of(condition), of(mutex), until));
}
void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(of(condition)); }

}  // extern "C"
