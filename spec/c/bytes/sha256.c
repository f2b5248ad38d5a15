/* Tests of the digests: the vectors of FIPS 180-4, RFC 4231, and CRC-32's own, whole and in pieces of every size. */
#include "core/bytes/crc32.h"
#include "core/bytes/sha256.h"
#include "support/test.h"

#include <stdlib.h>

static void check_hex(const unsigned char *digest, const char *expect) {
  char hex[2 * SHA256_SIZE + 1];
  for (int i = 0; i < SHA256_SIZE; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
  CHECK_STR(hex, strlen(hex), expect);
}

static struct str text(const char *s) { return (struct str){ s, strlen(s) }; }

static void test_sha256(void) {
  static const struct { const char *bytes, *digest; } CASES[] = {
    { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
    { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
    { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
  };
  unsigned char digest[SHA256_SIZE];
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    struct str s = text(CASES[i].bytes);
    sha256(s, digest);
    check_hex(digest, CASES[i].digest);
    for (size_t piece = 1; piece <= s.n; piece++) {
      struct sha256 state;
      sha256_init(&state);
      for (size_t at = 0; at < s.n; at += piece)
        sha256_add(&state, (struct str){ s.p + at, piece < s.n - at ? piece : s.n - at });
      sha256_add(&state, STR_NONE);
      sha256_end(&state, digest);
      check_hex(digest, CASES[i].digest);
    }
  }
}

/* A million times "a". */
static void test_million(void) {
  char a[1000];
  unsigned char digest[SHA256_SIZE];
  struct sha256 state;
  memset(a, 'a', sizeof a);
  sha256_init(&state);
  for (int i = 0; i < 1000; i++) sha256_add(&state, (struct str){ a, sizeof a });
  sha256_end(&state, digest);
  check_hex(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Lengths round the ends of blocks: in two pieces as whole. */
static void test_lengths(void) {
  char bytes[200];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 7);
  for (size_t n = 0; n <= sizeof bytes; n++) {
    unsigned char whole[SHA256_SIZE], pieces[SHA256_SIZE];
    sha256((struct str){ bytes, n }, whole);
    for (size_t cut = 0; cut <= n; cut++) {
      struct sha256 state;
      sha256_init(&state);
      sha256_add(&state, (struct str){ bytes, cut });
      sha256_add(&state, (struct str){ bytes + cut, n - cut });
      sha256_end(&state, pieces);
      CHECK(memcmp(whole, pieces, sizeof whole) == 0);
    }
  }
}

static void test_hmac(void) {
  char key[131], data[50];
  unsigned char code[SHA256_SIZE];
  memset(key, 0x0B, sizeof key);
  hmac_sha256((struct str){ key, 20 }, STR("Hi There"), code);
  check_hex(code, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  hmac_sha256(STR("Jefe"), STR("what do ya want for nothing?"), code);
  check_hex(code, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  memset(key, 0xAA, sizeof key);
  memset(data, 0xDD, sizeof data);
  hmac_sha256((struct str){ key, 20 }, (struct str){ data, 50 }, code);
  check_hex(code, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  for (int i = 0; i < 25; i++) key[i] = (char)(i + 1);
  memset(data, 0xCD, sizeof data);
  hmac_sha256((struct str){ key, 25 }, (struct str){ data, 50 }, code);
  check_hex(code, "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
  memset(key, 0xAA, sizeof key);
  hmac_sha256((struct str){ key, 131 }, STR("Test Using Larger Than Block-Size Key - Hash Key First"), code);
  check_hex(code, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  hmac_sha256((struct str){ key, 131 },
              STR("This is a test using a larger than block-size key and a larger than block-size data. The key needs to "
                  "be hashed before being used by the HMAC algorithm."), code);
  check_hex(code, "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
  hmac_sha256(STR_NONE, STR_NONE, code);
  check_hex(code, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

static void test_crc32(void) {
  struct str check = STR("123456789"), fox = STR("The quick brown fox jumps over the lazy dog");
  CHECK(crc32_add(0, STR_NONE) == 0 && crc32_add(0, check) == 0xCBF43926 && crc32_add(0, fox) == 0x414FA339);
  for (size_t cut = 0; cut <= fox.n; cut++)
    CHECK(crc32_add(crc32_add(0, (struct str){ fox.p, cut }), (struct str){ fox.p + cut, fox.n - cut }) == 0x414FA339);
}

int main(void) {
  test_sha256();
  test_million();
  test_lengths();
  test_hmac();
  test_crc32();
  return test_done("bytes/sha256");
}
