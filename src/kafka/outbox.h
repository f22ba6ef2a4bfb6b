#pragma once
// Everything that one transaction publishes, encoded, with the input that it covers. It is made before the
// transaction begins and kept until readers see it, so that the same bytes can be sent again.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/record.h"
#include "state/index_log.h"

namespace doppel::kafka {

class Outbox {
 public:
  struct Span {
    size_t begin = 0, size = 0;
  };
  struct HeaderSpan {
    Span name;
    std::optional<Span> value;
  };
  struct Message {
    const std::string* topic = nullptr;
    int32_t partition = -1;  // -1: by the key
    std::optional<Span> key, value;
    uint32_t headers_begin = 0, headers_end = 0;
    int64_t timestamp_ms = 0;  // 0: now

    // Where it was stored when it was sent last; offset -1: nowhere, as far as is known.
    int32_t stored_in = -1;
    int64_t offset = -1;
    bool seen = false;     // by readers: it is committed
    bool refused = false;  // it was larger than its topic takes
  };

  Outbox() = default;
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;
  void swap(Outbox& other) noexcept;

  void clear();

  // What is to be copied may be appended to bytes() and named by a Span; span_since(at) is what came after
  // `at`.
  std::string& bytes() { return bytes_; }
  Span put(std::string_view bytes);
  Span span_since(size_t at) const { return {at, bytes_.size() - at}; }
  std::string_view view(Span span) const { return std::string_view(bytes_).substr(span.begin, span.size); }

  // Headers that are added belong to the next message.
  void header(std::string_view name, std::optional<std::string_view> value);
  void headers(std::span<const Header> headers);
  void forget_headers() { headers_.resize(headers_taken_); }
  Message& add(const std::string& topic, std::optional<Span> key, std::optional<Span> value);
  // A record of the index log.
  void add_log(const std::string& topic, LogPlace place);
  // Ends the batch in the log: its last record says how many there are.
  void seal(const std::string& index_log);

  // Messages that are the same in `before`, and seen there, are seen here, too: this batch was made again.
  void take_seen(const Outbox& before);

  // Of key, value and headers together.
  size_t bytes_of(const Message& message) const;

  const std::vector<Message>& messages() const { return messages_; }
  std::vector<Message>& messages() { return messages_; }
  const std::vector<HeaderSpan>& all_headers() const { return headers_; }

  std::vector<LogProgress> progress;  // of the partitions that moved

 private:
  std::string text_of(const Message& message) const;

  std::string bytes_;
  std::vector<Message> messages_;
  std::vector<HeaderSpan> headers_;
  uint32_t headers_taken_ = 0;
  std::deque<std::string> topics_;  // that messages name; a deque's strings stay where they are
};

}  // namespace doppel::kafka
