/*
 * LD_PRELOAD library that records every change that a process makes below one folder, in order, in one log. A test
 * replays a part of the log to get the disk as it could be after a power cut.
 *
 *   CRASHLOG_ROOT   the folder, without symbolic links. Writes to its file `marks` are recorded as marks: they are what
 *                   the process wants to have in the same order as its disk operations.
 *   CRASHLOG_FILE   the log. Several processes may append to it: each record is one write behind the end of the file.
 *                   An operation is recorded before its call returns, so it precedes all that follows from it.
 *   CRASHLOG_DROP   a disk that lies: if `all`, fsync does nothing and is not recorded; if `folders`, that of a folder.
 *   CRASHLOG_FAULT  CALLS:ERRNO, or CALLS:ERRNO:FIRST:COUNT, for example `fsync:5` or `write,fsync:28:120:1`. CALLS are
 *                   open, read, write, truncate and fsync. COUNT calls of these kinds fail, from number FIRST on. It
 *                   is read at each call, so that a process can change it; the first call after that has number 0.
 *                   `write@state/master.db:28` concerns this file only. With `6000ms` in place of ERRNO these calls
 *                   succeed, but 6,000 ms later.
 *   CRASHLOG_FAULT_FILE  a file with such a text, for a process whose environment cannot be changed from outside.
 *
 * A record is five numbers of 8 bytes (kind, offset, and the lengths of path, second path and data), followed by path,
 * second path and data. Paths are relative to the root, and "" is the root itself. An fsync is never passed on to the
 * kernel, because the replay decides what is durable.
 *
 * A change that the library cannot record ends the process: a file that is mapped for writing, a file that is opened
 * with O_SYNC, O_DSYNC or O_DIRECT, and a hole punched by fallocate. SQLite maps the file `-shm` for its index of the
 * log. The store opens its database with locking_mode=EXCLUSIVE, which keeps this index on the heap, so `-shm` needs no
 * exception here, and a mapping of it is a fault as well. Redis writes its snapshot through a stream of the C library,
 * whose own writes cannot be interposed, so streams that are opened for writing get a buffer of this library. Calls
 * that are not interposed (renameat, link, sendfile) are found by the replay, which compares its result with the files
 * of the process.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MARK = 1, CREATE, WRITE, TRUNCATE, SYNC, FAILED_SYNC, UNLINK, RENAME, MKDIR, RMDIR, FAULT };
enum { PATH_BYTES = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void fail(const char *what, const char *path) {
  fprintf(stderr, "crashlog: %s: %s\n", what, path);
  abort();
}

/* A process that is forked by one thread gets a lock that no other thread holds. */
static void take(void) { pthread_mutex_lock(&lock); }
static void give(void) { pthread_mutex_unlock(&lock); }
__attribute__((constructor)) static void prepare(void) { pthread_atfork(take, give, give); }

/* Returns the part of an absolute path below the root, or NULL. */
static const char *below_root(const char *path) {
  const char *root = getenv("CRASHLOG_ROOT");
  if (root == NULL) return NULL;
  size_t n = strlen(root);
  if (strncmp(path, root, n) != 0) return NULL;
  if (path[n] == 0) return "";
  return path[n] == '/' ? path + n + 1 : NULL;
}

/* Returns the path of a descriptor below the root, or NULL. A file without a name is not watched any more. */
static const char *watched(int fd, char *buffer) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, buffer, PATH_BYTES - 1);
  if (n < 0) return NULL;
  buffer[n] = 0;
  const char *path = below_root(buffer);
  return path == NULL || strstr(path, " (deleted)") != NULL ? NULL : path;
}

/* The same for a path that may be relative. */
static const char *watched_path(int folder, const char *path, char *buffer) {
  if (path[0] == '/') return below_root(path);
  char base[PATH_BYTES];
  if (folder == AT_FDCWD) {
    if (getcwd(base, sizeof base) == NULL) return NULL;
  } else {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t n = readlink(link, base, sizeof base - 1);
    if (n < 0) return NULL;
    base[n] = 0;
  }
  if (snprintf(buffer, PATH_BYTES, "%s/%s", base, path) >= PATH_BYTES) return NULL;
  return below_root(buffer);
}

