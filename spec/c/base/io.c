/* Tests of io: what a signal interrupts is done to the end. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/io.h"
#include "support/folder.h"
#include "support/test.h"

static volatile sig_atomic_t alarms;

static void on_alarm(int sig) { (void)sig, alarms++; }

/* Alarms every millisecond, which interrupt what waits. */
static void interrupt(int on) {
  struct sigaction act = { .sa_handler = on_alarm };
  struct itimerval often = { { 0, on * 1000 }, { 0, on * 1000 } };
  sigaction(SIGALRM, &act, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
}

static void rest(void) {
  struct timespec a_while = { 0, 20000000 };
  nanosleep(&a_while, NULL);
}

/* The other end of the pipe: opens it, writes and reads, each only after a while. */
static int slow_end(const char *path, const char *back) {
  alarm(20); /* where nobody comes */
  static char bytes[200000];
  rest();
  int out = open(path, O_WRONLY), in = open(back, O_RDONLY);
  size_t n = 0;
  if (out < 0 || in < 0) return 1;
  rest();
  if (write(out, "late", 4) != 4 || close(out) < 0) return 2;
  rest();
  for (ssize_t got; (got = read(in, bytes, sizeof bytes)) > 0;) n += (size_t)got;
  return n == sizeof bytes ? 0 : 3;
}

/* A pipe with a name keeps its opener waiting until the other end is opened. */
static void test_interrupts(const char *path, const char *back) {
  static char bytes[200000];
  struct mem m = mem_libc();
  struct buf b;
  int status = -1;
  pid_t child;
  buf_init(&b, &m);
  if ((child = fork()) == 0) _exit(slow_end(path, back));
  interrupt(1);
  int in = io_open(path, O_RDONLY, 0), before = alarms, out = io_open(back, O_WRONLY, 0);
  CHECK(in >= 0 && out >= 0 && before > 0);
  CHECK((fcntl(in, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(io_read(in, 100, &b) == IO_DONE);
  CHECK_STR(b.p, b.n, "late");
  CHECK(alarms > before);
  before = alarms;
  CHECK(io_write(out, (struct str){ bytes, sizeof bytes }) == 0 && close(out) == 0);
  CHECK(alarms > before);
  interrupt(0);
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  close(in);
  buf_free(&b);
}

static void test_files(const char *dir, const char *path) {
  int folder = io_open(dir, O_RDONLY | O_DIRECTORY, 0), fd = io_open_at(folder, "file", O_RDWR | O_CREAT | O_EXCL, 0640);
  struct stat st;
  CHECK(folder >= 0 && fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0777 & ~0640u) == 0);
  CHECK(io_write(fd, (struct str){ "kept", 4 }) == 0 && io_sync(fd, 0) == 0 && io_sync(fd, 1) == 0);
  CHECK(io_sync(folder, 0) == 0);
  CHECK(io_open_at(folder, "file", O_RDWR | O_CREAT | O_EXCL, 0640) == -1 && errno == EEXIST);
  close(fd);
  CHECK(io_sync(fd, 0) == -1 && errno == EBADF && io_sync(fd, 1) == -1 && errno == EBADF);
  CHECK(io_open(path, O_RDONLY | O_DIRECTORY, 0) == -1 && errno == ENOENT);
  CHECK(unlinkat(folder, "file", 0) == 0);
  close(folder);
}

/* The system connects a socket while nobody looks, accepted or not. */
static void test_connected(void) {
  struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t n = sizeof in;
  int heard = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0), pair[2];
  CHECK(bind(heard, (struct sockaddr *)&in, n) == 0 && listen(heard, 1) == 0);
  CHECK(getsockname(heard, (struct sockaddr *)&in, &n) == 0 && io_peer_port(heard) == 0 && io_peer_port(fd) == 0);
  CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
  CHECK(connect(fd, (struct sockaddr *)&in, n) == 0 || errno == EINPROGRESS);
  rest();
  CHECK(io_peer_port(fd) == ntohs(in.sin_port));
  close(fd);
  close(heard);
  CHECK(io_peer_port(fd) == 0);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && io_peer_port(pair[0]) == -1);
  close(pair[0]);
  close(pair[1]);
}

int main(void) {
  char dir[FOLDER_MAX], path[FOLDER_MAX + 8], back[FOLDER_MAX + 8];
  CHECK(folder_new(dir) == 0);
  snprintf(path, sizeof path, "%s/in", dir);
  snprintf(back, sizeof back, "%s/out", dir);
  test_files(dir, path);
  test_connected();
  CHECK(mkfifo(path, 0600) == 0 && mkfifo(back, 0600) == 0);
  test_interrupts(path, back);
  CHECK(unlink(path) == 0 && unlink(back) == 0 && rmdir(dir) == 0);
  return test_done("base/io");
}
