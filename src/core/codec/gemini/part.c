/*
** part.c: parts of the model's content as blocks. A thought signature belongs to its part and stays with it: a text
** ends with the part that is signed, and a signed part without text is a block of its own.
** Blocks borrow from the chunk's bytes and the arena. Failure: -1 and an err.
*/
#include "gemini.h"

/* {{{ reading */

/* The members that may be the content of a part, besides text and functionCall: the first of these that is there. */
static const struct str CONTENT[] = {
  { "inlineData", 10 }, { "executableCode", 14 }, { "codeExecutionResult", 19 }, { "toolCall", 8 },
  { "toolResponse", 12 }, { "fileData", 8 }
};
enum { CONTENT_COUNT = sizeof CONTENT / sizeof *CONTENT };

/* Members that say something about the content. */
static const struct str ASIDE[] = {
  { "thought", 7 }, { "thoughtSignature", 16 }, { "partMetadata", 12 }, { "videoMetadata", 13 },
  { "mediaResolution", 15 }
};

struct part {
  struct str json;      /* the whole of it */
  struct str text, call, content; /* decoded; raw; the name of another content */
  unsigned flags;       /* of the text */
  size_t rank;          /* of the content, in CONTENT */
  int thought, is_signed;
  int extras;           /* there are members besides the content and `thought` */
};

static int is(const struct json *j, struct str key) { return json_is_(j, key.p, key.n); }

static size_t rank_of(const struct json *j) {
  size_t i = 0;
  while (i < CONTENT_COUNT && !is(j, CONTENT[i])) i++;
  return i;
}

static int is_aside(const struct json *j) {
  for (size_t i = 0; i < sizeof ASIDE / sizeof *ASIDE; i++)
    if (is(j, ASIDE[i])) return 1;
  return 0;
}

/* A member that is neither text, call nor `thought`: it may be the content. */
static int read_other(struct gemini *s, struct json *j, struct part *p) {
  struct str raw;
  struct json key = *j;
  size_t rank;
  if (json_raw(j, &raw) != 0) return -1;
  if (str_eq(raw, "null")) return 0;
  if (is_aside(&key)) {
    p->extras = 1;
    p->is_signed |= json_is(&key, "thoughtSignature");
    return 0;
  }
  rank = rank_of(&key);
  if (p->content.n > 0) {
    p->extras = 1;
    if (rank >= p->rank) return 0;
  }
  p->rank = rank;
  if (json_text(&key, s->p->a, &p->content) != 0) return err_memory(s->e);
  return 0;
}

static int read_text(struct gemini *s, struct json *j, struct part *p) {
  return codec_said(j, s->p->a, &p->text, &p->flags, "a part's text is none");
}

static int read_thought(struct json *j, int *thought) {
  enum token t = json_next(j);
  *thought = t == J_TRUE;
  return t == J_TRUE || t == J_FALSE ? 0 : codec_odd(j, "a part's thought is no boolean");
}

static int read_part(struct gemini *s, struct json *j, struct part *p) {
  while (json_next(j) == J_KEY) {
    int r = json_is(j, "text") ? read_text(s, j, p)
          : json_is(j, "functionCall") ? codec_raw(j, &p->call)
          : json_is(j, "thought") ? read_thought(j, &p->thought) : read_other(s, j, p);
    if (r != 0) return -1;
  }
  return j->tok == J_OBJECT_END ? 0 : -1;
}

/* }}} */

/* {{{ what has no canonical name */

/* The part's members but for those of these names (a NULL ends the list), as an open object. */
static int keep_members(struct gemini *s, struct str json, const char *const *but, struct buf *b) {
  struct json j;
  json_open(&j, json, s->p->limits->depth, s->e);
  (void)json_next(&j);
  while (json_next(&j) == J_KEY) {
    const char *const *name = but;
    while (*name != NULL && !json_is_(&j, *name, strlen(*name))) name++;
    if ((*name != NULL ? json_skip(&j) : codec_extra(b, &j)) != 0) return -1;
  }
  return 0;
}

/* Pushes the object, if anything is in it; with `silent`, the name of a kind, as a block without text. */
static int push_kept(struct gemini *s, int32_t key, struct buf *b, const char *silent) {
  struct str raw;
  struct event *ev;
  if (codec_extra_end(s->p, b, &raw, s->e) != 0) return -1;
  if (raw.n == 0) return 0;
  if ((ev = gemini_push(s, PART_RAW, key, raw)) == NULL) return -1;
  if (silent == NULL) return 0;
  ev->name = (struct str){ silent, strlen(silent) };
  ev->flags = EVENT_SILENT;
  return 0;
}

/* }}} */

/* {{{ text */

/* The part without its text; silent: see push_kept. */
static int push_extras(struct gemini *s, const struct part *p, int32_t key, const char *silent) {
  static const char *const TEXT[] = { "text", NULL };
  struct buf b;
  int r;
  buf_init(&b, s->p->m);
  r = keep_members(s, p->json, TEXT, &b) != 0 ? -1 : push_kept(s, key, &b, silent);
  buf_free(&b);
  return r;
}

/* A part without text: a block of its own where it is signed. */
static int add_silent(struct gemini *s, const struct part *p) {
  int thinking = p->thought || s->run == GEMINI_THINKING;
  if (!p->extras) return 0;
  s->run = GEMINI_NONE;
  return push_extras(s, p, s->next_key++, thinking ? "thinking" : "text");
}

int gemini_go_on(struct gemini *s, struct str text, unsigned flags) {
  struct event *ev = gemini_push(s, s->run == GEMINI_THINKING ? PART_THINKING : PART_TEXT, s->run_key, text);
  if (ev == NULL) return -1;
  ev->flags = flags;
  s->parts++;
  return 0;
}

