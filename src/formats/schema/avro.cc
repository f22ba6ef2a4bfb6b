// Decodes in one pass over the bytes, guided by the nodes of the schema. Allocates only the JSON, and checks
// its size after each value. So the lengths and counts in a broken record cost no more than a good record
// may.

#include "formats/schema/avro.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/reason.h"
#include "base/status.h"
#include "base/strings.h"
#include "formats/decoder.h"
#include "formats/schema/avro_schema.h"

namespace doppel {
namespace {

using avro::Logical, avro::Node, avro::Type;

constexpr int kMostDepth = 200;
constexpr size_t kMostPath = 200;  // of the path in a message

class Reader {
 public:
  Reader(const avro::Schema& schema, std::string_view data, std::string& out)
      : nodes_(schema.nodes),
        all_(data.size()),
        left_(data),
        out_(out),
        limit_(out.size() + most_json(data.size())) {}

  absl::Status read(uint32_t root) {
    const size_t begin = out_.size();
    if (value(root, 0)) {
      if (!left_.empty()) {
        fail(fmt::format("bytes are left after the record ({}); it was written with another schema",
                         left_.size()));
      } else if (out_[begin] != '{') {
        fail("the value is neither a record nor a map");
      } else {
        return absl::OkStatus();
      }
    }
    if (wrong_ == kTooLarge)
      return rejected(Reason::too_large,
                      fmt::format(": the record has more than {} bytes as JSON", most_json(all_)));
    std::string path;
    for (auto step = steps_.rbegin(); step != steps_.rend() && path.size() < kMostPath; ++step)
      path += "/" + *step;
    return rejected(Reason::avro, fmt::format(": byte {}{}{}: {}", all_ - left_.size(),
                                              path.empty() ? "" : ", ", path, wrong_));
  }

 private:
  static constexpr std::string_view kTooLarge = "too large";

  bool fail(std::string what) {
    wrong_ = std::move(what);
    return false;
  }
  bool fail_below(std::string step) {
    steps_.push_back(std::move(step));
    return false;
  }

  bool value(uint32_t at, int depth) {
    if (depth > kMostDepth) return fail(fmt::format("values are nested more than {} deep", kMostDepth));
    if (!written(nodes_[at], depth)) return false;
    if (out_.size() > limit_) return fail(std::string(kTooLarge));
    return true;
  }

  bool written(const Node& node, int depth) {
    switch (node.type) {
      case Type::null:
        out_ += "null";
        return true;
      case Type::boolean:
        return boolean();
      case Type::int32:
      case Type::int64:
        return integer(node);
      case Type::float32:
        return real<float>();
      case Type::float64:
        return real<double>();
      case Type::string:
        return string();
      case Type::bytes: {
        std::string_view bytes;
        if (!take_block(bytes)) return false;
        binary(node, bytes);
        return true;
      }
      case Type::fixed: {
        std::string_view bytes;
        if (!take(node.size, bytes)) return false;
        binary(node, bytes);
        return true;
      }
      case Type::record:
        return record(node, depth);
      case Type::enumeration:
        return enumeration(node);
      case Type::array:
        return blocks(node.children[0], false, depth);
      case Type::map:
        return blocks(node.children[0], true, depth);
      case Type::choice:
        return choice(node, depth);
    }
    return fail("an unknown type");
  }

  bool boolean() {
    std::string_view byte;
    if (!take(1, byte)) return false;
    if (byte[0] != 0 && byte[0] != 1) return fail("a boolean is neither 0 nor 1");
    out_ += byte[0] != 0 ? "true" : "false";
    return true;
  }

  // Reads a number in zigzag code.
  bool number(int64_t& out) {
    uint64_t bits = 0;
    for (size_t i = 0; i < left_.size() && i < 10; ++i) {
      const auto byte = static_cast<uint8_t>(left_[i]);
      if (i == 9 && byte > 1) break;
      bits |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        left_.remove_prefix(i + 1);
        out = static_cast<int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
        return true;
      }
    }
    return fail(left_.size() < 10 ? "the record ends within a number" : "a number has more than 64 bits");
  }

