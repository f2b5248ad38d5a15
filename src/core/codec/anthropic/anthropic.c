/*
** anthropic.c: a canonical request as the body of POST /v1/messages, and the table of the Anthropic Messages
** format. Fields go out in a fixed order, static first, messages last, so that the same request gives the same bytes
** and a longer history only extends them. What the wire cannot carry is left out with a warning.
** Scratch lies in the render's arena. Failure: -1 and an err.
*/
#include "anthropic.h"
#include "core/codec/shared/writer.h"
#include "core/history/normalise.h"

#include <stdio.h>

#define MAX_TOKENS 8192  /* where neither the caller nor the model's row says anything */

/* {{{ writing */

static void check(struct anthropic_out *o, int bad) {
  if (bad) o->bad = err_memory(o->e);
}

void anthropic_put(struct anthropic_out *o, const char *s) {
  if (!o->bad) check(o, buf_adds(o->r->body, s));
}

void anthropic_put_str(struct anthropic_out *o, struct str s) {
  if (!o->bad) check(o, json_write_text(o->r->body, s));
}

void anthropic_put_string(struct anthropic_out *o, struct str s) {
  if (!o->bad) check(o, json_write_string(o->r->body, s));
}

/* Members sorted. */
static void put_node(struct anthropic_out *o, const struct node *v) {
  if (!o->bad) o->bad = json_write_sorted(o->r->body, v, o->e);
}

static void put_int(struct anthropic_out *o, int64_t i) {
  if (!o->bad) check(o, json_write_int(o->r->body, i));
}

void anthropic_put_cache(struct anthropic_out *o, const struct node *v) {
  const struct node *marker = node_get(v, "cache_control");
  if (!node_is(marker, NODE_OBJECT)) return;
  anthropic_put(o, ",\"cache_control\":");
  put_node(o, marker);
}

static void warn(struct anthropic_out *o, const char *code, const char *field, const char *message) {
  if (!o->bad) check(o, codec_warn(o->r->a, o->r->warnings, code, field, message));
}

/* Begins a field of the body, noting its name. */
static void field(struct anthropic_out *o, const char *name) {
  anthropic_put(o, o->n == 0 ? "{\"" : ",\"");
  anthropic_put(o, name);
  anthropic_put(o, "\":");
  o->field[o->n++] = name;
}

/* A member of a tool, where it was given. */
static void put_member(struct anthropic_out *o, const char *before, const struct node *v) {
  if (v == NULL) return;
  anthropic_put(o, before);
  put_node(o, v);
}

/* }}} */

/* {{{ settings */

static const struct node *given(const struct render *r, const char *name) {
  return node_get_(r->request, name, strlen(name));
}

/* A whole number from 0 on; -1 where there is none. */
static int64_t whole_number(const struct node *v) {
  if (node_is(v, NODE_INT)) return v->u.i;
  if (!node_is(v, NODE_DOUBLE) || !(v->u.d >= 0 && v->u.d < 1e15)) return -1;
  return v->u.d == (double)(int64_t)v->u.d ? (int64_t)v->u.d : -1;
}

static int ceiling(const struct render *r, int64_t *max_tokens, struct err *e) {
  const struct node *asked = given(r, "max_tokens");
  *max_tokens = whole_number(asked != NULL ? asked : given(r, "max_output"));
  if (*max_tokens >= 0) return 0;
  *max_tokens = MAX_TOKENS;
  return asked == NULL ? 0 : err_argument(e, "max_tokens", "integer, 0 or more", "something else");
}

static int is_number(const struct node *v) {
  return v->type == NODE_INT || (v->type == NODE_DOUBLE && v->u.d - v->u.d == 0); /* neither NaN nor infinite */
}

/* temperature and top_p, where the model takes them. */
static void put_sampling(struct anthropic_out *o, const struct anthropic_thinking *t) {
  static const char *const SAMPLING[] = { "temperature", "top_p" };
  for (int i = 0; i < 2; i++) {
    const struct node *v = given(o->r, SAMPLING[i]);
    if (v == NULL) continue;
    if (o->r->quirks->no_sampling) warn(o, "unsupported_option", SAMPLING[i], "the model does not take it: left out");
    else if (t->active) warn(o, "conflicting_options", SAMPLING[i], "a model that thinks does not take it: left out");
    else if (!is_number(v)) o->bad = err_argument(o->e, SAMPLING[i], "finite number", "something else");
    else {
      field(o, SAMPLING[i]);
      put_node(o, v);
    }
  }
}