static int add_text(struct gemini *s, const struct part *p, int first) {
  enum gemini_run kind = p->thought ? GEMINI_THINKING : GEMINI_TEXT;
  if (s->run != kind || (p->extras && !first)) {
    s->run = kind;
    s->run_key = s->next_key++;
  }
  if (gemini_go_on(s, p->text, p->flags) != 0) return -1;
  if (!p->extras) {
    if (s->p->said != NULL) s->p->said->text = p->text;
    return 0;
  }
  s->run = GEMINI_NONE;
  if (push_extras(s, p, s->run_key, NULL) != 0) return -1;
  return gemini_push(s, PART_END, s->run_key, STR_NONE) == NULL ? -1 : 0;
}

/* }}} */

/* {{{ calls */

struct call {
  struct str id, name, args;
  unsigned flags;
  int is_string, extras;
};

/* The arguments: the object's own bytes, or what a string holds. */
static int read_args(struct gemini *s, struct json *j, struct call *c) {
  struct json start = *j;
  if (codec_raw(j, &c->args) != 0) return -1;
  if (c->args.n == 0 || c->args.p[0] != '"') return 0;
  return codec_text(&start, s->p->a, &c->args, &c->flags);
}

static int read_call(struct gemini *s, struct str json, struct call *c) {
  struct json j;
  json_open(&j, json, s->p->limits->depth, s->e);
  if (json_next(&j) != J_OBJECT) return err_set(s->e, KIND_PROTOCOL, "a functionCall is no object");
  while (json_next(&j) == J_KEY) {
    int r;
    if (json_is(&j, "partialArgs") || json_is(&j, "willContinue")) {
      struct str raw;
      if (json_raw(&j, &raw) != 0) return -1;
      if (!str_eq(raw, "null") && !str_eq(raw, "false"))
        return err_set(s->e, KIND_PROTOCOL, "streamed function arguments are not supported");
      continue;
    }
    r = json_is(&j, "name") ? codec_word(&j, s->p->a, &c->name)
      : json_is(&j, "args") ? read_args(s, &j, c)
      : json_is(&j, "id") ? codec_word(&j, s->p->a, &c->id) : json_skip(&j);
    if (r != 0) return -1;
  }
  return j.tok == J_OBJECT_END ? 0 : -1;
}

/* The part's members, then what the call has besides name and arguments, under its own name. A signature inside the
** call is one of the part's. */
static int keep_call(struct gemini *s, const struct part *p, struct buf *b, struct buf *inner) {
  static const char *const CALL[] = { "functionCall", NULL };
  static const char *const NAMED[] = { "name", "args", "thoughtSignature", "partialArgs", "willContinue", NULL };
  struct json j;
  struct str raw;
  if (keep_members(s, p->json, CALL, b) != 0 || keep_members(s, p->call, NAMED, inner) != 0) return -1;
  json_open(&j, p->call, s->p->limits->depth, s->e);
  (void)json_next(&j);
  while (json_next(&j) == J_KEY) {
    int moved = !p->is_signed && json_is(&j, "thoughtSignature");
    if ((moved ? codec_extra(b, &j) : json_skip(&j)) != 0) return -1;
  }
  if (codec_extra_end(s->p, inner, &raw, s->e) != 0) return -1;
  return raw.n == 0 ? 0 : codec_member(b, STR("functionCall"), raw, s->e);
}

static int push_call_extras(struct gemini *s, const struct part *p, int32_t key) {
  struct buf b, inner;
  int r;
  buf_init(&b, s->p->m);
  buf_init(&inner, s->p->m);
  r = keep_call(s, p, &b, &inner) != 0 ? -1 : push_kept(s, key, &b, NULL);
  buf_free(&b);
  buf_free(&inner);
  return r;
}

static int add_call(struct gemini *s, const struct part *p) {
  struct call c = { .flags = 0 };
  struct event *ev;
  int32_t key = s->next_key++;
  s->run = GEMINI_NONE;
  if (read_call(s, p->call, &c) != 0) return -1;
  s->parts++;
  s->calls++;
  if ((ev = gemini_push(s, PART_TOOL, key, STR_NONE)) == NULL) return -1;
  ev->id = c.id;
  ev->name = gemini_own_name(c.name);
  if (c.args.n > 0) {
    if ((ev = gemini_push(s, PART_ARGS, key, c.args)) == NULL) return -1;
    ev->flags = c.flags;
  }
  if (push_call_extras(s, p, key) != 0) return -1;
  return gemini_push(s, PART_END, key, STR_NONE) == NULL ? -1 : 0;
}

/* }}} */

/* Pushes a part that is kept whole. A tool that ran at the provider may be charged for. */
static int add_opaque(struct gemini *s, const struct part *p) {
  struct event *ev = gemini_push(s, PART_OPAQUE, s->next_key++, p->json);
  if (ev == NULL) return -1;
  ev->name = p->content;
  s->run = GEMINI_NONE;
  s->parts++;
  if (str_eq(p->content, "toolCall") || str_eq(p->content, "executableCode")) s->hosted = 1;
  return 0;
}

int gemini_part(struct gemini *s, struct json *j, int first) {
  struct part p = { .json = { j->start, 0 } };
  if (read_part(s, j, &p) != 0) return -1;
  p.json.n = (size_t)(j->p - p.json.p);
  if (p.text.n > 0) {
    p.extras |= p.call.n > 0 || p.content.n > 0;
    return add_text(s, &p, first);
  }
  if (p.call.n > 0) return add_call(s, &p);
  return p.content.n > 0 ? add_opaque(s, &p) : add_silent(s, &p);
}