  bool integer(const Node& node) {
    int64_t value = 0;
    if (!number(value)) return false;
    if (node.type == Type::int32 && (value < INT32_MIN || value > INT32_MAX))
      return fail("an int has more than 32 bits");
    switch (node.logical) {
      case Logical::date:
        append_json_date(out_, value);
        return true;
      case Logical::time:
        append_json_time_of_day(out_, value, node.per_second);
        return true;
      case Logical::timestamp:
      case Logical::local_timestamp:
        append_json_timestamp(out_, value, node.per_second, node.logical == Logical::timestamp);
        return true;
      default:
        append_json_integer(out_, value);
        return true;
    }
  }

  template <typename Real>
  bool real() {
    std::string_view bytes;
    if (!take(sizeof(Real), bytes)) return false;
    append_json_real(out_, load<Real>(bytes.data()));
    return true;
  }

  bool string() {
    std::string_view text;
    if (!take_block(text)) return false;
    if (!simdjson::validate_utf8(text.data(), text.size())) return fail("a string is not UTF-8");
    append_json_bytes(out_, text);
    return true;
  }

  void binary(const Node& node, std::string_view bytes) {
    if (node.logical == Logical::uuid) return append_json_uuid(out_, bytes);
    if (node.logical == Logical::decimal && append_json_decimal(out_, bytes, node.scale)) return;
    append_json_base64(out_, bytes);
  }

  bool record(const Node& node, int depth) {
    out_ += '{';
    for (size_t i = 0; i < node.children.size(); ++i) {
      if (i > 0) out_ += ',';
      out_ += node.names[i];
      if (!value(node.children[i], depth + 1)) return fail_below(node.plain_names[i]);
    }
    out_ += '}';
    return true;
  }

  bool enumeration(const Node& node) {
    int64_t which = 0;
    if (!number(which)) return false;
    if (which < 0 || static_cast<uint64_t>(which) >= node.names.size())
      return fail(fmt::format("symbol {} of an enum with {}", which, node.names.size()));
    out_ += node.names[static_cast<size_t>(which)];
    return true;
  }

  bool choice(const Node& node, int depth) {
    int64_t which = 0;
    if (!number(which)) return false;
    if (which < 0 || static_cast<uint64_t>(which) >= node.children.size())
      return fail(fmt::format("branch {} of a union with {}", which, node.children.size()));
    return value(node.children[static_cast<size_t>(which)], depth + 1);
  }

  // Reads an array or a map: blocks of values, each with its count, up to a block without values.
  bool blocks(uint32_t child, bool keyed, int depth) {
    out_ += keyed ? '{' : '[';
    uint64_t values = 0;
    while (true) {
      int64_t count = 0;
      if (!number(count)) return false;
      if (count == 0) break;
      if (count < 0) {
        int64_t bytes = 0;  // size of the block, which only a reader that skips it needs
        if (count == std::numeric_limits<int64_t>::min()) return fail("an impossible count of values");
        if (!number(bytes)) return false;
        count = -count;
      }
      for (int64_t i = 0; i < count; ++i, ++values) {
        if (values > 0) out_ += ',';
        std::string_view key;
        if (keyed) {
          if (!take_block(key)) return false;
          if (!simdjson::validate_utf8(key.data(), key.size())) return fail("a key of a map is not UTF-8");
          append_json_bytes(out_, key);
          out_ += ':';
        }
        if (!value(child, depth + 1))
          return fail_below(keyed ? std::string(key.substr(0, kMostPath)) : std::to_string(values));
      }
    }
    out_ += keyed ? '}' : ']';
    return true;
  }

  bool take(uint64_t size, std::string_view& out) {
    if (size > left_.size())
      return fail(fmt::format("a value of {} bytes where {} are left", size, left_.size()));
    out = left_.substr(0, size);
    left_.remove_prefix(size);
    return true;
  }

  bool take_block(std::string_view& out) {
    int64_t size = 0;
    if (!number(size)) return false;
    if (size < 0) return fail("a value of less than 0 bytes");
    return take(static_cast<uint64_t>(size), out);
  }

  const std::vector<Node>& nodes_;
  const size_t all_;
  std::string_view left_;
  std::string& out_;
  const size_t limit_;
  std::string wrong_;
  std::vector<std::string> steps_;  // the path of the value that failed, innermost step first
};

class AvroSchema final : public RecordSchema {
 public:
  explicit AvroSchema(avro::Schema schema) : schema_(std::move(schema)) {}
  absl::Status to_json(std::string_view data, std::string& out) const override {
    return Reader(schema_, data, out).read(schema_.root);
  }