static int is_blank(struct str s) {
  for (size_t i = 0; i < s.n; i++)
    if (s.p[i] != ' ' && !(s.p[i] >= '\t' && s.p[i] <= '\r')) return 0;
  return 1;
}

/* Stop sequences; the wire refuses blank ones. */
static void put_stops(struct anthropic_out *o) {
  const struct node *list = given(o->r, "stop_sequences");
  int n = 0, blank = 0;
  for (const struct node *v = list != NULL ? list->child : NULL; v != NULL; v = v->next) {
    if (is_blank(node_str(v))) { blank = 1; continue; }
    if (n == 0) field(o, "stop_sequences");
    anthropic_put(o, n++ == 0 ? "[" : ",");
    anthropic_put_string(o, v->s);
  }
  if (n > 0) anthropic_put(o, "]");
  if (blank) warn(o, "unsupported_option", "stop_sequences", "blank stop sequences were left out");
}

/* }}} */

/* {{{ system, tools */

/* A string where one text without a marker is all there is, else blocks. */
static void put_system(struct anthropic_out *o, const struct node *system) {
  if (system == NULL) return;
  field(o, "system");
  if (system->count == 1 && node_get(system->child, "cache_control") == NULL) {
    anthropic_put_string(o, node_str(node_get(system->child, "text")));
    return;
  }
  for (const struct node *b = system->child; b != NULL; b = b->next) {
    anthropic_put(o, b == system->child ? "[{\"type\":\"text\",\"text\":" : ",{\"type\":\"text\",\"text\":");
    anthropic_put_string(o, node_str(node_get(b, "text")));
    anthropic_put_cache(o, b);
    anthropic_put(o, "}");
  }
  anthropic_put(o, "]");
}

static void put_tools(struct anthropic_out *o) {
  const struct node *tools = given(o->r, "tools");
  if (tools == NULL) return;
  field(o, "tools");
  for (const struct node *t = tools->child; t != NULL; t = t->next) {
    struct str description = node_str(node_get(t, "description"));
    anthropic_put(o, t == tools->child ? "[" : ",");
    if (normalise_is_server_tool(t)) {
      put_node(o, t);
      continue;
    }
    anthropic_put(o, "{\"name\":");
    anthropic_put_string(o, node_str(node_get(t, "name")));
    if (description.n > 0) {
      anthropic_put(o, ",\"description\":");
      anthropic_put_string(o, description);
    }
    put_member(o, ",\"input_schema\":", node_get(t, "parameters"));
    put_member(o, ",\"strict\":", node_get(t, "strict"));
    anthropic_put_cache(o, t);
    anthropic_put(o, "}");
  }
  anthropic_put(o, "]");
}

static void put_tool_choice(struct anthropic_out *o) {
  const struct node *choice = given(o->r, "tool_choice");
  if (choice == NULL) return;
  field(o, "tool_choice");
  anthropic_put(o, "{\"type\":");
  anthropic_put_string(o, choice->type == NODE_STRING ? choice->s : STR("tool"));
  put_member(o, ",\"name\":", node_get(choice, "name"));
  anthropic_put(o, "}");
}

/* True when the model has to call a tool. */
static int forces_tool(const struct render *r) {
  const struct node *choice = given(r, "tool_choice");
  return node_is(choice, NODE_OBJECT) || str_eq(node_str(choice), "any");
}

/* }}} */

/* {{{ the rest */

/* What llama.cpp's server tells the model's template: of `thinking` it only heeds a budget. */
static void put_template(struct anthropic_out *o, const struct anthropic_thinking *t) {
  struct out w = { .r = o->r, .q = o->r->quirks, .request = o->r->request, .e = o->e };
  if (t->mode == THINKING_UNSAID || o->bad || !out_templated(w.q)) return;
  field(o, "chat_template_kwargs");
  out_template_kwargs(&w, t->mode != THINKING_DISABLED);
  if (w.failed) o->bad = -1;
}

static void put_thinking(struct anthropic_out *o, const struct anthropic_thinking *t) {
  if (t->mode != THINKING_UNSAID) field(o, "thinking");
  if (t->mode == THINKING_DISABLED) anthropic_put(o, "{\"type\":\"disabled\"}");
  if (t->mode == THINKING_ADAPTIVE) anthropic_put(o, "{\"type\":\"adaptive\"}");
  if (t->mode == THINKING_BUDGET) {
    anthropic_put(o, "{\"type\":\"enabled\",\"budget_tokens\":");
    put_int(o, t->budget);
    anthropic_put(o, "}");
  }
  if (t->effort == NULL) return;
  field(o, "output_config");
  anthropic_put(o, "{\"effort\":\"");
  anthropic_put(o, t->effort);
  anthropic_put(o, "\"}");
}

