#ifndef AUTHPROXY_COPENSSL_H
#define AUTHPROXY_COPENSSL_H
// OpenSSL 3, with its macros as functions, and the callbacks that it calls often enough, or with types odd enough, to be C.
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

// ---- The wire: where one thread's sessions read ciphertext from and write it to, instead of from and to a socket ----

struct copenssl_wire {
    const unsigned char *input;
    size_t input_count;
    int input_ended;
    unsigned char *output;
    size_t output_count, output_capacity;
};
typedef struct copenssl_wire copenssl_wire;

static inline int copenssl_wire_read(BIO *bio, char *into, int length) {
    copenssl_wire *wire = (copenssl_wire *)BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (wire->input_count == 0) {
        if (!wire->input_ended) BIO_set_retry_read(bio);
        return wire->input_ended ? 0 : -1;
    }
    size_t count = (size_t)length < wire->input_count ? (size_t)length : wire->input_count;
    memcpy(into, wire->input, count);
    wire->input += count;
    wire->input_count -= count;
    return (int)count;
}
// Takes everything: what the socket does not take at once is the connection's to keep.
static inline int copenssl_wire_write(BIO *bio, const char *from, int length) {
    copenssl_wire *wire = (copenssl_wire *)BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (length <= 0) return 0;
    if (wire->output_capacity - wire->output_count < (size_t)length) {
        size_t capacity = 2 * (wire->output_count + (size_t)length);
        unsigned char *larger = (unsigned char *)OPENSSL_realloc(wire->output, capacity);
        if (!larger) return -1;
        wire->output = larger;
        wire->output_capacity = capacity;
    }
    memcpy(wire->output + wire->output_count, from, (size_t)length);
    wire->output_count += (size_t)length;
    return length;
}
static inline long copenssl_wire_control(BIO *bio, int command, long number, void *pointer) {
    (void)number;
    (void)pointer;
    copenssl_wire *wire = (copenssl_wire *)BIO_get_data(bio);
    if (command == BIO_CTRL_FLUSH) return 1;
    if (command == BIO_CTRL_EOF) return wire->input_ended && wire->input_count == 0;
    return 0;
}
static inline BIO_METHOD *copenssl_wire_method(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | 127, "wire");
    if (!method) return 0;
    BIO_meth_set_read(method, copenssl_wire_read);
    BIO_meth_set_write(method, copenssl_wire_write);
    BIO_meth_set_ctrl(method, copenssl_wire_control);
    return method;
}
// Gives the session its end of the wire; 0 when there is no memory.
static inline int copenssl_attach(SSL *ssl, const BIO_METHOD *method, copenssl_wire *wire) {
    BIO *bio = BIO_new(method);
    if (!bio) return 0;
    BIO_set_data(bio, wire);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    return 1;
}
static inline void copenssl_free(void *memory) { OPENSSL_free(memory); }

// ---- Tickets: sealed with the newest key, opened with any ----

enum { copenssl_ticket_key_count = 3 };
struct copenssl_ticket_key {
    unsigned char name[16], cipher[32], mac[32];
};
struct copenssl_ticket_keys {
    int count;
    struct copenssl_ticket_key keys[copenssl_ticket_key_count];
    EVP_CIPHER *algorithm;
};
typedef struct copenssl_ticket_keys copenssl_ticket_keys;

static inline int copenssl_ticket_mac(EVP_MAC_CTX *mac, struct copenssl_ticket_key *key) {
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key->mac, sizeof key->mac),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_CTX_set_params(mac, parameters);
}
static inline int copenssl_ticket(SSL *ssl, unsigned char name[16], unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac,
                                  int seals) {
    copenssl_ticket_keys *ring = (copenssl_ticket_keys *)SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), 0);
    if (!ring || ring->count == 0) return 0;
    if (seals) {
        struct copenssl_ticket_key *key = &ring->keys[0];
        memcpy(name, key->name, sizeof key->name);
        if (RAND_bytes(iv, 16) != 1) return -1;
        return EVP_EncryptInit_ex2(cipher, ring->algorithm, key->cipher, iv, 0) && copenssl_ticket_mac(mac, key) ? 1 : -1;
    }
    for (int index = 0; index < ring->count; index++) {
        struct copenssl_ticket_key *key = &ring->keys[index];
        if (memcmp(name, key->name, sizeof key->name) != 0) continue;
        if (!EVP_DecryptInit_ex2(cipher, ring->algorithm, key->cipher, iv, 0) || !copenssl_ticket_mac(mac, key)) return -1;
        return index == 0 ? 1 : 2;  // 2: the client gets a new one
    }
    return 0;  // a full handshake
}
static inline void copenssl_use_tickets(SSL_CTX *context, copenssl_ticket_keys *ring) {
    SSL_CTX_set_ex_data(context, 0, ring);
    SSL_CTX_set_tlsext_ticket_key_evp_cb(context, copenssl_ticket);
}

// ---- ALPN (RFC 7301): the server's preference; no protocol in common ends the handshake ----

// `offer` is the server's list in wire form behind one octet that holds its length; it must outlive the context.
static inline int copenssl_choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *length,
                                           const unsigned char *client, unsigned int client_length, void *offer) {
    (void)ssl;
    const unsigned char *list = (const unsigned char *)offer;
    unsigned char *found = 0;
    if (SSL_select_next_proto(&found, length, list + 1, list[0], client, client_length) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}
static inline void copenssl_offer_protocols(SSL_CTX *context, const unsigned char *offer) {
    SSL_CTX_set_alpn_select_cb(context, copenssl_choose_protocol, (void *)offer);
}

// ---- Macros ----

static inline void copenssl_set_modes(SSL_CTX *context) {
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
                                  | SSL_MODE_NO_AUTO_CHAIN);
}
static inline void copenssl_set_server_options(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE
                                     | SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}
