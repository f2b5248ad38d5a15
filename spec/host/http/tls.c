/* tls.c: certificates are verified unless told whom to trust. The openssl program is the server; without, it skips. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/http/http.h"
#include "support/folder.h"
#include "support/test.h"

static char dir[FOLDER_MAX];
static char cert[100], key[100];

/* Starts openssl; *out becomes its standard output, and its pid is returned. With out NULL waits: its status. */
static int openssl(const char *const *args, FILE **out) {
  int fd[2], status = -1;
  if (pipe(fd) != 0) return -1;
  pid_t pid = fork();
  if (pid == 0) {
    dup2(fd[1], 1);
    close(fd[0]), close(fd[1]);
    int null = open("/dev/null", O_RDWR);
    dup2(null, 2);
    execvp("openssl", (char *const *)(void *)(size_t)args);
    _exit(127);
  }
  close(fd[1]);
  if (out != NULL) {
    *out = fdopen(fd[0], "r");
    return (int)pid;
  }
  close(fd[0]);
  waitpid(pid, &status, 0);
  return status;
}

/* A self-signed certificate for the name localhost. */
static int make_certificate(void) {
  const char *const args[] = {
    "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert, NULL
  };
  return openssl(args, NULL);
}

/* A TLS server on a port of the system's choice, which it reports on its output. */
static pid_t start_server(int *port) {
  const char *const args[] = {
    "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", cert, "-key", key, "-www", NULL
  };
  FILE *out = NULL;
  char line[256];
  pid_t pid = openssl(args, &out);
  while (*port == 0 && out != NULL && fgets(line, sizeof line, out) != NULL)
    if (strncmp(line, "ACCEPT ", 7) == 0) *port = atoi(strrchr(line, ':') + 1);
  if (out != NULL) fclose(out);
  return pid;
}

static struct route route; /* of the last GET */

/* One GET: the status, or 0 and *failure. */
static int get(struct engine *g, struct http *http, const char *host, int port, const char *ca_file, int http2,
               struct err *failure) {
  char url[64];
  const struct err *f = NULL;
  int interrupted, status;
  struct http_request r = { .method = "GET", .url = url, .ca_file = ca_file, .http2 = http2 };
  snprintf(url, sizeof url, "https://%s:%d/", host, port);
  struct transfer *t = transfer_start(http, &r, NULL, failure);
  if (t == NULL) return 0;
  while (!transfer_done(t, &f)) {
    if (engine_step(g, -1, -1, &interrupted, failure) < 0) break;
    while (pollset_ready(engine_pollset(g)) != NULL) continue;
  }
  struct transfer_stats s;
  transfer_stats(t, &s);
  route = s.route;
  status = f == NULL ? transfer_status(t) : 0;
  if (f != NULL) *failure = *f;
  transfer_close(t);
  return status;
}

static void test_verification(struct engine *g, struct http *http, int port) {
  struct err e;
  CHECK(get(g, http, "localhost", port, NULL, 0, &e) == 0 && e.kind == KIND_CONNECT && !err_retryable(&e));
  CHECK(strstr(e.message, "certificate") != NULL);
  CHECK(route.carrier == CARRIER_NONE && route.tls < 0 && route.first_byte < 0);
  CHECK(get(g, http, "localhost", port, cert, 0, &e) == 200);
  CHECK(route.carrier == CARRIER_NEW && route.dns >= 0 && route.connect >= 0 && route.tls > 0);
  CHECK(route.dns + route.connect + route.tls <= route.first_byte);
  if (http2_problem() == NULL) CHECK(get(g, http, "localhost", port, cert, 1, &e) == 200);
  else CHECK(get(g, http, "localhost", port, cert, 1, &e) == 0 && e.kind == KIND_ARGUMENT && strcmp(e.field, "http2") == 0);
  CHECK(get(g, http, "127.0.0.1", port, cert, 0, &e) == 0 && e.kind == KIND_CONNECT && !err_retryable(&e));
  CHECK(get(g, http, "localhost", port, "/nonexistent/ca.pem", 0, &e) == 0 && e.kind == KIND_CONNECT && !err_retryable(&e));
  /* a handle that trusted the file once does not pass that on */
  CHECK(get(g, http, "localhost", port, NULL, 0, &e) == 0 && e.kind == KIND_CONNECT);
}

int main(void) {
  struct mem m = mem_libc();
  struct err e;
  int port = 0;
  alarm(120);
  if (folder_new(dir) < 0) return 1;
  snprintf(cert, sizeof cert, "%s/cert.pem", dir);
  snprintf(key, sizeof key, "%s/key.pem", dir);
  if (make_certificate() != 0) {
    rmdir(dir);
    puts("tls: skipped, no usable openssl program");
    return 0;
  }
  pid_t pid = start_server(&port);
  CHECK(port != 0);
  struct engine *g = engine_new(&m, &e);
  struct http *http = g == NULL ? NULL : http_new(g, &e);
  CHECK(http != NULL);
  if (http != NULL && port != 0) test_verification(g, http, port);
  http_free(http);
  engine_free(g);
  kill(pid, SIGTERM);
  waitpid(pid, NULL, 0);
  unlink(cert), unlink(key), rmdir(dir);
  return test_done("http/tls");
}
