#pragma once
// An index log as a file: key, whether there is a value, value, one record after the other.

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "commands/run_doppel.h"
#include "kafka/client.h"

namespace doppel::testing {

inline std::string encode_log(const std::vector<Message>& log) {
  std::string out;
  for (const Message& m : log) {
    put_string(out, m.key.value_or(""));
    put_varint(out, m.value.has_value() ? 1 : 0);
    put_string(out, m.value.value_or(""));
  }
  return out;
}

inline Message take_message(ByteReader& in) {
  Message m;
  m.key = in.string();
  const bool has_value = in.varint() != 0;
  const std::string value(in.string());
  if (has_value) m.value = value;
  return m;
}

inline std::vector<Message> decode_log(const std::string& bytes) {
  std::vector<Message> out;
  ByteReader in(bytes);
  while (in.ok() && !in.rest().empty()) out.push_back(take_message(in));
  if (!in.ok()) throw std::runtime_error("the fixture is damaged");
  return out;
}

// A topic as a file: partition, offset and timestamp of each record before it.
inline std::string encode_topic(const std::vector<Message>& records) {
  std::string out;
  for (const Message& m : records) {
    put_varint(out, static_cast<uint64_t>(m.partition));
    put_varint(out, static_cast<uint64_t>(m.offset));
    put_varint(out, static_cast<uint64_t>(m.timestamp_ms));
    put_varint(out, m.key.has_value() ? 1 : 0);
    out += encode_log({m});
  }
  return out;
}

inline std::vector<Message> decode_topic(const std::string& bytes) {
  std::vector<Message> out;
  ByteReader in(bytes);
  while (in.ok() && !in.rest().empty()) {
    const auto partition = static_cast<int32_t>(in.varint());
    const auto offset = static_cast<int64_t>(in.varint());
    const auto timestamp_ms = static_cast<int64_t>(in.varint());
    const bool has_key = in.varint() != 0;
    Message m = take_message(in);
    if (!has_key) m.key.reset();
    m.partition = partition;
    m.offset = offset;
    m.timestamp_ms = timestamp_ms;
    out.push_back(std::move(m));
  }
  if (!in.ok()) throw std::runtime_error("the fixture is damaged");
  return out;
}

// Returns the checksum that doppel inspect prints.
inline std::string index_checksum(const std::string& state) {
  const Ran ran = run_doppel(fmt::format("inspect --json '{}'", state));
  const size_t at = ran.out.find("\"index_checksum\":\"");
  return at == std::string::npos ? ran.err : ran.out.substr(at + 18, ran.out.find('"', at + 18) - at - 18);
}

}  // namespace doppel::testing
