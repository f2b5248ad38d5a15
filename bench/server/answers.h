/*
** answers.h: what providers put on the wire, for each of the five formats: headers, a stream's start, its events and its
** end, a plain answer. Shapes, fields, padding and header names are those of real answers; texts and ids are made up.
*/
#ifndef KOINE_BENCH_ANSWERS_H
#define KOINE_BENCH_ANSWERS_H

#include <stddef.h>

/* Bytes that grow; their owner frees `p`. */
struct bytes { char *p; size_t n, room; };

void bytes_add(struct bytes *b, const void *p, size_t n);
void bytes_format(struct bytes *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text of one event as JSON writes it (n bytes), and how many UTF-16 units it has when read. */
struct text { char p[1024]; size_t n, units; };

struct format {
  const char *path;          /* is in the path of a request in this format, and of no other */
  const char *plain_headers; /* of a plain answer, but for those that frame it */
  const char *stream_headers;
  const char *plain;         /* around the text, which stands for %s; NULL: no such answer */
  const char *start;         /* before the first event */
  size_t least, most;        /* pieces of text in an event */
  void (*event)(struct bytes *to, size_t i, const struct text *t); /* event number i, from 0 */
  void (*end)(struct bytes *to, size_t count);                     /* after `count` events */
};

/* The format of a request by its path, Anthropic's where none is meant. */
const struct format *format_of(const char *path);

/* The text of event number i: words and their parts as models make them, of a length that varies with i. */
void text_of(const struct format *f, size_t i, struct text *t);

#endif
