#include "engine/signed_record.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/container/flat_hash_map.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/checksums.h"
#include "base/reason.h"
#include "base/status.h"
#include "sketch/compact_set.h"

namespace doppel {
namespace {

constexpr uint16_t kStored = 0x8000;
static_assert(kPrintBits <= 47);

int bits_of_ranks(const CompactSet& set) { return std::bit_width(set.values.size() - 1); }

}  // namespace

void put_signed_prints(std::string& out, const SignedDocument& document) {
  thread_local CompactSet set;
  const absl::Status decoded = decode_compact_set(document.coded_set, set);
  DOPPEL_CHECK(decoded.ok() && !set.values.empty(), "prints are of a text whose set was coded",
               document.coded_set.size());
  put_varint(out, document.tops.size());
  const int bits = bits_of_ranks(set);
  uint64_t waiting = 0;
  int count = 0;
  for (const uint32_t top : document.tops) {
    const uint32_t value = top >> (32 - set.bits);
    const auto at = std::lower_bound(set.values.begin(), set.values.end(), value);
    waiting |= static_cast<uint64_t>(at - set.values.begin()) << count;
    for (count += bits; count >= 8; count -= 8) {
      out.push_back(static_cast<char>(waiting));
      waiting >>= 8;
    }
  }
  if (count > 0) out.push_back(static_cast<char>(waiting));
  put_varint(out, document.prints.size());
  uint32_t before = 0;
  for (const Print& print : document.prints) {
    put_varint(out, print.position - before);
    before = print.position;
    put_fixed(out, static_cast<uint32_t>(print.key));
    put_fixed(out, static_cast<uint16_t>(print.key >> 32 | (print.stored ? kStored : 0)));
  }
}

absl::Status take_signed_prints(std::string_view bytes, SignedDocument& document) {
  const auto impossible = [] {
    return rejected(Reason::bad_signed_record, " with prints that do not fit to its set");
  };
  thread_local CompactSet set;
  if (!decode_compact_set(document.coded_set, set).ok() || set.values.empty()) return impossible();
  ByteReader in(bytes);
  const uint64_t n = in.varint();
  const auto bits = static_cast<uint64_t>(bits_of_ranks(set));
  // If the set has one value, a rank takes no bits. So this limit bounds the number of shingles.
  constexpr uint64_t kShinglesMost = uint64_t{1} << 26;
  if (!in.ok() || n > kShinglesMost || n * bits > 8 * in.rest().size()) return impossible();
  const std::string_view ranks = in.rest().substr(0, (n * bits + 7) / 8);
  document.tops.resize(n);
  uint64_t waiting = 0;
  uint64_t count = 0;
  size_t next = 0;
  for (uint64_t i = 0; i < n; ++i) {
    for (; count < bits; count += 8) waiting |= uint64_t{static_cast<uint8_t>(ranks[next++])} << count;
    const uint64_t rank = waiting & ((uint64_t{1} << bits) - 1);
    waiting >>= bits;
    count -= bits;
    if (rank >= set.values.size()) return impossible();
    document.tops[i] = set.values[rank] << (32 - set.bits);
  }
  ByteReader rest(in.rest().substr(ranks.size()));
  const uint64_t prints = rest.varint();
  if (!rest.ok() || prints > n) return impossible();
  absl::flat_hash_map<uint64_t, uint32_t> numbers;
  uint64_t position = 0;
  document.prints.clear();
  for (uint64_t i = 0; i < prints; ++i) {
    const uint64_t step = rest.varint();
    position += step;
    const uint64_t low = rest.fixed<uint32_t>();
    const auto high = rest.fixed<uint16_t>();
    const uint64_t key = low | uint64_t{static_cast<uint16_t>(high & ~kStored)} << 32;
    if (!rest.ok() || step > n || position >= n || (i != 0 && step == 0) || low == 0 ||
        key >> kPrintBits != 0)
      return impossible();
    const auto number = numbers.try_emplace(key, static_cast<uint32_t>(numbers.size())).first->second;
    document.prints.push_back({.key = key,
                               .position = static_cast<uint32_t>(position),
                               .number = number,
                               .stored = (high & kStored) != 0});
  }
  return rest.done() ? absl::OkStatus() : impossible();
}

namespace {

enum Flags : uint8_t {
  kRemoves = 1,
  kSetLeftOut = 2,
  kHasSet = 4,
  kHasPayload = 8,
  kHasIdTag = 16,
  kHasTime = 32,
  kHasPrints = 64,
};
constexpr uint8_t kAllFlags = 127;
constexpr size_t kHead = sizeof(uint32_t) + 1 + sizeof(uint64_t);

bool has_digest(Content content) { return content <= Content::digest_only; }

uint8_t flags_of(const SignedDocument& d) {
  return static_cast<uint8_t>((d.action == SignedDocument::Action::remove ? kRemoves : 0) |
                              (d.set_left_out ? kSetLeftOut : 0) | (d.coded_set.empty() ? 0 : kHasSet) |
                              (d.payload == Digest() ? 0 : kHasPayload) | (d.id_tag == 0 ? 0 : kHasIdTag) |
                              (d.timestamp_ms == kNoTime ? 0 : kHasTime) |
                              (d.prints.empty() || d.coded_set.empty() ? 0 : kHasPrints));
}

}  // namespace

uint64_t scheme_fingerprint(const Scheme& scheme) { return scheme.key.derive(scheme.describe()); }

void code_set(SignedDocument& document) {
  document.coded_set.clear();
  if (document.content != Content::shingled || document.tops.empty()) return;
  thread_local CompactSet set;
  make_compact_set(document.tops, set);
  encode_compact_set(set, document.coded_set);
  if (document.prints.empty()) document.tops.clear();  // prints need their order
}

void encode_signed_record(uint64_t fingerprint, const SignedOrigin& origin, const SignedDocument& document,
                          std::span<const uint8_t> slices, std::string& out) {
  DOPPEL_CHECK(document.content < Content::unread, "what is signed was read", origin.source, origin.end);
  DOPPEL_CHECK(origin.begin <= origin.end, "a range of offsets ends behind its begin", origin.source,
               origin.begin, origin.end);
  const size_t start = out.size();
  const uint8_t flags = flags_of(document);
  put_fixed(out, uint32_t{0});
  put_fixed(out, kSignedRecordVersion);
  put_fixed(out, fingerprint);
  put_fixed(out, static_cast<uint8_t>(document.content));
  put_fixed(out, flags);
  put_string(out, origin.source);
  put_varint(out, static_cast<uint64_t>(int64_t{origin.partition} + 1));
  put_varint(out, origin.begin);
  put_varint(out, origin.end - origin.begin);
  if (has_digest(document.content)) put_digest(out, document.digest);
  if ((flags & kHasPayload) != 0) put_digest(out, document.payload);
  if ((flags & kHasIdTag) != 0) put_fixed(out, document.id_tag);
  if ((flags & kHasTime) != 0) put_fixed(out, document.timestamp_ms);
  if (document.content == Content::shingled) {
    put_varint(out, slices.size());
    out.append(reinterpret_cast<const char*>(slices.data()), slices.size());
  }
  if ((flags & kHasSet) != 0) put_string(out, document.coded_set);
  put_string(out, document.metadata);
  put_string(out, document.reason);
  put_string(out, document.record);
  if ((flags & kHasPrints) != 0) put_signed_prints(out, document);
  store(out.data() + start, crc32c(std::string_view(out).substr(start + sizeof(uint32_t))));
}

absl::StatusOr<uint64_t> fingerprint_of_signed_record(std::string_view bytes) {
  if (bytes.size() < kHead) return rejected(Reason::no_signed_record, ": it is too short");
  ByteReader in(bytes);
  const auto crc = in.fixed<uint32_t>();
  const bool intact = crc == crc32c(in.rest());
  const auto version = in.fixed<uint8_t>();
  if (!intact) return rejected(Reason::no_signed_record, ", or a damaged one: wrong checksum");
  if (version != kSignedRecordVersion) {
    return rejected(Reason::bad_signed_record, " of version " + std::to_string(version) +
                                                   "; this doppel reads version " +
                                                   std::to_string(kSignedRecordVersion));
  }
  return in.fixed<uint64_t>();
}

absl::Status decode_signed_record(std::string_view bytes, uint64_t fingerprint, int num_perm,
                                  SignedOrigin& origin, SignedDocument& out, uint8_t* slices) {
  ASSIGN_OR_RETURN(const uint64_t signed_with, fingerprint_of_signed_record(bytes));
  if (signed_with != fingerprint) return rejected(Reason::other_scheme);
  const auto impossible = [](const std::string& what) {
    return rejected(Reason::bad_signed_record, " with " + what);
  };
  ByteReader in(bytes.substr(kHead));
  const auto content = in.fixed<uint8_t>();
  const auto flags = in.fixed<uint8_t>();
  if (content >= static_cast<uint8_t>(Content::unread)) return impossible("an unknown content");
  if ((flags & ~kAllFlags) != 0) return impossible("unknown flags");
  out.content = static_cast<Content>(content);
  origin.source = in.string();
  const uint64_t partition = in.varint();
  if (partition > uint64_t{INT32_MAX}) return impossible("an impossible partition");
  origin.partition = static_cast<int32_t>(partition) - 1;
  origin.begin = in.varint();
  const uint64_t length = in.varint();
  if (length > UINT64_MAX - origin.begin) return impossible("an impossible range of offsets");
  origin.end = origin.begin + length;
  out.digest = has_digest(out.content) ? take_digest(in) : Digest();
  out.payload = (flags & kHasPayload) != 0 ? take_digest(in) : Digest();
  out.id_tag = (flags & kHasIdTag) != 0 ? in.fixed<uint64_t>() : 0;
  out.timestamp_ms = (flags & kHasTime) != 0 ? in.fixed<int64_t>() : kNoTime;
  if (out.content == Content::shingled) {
    const std::string_view found = in.string();
    if (in.ok() && found.size() != static_cast<size_t>(num_perm)) {
      return impossible(std::to_string(found.size()) + " slices in place of " + std::to_string(num_perm));
    }
    if (in.ok()) std::memcpy(slices, found.data(), found.size());
  }
  out.coded_set.assign((flags & kHasSet) != 0 ? in.string() : std::string_view());
  out.metadata.assign(in.string());
  out.reason.assign(in.string());
  out.record.assign(in.string());
  const bool with_prints = (flags & kHasPrints) != 0;
  if (!in.ok() || (!with_prints && !in.done())) return impossible("parts that do not fit into it");
  const bool removes = (flags & kRemoves) != 0;
  if (removes && (out.content != Content::skipped || out.id_tag == 0))
    return impossible("a removal that names nothing");
  if (!out.coded_set.empty() && out.content != Content::shingled)
    return impossible("a set that belongs to no text");
  out.action = removes ? SignedDocument::Action::remove : SignedDocument::Action::judge;
  out.set_left_out = (flags & kSetLeftOut) != 0;
  out.replace = false;
  out.tops.clear();
  out.prints.clear();
  return with_prints ? take_signed_prints(in.rest(), out) : absl::OkStatus();
}

namespace {

constexpr uint32_t kVersion = 1;

}  // namespace

void append_signed_header(const SignedFileHeader& header, std::string& out) {
  const size_t start = out.size();
  std::string body;
  for (std::string_view part : {header.scheme, header.text, header.format}) put_string(body, part);
  out += kSignedMagic;
  put_fixed(out, kVersion);
  put_fixed(out, static_cast<uint32_t>(body.size()));
  out += body;
  put_fixed(out, crc32c(std::string_view(out).substr(start)));
}

void append_frame_head(uint32_t length, std::string& out) {
  const size_t start = out.size();
  put_fixed(out, length);
  put_fixed(out, crc32c(std::string_view(out).substr(start)));
}

absl::StatusOr<size_t> signed_header_size(std::string_view head) {
  if (!head.starts_with(kSignedMagic)) return invalid("not a file of signed records");
  ByteReader in(head.substr(kSignedMagic.size()));
  const auto version = in.fixed<uint32_t>();
  const auto length = in.fixed<uint32_t>();
  if (!in.ok()) return invalid("the header of a file of signed records is truncated");
  if (version != kVersion) {
    return invalid("a file of signed records of version " + std::to_string(version) +
                   "; this doppel reads version " + std::to_string(kVersion));
  }
  const size_t size = kSignedHeaderHead + size_t{length} + sizeof(uint32_t);
  if (size > kSignedHeaderMost) return invalid("the header of a file of signed records is damaged");
  return size;
}

absl::StatusOr<SignedFileHeader> parse_signed_header(std::string_view bytes) {
  ASSIGN_OR_RETURN(const size_t size, signed_header_size(bytes));
  const auto damaged = [] { return invalid("the header of a file of signed records is damaged"); };
  if (bytes.size() != size) return damaged();
  const size_t before = size - sizeof(uint32_t);
  if (load<uint32_t>(bytes.data() + before) != crc32c(bytes.substr(0, before))) return damaged();
  ByteReader in(bytes.substr(kSignedHeaderHead, before - kSignedHeaderHead));
  SignedFileHeader out;
  for (std::string* part : {&out.scheme, &out.text, &out.format}) part->assign(in.string());
  if (!in.done()) return damaged();
  return out;
}

std::optional<uint32_t> parse_frame_head(std::string_view head) {
  if (head.size() < kFrameHead) return std::nullopt;
  if (load<uint32_t>(head.data() + sizeof(uint32_t)) != crc32c(head.substr(0, sizeof(uint32_t))))
    return std::nullopt;
  return load<uint32_t>(head.data());
}

}  // namespace doppel
