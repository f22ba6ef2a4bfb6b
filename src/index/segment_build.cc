#include "index/segment_build.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/checksums.h"
#include "base/status.h"
#include "index/row_store.h"
#include "index/segment_filter.h"
#include "index/segment_format.h"

namespace doppel {

// Writes the keys of a segment, or its prints: filter, pages and directory. Keeps about a megabyte in memory,
// and four bytes for each page.

// Bytes that follow each other in a file.
class SegmentStream {
 public:
  SegmentStream(SegmentSink& sink, uint64_t offset) : sink_(sink), offset_(offset) {}
  absl::Status put(std::string_view bytes);
  // Ends a page with its checksum, puts it and clears it.
  absl::Status put_page(std::string& page);
  absl::Status flush();
  uint64_t offset() const { return offset_ + bytes_.size(); }

 private:
  static constexpr size_t kBytes = size_t{1} << 20;
  SegmentSink& sink_;
  uint64_t offset_;  // of bytes_
  std::string bytes_;
};

class SegmentKeyWriter {
 public:
  // `entries` may be an upper bound. `sink` must outlive the writer. The part begins at offset `at`.
  SegmentKeyWriter(const KeyShape& shape, uint64_t at, uint64_t entries, uint32_t columns, uint64_t rows,
                   int ordinal_bits, SegmentSink& sink);

  // Ascending by key, then by ordinal.
  absl::Status add(uint64_t key, uint32_t ordinal);
  // Writes the rest.
  absl::StatusOr<KeyPart> finish();

 private:
  absl::Status end_page();
  absl::Status filter_up_to(uint64_t chunk);

  const KeyShape shape_;
  const uint64_t rows_;
  const int ordinal_bits_;
  SegmentSink& sink_;
  KeyPart part_;
  SegmentStream filter_, pages_;
  FilterBuilder filter_builder_;
  PodVector<uint32_t> directory_;
  std::string page_;
  uint32_t in_page_ = 0;
  uint64_t page_first_ = 0;
  uint64_t last_key_ = ~uint64_t{0};
  bool last_repeated_ = false;
};

absl::Status SegmentStream::put(std::string_view bytes) {
  bytes_.append(bytes);
  return bytes_.size() < kBytes ? absl::OkStatus() : flush();
}

absl::Status SegmentStream::put_page(std::string& page) {
  page.resize(kSegmentPage);
  store(page.data(), segment_page_crc(offset(), reinterpret_cast<const uint8_t*>(page.data())));
  RETURN_IF_ERROR(put(page));
  page.clear();
  return absl::OkStatus();
}

absl::Status SegmentStream::flush() {
  RETURN_IF_ERROR(sink_.write_at(offset_, bytes_));
  offset_ += bytes_.size();
  bytes_.clear();
  return absl::OkStatus();
}

SegmentKeyWriter::SegmentKeyWriter(const KeyShape& shape, uint64_t at, uint64_t entries, uint32_t columns,
                                   uint64_t rows, int ordinal_bits, SegmentSink& sink)
    : shape_(shape),
      rows_(rows),
      ordinal_bits_(ordinal_bits),
      sink_(sink),
      part_{.at = at, .filter = FilterShape::of(entries, columns)},
      filter_(sink, at),
      pages_(sink, part_.page_at(0)),
      filter_builder_(part_.filter) {}

absl::Status SegmentKeyWriter::add(uint64_t key, uint32_t ordinal) {
  DOPPEL_CHECK(key >> shape_.bits == 0 && (part_.entries == 0 || key >= last_key_) && ordinal < rows_,
               "entries of a segment ascend and name its rows", key, last_key_, ordinal, rows_);
  const uint64_t of_filter = shape_.filter_key(key);
  const bool same = part_.entries != 0 && of_filter == shape_.filter_key(last_key_);
  if (!same) {
    RETURN_IF_ERROR(filter_up_to(filter_builder_.chunk_of(of_filter)));
    filter_builder_.add(of_filter, false);
  } else if (shape_.repeats && !last_repeated_) {
    filter_builder_.add(of_filter, true);
  }
  last_repeated_ = same;
  last_key_ = key;

  const int distance_bits = 8 * shape_.entry_bytes - ordinal_bits_;
  if (in_page_ == KeyPage::entries(shape_) || (in_page_ > 0 && (key - page_first_) >> distance_bits != 0))
    RETURN_IF_ERROR(end_page());
  if (in_page_ == 0) {
    page_first_ = key;
    directory_.push_back(static_cast<uint32_t>(key >> (shape_.bits - 32)));
    page_.resize(KeyPage::kHead);
  }
  const uint64_t entry = (key - page_first_) << ordinal_bits_ | ordinal;
  page_.append(reinterpret_cast<const char*>(&entry), static_cast<size_t>(shape_.entry_bytes));
  ++in_page_;
  ++part_.entries;
  return absl::OkStatus();
}

absl::Status SegmentKeyWriter::end_page() {
  if (in_page_ == 0) return absl::OkStatus();
  store(page_.data() + 4, static_cast<uint16_t>(in_page_));
  store(page_.data() + 8, page_first_);
  RETURN_IF_ERROR(pages_.put_page(page_));
  in_page_ = 0;
  ++part_.pages;
  return absl::OkStatus();
}

absl::Status SegmentKeyWriter::filter_up_to(uint64_t chunk) {
  while (filter_builder_.chunk() < chunk) {
    const std::string_view solved = filter_builder_.solve();
    part_.filter_crc = crc32c(solved, part_.filter_crc);
    RETURN_IF_ERROR(filter_.put(solved));
  }
  return absl::OkStatus();
}

absl::StatusOr<KeyPart> SegmentKeyWriter::finish() {
  RETURN_IF_ERROR(filter_up_to(part_.filter.chunks));
  RETURN_IF_ERROR(filter_.flush());
  RETURN_IF_ERROR(end_page());
  RETURN_IF_ERROR(pages_.flush());
  const std::string_view directory(reinterpret_cast<const char*>(directory_.data()), 4 * directory_.size());
  part_.directory_crc = crc32c(directory);
  RETURN_IF_ERROR(sink_.write_at(part_.directory_at(), directory));
  return part_;
}

// Writes a segment: first all rows by number, then all entries by key, then those of prints. Keeps a few
// megabytes in memory.

// How much a segment gets. The numbers of entries may be upper bounds.
struct SegmentAmount {
  uint64_t rows = 0;
  uint64_t keys = 0;
  uint64_t prints = 0;
};

class SegmentWriter {
 public:
  // `sink` must outlive the writer.
  SegmentWriter(const CandidateIndexOptions& options, Seq first, const SegmentAmount& amount,
                uint32_t columns, SegmentSink& sink);

