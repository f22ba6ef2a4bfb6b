#pragma once
// A real web server for tests.

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "loopback.h"

namespace doppel {

// Runs nginx.
class Nginx {
 public:
  // Serves `directory`/files.
  Nginx(const std::string& directory, int port)
      : Nginx(directory, port,
              fmt::format(R"(
    location / {{ root {0}/files; }}
    location /whole/ {{ alias {0}/files/; max_ranges 0; }}
    location /forbidden/ {{ return 403; }}
    location /gone/ {{ return 410; }}
    location /away/ {{ return 503; }}
    location /busy/ {{ return 429; }}
    location /other/ {{ add_header Content-Range "bytes 0-9/100"; return 206 "WARC/1.0\r\n"; }})",
                          directory)) {}
  // Serves as `server` says, in nginx's syntax. `listens`: more words after the address.
  Nginx(const std::string& directory, int port, const std::string& server, const std::string& listens = "")
      : directory_(directory) {
    const std::string host = fmt::format("127.0.0.1:{}", port);
    url = "http://" + host;
    std::ofstream(directory + "/nginx.conf") << fmt::format(R"(
daemon on; pid {0}/pid; error_log {0}/error.log; worker_processes 1;
events {{ worker_connections 64; }}
http {{ access_log off; client_body_temp_path {0}/t1; proxy_temp_path {0}/t2; fastcgi_temp_path {0}/t3;
  uwsgi_temp_path {0}/t4; scgi_temp_path {0}/t5;
  server {{ listen {1} {2}; {3} }} }})",
                                                            directory, host, listens, server);
    // The server leaves its parent and becomes our child, so that we can wait for its end.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    running = std::system(fmt::format("nginx -q -c {}/nginx.conf >/dev/null 2>&1", directory).c_str()) == 0;
    if (running) await_response(port);
  }
  ~Nginx() {
    if (!running) return;
    pid_t pid = 0;
    std::ifstream(directory_ + "/pid") >> pid;
    if (pid <= 1) return;
    ::kill(pid, SIGTERM);
    ::waitpid(pid, nullptr, 0);
  }
  Nginx(const Nginx&) = delete;
  Nginx& operator=(const Nginx&) = delete;

  std::string url;
  bool running = false;

 private:
  // Until it responds, nginx may not have written its pid, and loses a signal.
  static void await_response(int port) {
    const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = loopback(port);
    constexpr std::string_view kBadRequest = "no request\r\n\r\n";  // no location sees it
    char response[4096];
    if (::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::write(connection, kBadRequest.data(), kBadRequest.size()) < 0 ||
        ::read(connection, response, sizeof response) <= 0)
      throw std::runtime_error("nginx does not respond");
    ::close(connection);
  }

  std::string directory_;
};

}  // namespace doppel