/* The wire knows one key, user_id, and only as a string. */
static void put_metadata(struct anthropic_out *o) {
  const struct node *metadata = given(o->r, "metadata"), *user = node_get(metadata, "user_id");
  char digits[24];
  struct str s = node_str(user);
  if (node_is(user, NODE_INT)) {
    int n = snprintf(digits, sizeof digits, "%lld", (long long)user->u.i);
    s = (struct str){ digits, (size_t)n };
  }
  if (s.n > 0) {
    field(o, "metadata");
    anthropic_put(o, "{\"user_id\":");
    anthropic_put_string(o, s);
    anthropic_put(o, "}");
  }
  if (metadata != NULL && metadata->count > (s.n > 0 ? 1u : 0u))
    warn(o, "unsupported_option", "metadata", "only user_id, a string, can be sent: the rest was left out");
}

/* True when the body has, or must not have, a field of that name. */
static int is_taken(const struct anthropic_out *o, struct str key) {
  static const char *const LATER[] = { "messages", "stream" };
  for (size_t i = 0; i < o->n; i++)
    if (str_is(key, o->field[i], strlen(o->field[i]))) return 1;
  for (size_t i = 0; i < sizeof LATER / sizeof LATER[0]; i++)
    if (str_is(key, LATER[i], strlen(LATER[i]))) return 1;
  return 0;
}

/* The caller's own fields in the order of their names; none replaces a field of the request. */
static void put_extra(struct anthropic_out *o) {
  const struct node *extra = given(o->r, "extra");
  for (const struct node *v = out_next_extra(extra, NULL); v != NULL && !o->bad; v = out_next_extra(extra, v)) {
    if (is_taken(o, v->key)) {
      warn(o, "extra_ignored", "extra", "a field that the request has already was left out");
      continue;
    }
    anthropic_put(o, ",");
    anthropic_put_string(o, v->key);
    anthropic_put(o, ":");
    put_node(o, v);
    if (o->bad && o->e->kind == KIND_ARGUMENT) err_argument(o->e, "extra", "finite numbers", "NaN or infinity");
  }
}

/* A beta's name, lower-cased in the arena; p NULL: not a name (then *e), or out of memory. */
static struct str beta_name(struct render *r, struct str s, struct err *e) {
  struct str name = arena_dup(r->a, s);
  char *p = (char *)name.p;
  if (p == NULL) { err_memory(e); return name; }
  for (size_t i = 0; i < s.n; i++) {
    p[i] = str_lower(p[i]);
    if (p[i] > ' ' && p[i] < 0x7F && p[i] != ',') continue;
    err_argument(e, "betas", "names without spaces and commas", "something else");
    return STR_NONE;
  }
  return name;
}

/* The header that asks for betas: each once, in the caller's order. */
static int put_betas(struct render *r, struct err *e) {
  const struct node *betas = given(r, "betas");
  struct buf b;
  int bad = 0;
  buf_init(&b, r->a->m);
  for (const struct node *v = betas != NULL ? betas->child : NULL; v != NULL && bad == 0; v = v->next) {
    struct str name = beta_name(r, node_str(v), e);
    int known = 0;
    if (name.p == NULL) bad = -1;
    for (size_t from = 0, i = 0; i <= b.n && bad == 0; i++) {
      if (i < b.n && b.p[i] != ',') continue;
      known |= b.n > 0 && str_same(name, (struct str){ b.p + from, i - from });
      from = i + 1;
    }
    if (bad == 0 && !known && name.n > 0 && ((b.n > 0 && buf_addc(&b, ',') != 0) || buf_addstr(&b, name) != 0))
      bad = err_memory(e);
  }
  if (bad == 0 && b.n > 0) {
    struct str value = arena_dup(r->a, buf_str(&b));
    if (value.p == NULL || node_set(r->headers, STR("anthropic-beta"), node_string(r->a, value)) != 0)
      bad = err_memory(e);
  }
  buf_free(&b);
  return bad;
}

/* }}} */

/* {{{ the whole */