  // A row in RowLayout, and how many prints it lists.
  absl::Status add_row(const uint8_t* row, uint32_t prints);
  // Ascending by key, then by ordinal.
  absl::Status add_key(uint64_t key, uint32_t ordinal) { return keys_.add(key, ordinal); }
  // The same, after all keys.
  absl::Status add_print(uint64_t print, uint32_t ordinal);
  // Writes the rest, and the header last.
  absl::Status finish();

 private:
  static SegmentHeader header_of(const CandidateIndexOptions& options, Seq first, uint64_t rows);
  absl::Status begin_prints();

  const SegmentAmount amount_;
  const uint32_t columns_;
  SegmentSink& sink_;
  SegmentHeader header_;
  SegmentStream rows_, counts_;
  SegmentKeyWriter keys_;
  std::optional<SegmentKeyWriter> prints_;
  uint64_t rows_added_ = 0;
  std::string row_page_;
};

SegmentHeader SegmentWriter::header_of(const CandidateIndexOptions& options, Seq first, uint64_t rows) {
  DOPPEL_CHECK(rows <= kSegmentRowsMax, "the ordinals of a segment have 28 bits", rows);
  SegmentHeader header;
  header.first = first;
  header.rows = rows;
  header.stride = static_cast<uint32_t>(RowLayout(options).stride());
  header.with_prints = options.track_prints;
  header.scheme = segment_scheme(options);
  return header;
}

SegmentWriter::SegmentWriter(const CandidateIndexOptions& options, Seq first, const SegmentAmount& amount,
                             uint32_t columns, SegmentSink& sink)
    : amount_(amount),
      columns_(columns),
      sink_(sink),
      header_(header_of(options, first, amount.rows)),
      rows_(sink, header_.row_page_at(0)),
      counts_(sink, header_.counts_at()),
      keys_(kRowKeys, header_.keys_at(), amount.keys, columns, amount.rows, header_.ordinal_bits(), sink) {}

absl::Status SegmentWriter::add_row(const uint8_t* row, uint32_t prints) {
  std::string_view left(reinterpret_cast<const char*>(row), header_.stride);
  while (!left.empty()) {
    if (row_page_.empty()) row_page_.resize(RowPage::kHead);
    const size_t fits = std::min(left.size(), kSegmentPage - row_page_.size());
    row_page_.append(left.substr(0, fits));
    left.remove_prefix(fits);
    if (row_page_.size() == kSegmentPage) RETURN_IF_ERROR(rows_.put_page(row_page_));
  }
  ++rows_added_;
  if (!header_.with_prints) return absl::OkStatus();
  const auto count = static_cast<char>(std::min<size_t>(prints, kPrintsCounted));
  header_.counts_crc = crc32c({&count, 1}, header_.counts_crc);
  return counts_.put({&count, 1});
}

absl::Status SegmentWriter::begin_prints() {
  ASSIGN_OR_RETURN(header_.keys, keys_.finish());
  prints_.emplace(kPrintKeys, header_.prints_at(), amount_.prints, columns_, amount_.rows,
                  header_.ordinal_bits(), sink_);
  return absl::OkStatus();
}

absl::Status SegmentWriter::add_print(uint64_t print, uint32_t ordinal) {
  if (!prints_) RETURN_IF_ERROR(begin_prints());
  return prints_->add(print, ordinal);
}

absl::Status SegmentWriter::finish() {
  DOPPEL_CHECK(rows_added_ == header_.rows, "a segment gets the rows that it was announced with", rows_added_,
               header_.rows);
  if (!row_page_.empty()) RETURN_IF_ERROR(rows_.put_page(row_page_));
  RETURN_IF_ERROR(rows_.flush());
  RETURN_IF_ERROR(counts_.flush());
  if (!header_.with_prints) {
    ASSIGN_OR_RETURN(header_.keys, keys_.finish());
  } else {
    if (!prints_) RETURN_IF_ERROR(begin_prints());
    ASSIGN_OR_RETURN(header_.prints, prints_->finish());
  }
  return sink_.write_at(0, encode_segment_header(header_));
}

namespace {

// In a builder, an entry and its ordinal are one number.
constexpr int kKeyOrdinalBits = 64 - kSegmentKeyBits;
constexpr int kPrintOrdinalBits = 64 - kPrintBits;

uint32_t ordinal_in(uint64_t entry, int bits) {
  return static_cast<uint32_t>(entry & ((uint64_t{1} << bits) - 1));
}

// Sorts by the highest bits into buckets, which are then small enough for the cache.
void sort_uniform(PodVector<uint64_t>& values) {
  constexpr int kBits = 12;
  constexpr int kShift = 64 - kBits;
  if (values.size() < size_t{1} << 16) {
    std::sort(values.begin(), values.end());
    return;
  }
  std::vector<size_t> ends((size_t{1} << kBits) + 1);
  for (const uint64_t value : values) ++ends[(value >> kShift) + 1];
  for (size_t b = 1; b < ends.size(); ++b) ends[b] += ends[b - 1];
  PodVector<uint64_t> sorted(values.size());
  std::vector<size_t> at(ends.begin(), ends.end() - 1);
  for (const uint64_t value : values) sorted[at[value >> kShift]++] = value;
  for (size_t b = 0; b + 1 < ends.size(); ++b)
    std::sort(sorted.begin() + static_cast<ptrdiff_t>(ends[b]),
              sorted.begin() + static_cast<ptrdiff_t>(ends[b + 1]));
  values.swap(sorted);
}

// The pages of a part of a file, read ahead by some.
class PageStream {
 public:
  PageStream(const Segment& segment, uint64_t at, uint64_t pages)
      : segment_(segment), at_(at), end_(at + pages * kSegmentPage), bytes_(kAhead * kSegmentPage) {}

