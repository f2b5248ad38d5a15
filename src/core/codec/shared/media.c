/*
** media.c: see media.h.
*/
#include "media.h"

struct str media_type(const struct node *block) {
  struct str type = node_str(node_get(block, "media_type"));
  return str_eq(type, "image/jpg") ? STR("image/jpeg") : type;
}

int media_read(const struct node *block, struct media *m) {
  struct str s = node_str(node_get(block, "source"));
  const char *comma;
  size_t n;
  *m = (struct media){ .type = media_type(block), .data = s };
  if (str_begins(s, "http://") || str_begins(s, "https://")) { m->url = s; return 0; }
  if (!str_begins(s, "data:")) return s.n > 0 && m->type.n > 0 ? 0 : -1;
  comma = memchr(s.p, ',', s.n);
  if (comma == NULL) return -1;
  n = (size_t)(comma - s.p);
  if (n < 12 || memcmp(comma - 7, ";base64", 7) != 0) return -1;
  m->data = (struct str){ comma + 1, s.n - n - 1 };
  m->type = (struct str){ s.p + 5, n - 12 };
  for (size_t i = 0; i < m->type.n; i++)
    if (m->type.p[i] == ';') m->type.n = i; /* parameters, e.g. charset */
  if (m->type.n == 0) m->type = STR("text/plain");
  if (str_eq(m->type, "image/jpg")) m->type = STR("image/jpeg");
  return 0;
}

int media_is_text(const struct node *block, const struct media *m) {
  return is_type(block, "document") && m->url.n == 0 && str_begins(m->type, "text/");
}