static inline void copenssl_set_client_options(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
}
static inline int copenssl_set_minimum_version(SSL_CTX *context, int version) {
    return SSL_CTX_set_min_proto_version(context, version);
}
static inline int copenssl_set_groups(SSL_CTX *context, const char *names) { return SSL_CTX_set1_groups_list(context, names); }
static inline int copenssl_add_chain(SSL_CTX *context, X509 *certificate) {
    return SSL_CTX_add1_chain_cert(context, certificate) == 1;
}
static inline void copenssl_set_server_name_callback(SSL_CTX *context, int (*callback)(SSL *, int *, void *), void *argument) {
    SSL_CTX_set_tlsext_servername_callback(context, callback);
    SSL_CTX_set_tlsext_servername_arg(context, argument);
}
static inline int copenssl_set_server_name(SSL *ssl, const char *name) { return (int)SSL_set_tlsext_host_name(ssl, name); }
static inline X509 *copenssl_peer_certificate(const SSL *ssl) { return SSL_get1_peer_certificate(ssl); }
static inline int copenssl_key_type(X509 *certificate) {
    EVP_PKEY *key = X509_get0_pubkey(certificate);
    return key ? EVP_PKEY_get_base_id(key) : 0;
}
static inline void copenssl_add_revocations(X509_STORE *store, X509_CRL *list) {
    X509_STORE_add_crl(store, list);
    X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
}
static inline int copenssl_is_end_of_pem(unsigned long error) {
    return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}
static inline const char *copenssl_reason(unsigned long error) {
    const char *text = ERR_reason_error_string(error);
    return text ? text : "unknown";
}
// Never asks a terminal.
static inline int copenssl_no_password(char *buffer, int size, int writes, void *argument) {
    (void)buffer;
    (void)size;
    (void)writes;
    if (argument) *(int *)argument = 1;
    return -1;
}
// `encrypted` is set when the key can not be read without a password.
static inline EVP_PKEY *copenssl_read_key(BIO *bio, int *encrypted) {
    return PEM_read_bio_PrivateKey(bio, 0, copenssl_no_password, encrypted);
}
static inline X509 *copenssl_read_certificate(BIO *bio) { return PEM_read_bio_X509(bio, 0, copenssl_no_password, 0); }
static inline X509_CRL *copenssl_read_revocations(BIO *bio) { return PEM_read_bio_X509_CRL(bio, 0, copenssl_no_password, 0); }

// ---- Names of certificates ----

// Subject alternative names: how many, and one of them. `kind` becomes 'd' (DNS), 'i' (address, 4 or 16 octets), 'e' (mail),
// 'u' (URI), or 0 for other kinds. The text is not terminated, and lives as long as the list.
static inline GENERAL_NAMES *copenssl_alternative_names(X509 *certificate) {
    return (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, 0, 0);
}
static inline int copenssl_name_count(GENERAL_NAMES *names) { return sk_GENERAL_NAME_num(names); }
static inline const unsigned char *copenssl_name(GENERAL_NAMES *names, int index, char *kind, int *length) {
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
    const ASN1_STRING *text = 0;
    *kind = 0;
    *length = 0;
    if (name->type == GEN_DNS) { *kind = 'd'; text = name->d.dNSName; }
    if (name->type == GEN_EMAIL) { *kind = 'e'; text = name->d.rfc822Name; }
    if (name->type == GEN_URI) { *kind = 'u'; text = name->d.uniformResourceIdentifier; }
    if (name->type == GEN_IPADD) { *kind = 'i'; text = name->d.iPAddress; }
    if (!text) return 0;
    *length = ASN1_STRING_length(text);
    return ASN1_STRING_get0_data(text);
}
static inline int copenssl_common_name(X509 *certificate, char *into, int capacity) {
    return X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, into, capacity);
}
// RFC 2253 (`CN=alice,O=Example`): control characters and octets beyond ASCII are escaped.
static inline int copenssl_subject(X509 *certificate, BIO *into) {
    return X509_NAME_print_ex(into, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_DUMP_UNKNOWN);
}
static inline long copenssl_memory(BIO *bio, char **start) { return BIO_get_mem_data(bio, start); }
static inline int copenssl_has_expired(X509 *certificate) { return X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0; }

// ---- Making certificates ----

static inline EVP_PKEY *copenssl_generate_key(void) { return EVP_EC_gen("P-256"); }
// `issuer` may be the certificate itself. The text is as in openssl.cnf (x509v3_config(5)).
static inline int copenssl_add_extension(X509 *certificate, X509 *issuer, int kind, const char *text) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, 0, 0, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(0, &context, kind, text);
    if (!extension) return 0;
    int result = X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return result;
}
// From an hour ago, for clocks that differ, until so many seconds from now.
static inline int copenssl_set_validity(X509 *certificate, long seconds) {
    return X509_gmtime_adj(X509_getm_notBefore(certificate), -3600) && X509_gmtime_adj(X509_getm_notAfter(certificate), seconds);
}
static inline int copenssl_set_serial(X509 *certificate) {
    uint64_t number;
    if (RAND_bytes((unsigned char *)&number, sizeof number) != 1) return 0;
    return ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), number >> 1 | 1);
}
static inline int copenssl_expires_within(X509 *certificate, long seconds) {
    time_t then = time(0) + seconds;
    return X509_cmp_time(X509_get0_notAfter(certificate), &then) < 0;
}
static inline int copenssl_write_key(BIO *bio, EVP_PKEY *key) { return PEM_write_bio_PrivateKey(bio, key, 0, 0, 0, 0, 0); }
#endif
