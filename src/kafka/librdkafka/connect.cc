// The Cluster that uses librdkafka. Questions that belong to no producer or consumer go through two
// long-lived clients, one for each isolation level.

#include "kafka/librdkafka/connect.h"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "kafka/librdkafka/admin.h"
#include "kafka/librdkafka/client.h"

namespace doppel::kafka {
namespace {

constexpr int kAskMs = 3'000;  // time limit of one question to the broker

class LibraryCluster final : public Cluster {
 public:
  explicit LibraryCluster(ClientOptions options) : options_(std::move(options)) {}

  absl::StatusOr<std::string> id() override {
    ASSIGN_OR_RETURN(const Asker asker, asker_of(Isolation::committed));
    return cluster_id(asker.get());
  }
  absl::StatusOr<std::vector<TopicPartitions>> topics() override {
    ASSIGN_OR_RETURN(const Asker asker, asker_of(Isolation::committed));
    return list_topics(asker.get());
  }
  absl::Status create_topic(const TopicSpec& spec) override {
    ASSIGN_OR_RETURN(const Asker asker, asker_of(Isolation::committed));
    return kafka::create_topic(asker.get(), spec);
  }
  absl::StatusOr<std::vector<std::string>> topic_configs(const std::string& topic,
                                                         const std::vector<std::string>& names) override {
    ASSIGN_OR_RETURN(const Asker asker, asker_of(Isolation::committed));
    return kafka::topic_configs(asker.get(), topic, names);
  }

  absl::StatusOr<std::vector<std::string>> topic_ids(const std::vector<std::string>& topics) override {
    ASSIGN_OR_RETURN(const Asker asker, asker_of(Isolation::committed));
    return kafka::topic_ids(asker.get(), topics);
  }

  absl::StatusOr<Watermarks> watermarks(const TopicPartition& place, Isolation isolation) override {
    ASSIGN_OR_RETURN(const int64_t low, offset(place, isolation, RD_KAFKA_OFFSET_BEGINNING));
    ASSIGN_OR_RETURN(const int64_t high, offset(place, isolation, RD_KAFKA_OFFSET_END));
    return Watermarks{.low = low, .high = high};
  }

  absl::StatusOr<int64_t> offset_at(const TopicPartition& place, int64_t timestamp_ms) override {
    ASSIGN_OR_RETURN(const int64_t at, offset(place, Isolation::committed, timestamp_ms));
    return std::max<int64_t>(at, -1);
  }

  absl::StatusOr<std::unique_ptr<TransactionalProducer>> producer(
      const TransactionalOptions& options) override {
    return library_producer(options_, options);
  }
  absl::StatusOr<std::unique_ptr<Consumer>> consumer(const ConsumerOptions& options) override {
    return library_consumer(options_, options);
  }
  absl::StatusOr<std::unique_ptr<Membership>> join(const MembershipOptions& options) override {
    return library_membership(options_, options);
  }

 private:
  // A client whose metadata are old keeps asking a dead leader. So it is replaced when a connection breaks or
  // a question fails: the new client looks for the leaders first.
  struct Questions {
    Client client;
    std::shared_ptr<std::atomic<bool>> broke = std::make_shared<std::atomic<bool>>(false);
  };
  using Asker = std::shared_ptr<rd_kafka_t>;

  // `time`: a time stamp, or RD_KAFKA_OFFSET_BEGINNING or _END. rd_kafka_query_watermark_offsets() would ask
  // for the latter two, but it has no time limit: while its metadata names a leader that died, it waits until
  // this broker is back.
  absl::StatusOr<int64_t> offset(const TopicPartition& place, Isolation isolation, int64_t time) {
    ASSIGN_OR_RETURN(const Asker asker, asker_of(isolation));
    const PartitionList list(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_t& answer =
        *rd_kafka_topic_partition_list_add(list.get(), place.topic.c_str(), place.partition);
    answer.offset = time;
    rd_kafka_resp_err_t code = rd_kafka_offsets_for_times(asker.get(), list.get(), kAskMs);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) code = answer.err;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return answer.offset;
    retire(isolation, asker);
    return error(fmt::format("cannot ask for the offsets of {}/{}", place.topic, place.partition), code);
  }

  static void connection_broke(rd_kafka_t*, int, const char*, void* broke) {
    *static_cast<std::atomic<bool>*>(broke) = true;
  }

