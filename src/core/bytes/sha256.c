/*
** sha256.c: see sha256.h. After FIPS 180-4 and RFC 2104.
** Owns nothing, cannot fail.
*/
#include "sha256.h"

#include <string.h>

/* The first 32 bits behind the point of the cube roots of the first 64 primes. */
static const uint32_t ROUNDS[64] = {
  0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
  0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
  0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
  0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
  0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
  0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
  0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
  0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2
};

static uint32_t rotate(uint32_t x, int by) { return x >> by | x << (32 - by); }

static uint32_t get32(const unsigned char *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put32(unsigned char *p, uint32_t x) {
  for (int i = 0; i < 4; i++) p[i] = (unsigned char)(x >> (24 - 8 * i));
}

/* Mixes one block of 64 bytes into the state. */
static void mix(uint32_t state[8], const unsigned char *block) {
  uint32_t w[64], v[8];
  for (int i = 0; i < 16; i++) w[i] = get32(block + 4 * i);
  for (int i = 16; i < 64; i++) {
    uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
  }
  memcpy(v, state, sizeof v);
  for (int i = 0; i < 64; i++) {
    uint32_t a = v[0], e = v[4];
    uint32_t choice = (e & v[5]) ^ (~e & v[6]), majority = (a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]);
    uint32_t one = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + ROUNDS[i] + w[i];
    uint32_t two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += one;
    v[0] = one + two;
  }
  for (int i = 0; i < 8; i++) state[i] += v[i];
}

void sha256_init(struct sha256 *s) {
  static const uint32_t START[8] = { 0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB,
                                     0x5BE0CD19 };
  memcpy(s->state, START, sizeof START);
  s->n = 0;
}

void sha256_add(struct sha256 *s, struct str bytes) {
  const unsigned char *p = (const unsigned char *)bytes.p;
  size_t n = bytes.n, held = (size_t)(s->n % SHA256_BLOCK);
  s->n += n;
  while (n > 0) {
    size_t take = SHA256_BLOCK - held < n ? SHA256_BLOCK - held : n;
    if (take == SHA256_BLOCK) {
      mix(s->state, p);
    } else {
      memcpy(s->block + held, p, take);
      held += take;
      if (held == SHA256_BLOCK) {
        mix(s->state, s->block);
        held = 0;
      }
    }
    p += take;
    n -= take;
  }
}

void sha256_end(struct sha256 *s, unsigned char out[SHA256_SIZE]) {
  static const char END[SHA256_BLOCK] = { (char)0x80 };
  uint64_t bits = s->n * 8;
  size_t held = (size_t)(s->n % SHA256_BLOCK);
  unsigned char length[8];
  for (int i = 0; i < 8; i++) length[i] = (unsigned char)(bits >> (56 - 8 * i));
  sha256_add(s, (struct str){ END, held < 56 ? 56 - held : 120 - held });
  sha256_add(s, (struct str){ (const char *)length, sizeof length });
  for (int i = 0; i < 8; i++) put32(out + 4 * i, s->state[i]);
}

void sha256(struct str bytes, unsigned char out[SHA256_SIZE]) {
  struct sha256 s;
  sha256_init(&s);
  sha256_add(&s, bytes);
  sha256_end(&s, out);
}

void hmac_sha256(struct str key, struct str bytes, unsigned char out[SHA256_SIZE]) {
  unsigned char pad[SHA256_BLOCK] = { 0 };
  struct str padded = { (const char *)pad, sizeof pad }, inner = { (const char *)out, SHA256_SIZE };
  struct sha256 s;
  if (key.n > sizeof pad) sha256(key, pad);
  else if (key.n > 0) memcpy(pad, key.p, key.n);
  for (size_t i = 0; i < sizeof pad; i++) pad[i] ^= 0x36;
  sha256_init(&s);
  sha256_add(&s, padded);
  sha256_add(&s, bytes);
  sha256_end(&s, out);
  for (size_t i = 0; i < sizeof pad; i++) pad[i] ^= 0x36 ^ 0x5C;
  sha256_init(&s);
  sha256_add(&s, padded);
  sha256_add(&s, inner);
  sha256_end(&s, out);
}
