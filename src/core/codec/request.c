/*
** request.c: what every renderer asks of a request: where its answer comes from, options that the wire has no word for, and
** tools of the provider's own, which go out beside the caller's. Their types are dated: what a wire format knows is told by
** what stands before the date. Works in place. Failure: -1 and an err.
*/
#include "codec.h"

#include <stdio.h>

/* True for a date behind a type's name, or for none: "20250305", "2025_08_26". */
static int is_date(struct str s) {
  for (size_t i = 0; i < s.n; i++)
    if (!(s.p[i] >= '0' && s.p[i] <= '9') && !(s.p[i] == '_' && i > 0)) return 0;
  return s.n > 0;
}

static int is_known(struct str type, const char *name) {
  size_t n = strlen(name);
  int dated = name[n - 1] == '_';
  if (!str_starts(type, name, n)) return 0;
  if (dated) return is_date((struct str){ type.p + n, type.n - n });
  return type.n == n || (type.p[n] == '_' && is_date((struct str){ type.p + n + 1, type.n - n - 1 }));
}

/* Says what types there are. */
static int refuse(size_t at, struct str type, const char *const *known, struct err *e) {
  char field[40], expected[ERR_MESSAGE_MAX], got[64];
  size_t n = (size_t)snprintf(expected, sizeof expected, "koine.server_tool {…}%s",
                              known[0] != NULL ? ", or one of " : "");
  (void)snprintf(field, sizeof field, "tools[%zu].type", at);
  (void)snprintf(got, sizeof got, "\"%.*s\"", type.n > 40 ? 40 : (int)type.n, type.p);
  for (size_t i = 0; known[i] != NULL && n < sizeof expected; i++) {
    size_t len = strlen(known[i]);
    int add = snprintf(expected + n, sizeof expected - n, "%s%s%s", i > 0 ? ", " : "", known[i],
                       known[i][len - 1] == '_' ? "DATE" : "");
    n += add > 0 ? (size_t)add : 0;
  }
  return err_argument(e, field, expected, got);
}

int codec_server_tools(struct node *request, const char *const *known, struct err *e) {
  const struct node *tools = node_get(request, "tools");
  size_t at = 0;
  for (struct node *t = tools == NULL ? NULL : tools->child; t != NULL; t = t->next) {
    struct str type = node_str(node_get(t, "type"));
    struct node *passes = node_get(t, "server_tool");
    const char *const *name = known;
    at++;
    if (type.p == NULL || !normalise_is_server_tool(t)) continue;
    if (!node_is(passes, NODE_TRUE)) {
      while (*name != NULL && !is_known(type, *name)) name++;
      if (*name == NULL) return refuse(at, type, known, e);
    }
    if (passes != NULL) node_remove(t, passes);
  }
  return 0;
}

struct origin codec_origin(const struct render *r, const struct codec *codec) {
  struct str wire = { codec->name, strlen(codec->name) };
  return (struct origin){ r->provider, node_str(node_get(r->request, "model")), wire };
}

static int is_one_of(struct str name, const char *const *list) {
  while (*list != NULL && !str_is(name, *list, strlen(*list))) list++;
  return *list != NULL;
}

int codec_warn_options(const struct codec *codec, const struct render *r) {
  static const char *const OTHERS[] = { "model", "messages", "stream", "thinking_mode", "max_output", "no_reasoning",
                                        "no_encrypted", "no_container", "no_thinking", "no_logprobs", "no_seed",
                                        NULL };
  for (const struct node *v = r->request->child; v != NULL; v = v->next) {
    struct str name;
    if (is_one_of(v->key, OTHERS) || is_one_of(v->key, codec->options)) continue;
    name = arena_dup(r->a, v->key);
    if (name.p == NULL || codec_warn(r->a, r->warnings, "unsupported_option", name.p,
                                     "this wire format has no word for it: left out") != 0) return -1;
  }
  return 0;
}
