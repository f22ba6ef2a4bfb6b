#include "stream/kafka/outbox.h"

#include <algorithm>

namespace doppel::kafka {

void Outbox::clear() {
  bytes_.clear();
  messages_.clear();
  headers_.clear();
  headers_taken_ = 0;
  progress.clear();
}

void Outbox::swap(Outbox& other) noexcept {
  bytes_.swap(other.bytes_);
  messages_.swap(other.messages_);
  headers_.swap(other.headers_);
  std::swap(headers_taken_, other.headers_taken_);
  topics_.swap(other.topics_);
  progress.swap(other.progress);
}

Outbox::Span Outbox::put(std::string_view bytes) {
  const size_t at = bytes_.size();
  bytes_.append(bytes);
  return {at, bytes.size()};
}

void Outbox::header(std::string_view name, std::optional<std::string_view> value) {
  HeaderSpan header{.name = put(name)};
  if (value) header.value = put(*value);
  headers_.push_back(header);
}

void Outbox::headers(std::span<const Header> headers) {
  for (const Header& h : headers) header(h.name, h.value);
}

Outbox::Message& Outbox::add(const std::string& topic, std::optional<Span> key, std::optional<Span> value) {
  auto known = std::find(topics_.begin(), topics_.end(), topic);
  if (known == topics_.end()) known = topics_.insert(topics_.end(), topic);
  Message& message = messages_.emplace_back();
  message.topic = &*known;
  message.key = key;
  message.value = value;
  message.headers_begin = headers_taken_;
  message.headers_end = headers_taken_ = static_cast<uint32_t>(headers_.size());
  return message;
}

void Outbox::add_log(const std::string& topic, LogPlace place) {
  add(topic, Span{place.key, place.value - place.key}, Span{place.value, place.end - place.value}).partition =
      0;
}

}  // namespace doppel::kafka