  // nullptr at the end.
  absl::StatusOr<const uint8_t*> next() {
    if (next_ == have_) {
      if (at_ == end_) return nullptr;
      have_ = std::min<uint64_t>(kAhead, (end_ - at_) / kSegmentPage);
      RETURN_IF_ERROR(segment_.source().read_at(at_, bytes_.data(), have_ * kSegmentPage));
      at_ += have_ * kSegmentPage;
      next_ = 0;
    }
    const uint8_t* page = &bytes_[next_ * kSegmentPage];
    RETURN_IF_ERROR(check_segment_page(segment_.source(), at_ - (have_ - next_) * kSegmentPage, page));
    ++next_;
    return page;
  }

 private:
  static constexpr uint64_t kAhead = 256;
  const Segment& segment_;
  uint64_t at_, end_;
  PodVector<uint8_t> bytes_;
  uint64_t next_ = 0, have_ = 0;
};

// The entries of a part of a segment in order.
struct EntryStream {
  EntryStream(const Segment& s, const SegmentKeys& keys)
      : segment(s), part(keys), pages(s, keys.part().page_at(0), keys.part().pages) {}

  absl::Status advance() {
    if (page == nullptr || ++at == KeyPage::count(page)) {
      at = 0;
      ASSIGN_OR_RETURN(page, pages.next());
      if (page == nullptr) {
        key = kEnd;
        return absl::OkStatus();
      }
    }
    const uint64_t entry = KeyPage::entry(part.shape(), page, at);
    key = KeyPage::first_key(page) + (entry >> part.ordinal_bits());
    ordinal = ordinal_in(entry, part.ordinal_bits());
    return absl::OkStatus();
  }

