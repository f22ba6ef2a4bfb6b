#pragma once
// Everything that one transaction publishes, encoded, with the input that it covers. The sink fills it before
// the transaction begins. It is kept until readers see it, so that the same bytes can be sent again.

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
    int32_t partition = -1;  // -1: chosen by the key
    std::optional<Span> key, value;
    uint32_t headers_begin = 0, headers_end = 0;
    int64_t timestamp_ms = 0;  // 0: now

    // Partition and offset of the last attempt to send it. Offset -1: not known to be stored.
    int32_t stored_in = -1;
    int64_t offset = -1;
    bool seen = false;     // readers see it: it is committed
    bool refused = false;  // it was larger than its topic accepts
  };

  Outbox() = default;
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;
  void swap(Outbox& other) noexcept;

  void clear();

  // The memory that all Spans refer to. Append to it directly, then take span_since(size before), or use
  // put().
  std::string& bytes() { return bytes_; }
  Span put(std::string_view bytes);
  Span span_since(size_t at) const { return {at, bytes_.size() - at}; }
  std::string_view view(Span span) const { return std::string_view(bytes_).substr(span.begin, span.size); }

  // Headers belong to the next message that is added.
  void header(std::string_view name, std::optional<std::string_view> value);
  void headers(std::span<const Header> headers);
  void forget_headers() { headers_.resize(headers_taken_); }
  Message& add(const std::string& topic, std::optional<Span> key, std::optional<Span> value);
  // Adds a record of the index log that is already encoded in bytes().
  void add_log(const std::string& topic, LogPlace place);
  // Appends the record that ends the batch in the log and contains its number of records.
  void seal(const std::string& index_log);

  // For a batch that was encoded a second time: messages that are equal to a seen message of `before` become
  // seen, with its offset.
  void take_seen(const Outbox& before);

  // The size of key, value and headers together.
  size_t bytes_of(const Message& message) const;

  const std::vector<Message>& messages() const { return messages_; }
  std::vector<Message>& messages() { return messages_; }
  const std::vector<HeaderSpan>& all_headers() const { return headers_; }

  std::vector<LogProgress> progress;  // of the partitions that advanced

 private:
  std::string text_of(const Message& message) const;

  std::string bytes_;
  std::vector<Message> messages_;
  std::vector<HeaderSpan> headers_;
  uint32_t headers_taken_ = 0;
  std::deque<std::string> topics_;  // names that messages point to; growth does not move a deque's elements
};

}  // namespace doppel::kafka
