#pragma once
// Where a server listens, and by which names clients may call it.

#include <sys/socket.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace doppel::http {

struct Endpoint {
  std::string host;  // a name or an address, without brackets; empty for a unix socket
  int port = 0;
  std::string path;  // of a unix socket

  std::string url(
      std::string_view scheme = "http") const;  // "http://[::1]:9464", "http://unix:/run/doppel.sock:"
};

// Reads http.listen: "127.0.0.1:9464", "[::]:9464" (IPv4, too), "unix:/run/doppel.sock". InvalidArgument
// names the setting.
absl::StatusOr<Endpoint> read_endpoint(const std::string& listen);

struct Listening {
  int fd = -1;     // does not block
  Endpoint place;  // with the numeric address and the actual port
};
// InvalidArgument: a person must change http.listen; waiting does not help.
absl::StatusOr<Listening> listen_at(const std::string& listen);

// Whose share of the memory a connection uses: one address, of IPv6 one network.
std::string client_of(const sockaddr_storage& from);
// Permits this process as many files as the connections need, and returns how many connections it may have.
size_t permit(int connections);

// Whether a request may name this Host. A page in a browser can make any name of its own lead to this server
// (DNS rebinding), so names with a dot must be among `names`; "*" there permits all. Addresses, localhost and
// names without a dot cannot belong to such a page. Nullopt: it is not the form of a host.
std::optional<bool> may_be_called(std::string_view host, const std::vector<std::string>& names);

}  // namespace doppel::http