  static constexpr uint64_t kEnd = ~uint64_t{0};
  const Segment& segment;
  const SegmentKeys& part;
  PageStream pages;
  const uint8_t* page = nullptr;
  uint32_t at = 0;
  uint64_t key = 0;
  uint32_t ordinal = 0;
};

absl::Status merge_rows(std::span<const Segment* const> parts, SegmentWriter& out) {
  for (const Segment* part : parts) {
    PageStream pages(*part, part->header().row_page_at(0), part->header().row_pages());
    PodVector<uint8_t> row(part->header().stride);
    const uint8_t* bytes = nullptr;
    uint64_t next = 0;  // page
    for (uint64_t ordinal = 0; ordinal < part->header().rows; ++ordinal) {
      const PageRange range = part->row_pages_of(ordinal);
      for (uint64_t page = range.first; page <= range.last; ++page) {
        for (; next <= page; ++next) {
          ASSIGN_OR_RETURN(bytes, pages.next());
        }
        part->copy_row(bytes, page, ordinal, row.data());
      }
      RETURN_IF_ERROR(out.add_row(row.data(), part->header().with_prints ? part->prints_of(ordinal) : 0));
    }
  }
  return absl::OkStatus();
}

// Calls add(key, number) for all entries of these streams in order. The segments continue each other.
template <typename Add>
absl::Status merge_entries(std::vector<std::unique_ptr<EntryStream>> streams, const Add& add) {
  for (const auto& stream : streams) RETURN_IF_ERROR(stream->advance());
  while (true) {
    // Of equal keys the earliest part comes first, so ordinals ascend.
    EntryStream* least = streams.front().get();
    for (const auto& stream : streams)
      if (stream->key < least->key) least = stream.get();
    if (least->key == EntryStream::kEnd) return absl::OkStatus();
    RETURN_IF_ERROR(add(least->key, least->segment.first() + least->ordinal));
    RETURN_IF_ERROR(least->advance());
  }
}

}  // namespace

SegmentBytesEach segment_bytes_each(const CandidateIndexOptions& options) {
  const auto keys = static_cast<double>(SegmentKinds(options).most());
  const auto page = static_cast<double>(kSegmentPage);
  const double row = static_cast<double>(RowLayout(options).stride()) * page / RowPage::kBytes;
  SegmentBytesEach out{.memory = 0, .disk = row};
  const auto add = [&](const KeyShape& shape, double entries) {
    const double pages = entries / static_cast<double>(KeyPage::entries(shape));
    const double memory = entries * FilterShape::kSlotsForAKey * kFilterColumns / 8 + 4 * pages;
    out.memory += memory;
    out.disk += memory + pages * page;
  };
  add(kRowKeys, keys);
  if (options.track_prints) {
    add(kPrintKeys, prints_each(options.passage));
    out.memory += 1;  // its count
    out.disk += 1;
  }
  return out;
}

uint64_t SegmentBuilder::rows_most(const CandidateIndexOptions& options) {
  return uint64_t{1} << (options.track_prints ? kPrintOrdinalBits : kKeyOrdinalBits);
}

SegmentBuilder::SegmentBuilder(const CandidateIndexOptions& options, Seq first)
    : options_(options), layout_(options), kinds_(options), first_(first) {}

void SegmentBuilder::enter(size_t kind, uint64_t value) {
  keys_.push_back(segment_key(kind, value) << kKeyOrdinalBits | rows_);
}

void SegmentBuilder::add(const Row& row, const uint64_t* band_keys) {
  DOPPEL_CHECK(rows_ < rows_most(options_), "the ordinals of a new segment are beside its keys", first_,
               rows_);
  const size_t at = bytes_.size();
  bytes_.resize(at + layout_.stride());
  std::fill_n(&bytes_[at], layout_.stride(), uint8_t{0});
  layout_.write(row, &bytes_[at]);
  for (size_t band = 0; row.slices != nullptr && band < kinds_.bands; ++band)
    if ((row.mask[band / 32] >> (band % 32) & 1) != 0) enter(band, band_keys[band]);
  enter(kinds_.digest(), row.digest.low);
  if (kinds_.ids && row.id_tag != 0) enter(kinds_.id(), row.id_tag);
  if (kinds_.payloads && row.payload != 0) enter(kinds_.payload(), row.payload);
  ++rows_;
}

void SegmentBuilder::add_prints(uint64_t ordinal, std::span<const uint64_t> prints) {
  print_counts_.resize(rows_);
  print_counts_[ordinal] = static_cast<uint32_t>(prints.size());
  for (const uint64_t print : prints) prints_.push_back(print << kPrintOrdinalBits | ordinal);
}

absl::Status SegmentBuilder::write(uint32_t columns, SegmentSink& sink) {
  sort_uniform(keys_);
  sort_uniform(prints_);
  const SegmentAmount amount{.rows = rows_, .keys = keys_.size(), .prints = prints_.size()};
  SegmentWriter out(options_, first_, amount, columns, sink);
  print_counts_.resize(rows_);
  for (uint64_t r = 0; r < rows_; ++r)
    RETURN_IF_ERROR(out.add_row(&bytes_[r * layout_.stride()], print_counts_[r]));
  for (const uint64_t entry : keys_)
    RETURN_IF_ERROR(out.add_key(entry >> kKeyOrdinalBits, ordinal_in(entry, kKeyOrdinalBits)));
  for (const uint64_t entry : prints_)
    RETURN_IF_ERROR(out.add_print(entry >> kPrintOrdinalBits, ordinal_in(entry, kPrintOrdinalBits)));
  return out.finish();
}

absl::Status merge_segments(const CandidateIndexOptions& options, std::span<const Segment* const> parts,
                            uint32_t columns, SegmentSink& sink) {
  SegmentAmount amount;
  std::vector<std::unique_ptr<EntryStream>> keys;
  std::vector<std::unique_ptr<EntryStream>> prints;
  const Seq first = parts.front()->first();
  for (const Segment* part : parts) {
    DOPPEL_CHECK(part->first() == first + amount.rows, "merged segments continue each other", part->first(),
                 first, amount.rows);
    amount.rows += part->header().rows;
    amount.keys += part->header().keys.entries;
    amount.prints += part->header().prints.entries;
    keys.push_back(std::make_unique<EntryStream>(*part, part->keys()));
    if (options.track_prints) prints.push_back(std::make_unique<EntryStream>(*part, part->prints()));
  }
  SegmentWriter out(options, first, amount, columns, sink);
  RETURN_IF_ERROR(merge_rows(parts, out));
  RETURN_IF_ERROR(merge_entries(std::move(keys), [&](uint64_t key, Seq seq) {
    return out.add_key(key, static_cast<uint32_t>(seq - first));
  }));
  if (options.track_prints) {
    RETURN_IF_ERROR(merge_entries(std::move(prints), [&](uint64_t print, Seq seq) {
      return out.add_print(print, static_cast<uint32_t>(seq - first));
    }));
  }
  return out.finish();
}

}  // namespace doppel
