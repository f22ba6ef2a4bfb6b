#pragma once
// The bytes of a connection, with TLS or without, and the certificates of a server. The only part that
// includes OpenSSL.

#include <poll.h>
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

struct ssl_ctx_st;
struct ssl_st;

namespace doppel::http {

struct TlsFiles {           // in PEM
  std::string certificate;  // ours, followed by those that lead to its authority; empty: no TLS
  std::string key;          // of the certificate, without a password
  std::string client_ca;    // who certifies clients; empty: clients need no certificate
};

class Tls {
 public:
  // InvalidArgument names the setting (http.tls_*) and the file. Reads the files; changes of them show in
  // another Tls only.
  static absl::StatusOr<std::shared_ptr<const Tls>> of_server(const TlsFiles& files);
  // For a client that does not check whom it asks. If clients need a certificate, it shows the server's own.
  static absl::StatusOr<std::shared_ptr<const Tls>> of_client(const TlsFiles& files);

  std::string valid_until() const;  // of the certificate, as OpenSSL writes it

 private:
  friend class Stream;
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

// What a server shows to new connections. Any thread may use it.
class ServedTls {
 public:
  static absl::StatusOr<std::unique_ptr<ServedTls>> open(const TlsFiles& files);
  ~ServedTls();
  ServedTls(const ServedTls&) = delete;
  ServedTls& operator=(const ServedTls&) = delete;

  std::shared_ptr<const Tls> now() const;
  // Reads the files of all servers of this process again. What cannot be read is an error in the log, and
  // what was read before stays in use.
  static void read_all_again();

 private:
  ServedTls(TlsFiles files, std::shared_ptr<const Tls> tls);
  void read_again();

  const TlsFiles files_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Tls> tls_;
};

// One thread may use it at a time.
class Stream {
 public:
  enum class Side { server, client };
  // Without `tls` the bytes go as they are. `fd` does not block, and outlives the stream.
  Stream(const std::shared_ptr<const Tls>& tls, int fd, Side side);

  // As recv() and send(): 0 is the end, -1 an error. After EAGAIN, wait until the socket can do what wants()
  // says. The first calls shake hands. With TLS, the thread must have called block_sigpipe().
  ssize_t read(char* to, size_t size);
  ssize_t write(std::string_view from, std::string_view then = {});
  short wants() const { return wants_; }  // POLLIN or POLLOUT
  bool has_more() const;                  // bytes that read() returns without the socket
  // Says that nothing follows, if the socket takes it now. From here on, read() returns undecoded bytes.
  void end();

 private:
  ssize_t result(int n);
  struct Free {
    void operator()(ssl_st* stream) const;
  };
  const int fd_;
  const bool plain_;
  bool ended_ = false;
  std::unique_ptr<ssl_st, Free> ssl_;
  short wants_ = POLLIN;
};

// For this thread. OpenSSL writes to connections that the other side may have closed.
void block_sigpipe();

}  // namespace doppel::http
