/*
 * LD_PRELOAD library that records the writes of a process to master.db and master.db-wal. A test replays them to get
 * the files after a power cut. A record is four numbers of 8 bytes (operation, file, offset, length of the data),
 * followed by the data. With SHIM_EIO=wal, db or both, the fsync of that file fails. The kernel would then drop the
 * pages, but they stay readable in the cache.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITE = 1, TRUNCATE, SYNC, FAILED_SYNC, UNLINK };
enum { NONE, DB, WAL };

static int file_of(const char *path) {
  size_t n = strlen(path);
  if (n >= 9 && strcmp(path + n - 9, "master.db") == 0) return DB;
  if (n >= 13 && strcmp(path + n - 13, "master.db-wal") == 0) return WAL;
  return NONE;
}

static int file_at(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n < 0) return NONE;
  path[n] = 0;
  return file_of(path);
}

static void record(int operation, int file, uint64_t offset, const void *data, uint64_t length) {
  static int log = -1;
  if (log < 0) log = open(getenv("SHIM_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
  uint64_t head[4] = { operation, file, offset, length };
  ssize_t written = write(log, head, sizeof head);
  if (length > 0) written = write(log, data, length);
  (void)written;
}

static ssize_t write_at(const char *name, int fd, const void *data, size_t length, off64_t offset) {
  ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, name);
  ssize_t n = real(fd, data, length, offset);
  int file = file_at(fd);
  if (file != NONE && n > 0) record(WRITE, file, offset, data, n);
  return n;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
  return write_at("pwrite", fd, data, length, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
  return write_at("pwrite64", fd, data, length, offset);
}

static int truncate_to(const char *name, int fd, off64_t size) {
  int (*real)(int, off64_t) = dlsym(RTLD_NEXT, name);
  int file = file_at(fd);
  if (file != NONE) record(TRUNCATE, file, size, NULL, 0);
  return real(fd, size);
}

int ftruncate(int fd, off_t size) { return truncate_to("ftruncate", fd, size); }
int ftruncate64(int fd, off64_t size) { return truncate_to("ftruncate64", fd, size); }

static int sync_of(const char *name, int fd) {
  int (*real)(int) = dlsym(RTLD_NEXT, name);
  int file = file_at(fd);
  if (file == NONE) return real(fd);
  const char *fails = getenv("SHIM_EIO");
  if (fails != NULL && strstr(fails, file == DB ? "db" : "wal") != NULL) {
    record(FAILED_SYNC, file, 0, NULL, 0);
    errno = EIO;
    return -1;
  }
  record(SYNC, file, 0, NULL, 0);
  return 0;
}

int fsync(int fd) { return sync_of("fsync", fd); }
int fdatasync(int fd) { return sync_of("fdatasync", fd); }

int unlink(const char *path) {
  int (*real)(const char *) = dlsym(RTLD_NEXT, "unlink");
  int file = file_of(path);
  if (file != NONE) record(UNLINK, file, 0, NULL, 0);
  return real(path);
}
