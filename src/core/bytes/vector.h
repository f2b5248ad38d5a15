/*
** vector.h: vectors of numbers, as embeddings have them: read from JSON (an array of numbers, or base64 of packed ones),
** packed as little-endian float32, compared.
** A struct vector owns its numbers; its memory serves one vector after the other. Failure: -1 and an err, and the vector
** is as long as what was read; sums cannot fail.
*/
#ifndef KOINE_BYTES_VECTOR_H
#define KOINE_BYTES_VECTOR_H

#include "core/json/json.h"

#pragma GCC visibility push(hidden)

/* The numbers that base64 holds. */
enum packing { PACKED_FLOAT32, PACKED_INT8, PACKED_UINT8 };

/* How the machine stores a number: the byte that comes first. */
enum order { ORDER_LITTLE, ORDER_BIG };

struct vector {
  double *v;               /* NULL while nothing was read */
  size_t n, cap;
  const struct mem *m;
};

/* Empty, no memory yet. */
void vector_init(struct vector *v, const struct mem *m);
/* Gives the memory back. */
void vector_free(struct vector *v);
/* Makes room for n numbers in all: 0, or -1 (memory) and *e. */
int vector_reserve(struct vector *v, size_t n, struct err *e);
/* Reads the value whose first token was just read: an array of numbers, or a string, which is base64 (standard alphabet;
** padding may be missing, white space is skipped) of numbers packed so. KIND_PROTOCOL for anything else, for a number
** beyond double, and for bytes that hold no whole float32 or one that is not finite. */
int vector_read(struct json *j, enum packing packing, struct vector *v, struct err *e);
/* Reads packed float32; what is left of the last one is not read. Finite or not. -1 (memory) and *e. */
int vector_unpack(struct str packed, struct vector *v, struct err *e);
/* Appends the numbers as float32. -1 and *e: memory, or KIND_PROTOCOL for a number beyond float32. */
int vector_pack(const struct vector *v, struct buf *out, struct err *e);
/* The number whose four bytes, in the order of this machine after a swap where that is not little-endian, are at p. */
float vector_float(const char *p, enum order machine);

/* The i-th number of packed ones. */
double vector_packed_at(struct str packed, size_t i);

/* The sums of squares and of products, in double. Of packed vectors without a copy of them; of two that differ in length
** as far as the shorter one goes. */
double vector_squares(const double *v, size_t n);
double vector_products(const double *a, const double *b, size_t n);
double vector_packed_squares(struct str v);
double vector_packed_products(struct str a, struct str b);
/* The length: the root of the sum of squares, also where that sum is beyond double. */
double vector_norm(const struct vector *v);
/* Makes the length 1; a vector of zeros stays one. */
void vector_normalise(struct vector *v);

#pragma GCC visibility pop

#endif
