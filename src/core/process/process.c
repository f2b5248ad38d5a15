/*
** process.c: the host's half of a process: its pipes in the pollset, what they bring, the supervisor's report; and a look
** at the supervisor once a second, because the command may stop it or have it traced: see look_after.
** A process owns its descriptors, its supervisor and the output it kept, until process_close, which alone waits. The
** host's signals are not touched: on Linux the supervisor raises no SIGCHLD, and waitpid(-1) does not see it.
** Failure: NULL and an err, or one of process_done.
*/
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/utf8.h"
#include "private.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

#define READ_STEP 65536 /* bytes read of a pipe at a time: as much as one holds */
#define TICK 1.0         /* seconds between two looks at the supervisor */
#define TICKS_MOST 3       /* ticks beyond the latest end after which the supervisor itself is killed */
#define CLOSE_HELP 0.25  /* seconds of a close after which the host does the supervisor's work */
#define CLOSE_MOST 2.0   /* seconds after which it kills the supervisor and goes on */

/* One of the command's output streams. */
struct stream {
  int fd;                 /* -1: at its end, or merged */
  struct buf kept;
  unsigned long long dropped;
};

struct process {
  struct source source;   /* first: a pointer to it is one to the process */
  struct news news;
  const struct mem *m;
  struct engine *engine;  /* NULL once it is gone */
  struct pollset *poll;   /* the engine's */
  pid_t supervisor;
  int socket;             /* -1: done */
  double tick_at;         /* when the supervisor is looked at */
  double grace;
  double latest;          /* when all should be over; negative = not known */
  int overdue;            /* ticks since then */
  int started, stopped;   /* its exec is over; by the host */
  struct stream out[PROCESS_STREAMS];
  size_t output_max;
  struct report report;   /* the last one that came; kind 0 = none */
  char part[sizeof(struct report)];
  size_t part_n;          /* bytes of the next one */
  int failed;
  struct err failure;
  char name[128];         /* the program's, for messages */
  char cwd[128];
};

/* {{{ output */

static void close_stream(struct process *p, struct stream *s) {
  if (s->fd < 0) return;
  pollset_remove(p->poll, s->fd);
  close(s->fd);
  s->fd = -1;
}

/* The first failure counts. The command is brought to its end. */
static void no_memory(struct process *p) {
  if (!p->failed) {
    err_clear(&p->failure);
    err_memory(&p->failure);
  }
  p->failed = 1;
  process_stop(p);
}

/* Keeps what there is room for, counts the rest. */
static void keep(struct process *p, struct stream *s, const char *bytes, size_t n) {
  size_t room = s->kept.n < p->output_max ? p->output_max - s->kept.n : 0;
  size_t kept = n < room ? n : room;
  if (kept > 0 && buf_add(&s->kept, bytes, kept) < 0) {
    no_memory(p);
    kept = 0;
  }
  s->dropped += n - kept;
}

/* Reads once, at most `most` bytes: how many, 0 when there is nothing now, -1 at the end. */
static ssize_t read_some(struct process *p, struct stream *s, size_t most) {
  char bytes[READ_STEP];
  ssize_t n = read(s->fd, bytes, most < sizeof bytes ? most : sizeof bytes);
  if (n > 0) keep(p, s, bytes, (size_t)n);
  else if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  return n > 0 ? n : -1;
}

static void on_output(void *ud, int fd, int events) {
  struct process *p = ud;
  struct stream *s = p->out[PROCESS_OUT].fd == fd ? &p->out[PROCESS_OUT] : &p->out[PROCESS_ERR];
  (void)events;
  if (read_some(p, s, READ_STEP) < 0) close_stream(p, s);
}

/* Reads what the dead have left in the pipe; who else may hold it is not waited for. */
static void drain(struct process *p, struct stream *s) {
  int left = 0;
  if (s->fd < 0 || ioctl(s->fd, FIONREAD, &left) < 0) left = 0;
  while (left > 0) {
    ssize_t n = read_some(p, s, (size_t)left);
    if (n <= 0) break;
    left -= (int)n;
  }
  close_stream(p, s);
}

/* }}} */

/* {{{ the end */

/* Says why the command could not be started. */
static void not_started(struct process *p, const struct report *r) {
  const char *reason = strerror(r->value);
  struct err *e = &p->failure;
  err_clear(e);
  if (r->kind == REPORT_NO_DIRECTORY) {
    err_set(e, KIND_OTHER, "cannot run %s in %s: %s", p->name, p->cwd, reason);
  } else if (r->kind == REPORT_NO_PROGRAM) {
    err_set(e, KIND_OTHER, "cannot run %s: %s", p->name, reason);
    if (r->value == ENOENT || r->value == ENOTDIR) memcpy(e->code, "absent", sizeof "absent");
    if (r->value == E2BIG) memcpy(e->code, "too_large", sizeof "too_large");
  } else {
    err_set(e, KIND_OTHER, "cannot start %s: %s", p->name, reason);
  }
}

