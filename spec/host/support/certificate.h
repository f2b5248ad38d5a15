/* certificate.h: a key and a certificate for localhost, for servers of OpenSSL's; clients trust the file. */
#ifndef KOINE_SPEC_HOST_SUPPORT_CERTIFICATE_H
#define KOINE_SPEC_HOST_SUPPORT_CERTIFICATE_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/folder.h"

struct certificate {
  SSL_CTX *context; /* a server's */
  char file[FOLDER_MAX];
};

/* 0, or -1. */
static inline int certificate_make(struct certificate *c) {
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *x = X509_new();
  FILE *f;
  if (key == NULL || x == NULL) return -1;
  X509_set_version(x, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
  X509_gmtime_adj(X509_getm_notBefore(x), -3600);
  X509_gmtime_adj(X509_getm_notAfter(x), 86400);
  X509_set_pubkey(x, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1, 0);
  X509_set_issuer_name(x, X509_get_subject_name(x));
  int fd = mkstemp(folder_template(c->file));
  int bad = X509_sign(x, key, EVP_sha256()) == 0 || fd < 0 || (f = fdopen(fd, "w")) == NULL;
  if (!bad) {
    bad = PEM_write_X509(f, x) == 0;
    fclose(f);
  }
  c->context = SSL_CTX_new(TLS_server_method());
  bad = bad || c->context == NULL || SSL_CTX_use_certificate(c->context, x) != 1 ||
        SSL_CTX_use_PrivateKey(c->context, key) != 1;
  X509_free(x);
  EVP_PKEY_free(key);
  return bad ? -1 : 0;
}

static inline void certificate_free(struct certificate *c) {
  SSL_CTX_free(c->context);
  unlink(c->file);
}

#endif
