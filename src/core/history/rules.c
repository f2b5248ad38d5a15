/*
** rules.c: see rules.h: what the rules ask of a text and of a list. Leaf; cannot fail.
*/
#include "rules.h"

int rules_blank(struct str s) {
  size_t i = 0;
  while (i < s.n && (s.p[i] == ' ' || (s.p[i] >= '\t' && s.p[i] <= '\r'))) i++;
  return i == s.n;
}

/* FNV-1a, then a finaliser, so that every bit depends on every byte. */
unsigned long long rules_hash(struct str s) {
  unsigned long long h = 14695981039346656037u;
  for (size_t i = 0; i < s.n; i++) h = (h ^ (unsigned char)s.p[i]) * 1099511628211u;
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
  return h ^ (h >> 33);
}

void rules_append(struct node *list, struct node *v) {
  v->next = NULL;
  (void)node_add(list, v); /* fails for NULL alone */
}
