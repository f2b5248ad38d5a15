/* frame.h: messages of AWS's event streams, as tests write them. */
#ifndef KOINE_SPEC_C_SUPPORT_FRAME_H
#define KOINE_SPEC_C_SUPPORT_FRAME_H

#include "core/base/mem.h"
#include "core/bytes/crc32.h"

static inline void frame_put32(struct buf *b, uint32_t v) {
  for (int shift = 24; shift >= 0; shift -= 8) buf_addc(b, (char)(v >> shift & 0xFF));
}

/* Appends a header of text. */
static inline void frame_header(struct buf *b, const char *name, struct str value) {
  buf_addc(b, (char)strlen(name));
  buf_adds(b, name);
  buf_addc(b, 7);
  buf_addc(b, (char)(value.n >> 8));
  buf_addc(b, (char)(value.n & 0xFF));
  buf_addstr(b, value);
}

/* Appends a message with these headers, its checksums right. */
static inline void frame_raw(struct buf *b, struct str headers, struct str payload) {
  size_t from = b->n;
  frame_put32(b, (uint32_t)(16 + headers.n + payload.n));
  frame_put32(b, (uint32_t)headers.n);
  frame_put32(b, crc32_add(0, (struct str){ b->p + from, 8 }));
  buf_addstr(b, headers);
  buf_addstr(b, payload);
  frame_put32(b, crc32_add(0, (struct str){ b->p + from, b->n - from }));
}

/* Appends a message of that kind ("event", "exception") and type. */
static inline void frame_add(struct buf *b, const char *kind, struct str type, struct str payload) {
  char name[32] = ":";
  struct buf headers;
  strcat(strcat(name, kind), "-type");
  buf_init(&headers, b->m);
  frame_header(&headers, name, type);
  frame_header(&headers, ":content-type", STR("application/json"));
  frame_header(&headers, ":message-type", (struct str){ kind, strlen(kind) });
  frame_raw(b, buf_str(&headers), payload);
  buf_free(&headers);
}

#endif