  absl::StatusOr<Asker> asker_of(Isolation isolation) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Questions>& questions = questions_[isolation];
    if (questions) rd_kafka_poll(questions->client.get(), 0);
    if (!questions || *questions->broke) {
      questions = std::make_shared<Questions>();
      // The client has no group, so it needs no rights on one.
      ASSIGN_OR_RETURN(questions->client, make_consumer(options_,
                                                        {{"enable.auto.commit", "false"},
                                                         {"enable.auto.offset.store", "false"},
                                                         {"socket.timeout.ms", std::to_string(kAskMs)},
                                                         {"isolation.level", isolation == Isolation::committed
                                                                                 ? "read_committed"
                                                                                 : "read_uncommitted"}},
                                                        nullptr, questions->broke, connection_broke));
    }
    return Asker(questions, questions->client.get());
  }

  void retire(Isolation isolation, const Asker& asker) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Questions>& questions = questions_[isolation];
    if (questions && questions->client.get() == asker.get()) questions.reset();
  }

  const ClientOptions options_;
  std::mutex mutex_;
  std::map<Isolation, std::shared_ptr<Questions>> questions_;
};

}  // namespace

std::unique_ptr<Cluster> connect(ClientOptions options) {
  return std::make_unique<LibraryCluster>(std::move(options));
}

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kListener = 2s;
constexpr int kRefusals = 2;  // a single one may come from a broker that has just started

// What the library reported about failed connections.
struct Heard {
  int refused = 0;                          // authentication
  int untrusted = 0;                        // certificates
  std::map<std::string, std::string> last;  // by broker

  static void trouble(rd_kafka_t*, int code, const char* reason, void* opaque) {
    static_cast<Heard*>(opaque)->take(code, reason);
  }
  // Parses "ssl://host:9092/bootstrap: what happened (after 2ms in state CONNECT)".
  void take(int code, std::string_view reason) {
    if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) return;
    reason = reason.substr(0, reason.find(" (after "));
    const size_t scheme = reason.find("://");
    const size_t end = reason.find(": ", scheme == std::string_view::npos ? 0 : scheme);
    std::string broker;
    if (scheme != std::string_view::npos && end != std::string_view::npos) {
      broker = reason.substr(scheme + 3, end - scheme - 3);
      broker = broker.substr(0, broker.find('/'));
      reason = reason.substr(end + 2);
    }
    const bool authentication = code == RD_KAFKA_RESP_ERR__AUTHENTICATION;
    refused += authentication ? 1 : 0;
    const bool certificate = reason.find("certificate") != std::string_view::npos;
    untrusted += certificate ? 1 : 0;
    // A later report that the connection closed does not replace such a cause.
    if (authentication || certificate || refused + untrusted == 0) last[broker] = reason;
  }
  bool final() const { return refused >= kRefusals || untrusted >= kRefusals; }
};

// Version 2.6.1.
constexpr int kStrictNonce = 0x020601ff;

std::string refusal(const ClientOptions& options, const std::string& reason) {
  std::string out = reason;
  if (sasl_mechanism(options).starts_with("SCRAM-") && rd_kafka_version() < kStrictNonce) {
    out += fmt::format(
        "\n  Brokers of Kafka 4 refuse {} of librdkafka before 2.6.1 with this message, even if the password "
        "is right, and this is {}: use PLAIN over TLS, or a newer librdkafka",
        sasl_mechanism(options), library_version());
  }
  return out;
}

// What listens at the configured addresses. The library can only guess this.
struct Listeners {
  std::vector<std::string> wrong, away;
  size_t all = 0;
  bool clear() const { return !wrong.empty() || away.size() == all; }
};

Listeners ask_listeners(const ClientOptions& options) {
  Listeners out;
  const absl::StatusOr<std::vector<std::string>> addresses = split_brokers(options.brokers);
  if (!addresses.ok()) {
    out.wrong.emplace_back(addresses.status().message());
    return out;
  }
  out.all = addresses->size();
  const std::string protocol = security_protocol(options);
  const bool encrypts = protocol.ends_with("SSL");
  for (const std::string& address : *addresses) {
    const absl::StatusOr<Speaks> speaks = ask_listener(address, kListener);
    if (!speaks.ok()) {
      out.away.emplace_back(speaks.status().message());
    } else if (*speaks == Speaks::tls && !encrypts) {
      out.wrong.push_back(
          fmt::format("{} speaks TLS, and security.protocol is {}, which is plain text: set "
                      "kafka.properties.security.protocol to {}",
                      address, protocol, protocol == "PLAINTEXT" ? "SSL or SASL_SSL" : "SASL_SSL"));
    } else if (*speaks == Speaks::plain && encrypts) {
      out.wrong.push_back(
          fmt::format("{} speaks plain text, and security.protocol is {}, which is TLS: name the port of a "
                      "listener with TLS, or set kafka.properties.security.protocol to {}",
                      address, protocol, protocol == "SSL" ? "PLAINTEXT" : "SASL_PLAINTEXT"));
    }
  }
  return out;
}