 private:
  const avro::Schema schema_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const RecordSchema>> make_avro_schema(
    std::span<const std::string_view> definitions) {
  ASSIGN_OR_RETURN(avro::Schema schema, avro::parse_schema(definitions));
  return std::make_shared<AvroSchema>(std::move(schema));
}

namespace {

constexpr int64_t kDay = 86'400;
constexpr int64_t kFirstSecond = -62'135'596'800, kLastSecond = 253'402'300'799;  // years 1 to 9999
constexpr size_t kMostDecimal = 64;                                               // bytes
constexpr uint32_t kMostScale = 1000;

template <typename Real>
void append_real(std::string& out, Real value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out), "{}", value);
  } else {
    out += std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  }
}

// Quotient and remainder, rounded down.
std::pair<int64_t, int64_t> parts(int64_t value, int64_t by) {
  const int64_t rest = (value % by + by) % by;
  return {value / by - (value % by < 0 ? 1 : 0), rest};
}

int digits_of(uint32_t per_second) { return per_second == 1000 ? 3 : per_second == 1'000'000 ? 6 : 9; }

}  // namespace

void append_json_integer(std::string& out, int64_t value) {
  const fmt::format_int text(value);
  out.append(text.data(), text.size());
}

void append_json_real(std::string& out, float value) { append_real(out, value); }
void append_json_real(std::string& out, double value) { append_real(out, value); }

void append_json_base64(std::string& out, std::string_view bytes) {
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  out += "{\"base64\":\"";
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t some = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < some ? static_cast<uint8_t>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k) out += k <= some ? kAlphabet[group >> (18 - 6 * k) & 63] : '=';
  }
  out += "\"}";
}

void append_json_date(std::string& out, int64_t days) {
  if (days < kFirstSecond / kDay || days > kLastSecond / kDay) return append_json_integer(out, days);
  out += '"';
  out.append(format_time(days * kDay * 1000), 0, 10);
  out += '"';
}

void append_json_time_of_day(std::string& out, int64_t value, uint32_t per_second) {
  const auto [seconds, rest] = parts(value, per_second);
  if (seconds < 0 || seconds >= kDay) return append_json_integer(out, value);
  fmt::format_to(std::back_inserter(out), "\"{:02}:{:02}:{:02}.{:0{}}\"", seconds / 3600, seconds / 60 % 60,
                 seconds % 60, rest, digits_of(per_second));
}

void append_json_timestamp(std::string& out, int64_t value, uint32_t per_second, bool utc) {
  const auto [seconds, rest] = parts(value, per_second);
  if (seconds < kFirstSecond || seconds > kLastSecond) return append_json_integer(out, value);
  std::string text = format_time(seconds * 1000);
  text.pop_back();
  fmt::format_to(std::back_inserter(out), "\"{}.{:0{}}{}\"", text, rest, digits_of(per_second),
                 utc ? "Z" : "");
}

void append_json_uuid(std::string& out, std::string_view bytes) {
  out += '"';
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<uint8_t>(bytes[i]));
  }
  out += '"';
}

bool append_json_decimal(std::string& out, std::string_view bytes, uint32_t scale) {
  if (bytes.size() > kMostDecimal || scale > kMostScale) return false;
  const bool negative = !bytes.empty() && (static_cast<uint8_t>(bytes[0]) & 0x80) != 0;
  std::vector<uint8_t> rest(bytes.begin(), bytes.end());
  if (negative) {
    unsigned carry = 1;
    for (size_t i = rest.size(); i-- > 0;) {
      const unsigned sum = (~rest[i] & 0xffU) + carry;
      rest[i] = static_cast<uint8_t>(sum);
      carry = sum >> 8;
    }
  }
  std::string digits;  // the last one first
  while (std::any_of(rest.begin(), rest.end(), [](uint8_t byte) { return byte != 0; })) {
    unsigned remainder = 0;
    for (uint8_t& byte : rest) {
      const unsigned part = remainder << 8 | byte;
      byte = static_cast<uint8_t>(part / 10);
      remainder = part % 10;
    }
    digits += static_cast<char>('0' + remainder);
  }
  while (digits.size() <= scale) digits += '0';
  if (scale > 0) digits.insert(scale, ".");
  if (negative) digits += '-';
  out += '"';
  out.append(digits.rbegin(), digits.rend());
  out += '"';
  return true;
}

}  // namespace doppel
