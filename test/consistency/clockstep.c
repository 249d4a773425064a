/*
 * Shifts the wall clock of a program that is loaded with LD_PRELOAD. CLOCKSTEP_FILE names a file of 8 bytes: the
 * milliseconds to add, which may change at any time. The monotonic clock stays as it is. libfaketime does the same, but
 * not for Debian's redis-server: it allocates memory when it starts, and jemalloc reads the clock for that.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *shift_ms;

__attribute__((constructor)) static void start(void) {
  int file = open(getenv("CLOCKSTEP_FILE"), O_RDONLY);
  void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) _exit(99);
  shift_ms = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
  int result = (int)syscall(SYS_clock_gettime, clock, at);
  if (shift_ms != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    int64_t ns = at->tv_nsec + (*shift_ms % 1000) * 1000000 + 1000000000;
    at->tv_sec += *shift_ms / 1000 + ns / 1000000000 - 1;
    at->tv_nsec = ns % 1000000000;
  }
  return result;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  (void)zone;
  struct timespec now;
  int result = clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at != NULL) *at = now.tv_sec;
  return now.tv_sec;
}