std::string said_by(const std::string& broker, const std::string& reason) {
  return broker.empty() ? reason : fmt::format("{}: {}", broker, reason);
}

absl::Status explain(const ClientOptions& options, const Heard& heard, const Listeners& listeners) {
  std::vector<std::string> wrong = listeners.wrong, away = listeners.away;
  for (const auto& [broker, reason] : heard.last) {
    const std::string line = said_by(broker, reason);
    if (heard.refused > 0) {
      wrong.push_back(refusal(options, line));
    } else if (heard.untrusted > 0) {
      wrong.push_back(line);
    }
  }
  if (!wrong.empty()) return invalid("kafka: " + absl::StrJoin(wrong, "\nkafka: "));
  if (away.empty())
    for (const auto& [broker, reason] : heard.last) away.push_back(said_by(broker, reason));
  if (away.empty()) away.push_back(options.brokers + ": no answer");
  return absl::UnavailableError("kafka: " + absl::StrJoin(away, "\nkafka: "));
}

}  // namespace

Reached try_brokers(const ClientOptions& options, std::chrono::milliseconds patience,
                    const std::function<bool()>& stop) {
  Reached out;
  const auto heard_by_callback = std::make_shared<Heard>();
  Heard& heard = *heard_by_callback;
  absl::StatusOr<Client> client = make_consumer(
      options, {{"enable.auto.commit", "false"}, {"log_level", "0"}, {"reconnect.backoff.max.ms", "250"}},
      nullptr, heard_by_callback, Heard::trouble);
  if (!client.ok()) {
    out.status = client.status();
    return out;
  }
  const Clock::time_point deadline = Clock::now() + patience;
  std::optional<Listeners> listeners;
  MetadataAnswer metadata;
  while (metadata == nullptr) {
    const rd_kafka_metadata_t* got = nullptr;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    const auto wait = std::clamp<std::chrono::milliseconds>(left, 1ms, 500ms);
    rd_kafka_metadata(client->get(), 0, nullptr, &got, static_cast<int>(wait.count()));
    metadata.reset(got);
    rd_kafka_poll(client->get(), 0);
    if (metadata != nullptr) break;
    if (!listeners && !heard.last.empty()) listeners = ask_listeners(options);
    const bool clear = heard.final() || (listeners && listeners->clear());
    if (clear || Clock::now() > deadline || stop()) {
      out.status = explain(options, heard, listeners.value_or(Listeners{}));
      return out;
    }
  }
  out.brokers = metadata->broker_cnt;
  for (int i = 0; i < metadata->broker_cnt; ++i) {
    const rd_kafka_metadata_broker_t& broker = metadata->brokers[i];
    const std::string host = broker.host;
    const bool six = host.find(':') != std::string::npos && !host.starts_with('[');
    const absl::Status reached =
        reach(fmt::format("{}{}{}:{}", six ? "[" : "", host, six ? "]" : "", broker.port), kListener);
    if (!reached.ok())
      out.notes.push_back(fmt::format("broker {}: {}; this address comes from its advertised.listeners",
                                      broker.id, std_sv(reached.message())));
  }
  return out;
}

namespace {

constexpr std::string_view kProtocols[] = {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"};

// ApiVersions, version 0, which every broker answers before authentication: size, API key 18, version,
// correlation id, client id.
constexpr std::string_view kCorrelation("dplq", 4);
constexpr std::string_view kAskVersions("\0\0\0\x10\0\x12\0\0dplq\0\6doppel", 20);
// A TLS 1.2 ClientHello with one cipher and no extensions. A TLS listener answers with a hello or an alert.
constexpr std::string_view kHello(
    "\x16\3\1\0\x2d\1\0\0\x29\3\3"
    "doppel asks which protocol is he"
    "\0\0\2\xc0\x2f\1\0",
    50);

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  Socket& operator=(Socket&&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

using Deadline = std::chrono::steady_clock::time_point;

bool await(int fd, short what, Deadline deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  pollfd waiting{.fd = fd, .events = what, .revents = 0};
  return ::poll(&waiting, 1, static_cast<int>(std::max<int64_t>(0, left.count()))) == 1;
}

absl::Status away(const std::string& address, std::string_view why) {
  return absl::UnavailableError(fmt::format("{} cannot be reached: {}", address, why));
}

struct FreeList {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

absl::StatusOr<Socket> connect_to(const std::string& address, Deadline deadline) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &wanted, &found);
  if (failed != 0) return away(address, fmt::format("{}: {}", host, ::gai_strerror(failed)));
  const std::unique_ptr<addrinfo, FreeList> list(found);
  int error = 0;
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.fd() < 0) {
      error = errno;
      continue;
    }
    if (::connect(socket.fd(), at->ai_addr, at->ai_addrlen) == 0) return socket;
    error = errno;
    if (error != EINPROGRESS) continue;
    socklen_t size = sizeof error;
    if (!await(socket.fd(), POLLOUT, deadline)) {
      error = ETIMEDOUT;
    } else if (::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) {
      return socket;
    }
  }
  return away(address, std::strerror(error));
}