/* Does the supervisor's work: kills all that descends from it, which may be what holds it up, and lets it go on. */
static void help(struct process *p) {
  struct family f;
  family_open(&f, p->supervisor);
  family_kill(&f);
  family_close(&f);
  kill(p->supervisor, SIGCONT);
}

static void on_report(struct process *p, const struct report *r) {
  if (r->kind == REPORT_ENDED) p->report = *r;
  else if (r->kind == REPORT_BLIND) help(p);
  else if (p->failed) return;
  else if (r->kind == REPORT_STARTED) {
    p->started = 1;
    if (p->engine != NULL) pollset_news(p->poll, &p->news);
  } else {
    not_started(p, r);
    p->failed = 1;
  }
}

/* The supervisor has closed its end: the command and its descendants are gone. Or it was killed for that. */
static void finish(struct process *p) {
  p->tick_at = -1;
  pollset_remove(p->poll, p->socket);
  close(p->socket);
  p->socket = -1;
  for (int i = 0; i < PROCESS_STREAMS; i++) drain(p, &p->out[i]);
  supervisor_reap(p->supervisor);
  if (!p->failed && p->report.kind == 0) {
    p->failed = 1;
    err_clear(&p->failure);
    err_set(&p->failure, KIND_OTHER, "%s: its supervisor was killed; what it had started may live on", p->name);
  }
  pollset_news(p->poll, &p->news);
}