/* The types of tools that are the provider's own; all of them are dated, but for those told without a name. */
static const char *const SERVER_TOOLS[] = {
  "advisor_", "bash_", "browser_toolset_", "code_execution_", "computer_", "computer_toolset_", "mcp_toolset", "memory_",
  "text_editor_", "tool_search_tool_bm25", "tool_search_tool_regex", "web_fetch_", "web_search_", NULL
};

/* Puts the history in order, decides where it is cached. */
static int prepare(struct render *r, struct node **system, struct err *e) {
  struct norm norm = {
    .origin = codec_origin(r, &codec_anthropic), .signed_thinking = !r->quirks->unsigned_thinking,
    .drop_blank_text = 1, .merge_blocks = 1, .results_first = 1, .id_chars = "word-"
  };
  struct out media = { .r = r, .q = r->quirks, .request = r->request, .e = e, .file_urls = 1, .cites = 1 };
  size_t count;
  char field[32];
  if (normalise_check(r->request, e) != 0 || codec_server_tools(r->request, SERVER_TOOLS, e) != 0) return -1;
  count = given(r, "messages")->count;
  if (out_check_media(&media) != 0 || anthropic_prepare(r, e) != 0 ||
      normalise_messages(r->a, r->request, &norm, e) != 0 || normalise_tools(r->a, r->request, 0, e) != 0 ||
      normalise_system(r->a, r->request, system, e) != 0)
    return -1;
  if (r->quirks->no_prefill && anthropic_prefilled(given(r, "messages"))) {
    snprintf(field, sizeof field, "messages[%zu]", count);
    return err_argument(e, field, "a user message at the end (the model does not continue an answer)",
                        "an assistant message");
  }
  return anthropic_cache(r, *system, e);
}

/* `count`: the fields that counting tokens takes, and no others. */
static int render_body(struct render *r, int count, struct err *e) {
  struct anthropic_out o = { .r = r, .e = e };
  struct anthropic_thinking thinking;
  struct node *system;
  int64_t max_tokens;
  struct str container = STR_NONE;
  int had_choice = given(r, "tool_choice") != NULL;
  if (prepare(r, &system, e) != 0 || ceiling(r, &max_tokens, e) != 0) return -1;
  if (anthropic_think(r, forces_tool(r), &max_tokens, &thinking, e) != 0 || put_betas(r, e) != 0) return -1;
  if (!count && anthropic_container(r, &container, e) != 0) return -1;
  if (had_choice && given(r, "tool_choice") == NULL)
    warn(&o, "unsupported_option", "tool_choice", "there are no tools to choose from: left out");
  field(&o, "model");
  anthropic_put_string(&o, node_str(given(r, "model")));
  if (!count) {
    field(&o, "max_tokens");
    put_int(&o, max_tokens);
    put_sampling(&o, &thinking);
    put_stops(&o);
  }
  put_system(&o, system);
  put_tools(&o);
  put_tool_choice(&o);
  put_thinking(&o, &thinking);
  put_template(&o, &thinking);
  if (!count) {
    put_metadata(&o);
    if (node_is(given(r, "stream"), NODE_TRUE)) {
      field(&o, "stream");
      anthropic_put(&o, "true");
    }
    if (container.n > 0) {
      field(&o, "container");
      anthropic_put_string(&o, container);
    }
    put_extra(&o);
  }
  field(&o, "messages");
  anthropic_put_messages(&o, given(r, "messages"));
  anthropic_put(&o, "}");
  return o.bad ? -1 : 0;
}

static int render(struct render *r, struct err *e) { return render_body(r, 0, e); }

static int render_count(struct render *r, struct err *e) { return render_body(r, 1, e); }

/* }}} */

/* In the order of enum anthropic_remedy. The provider answers 500 for a container that it does not restore
** (pydantic-ai#7833). */
static const struct remedy REMEDIES[] = {
  { .without = "no_container", .says = "container" },
  { .without = "no_container", .status = 500 },
  { NULL, NULL, NULL, 0, 0 }
};

const struct codec codec_anthropic = {
  .name = "anthropic",
  .state_size = sizeof(struct anthropic),
  .remedies = REMEDIES,
  .render = render,
  .render_count = render_count,
  .init = anthropic_init,
  .free = anthropic_free,
  .parse_event = anthropic_parse_event,
  .parse_body = anthropic_parse_body,
  .parse_end = anthropic_parse_end,
  .ended = anthropic_ended
};
