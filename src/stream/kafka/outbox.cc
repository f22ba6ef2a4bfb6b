#include "stream/kafka/outbox.h"

namespace doppel::kafka {

void Outbox::clear() {
  bytes_.clear();
  messages_.clear();
  headers_.clear();
  headers_taken_ = 0;
  progress.clear();
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
  Message& message = messages_.emplace_back();
  message.topic = &topic;
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
