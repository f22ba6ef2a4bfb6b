#pragma once
// A segment: an immutable file with the rows of originals with consecutive numbers, and the keys by which
// they are found. The keys of bands, digests, ids and payloads become one kind of key of 40 bits. Prints are
// keys of their own, with all of their bits, because no row says which prints it lists.
//
//   page 0          header (SegmentHeader), written last
//   row pages       CRC32C (4 bytes), 4 zero bytes, then rows by number; a row may continue in the next page
//   print counts    with prints: for each row, how many it lists, at most 127; the header has its CRC32C
//   keys            a part (KeyPart)
//   prints          another one
//
// A part:
//
//   filter          segment_filter.h; the header has its CRC32C
//   key pages       sorted entries (key, ordinal of the row in the segment); see KeyPage
//   directory       for each key page the highest 32 bits of its first key; the header has its CRC32C
//
// Pages have 4,096 bytes and begin at multiples of that. The checksum of a page is seeded with its offset, so
// a page in a wrong place is a damaged one.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "index/index.h"
#include "sketch/prints.h"
#include "text/hash_key.h"

namespace doppel {

// What segments need of files. Files themselves are in state/segment_file.h.
class SegmentSink {
 public:
  virtual ~SegmentSink() = default;
  virtual absl::Status write_at(uint64_t offset, std::string_view bytes) = 0;
};

// Any number of threads may read at once.
class SegmentSource {
 public:
  virtual ~SegmentSource() = default;
  virtual const std::string& name() const = 0;  // for errors
  // DataLoss: the file ends before.
  virtual absl::Status read_at(uint64_t offset, void* out, size_t bytes) const = 0;
  // A page is damaged: the segment must not be opened again. It stays readable.
  virtual void discard() const {}
};

// Reads bytes that are not in pages. DataLoss: they have another CRC32C; the message says what they are.
absl::Status read_checked(const SegmentSource& source, uint64_t offset, uint8_t* out, uint64_t bytes,
                          uint32_t crc, std::string_view what);

// A page that is wanted. `out` has kSegmentPage bytes and is aligned to as many.
struct PageRead {
  const SegmentSource* source = nullptr;
  uint64_t offset = 0;
  uint8_t* out = nullptr;
};

// Reads many pages at once. Any number of threads may call it. This one reads them one after the other.
class PageReader {
 public:
  virtual ~PageReader() = default;
  virtual absl::Status read(std::span<const PageRead> reads) const;
};

inline constexpr uint64_t kSegmentPage = 4096;
inline constexpr int kSegmentKeyBits = 40;  // also of the keys of filters
inline constexpr uint64_t kSegmentRowsMax = kIndexRowsMax;

// The kinds of keys besides bands, which come first.
struct SegmentKinds {
  explicit SegmentKinds(const CandidateIndexOptions& options)
      : bands(static_cast<size_t>(options.banding.bands)),
        ids(options.track_ids),
        payloads(options.track_payloads) {}
  size_t digest() const { return bands; }
  size_t id() const { return bands + 1; }
  size_t payload() const { return bands + 2; }
  // The most keys of a row.
  size_t most() const { return bands + 1 + (ids ? 1 : 0) + (payloads ? 1 : 0); }

  size_t bands;
  bool ids, payloads;
};

// `value`: the key of the band, the lower half of the digest, the id tag or the payload.
inline uint64_t segment_key(size_t kind, uint64_t value) {
  return mix64(value + (kind + 1) * 0x9e3779b97f4a7c15u) >> (64 - kSegmentKeyBits);
}

// How a part stores its keys.
struct KeyShape {
  int bits;
  int entry_bytes;
  bool repeats;  // whether the filter says which keys occur more than once
  // What the filter has of a key.
  uint64_t filter_key(uint64_t key) const { return key >> (bits - kSegmentKeyBits); }
};
inline constexpr KeyShape kRowKeys{.bits = kSegmentKeyBits, .entry_bytes = 6, .repeats = true};
inline constexpr KeyShape kPrintKeys{.bits = kPrintBits, .entry_bytes = 7, .repeats = false};

// A page of entries: CRC32C (4), number of entries (2), zero (2), first key (8), then entries: the distance
// to the first key above, the ordinal below. The header says how many bits an ordinal has.
struct KeyPage {
  static constexpr size_t kHead = 16;

  static size_t entries(const KeyShape& shape) {
    return (kSegmentPage - kHead) / static_cast<size_t>(shape.entry_bytes);
  }
  static uint32_t count(const uint8_t* page) { return load<uint16_t>(page + 4); }
  static uint64_t first_key(const uint8_t* page) { return load<uint64_t>(page + 8); }
  static uint64_t entry(const KeyShape& shape, const uint8_t* page, size_t i) {
    const auto bytes = static_cast<size_t>(shape.entry_bytes);
    return load<uint64_t>(page + kHead + bytes * (i + 1) - 8) >> (64 - 8 * bytes);
  }
};

struct RowPage {
  static constexpr size_t kHead = 8;
  static constexpr size_t kBytes = kSegmentPage - kHead;  // of rows
};

// How many slots and columns a filter has; see segment_filter.h.
struct FilterShape {
  static constexpr double kSlotsForAKey = 1.1;
  static constexpr uint32_t kChunkSlots = 1 << 15;
  static constexpr uint32_t kColumnsLeast = 4, kColumnsMost = 32;
  static FilterShape of(uint64_t keys, uint32_t columns);

  uint64_t chunks = 1;
  uint32_t slots = 128;  // of a chunk; a multiple of 64
  uint32_t columns = 8;
  uint64_t bytes() const { return chunks * (slots / 64) * columns * 8; }
  bool operator==(const FilterShape&) const = default;
};

struct KeyPart {
  uint64_t at = 0;  // offset of its filter
  uint64_t entries = 0;
  FilterShape filter;
  uint64_t pages = 0;
  uint32_t filter_crc = 0;
  uint32_t directory_crc = 0;
  bool operator==(const KeyPart&) const = default;

  uint64_t page_at(uint64_t page) const;
  uint64_t directory_at() const { return page_at(pages); }
  uint64_t end() const { return directory_at() + 4 * pages; }
};

struct SegmentHeader {
  Seq first = 0;
  uint64_t rows = 0;
  uint32_t stride = 0;  // bytes of a row
  bool with_prints = false;
  uint32_t counts_crc = 0;
  KeyPart keys, prints;
  uint64_t scheme = 0;  // of num_perm, bands, hash key and passages: what keys and rows depend on
  bool operator==(const SegmentHeader&) const = default;

  int ordinal_bits() const;
  uint64_t row_pages() const;
  uint64_t row_page_at(uint64_t page) const { return (1 + page) * kSegmentPage; }
  uint64_t counts_at() const { return row_page_at(row_pages()); }
  uint64_t keys_at() const;
  uint64_t prints_at() const;  // when `keys` is known
  uint64_t bytes() const { return with_prints ? prints.end() : keys.end(); }
};

uint64_t segment_scheme(const CandidateIndexOptions& options);
std::string encode_segment_header(const SegmentHeader& header);  // a page
// `name` is for the error, which says what is wrong.
absl::StatusOr<SegmentHeader> decode_segment_header(std::string_view page, const std::string& name);

// The checksum of a page without its first four bytes.
uint32_t segment_page_crc(uint64_t offset, const uint8_t* page);
// DataLoss names file and offset.
absl::Status check_segment_page(const std::string& name, uint64_t offset, const uint8_t* page);
// Also discards the segment.
absl::Status check_segment_page(const SegmentSource& source, uint64_t offset, const uint8_t* page);

}  // namespace doppel