static void record(int kind, const char *path, const char *other, uint64_t offset, const void *data, size_t length) {
  static int log = -1;
  const int error = errno;
  if (log < 0) {
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    log = real(getenv("CRASHLOG_FILE"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }
  uint64_t head[5] = { kind, offset, strlen(path), strlen(other), length };
  struct iovec parts[4] = {
    { head, sizeof head }, { (void *)path, head[2] }, { (void *)other, head[3] }, { (void *)data, length }
  };
  if (REAL(writev)(log, parts, 4) != (ssize_t)(sizeof head + head[2] + head[3] + length)) fail("log", strerror(errno));
  errno = error;
}

/* Copies the text of the current fault, which is empty if there is none. */
static void read_fault(char *text, size_t size) {
  const char *file = getenv("CRASHLOG_FAULT_FILE"), *fault = getenv("CRASHLOG_FAULT");
  snprintf(text, size, "%s", fault == NULL ? "" : fault);
  if (file == NULL) return;
  const int fd = syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? 0 : syscall(SYS_read, fd, text, size - 1);
  text[n < 0 ? 0 : n] = 0;
  if (fd >= 0) syscall(SYS_close, fd);
}

/* Whether this call on a watched file fails because of the current fault; then records it and sets errno. Called with
 * the lock, which a slow call gives to other threads. */
static int is_faulty(const char *call, const char *path) {
  static char current[256];
  static unsigned long long calls;
  char fault[256];
  read_fault(fault, sizeof fault);
  if (strcmp(fault, current) != 0) {
    strcpy(current, fault);
    calls = 0;
  }
  const char *code = strchr(fault, ':');
  const char *found = strstr(fault, call);
  if (code == NULL || found == NULL || found > code) return 0;
  const char *file = memchr(fault, '@', code - fault);
  if (file != NULL && (strlen(path) != (size_t)(code - file - 1) || strncmp(file + 1, path, code - file - 1) != 0))
    return 0;
  char *rest;
  const long error = strtol(code + 1, &rest, 10);
  const int isSlow = strncmp(rest, "ms", 2) == 0;
  unsigned long long number = calls++, first = 0, count = ~0ull;
  sscanf(isSlow ? rest + 2 : rest, ":%llu:%llu", &first, &count);
  if (number < first || number - first >= count) return 0;
  record(FAULT, path, "", 0, NULL, 0);
  if (isSlow) {
    pthread_mutex_unlock(&lock);
    usleep(error * 1000);
    pthread_mutex_lock(&lock);
    return 0;
  }
  errno = error;
  return 1;
}

/* --- names --- */

static int opened(int folder, const char *path, int flags, mode_t mode) {
  int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, "openat64");
  char buffer[PATH_BYTES];
  const char *below = watched_path(folder, path, buffer);
  if (below == NULL || (flags & O_PATH)) return real(folder, path, flags, mode);
  if (flags & (O_SYNC | O_DSYNC | O_DIRECT)) fail("opened with O_SYNC, O_DSYNC or O_DIRECT", below);
  pthread_mutex_lock(&lock);
  int isNew = (flags & O_CREAT) && faccessat(folder, path, F_OK, 0) != 0;
  int fd = is_faulty("open", below) ? -1 : real(folder, path, flags, mode);
  if (fd >= 0 && isNew) record(CREATE, below, "", 0, NULL, 0);
  if (fd >= 0 && !isNew && (flags & O_TRUNC)) record(TRUNCATE, below, "", 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  return fd;
}

#define WITH_MODE                                                                                                      \
  mode_t mode = 0;                                                                                                     \
  if (flags & (O_CREAT | O_TMPFILE)) {                                                                                 \
    va_list more;                                                                                                      \
    va_start(more, flags);                                                                                             \
    mode = va_arg(more, mode_t);                                                                                       \
    va_end(more);                                                                                                      \
  }

int open(const char *path, int flags, ...) {
  WITH_MODE
  return opened(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  WITH_MODE
  return opened(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  WITH_MODE
  return opened(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
  WITH_MODE
  return opened(folder, path, flags, mode);
}

int creat(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

/* Records a change of a name after it was made. */
static int renamed(int kind, int folder, const char *path, const char *to, int result) {
  char buffer[PATH_BYTES], second[PATH_BYTES];
  const char *below = watched_path(folder, path, buffer);
  const char *other = to == NULL ? "" : watched_path(AT_FDCWD, to, second);
  if (result == 0 && below != NULL) {
    if (other == NULL) fail("renamed to another folder", below);
    record(kind, below, other, 0, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  return result;
}

int unlink(const char *path) {
  pthread_mutex_lock(&lock);
  return renamed(UNLINK, AT_FDCWD, path, NULL, REAL(unlink)(path));
}

int unlinkat(int folder, const char *path, int flags) {
  pthread_mutex_lock(&lock);
  return renamed(flags & AT_REMOVEDIR ? RMDIR : UNLINK, folder, path, NULL, REAL(unlinkat)(folder, path, flags));
}

int remove(const char *path) {
  struct stat found;
  const int kind = lstat(path, &found) == 0 && S_ISDIR(found.st_mode) ? RMDIR : UNLINK;
  pthread_mutex_lock(&lock);
  return renamed(kind, AT_FDCWD, path, NULL, kind == RMDIR ? REAL(rmdir)(path) : REAL(unlink)(path));
}

int rmdir(const char *path) {
  pthread_mutex_lock(&lock);
  return renamed(RMDIR, AT_FDCWD, path, NULL, REAL(rmdir)(path));
}

int mkdir(const char *path, mode_t mode) {
  pthread_mutex_lock(&lock);
  return renamed(MKDIR, AT_FDCWD, path, NULL, REAL(mkdir)(path, mode));
}

int rename(const char *from, const char *to) {
  pthread_mutex_lock(&lock);
  return renamed(RENAME, AT_FDCWD, from, to, REAL(rename)(from, to));
}

/* --- content --- */

/* Records a write that was made. `offset` -1: the write moved the position of the descriptor. */
static void wrote(int fd, const char *path, const struct iovec *parts, int count, ssize_t n, off64_t offset) {
  const int kind = strcmp(path, "marks") == 0 ? MARK : WRITE;
  off64_t at = offset >= 0 ? offset : lseek64(fd, 0, SEEK_CUR) - n;
  for (int i = 0; i < count && n > 0; i += 1) {
    const ssize_t length = (ssize_t)parts[i].iov_len < n ? (ssize_t)parts[i].iov_len : n;
    if (length > 0) record(kind, path, "", at, parts[i].iov_base, length);
    at += length;
    n -= length;
  }
}

/* The real write of `parts` at `offset`, or at the position of the descriptor for -1. */
static ssize_t written(int fd, const struct iovec *parts, int count, off64_t offset) {
  if (offset < 0) return REAL(writev)(fd, parts, count);
  return REAL(pwritev64)(fd, parts, count, offset);
}

static ssize_t write_at(int fd, const struct iovec *parts, int count, off64_t offset) {
  char buffer[PATH_BYTES];
  const char *path = watched(fd, buffer);
  if (path == NULL) return written(fd, parts, count, offset);
  pthread_mutex_lock(&lock);
  const int isMark = strcmp(path, "marks") == 0;
  ssize_t n = !isMark && is_faulty("write", path) ? -1 : written(fd, parts, count, offset);
  if (n > 0) wrote(fd, path, parts, count, n, offset);
  pthread_mutex_unlock(&lock);
  return n;
}

static ssize_t write_one(int fd, const void *data, size_t length, off64_t offset) {
  const struct iovec part = { (void *)data, length };
  return write_at(fd, &part, 1, offset);
}

ssize_t write(int fd, const void *data, size_t length) { return write_one(fd, data, length, -1); }
ssize_t pwrite(int fd, const void *data, size_t length, off_t at) { return write_one(fd, data, length, at); }
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t at) { return write_one(fd, data, length, at); }
ssize_t writev(int fd, const struct iovec *parts, int count) { return write_at(fd, parts, count, -1); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { return write_at(fd, parts, count, at); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) { return write_at(fd, parts, count, at); }

ssize_t pread64(int fd, void *data, size_t length, off64_t at) {
  char buffer[PATH_BYTES];
  const char *path = watched(fd, buffer);
  if (path != NULL) {
    pthread_mutex_lock(&lock);
    const int fails = is_faulty("read", path);
    pthread_mutex_unlock(&lock);
    if (fails) return -1;
  }
  return REAL(pread64)(fd, data, length, at);
}

int ftruncate64(int fd, off64_t size) {
  char buffer[PATH_BYTES];
  const char *path = watched(fd, buffer);
  pthread_mutex_lock(&lock);
  const int result = path != NULL && is_faulty("truncate", path) ? -1 : REAL(ftruncate64)(fd, size);
  if (path != NULL && result == 0) record(TRUNCATE, path, "", size, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

int truncate64(const char *name, off64_t size) {
  const int fd = open(name, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const int result = ftruncate64(fd, size), error = errno;
  close(fd);
  errno = error;
  return result;
}

int truncate(const char *name, off_t size) { return truncate64(name, size); }

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

int fallocate64(int fd, int mode, off64_t at, off64_t length) {
  char buffer[PATH_BYTES];
  const char *path = watched(fd, buffer);
  if (path != NULL && mode != 0) fail("fallocate with a mode", path);
  struct stat before;
  pthread_mutex_lock(&lock);
  const int result = REAL(fallocate64)(fd, mode, at, length);
  if (path != NULL && result == 0 && fstat(fd, &before) == 0) record(TRUNCATE, path, "", before.st_size, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

int fallocate(int fd, int mode, off_t at, off_t length) { return fallocate64(fd, mode, at, length); }

int posix_fallocate64(int fd, off64_t at, off64_t length) { return fallocate64(fd, 0, at, length) == 0 ? 0 : errno; }
int posix_fallocate(int fd, off_t at, off_t length) { return posix_fallocate64(fd, at, length); }

static int sync_of(int fd) {
  char buffer[PATH_BYTES];
  const char *path = watched(fd, buffer);
  if (path == NULL) return 0;
  const char *drop = getenv("CRASHLOG_DROP");
  struct stat found;
  if (drop != NULL && (strcmp(drop, "all") == 0 || (fstat(fd, &found) == 0 && S_ISDIR(found.st_mode)))) return 0;
  pthread_mutex_lock(&lock);
  const int result = is_faulty("fsync", path) ? -1 : 0;
  record(result == 0 ? SYNC : FAILED_SYNC, path, "", 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

int fsync(int fd) { return sync_of(fd); }
int fdatasync(int fd) { return sync_of(fd); }

/* Starts the writing of pages, and promises nothing about the disk: not recorded. */
int sync_file_range(int fd, off64_t at, off64_t length, unsigned int flags) {
  (void)fd, (void)at, (void)length, (void)flags;
  return 0;
}

/* --- streams --- */

enum { STREAMS = 8, STREAM_BYTES = 4096 };
static struct stream {
  FILE *file;
  size_t used;
  char bytes[STREAM_BYTES];
} streams[STREAMS];

/* The stream that is open for writing on a watched file, or NULL. For NULL: a free place. */
static struct stream *stream_of(FILE *file) {
  for (int i = 0; i < STREAMS; i += 1)
    if (streams[i].file == file) return &streams[i];
  return NULL;
}

static int flushed(struct stream *stream) {
  const size_t n = stream->used;
  stream->used = 0;
  return n == 0 || write(REAL(fileno)(stream->file), stream->bytes, n) == (ssize_t)n;
}

FILE *fopen64(const char *path, const char *mode) {
  char buffer[PATH_BYTES];
  const char *below = watched_path(AT_FDCWD, path, buffer);
  if (below == NULL || mode[0] == 'r') return REAL(fopen64)(path, mode);
  const int fd = open(path, O_WRONLY | O_CREAT | (mode[0] == 'a' ? O_APPEND : O_TRUNC), 0666);
  if (fd < 0) return NULL;
  FILE *file = fdopen(fd, mode);
  struct stream *stream = stream_of(NULL);
  if (file == NULL || stream == NULL) fail("too many streams", below);
  stream->file = file;
  stream->used = 0;
  return file;
}

FILE *fopen(const char *path, const char *mode) { return fopen64(path, mode); }

size_t fwrite(const void *data, size_t size, size_t count, FILE *file) {
  struct stream *stream = stream_of(file);
  if (stream == NULL) return REAL(fwrite)(data, size, count, file);
  for (size_t done = 0; done < size * count;) {
    if (stream->used == STREAM_BYTES && !flushed(stream)) return 0;
    const size_t rest = size * count - done, room = STREAM_BYTES - stream->used, n = rest < room ? rest : room;
    memcpy(stream->bytes + stream->used, (const char *)data + done, n);
    stream->used += n;
    done += n;
  }
  return count;
}

int fflush(FILE *file) {
  struct stream *stream = file == NULL ? NULL : stream_of(file);
  if (stream != NULL && !flushed(stream)) return EOF;
  return REAL(fflush)(file);
}

int fclose(FILE *file) {
  struct stream *stream = stream_of(file);
  const int isFlushed = stream == NULL || flushed(stream);
  if (stream != NULL) stream->file = NULL;
  return REAL(fclose)(file) == 0 && isFlushed ? 0 : EOF;
}

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset) {
  char buffer[PATH_BYTES];
  if (fd >= 0 && (flags & MAP_SHARED) && (protection & PROT_WRITE) && watched(fd, buffer) != NULL)
    fail("mapped for writing", buffer);
  return (void *)syscall(SYS_mmap, at, length, protection, flags, fd, offset);
}

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
  return mmap64(at, length, protection, flags, fd, offset);
}