/* Takes a report or a part of one: 1, 0 when there is nothing now, -1 at the end. */
static int take_report(struct process *p) {
  ssize_t n = recv(p->socket, p->part + p->part_n, sizeof p->part - p->part_n, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (n <= 0) return -1;
  p->part_n += (size_t)n;
  if (p->part_n == sizeof p->part) {
    struct report r;
    memcpy(&r, p->part, sizeof r);
    on_report(p, &r);
    p->part_n = 0;
  }
  return 1;
}

static void on_socket(void *ud, int fd, int events) {
  struct process *p = ud;
  int r;
  (void)fd, (void)events;
  do r = take_report(p);
  while (r > 0);
  if (r < 0) finish(p);
}

/* Tells the supervisor. A stopped one does not answer. */
static void ask(struct process *p, char what) {
  if (p->socket < 0 || p->supervisor <= 0) return;
  (void)send(p->socket, &what, 1, MSG_NOSIGNAL);
  kill(p->supervisor, SIGCONT);
}

/* }}} */

/* {{{ a supervisor that is held up */

/* Once a second: a supervisor that was stopped goes on. When all should have been over, what is left is killed from
** here; when even that does not bring the end, the supervisor is killed, and what it knew is lost. */
static void look_after(struct process *p) {
  kill(p->supervisor, SIGCONT);
  if (p->latest < 0 || clock_monotonic() < p->latest) return;
  p->overdue++;
  help(p);
  if (p->overdue <= TICKS_MOST) return;
  kill(p->supervisor, SIGKILL);
  finish(p);
}

static double due(struct source *s) { return ((const struct process *)s)->tick_at; }

static int run(struct source *s, double now, int most, struct err *e) {
  struct process *p = (struct process *)s;
  (void)most, (void)e;
  if (p->tick_at < 0 || p->tick_at > now) return 0;
  p->tick_at = clock_monotonic() + TICK;
  look_after(p);
  return 1;
}

/* Notes when all should be over that is to end in so many seconds. */
static void expect_end(struct process *p, double seconds) {
  double latest = clock_monotonic() + seconds + p->grace + LAST;
  if (p->latest < 0 || latest < p->latest) p->latest = latest;
}

/* }}} */

/* {{{ the start */

/* 0, or -1 and *e; the caller closes. */
static int watch(struct process *p, struct err *e) {
  if (pollset_set(p->poll, p->socket, POLLSET_IN, on_socket, p, e) < 0) return -1;
  for (int i = 0; i < PROCESS_STREAMS; i++)
    if (p->out[i].fd >= 0 && pollset_set(p->poll, p->out[i].fd, POLLSET_IN, on_output, p, e) < 0) return -1;
  return 0;
}

/* Makes descriptors and supervisor: 0, or -1 and *e; the caller closes. */
static int launch(struct process *p, const struct process_spec *s, struct err *e) {
  struct launch launch;
  int reading[PROCESS_STREAMS] = { -1, -1 };
  if (launch_init(&launch, p->m, s, e) < 0) return -1;
  int r = launch_open(&launch, s, &p->socket, reading, e);
  for (int i = 0; i < PROCESS_STREAMS; i++) p->out[i].fd = reading[i];
  if (r == 0) r = watch(p, e);
  if (r == 0 && (p->supervisor = supervisor_start(&launch)) < 0)
    r = err_set(e, KIND_OTHER, "cannot start %s: %s", p->name, strerror(errno));
  launch_free(&launch);
  return r;
}

/* Takes p out of its engine, where it still has one. Output that comes from now on is lost. */
static void leave(struct process *p) {
  if (p->engine == NULL) return;
  for (int i = 0; i < PROCESS_STREAMS; i++) close_stream(p, &p->out[i]);
  if (p->socket >= 0) pollset_remove(p->poll, p->socket);
  pollset_forget(p->poll, &p->news);
  engine_remove(p->engine, &p->source);
  p->engine = NULL;
}

/* Begins the end, which process_close waits for. A fork of the host only closes its copy of the socket: the command is the
** parent's. */
static void orphan(struct source *s) {
  struct process *p = (struct process *)s;
  int forked = engine_forked(p->engine);
  if (!forked) ask(p, ASK_KILL);
  if (p->socket >= 0 && !p->failed) {
    p->failed = 1;
    engine_explain(p->engine, &p->failure);
  }
  leave(p);
  if (!forked || p->socket < 0) return;
  close(p->socket);
  p->socket = -1;
}

/* Begins. NULL and *e: KIND_MEMORY, KIND_OTHER. */
struct process *process_start(struct engine *g, const struct process_spec *s, void *owner, struct err *e) {
  const struct mem *m = engine_mem(g);
  struct process *p = mem_alloc(m, sizeof *p);
  if (p == NULL) {
    err_memory(e);
    return NULL;
  }
  memset(p, 0, sizeof *p);
  p->source = (struct source){ due, run, orphan, NULL };
  p->news.owner = owner;
  p->m = m;
  p->engine = g;
  p->poll = engine_pollset(g);
  p->supervisor = p->socket = -1;
  p->tick_at = clock_monotonic() + TICK;
  p->grace = s->grace;
  p->latest = -1;
  if (s->timeout > 0) expect_end(p, s->timeout);
  p->output_max = s->output_max;
  for (int i = 0; i < PROCESS_STREAMS; i++) {
    p->out[i].fd = -1;
    buf_init(&p->out[i].kept, m);
  }
  if (s->protect) process_protect(); /* before there is a supervisor, which inherits it */
  utf8_line(p->name, sizeof p->name, s->argv[0], strlen(s->argv[0]));
  if (s->cwd != NULL) utf8_line(p->cwd, sizeof p->cwd, s->cwd, strlen(s->cwd));
  engine_add(g, &p->source);
  if (launch(p, s, e) == 0) return p;
  process_close(p);
  return NULL;
}

/* }}} */

/* 1 when all is over, with *failure NULL or lent until p is closed. */
int process_done(const struct process *p, const struct err **failure) {
  *failure = NULL;
  (void)engine_here(p->engine);
  if (p->socket >= 0 && p->engine != NULL) return 0;
  if (p->failed) *failure = &p->failure;
  return 1;
}

/* How the command ended and what it wrote. */
void process_result(const struct process *p, struct process_result *r) {
  int status = p->report.value;
  r->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  r->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  r->timed_out = p->report.timed_out || (p->overdue > 0 && !p->stopped);
  r->left = p->report.left;
  for (int i = 0; i < PROCESS_STREAMS; i++) {
    r->output[i] = buf_str(&p->out[i].kept);
    r->dropped[i] = p->out[i].dropped;
  }
}

int process_started(const struct process *p) { return p->started; }

/* Asks the supervisor for an end that should begin in so many seconds. */
static void ask_end(struct process *p, char what, double seconds) {
  (void)engine_here(p->engine);
  if (p->socket >= 0) {
    p->stopped = 1;
    expect_end(p, seconds);
  }
  ask(p, what);
}

void process_stop(struct process *p) { ask_end(p, ASK_STOP, 0); }

void process_end(struct process *p) { ask_end(p, ASK_END, p->grace); }

/* Reads until the supervisor has closed its end, at most so many seconds: true when it has. The command's pipes are
** closed already, so nothing holds it up but those who stop or trace it. */
static int await_end(struct process *p, double seconds) {
  double end = clock_monotonic() + seconds, left = seconds;
  do {
    struct pollfd pf = { p->socket, POLLIN, 0 };
    if (poll(&pf, 1, (int)(left * 1000) + 1) > 0 && take_report(p) < 0) return 1;
    left = end - clock_monotonic();
  } while (left > 0);
  return 0;
}

/* Brings the end, here if the supervisor does not. */
static void end_now(struct process *p) {
  ask(p, ASK_KILL);
  if (!await_end(p, CLOSE_HELP)) {
    help(p);
    if (!await_end(p, CLOSE_MOST - CLOSE_HELP)) kill(p->supervisor, SIGKILL);
  }
  supervisor_reap(p->supervisor);
}

/* Kills, waits for the deaths, frees. */
void process_close(struct process *p) {
  if (p == NULL) return;
  (void)engine_here(p->engine);
  leave(p);
  if (p->socket >= 0) {
    if (p->supervisor > 0) end_now(p);
    close(p->socket);
  }
  for (int i = 0; i < PROCESS_STREAMS; i++) buf_free(&p->out[i].kept);
  mem_free(p->m, p, sizeof *p);
}
