/*
** shapes.h: what the readers and writers of JSON do with one input, so that tools/linear.sh can see that it grows with the
** input's length alone. Each function takes the whole input and returns how much it did; 0: the input was refused.
*/
#ifndef KOINE_SPEC_C_JSON_SHAPES_H
#define KOINE_SPEC_C_JSON_SHAPES_H

#include "core/bytes/vector.h"
#include "core/history/normalise.h"
#include "core/json/growing.h"
#include "core/json/schema.h"

/* Reads the input as vectors, of an array or one; how many numbers, or 0 on error. */
static size_t read_vectors(const struct buf *in) {
  struct mem m = mem_libc();
  struct vector v;
  struct json j;
  struct err e;
  size_t sum = 0;
  vector_init(&v, &m);
  json_open(&j, buf_str(in), JSON_DEPTH_MAX, &e);
  int r = json_next(&j) == J_ARRAY ? 0 : vector_read(&j, PACKED_FLOAT32, &v, &e);
  sum = v.n;
  while (r == 0 && j.tok != J_STRING && json_next(&j) != J_ARRAY_END) {
    r = vector_read(&j, PACKED_FLOAT32, &v, &e);
    sum += v.n;
    j.tok = J_ARRAY; /* the outer one goes on */
  }
  vector_free(&v);
  return r == 0 ? sum : 0;
}

/* Skips the input, makes a tree of it, writes that sorted; the bytes written, or 0 on error. */
static size_t read_json(const struct buf *in) {
  struct mem m = mem_libc();
  struct arena a;
  struct buf out;
  struct json j;
  struct err e;
  arena_init(&a, &m);
  buf_init(&out, &m);
  json_open(&j, buf_str(in), 8, &e);
  int ok = json_next(&j) != J_ERROR && json_skip(&j) == 0 && json_next(&j) == J_EOF;
  struct node *v = ok ? json_tree(&a, buf_str(in), 8, &e) : NULL;
  ok = v != NULL && json_write_sorted(&out, v, &e) == 0;
  size_t n = ok ? out.n : 0;
  arena_free(&a);
  buf_free(&out);
  return n;
}

/* Turns the members of an object round. */
static void turn_round(struct node *object) {
  struct node *v = object->child, *before = NULL;
  object->last = v;
  while (v != NULL) {
    struct node *next = v->next;
    v->next = before;
    before = v;
    v = next;
  }
  object->child = before;
}

/* Writes the input as a schema that requires all its properties, the last one first; the bytes written, or 0 on error. */
static size_t write_schema(const struct buf *in) {
  struct mem m = mem_libc();
  struct arena a;
  struct buf out;
  struct err e;
  arena_init(&a, &m);
  buf_init(&out, &m);
  struct node *v = json_tree(&a, buf_str(in), 8, &e), *properties = node_get(v, "properties");
  struct node *required = node_new(&a, NODE_ARRAY);
  turn_round(properties);
  for (const struct node *p = properties->child; p != NULL; p = p->next) (void)node_add(required, node_string(&a, p->key));
  int ok = node_set(v, STR("required"), required) == 0 && json_write_schema(&out, v, 1, &e) == 0;
  size_t n = ok ? out.n : 0;
  arena_free(&a);
  buf_free(&out);
  return n;
}

/* Reads the input as a value that grows by 4 bytes at a time; the bytes of its keys and strings, its other values and one,
** or 0 on error. */
static size_t read_growing(const struct buf *in) {
  struct mem m = mem_libc();
  struct growing_limits most = { JSON_DEPTH_MAX, SIZE_MAX };
  struct growing g;
  struct growth s;
  struct err e;
  size_t sum = 1;
  growing_init(&g, &m, &most, 0, &e);
  for (size_t at = 0; at < in->n; at += 4) {
    growing_feed(&g, (struct str){ in->p + at, in->n - at < 4 ? in->n - at : 4 });
    for (enum growth_type t; (t = growing_next(&g, &s)) > GROWTH_NONE;)
      sum += t == GROWTH_TEXT ? s.text.n : t == GROWTH_SCALAR ? s.key.n + 1 : 0;
  }
  if (growing_state(&g) != GROWING_WHOLE) sum = 0;
  growing_free(&g);
  return sum;
}

/* Reads the input as the arguments of a call; the members left and one, or 0 on error. */
static size_t read_arguments(const struct buf *in) {
  struct mem m = mem_libc();
  struct arena a;
  struct node *arguments;
  struct str json;
  const char *problem;
  arena_init(&a, &m);
  size_t values = 0;
  int ok = normalise_read_arguments_within(&a, buf_str(in), 8, &values, &arguments, &json, &problem) == 0 &&
           problem == NULL;
  size_t n = ok ? arguments->count + 1 : 0;
  arena_free(&a);
  return n;
}

/* Sends the input back as the bytes of a call whose arguments say the same in another order; their length, or 0 when they
** did not go out as they were. */
static size_t replay_arguments(const struct buf *in) {
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  arena_init(&a, &m);
  struct node *call = node_new(&a, NODE_OBJECT), *v = json_tree(&a, buf_str(in), 8, &e);
  if (v != NULL) turn_round(v);
  int ok = v != NULL && node_set(call, STR("arguments"), v) == 0 &&
           node_set(call, STR("arguments_json"), node_string(&a, buf_str(in))) == 0;
  struct str out = ok ? normalise_arguments(&a, call, 8) : STR_NONE;
  size_t n = str_same(out, buf_str(in)) ? out.n : 0;
  arena_free(&a);
  return n;
}

#endif