// Returns the first `size` bytes of the answer, or fewer if the other side sends no more before the deadline.
std::string answer_to(const Socket& socket, std::string_view question, size_t size, Deadline deadline) {
  std::string out;
  if (::send(socket.fd(), question.data(), question.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(question.size()))
    return out;
  while (out.size() < size && await(socket.fd(), POLLIN, deadline)) {
    std::array<char, 64> bytes{};
    const ssize_t n = ::recv(socket.fd(), bytes.data(), std::min(bytes.size(), size - out.size()), 0);
    if (n <= 0) break;
    out.append(bytes.data(), static_cast<size_t>(n));
  }
  return out;
}

bool is_tls(std::string_view answer) {
  return answer.size() >= 2 && (answer[0] == 0x15 || answer[0] == 0x16) && answer[1] == 3;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> split_brokers(std::string_view brokers) {
  std::vector<std::string> out;
  for (const absl::string_view part : absl::StrSplit(absl_sv(brokers), ',')) {
    std::string address(absl::StripAsciiWhitespace(part));
    if (address.empty()) continue;
    const std::string as_written = address;
    const auto wrong = [&](std::string_view why) {
      return invalid(fmt::format("kafka.brokers: {} {}; a broker is host:port, such as localhost:9092",
                                 as_written, why));
    };
    if (const size_t scheme = address.find("://"); scheme != std::string::npos) {
      const std::string protocol = absl::AsciiStrToUpper(address.substr(0, scheme));
      if (std::find(std::begin(kProtocols), std::end(kProtocols), protocol) == std::end(kProtocols))
        return wrong("is a URL");
      address = address.substr(scheme + 3);
    }
    if (address.find_first_of("/@? \t") != std::string::npos) return wrong("is not an address");
    const bool bracket = address.starts_with('[');
    const size_t end = bracket ? address.find(']') : address.find(':');
    if (bracket && end == std::string::npos) return wrong("lacks a ]");
    if (!bracket && end != std::string::npos && address.find(':', end + 1) != std::string::npos)
      return wrong("is an IPv6 address without [ ]");
    const size_t colon = bracket ? end + 1 : std::min(end, address.size());
    if (colon == 0) return wrong("has no host");
    if (colon >= address.size()) {
      address += ":9092";
    } else {
      const std::string port = address.substr(colon + 1);
      if (address[colon] != ':' || port.empty() || port.size() > 5 ||
          port.find_first_not_of("0123456789") != std::string::npos || std::stoi(port) > 65535 ||
          std::stoi(port) == 0)
        return wrong("has no valid port");
    }
    out.push_back(std::move(address));
  }
  if (out.empty())
    return invalid("kafka.brokers: names no broker; a broker is host:port, such as localhost:9092");
  return out;
}

absl::Status reach(const std::string& address, std::chrono::milliseconds patience) {
  return connect_to(address, std::chrono::steady_clock::now() + patience).status();
}

absl::StatusOr<Speaks> ask_listener(const std::string& address, std::chrono::milliseconds patience) {
  const Deadline deadline = std::chrono::steady_clock::now() + patience;
  ASSIGN_OR_RETURN(const Socket plain, connect_to(address, deadline));
  const std::string answer = answer_to(plain, kAskVersions, 8, deadline);
  if (answer.size() == 8 && answer.substr(4) == kCorrelation) return Speaks::plain;
  if (is_tls(answer)) return Speaks::tls;
  const Deadline again = std::chrono::steady_clock::now() + patience;
  ASSIGN_OR_RETURN(const Socket encrypted, connect_to(address, again));
  return is_tls(answer_to(encrypted, kHello, 2, again)) ? Speaks::tls : Speaks::neither;
}

}  // namespace doppel::kafka
