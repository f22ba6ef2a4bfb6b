#include "http/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "absl/status/status.h"
#include "base/log.h"
#include "base/status.h"

namespace doppel::http {
namespace {

constexpr size_t kRecord = 16 << 10;  // the most bytes that TLS sends as one

// What OpenSSL said first, such as "no start line".
std::string openssl_says() {
  const unsigned long code = ::ERR_peek_error();
  ::ERR_clear_error();
  if (code == 0) return "unknown error";
  if (ERR_SYSTEM_ERROR(code)) return std::string(std::generic_category().message(ERR_GET_REASON(code)));
  const char* reason = ::ERR_reason_error_string(code);
  return reason != nullptr ? reason : "error " + std::to_string(code);
}

absl::Status wrong(std::string_view setting, const std::string& file, std::string_view message) {
  std::string text(setting);
  text.append(": ").append(file).append(": ").append(message).append(" (").append(openssl_says()).append(")");
  return absl::InvalidArgumentError(text);
}

// Daemons have nobody to ask.
int no_password(char*, int, int, void*) { return -1; }

absl::Status use_certificate(SSL_CTX* context, const TlsFiles& files) {
  if (::SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1)
    return wrong("http.tls_certificate", files.certificate, "there is no certificate in PEM to read");
  if (::SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    const bool other = ERR_GET_REASON(::ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH ||
                       ERR_GET_REASON(::ERR_peek_last_error()) == X509_R_KEY_TYPE_MISMATCH;
    return wrong("http.tls_key", files.key,
                 other ? "this key does not belong to the certificate in " + files.certificate
                       : "there is no key in PEM, without a password, to read");
  }
  return absl::OkStatus();
}

}  // namespace

void Tls::Free::operator()(ssl_ctx_st* context) const { ::SSL_CTX_free(context); }

absl::StatusOr<std::shared_ptr<const Tls>> Tls::of_server(const TlsFiles& files) {
  ::ERR_clear_error();
  auto out = std::make_shared<Tls>();
  out->context_.reset(::SSL_CTX_new(::TLS_server_method()));
  SSL_CTX* const context = out->context_.get();
  if (context == nullptr) return absl::InternalError("TLS cannot begin: " + openssl_says());
  ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // Requests have lengths, so an end without notice hides nothing.
  ::SSL_CTX_set_options(
      context, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_CIPHER_SERVER_PREFERENCE);
  ::SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
  ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // clients keep their sessions (tickets)
  constexpr std::array<unsigned char, 6> kSessions{'d', 'o', 'p', 'p', 'e', 'l'};
  ::SSL_CTX_set_session_id_context(context, kSessions.data(), kSessions.size());
  ::SSL_CTX_set_default_passwd_cb(context, no_password);
  RETURN_IF_ERROR(use_certificate(context, files));
  if (!files.client_ca.empty()) {
    STACK_OF(X509_NAME)* const names = ::SSL_load_client_CA_file(files.client_ca.c_str());
    if (names == nullptr || ::SSL_CTX_load_verify_locations(context, files.client_ca.c_str(), nullptr) != 1) {
      ::sk_X509_NAME_pop_free(names, ::X509_NAME_free);
      return wrong("http.tls_client_ca", files.client_ca, "there is no certificate in PEM to read");
    }
    ::SSL_CTX_set_client_CA_list(context, names);
    ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return out;
}

absl::StatusOr<std::shared_ptr<const Tls>> Tls::of_client(const TlsFiles& files) {
  ::ERR_clear_error();
  auto out = std::make_shared<Tls>();
  out->context_.reset(::SSL_CTX_new(::TLS_client_method()));
  if (out->context_ == nullptr) return absl::InternalError("TLS cannot begin: " + openssl_says());
  ::SSL_CTX_set_options(out->context_.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
  ::SSL_CTX_set_default_passwd_cb(out->context_.get(), no_password);
  if (!files.client_ca.empty()) RETURN_IF_ERROR(use_certificate(out->context_.get(), files));
  return out;
}

std::string Tls::valid_until() const {
  const X509* const certificate = ::SSL_CTX_get0_certificate(context_.get());
  const std::unique_ptr<BIO, decltype(&::BIO_free)> text(::BIO_new(::BIO_s_mem()), ::BIO_free);
  if (certificate == nullptr || text == nullptr ||
      ::ASN1_TIME_print(text.get(), ::X509_get0_notAfter(certificate)) != 1)
    return "unknown";
  char* begin = nullptr;
  const long size = ::BIO_get_mem_data(text.get(), &begin);
  return {begin, static_cast<size_t>(size)};
}

namespace {

struct Served {
  std::mutex mutex;
  std::unordered_set<ServedTls*> all;
};
Served& served() {
  static Served of_process;
  return of_process;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ServedTls>> ServedTls::open(const TlsFiles& files) {
  ASSIGN_OR_RETURN(std::shared_ptr<const Tls> tls, Tls::of_server(files));
  return std::unique_ptr<ServedTls>(new ServedTls(files, std::move(tls)));
}

ServedTls::ServedTls(TlsFiles files, std::shared_ptr<const Tls> tls)
    : files_(std::move(files)), tls_(std::move(tls)) {
  const std::lock_guard lock(served().mutex);
  served().all.insert(this);
}

ServedTls::~ServedTls() {
  const std::lock_guard lock(served().mutex);
  served().all.erase(this);
}

std::shared_ptr<const Tls> ServedTls::now() const {
  const std::lock_guard lock(mutex_);
  return tls_;
}

void ServedTls::read_all_again() {
  const std::lock_guard lock(served().mutex);
  for (ServedTls* const tls : served().all) tls->read_again();
}

void ServedTls::read_again() {
  absl::StatusOr<std::shared_ptr<const Tls>> fresh = Tls::of_server(files_);
  if (!fresh.ok()) {
    return log::error("the certificate cannot be read again; the one before stays in use",
                      {{"error", std_sv(fresh.status().message())}});
  }
  {
    const std::lock_guard lock(mutex_);
    tls_ = *fresh;
  }
  log::info("certificate read again",
            {{"certificate", files_.certificate}, {"valid_until", (*fresh)->valid_until()}});
}

void Stream::Free::operator()(ssl_st* stream) const { ::SSL_free(stream); }

Stream::Stream(const std::shared_ptr<const Tls>& tls, int fd, Side side) : fd_(fd), plain_(tls == nullptr) {
  if (plain_) return;
  ssl_.reset(::SSL_new(tls->context_.get()));
  if (ssl_ == nullptr || ::SSL_set_fd(ssl_.get(), fd) != 1) {
    ssl_.reset();
  } else if (side == Side::server) {
    ::SSL_set_accept_state(ssl_.get());
  } else {
    ::SSL_set_connect_state(ssl_.get());
  }
}

ssize_t Stream::result(int n) {
  wants_ = POLLIN;
  if (n > 0) return n;
  const int error = ::SSL_get_error(ssl_.get(), n);
  if (error == SSL_ERROR_ZERO_RETURN) return 0;
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    wants_ = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    errno = EAGAIN;
    return -1;
  }
  ::ERR_clear_error();
  errno = EPROTO;
  return -1;
}

ssize_t Stream::read(char* to, size_t size) {
  if (plain_ || ended_) {
    wants_ = POLLIN;
    return ::recv(fd_, to, size, 0);
  }
  errno = ENOMEM;
  if (ssl_ == nullptr) return -1;
  ::ERR_clear_error();
  return result(::SSL_read(ssl_.get(), to, static_cast<int>(std::min(size, kRecord))));
}

ssize_t Stream::write(std::string_view from, std::string_view then) {
  if (plain_) {
    std::array<iovec, 2> parts{
        {{const_cast<char*>(from.data()), from.size()}, {const_cast<char*>(then.data()), then.size()}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t n = ::sendmsg(fd_, &message, MSG_NOSIGNAL);
    wants_ = n < 0 ? POLLOUT : POLLIN;
    return n;
  }
  errno = ENOMEM;
  if (ssl_ == nullptr) return -1;
  // What is short becomes one record. A call that is repeated after EAGAIN has the same bytes.
  std::string both;
  if (!then.empty() && from.size() < kRecord) {
    both.append(from).append(then.substr(0, kRecord - from.size()));
    from = both;
  }
  ::ERR_clear_error();
  return result(::SSL_write(ssl_.get(), from.data(), static_cast<int>(std::min(from.size(), kRecord))));
}

bool Stream::has_more() const { return ssl_ != nullptr && !ended_ && ::SSL_pending(ssl_.get()) > 0; }

void Stream::end() {
  if (ssl_ == nullptr || ended_) return;
  ended_ = true;
  if (::SSL_is_init_finished(ssl_.get()) != 1) return;
  ::ERR_clear_error();
  ::SSL_shutdown(ssl_.get());
  ::ERR_clear_error();
}

void block_sigpipe() {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

}  // namespace doppel::http
