#include "kafka/outbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

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
  std::optional<Span> value;
  if (place.end > place.value) value = Span{place.value, place.end - place.value};
  add(topic, Span{place.key, place.value - place.key}, value).partition = 0;
}

void Outbox::seal(const std::string& index_log) {
  const auto records = std::count_if(messages_.begin(), messages_.end(),
                                     [&](const Message& m) { return *m.topic == index_log; });
  if (records == 0) return;
  add_log(index_log, put_log_batch(bytes_, {.records = static_cast<uint64_t>(records) + 1}));
}

// Everything that a reader sees of the message, for comparison.
std::string Outbox::text_of(const Message& m) const {
  std::string out = *m.topic;
  const auto add = [&](const std::optional<Span>& span) {
    out.append(span ? fmt::format("\n{} ", span->size) : "\n- ");
    if (span) out.append(view(*span));
  };
  out.append(fmt::format(" {}", m.partition));
  add(m.key);
  add(m.value);
  for (uint32_t h = m.headers_begin; h < m.headers_end; ++h) {
    add(headers_[h].name);
    add(headers_[h].value);
  }
  return out;
}

void Outbox::take_seen(const Outbox& before) {
  std::multimap<std::string, const Message*> seen;
  for (const Message& m : before.messages_)
    if (m.seen) seen.emplace(before.text_of(m), &m);
  if (seen.empty()) return;
  for (Message& m : messages_) {
    const auto found = seen.find(text_of(m));
    if (found == seen.end()) continue;
    m.seen = true;
    m.offset = found->second->offset;
    m.stored_in = found->second->stored_in;
    seen.erase(found);
  }
}

size_t Outbox::bytes_of(const Message& m) const {
  size_t bytes = (m.key ? m.key->size : 0) + (m.value ? m.value->size : 0);
  for (uint32_t h = m.headers_begin; h < m.headers_end; ++h)
    bytes += headers_[h].name.size + (headers_[h].value ? headers_[h].value->size : 0);
  return bytes;
}

}  // namespace doppel::kafka
