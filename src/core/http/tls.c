/*
** tls.c: what libcurl does not offer of OpenSSL: whether decrypted bytes wait unread, and that one read handles one
** record. Koine does not link with OpenSSL: the functions are looked up in the library that libcurl has loaded, and
** where it has loaded another one, nothing is known and nothing is set.
*/
#include <dlfcn.h>
#include <string.h>

#include "private.h"

#define SSL_CTRL_CLEAR_MODE 78     /* openssl/ssl.h */
#define SSL_MODE_AUTO_RETRY 4L

/* dlsym gives an object's address where a function's is meant; POSIX says that this works. */
static void look_up(void *library, const char *name, void *function, size_t n) {
  void *p = dlsym(library, name);
  memcpy(function, &p, n);
}

void tls_find(struct http *http) {
  static const char *const NAMES[] = { "libssl.so.3", "libssl.so.1.1", "libssl.3.dylib" };
  const char *backend = curl_version_info(CURLVERSION_NOW)->ssl_version;
  if (backend == NULL || strncmp(backend, "OpenSSL/", 8) != 0) return;
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES && http->ssl_has_pending == NULL; i++) {
    void *library = dlopen(NAMES[i], RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) continue;
    look_up(library, "SSL_has_pending", &http->ssl_has_pending, sizeof http->ssl_has_pending);
    look_up(library, "SSL_CTX_ctrl", &http->ssl_ctx_ctrl, sizeof http->ssl_ctx_ctrl);
    dlclose(library); /* libcurl holds it */
  }
}

/* Bytes that OpenSSL has read from the socket and libcurl has not read from OpenSSL. The socket does not show them. */
int tls_has_unread(const struct http *http, CURL *easy) {
  struct curl_tlssessioninfo *session = NULL;
  if (http->ssl_has_pending == NULL || curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK) return 0;
  return session != NULL && session->backend == CURLSSLBACKEND_OPENSSL && session->internals != NULL &&
         http->ssl_has_pending(session->internals);
}

/* CURLOPT_SSL_CTX_FUNCTION. Without this mode OpenSSL comes back after a record that holds no data (a new key, a
** ticket), and a server that sends nothing else keeps the loop only as long as each takes. */
CURLcode tls_on_context(CURL *easy, void *context, void *ud) {
  const struct http *http = ud;
  (void)easy;
  if (http->ssl_ctx_ctrl != NULL) http->ssl_ctx_ctrl(context, SSL_CTRL_CLEAR_MODE, SSL_MODE_AUTO_RETRY, NULL);
  return CURLE_OK;
}
