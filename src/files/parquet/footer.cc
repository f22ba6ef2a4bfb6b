// Parses the schema at once, but each row group only when it is read: a table of thousands of columns has
// millions of chunks, of which few are wanted.

#include "files/parquet/footer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "absl/strings/str_join.h"
#include "base/bytes.h"
#include "base/status.h"
#include "files/parquet/thrift.h"

namespace doppel::parquet {

namespace {

using Type = ThriftReader::Type;

constexpr uint64_t kTail = sizeof(uint32_t) + kMagic.size();
constexpr uint64_t kMostFooter = 128 << 20;

absl::Status broken(const std::string& cause) { return absl::DataLossError(cause); }

struct RawChunk {
  std::vector<std::string> path;
  int64_t type = -1, codec = 0, values = -1, bytes = 0, data = 0, dictionary = 0;
  bool elsewhere = false, encrypted = false, described = false;
};

void read_description(ThriftReader& in, Type type, RawChunk& out) {
  out.described = true;
  in.each_field_of(type, [&](int16_t id, Type field_type) {
    switch (id) {
      case 1:
        out.type = in.integer(field_type);
        break;
      case 3:
        in.each_element(field_type, [&](Type element) { out.path.emplace_back(in.binary(element)); });
        break;
      case 4:
        out.codec = in.integer(field_type);
        break;
      case 5:
        out.values = in.integer(field_type);
        break;
      case 7:
        out.bytes = in.integer(field_type);
        break;
      case 9:
        out.data = in.integer(field_type);
        break;
      case 11:
        out.dictionary = in.integer(field_type);
        break;
      default:
        in.skip(field_type);
    }
  });
}

RawChunk read_chunk(ThriftReader& in, Type type) {
  RawChunk out;
  in.each_field_of(type, [&](int16_t id, Type field_type) {
    switch (id) {
      case 1:
        out.elsewhere = !in.binary(field_type).empty();
        break;
      case 3:
        read_description(in, field_type, out);
        break;
      case 8:
        out.encrypted = true;
        in.skip(field_type);
        break;
      default:
        in.skip(field_type);
    }
  });
  return out;
}

Chunk checked(const RawChunk& raw, const Column& column, const Leaf& leaf, uint64_t file_size) {
  if (raw.encrypted) return {.unreadable = "it is encrypted"};
  if (raw.elsewhere) return {.unreadable = "its values are stored in another file"};
  if (!raw.described) return {.unreadable = "the footer does not say where its values are"};
  if (raw.type != static_cast<int64_t>(column.stored))
    return {.unreadable = "its type differs from the schema's"};
  if (raw.path != leaf.path)
    return {.unreadable = fmt::format("the row group calls it \"{}\"", absl::StrJoin(raw.path, "."))};
  if (raw.values < 0) return {.unreadable = "the footer does not say how many values it has"};
  if (raw.codec < 0 || raw.codec > static_cast<int64_t>(Codec::lz4))
    return {.unreadable = fmt::format("its codec is unknown ({})", raw.codec)};
  const auto codec = static_cast<Codec>(raw.codec);
  if (codec == Codec::lzo) return {.unreadable = "it is packed with LZO, which is not read"};
  // Some writers set 0 if there is no dictionary.
  const int64_t begin = raw.dictionary > 0 && raw.dictionary < raw.data ? raw.dictionary : raw.data;
  const uint64_t end_of_data = file_size - kTail;
  if (begin < 0 || raw.bytes < 0 || static_cast<uint64_t>(begin) > end_of_data ||
      static_cast<uint64_t>(raw.bytes) > end_of_data - static_cast<uint64_t>(begin)) {
    return {.unreadable = fmt::format("its {} bytes at {} go beyond the end of the file, which has {}",
                                      raw.bytes, begin, file_size)};
  }
  return {.begin = static_cast<uint64_t>(begin),
          .end = static_cast<uint64_t>(begin + raw.bytes),
          .values = static_cast<uint64_t>(raw.values),
          .codec = codec,
          .unreadable = {}};
}

// A column has a value in each row, and may have several if there are lists around it.
void compare_counts(const Leaf& leaf, uint64_t rows, Chunk& chunk) {
  if (chunk.unreadable.empty() && (leaf.depth.repetition == 0 ? chunk.values != rows : chunk.values < rows))
    chunk.unreadable = fmt::format("it has {} values, the footer says, for {} rows", chunk.values, rows);
}

// Whether the row group that is next names its columns as the schema does.
absl::Status compare_names(ThriftReader in, const std::vector<Leaf>& leaves) {
  size_t leaf = 0;
  absl::Status out;
  in.each_field([&](int16_t id, Type field_type) {
    if (id != 1) return in.skip(field_type);
    in.each_element(field_type, [&](Type element) {
      const RawChunk chunk = read_chunk(in, element);
      if (out.ok() && leaf < leaves.size() && chunk.described && chunk.path != leaves[leaf].path) {
        out = broken(fmt::format("the schema has a column \"{}\", and a row group calls it \"{}\"",
                                 leaves[leaf].column.name, absl::StrJoin(chunk.path, ".")));
      }
      ++leaf;
    });
  });
  return out;
}

// The number of rows of all row groups, which the footer also states by itself.
absl::StatusOr<int64_t> rows_of_groups(ThriftReader in, uint64_t groups) {
  int64_t sum = 0;
  for (uint64_t group = 0; group < groups && in.ok(); ++group) {
    std::optional<int64_t> rows;
    in.each_field([&](int16_t id, Type field_type) {
      if (id == 3) {
        rows = in.integer(field_type);
      } else {
        in.skip(field_type);
      }
    });
    if (!in.ok()) break;
    if (!rows)
      return broken(fmt::format("row group {}, the footer does not say how many rows it has", group));
    if (*rows < 0 || __builtin_add_overflow(sum, *rows, &sum))
      return broken(fmt::format("row group {}, it has {} rows, the footer says", group, *rows));
  }
  return sum;
}

absl::Status damaged_file(const absl::Status& cause) {
  return broken(fmt::format("a damaged Parquet file: {}", std_sv(cause.message())));
}

}  // namespace

absl::Status read_at(int fd, uint64_t at, char* out, size_t n) {
  while (n > 0) {
    const ssize_t got = ::pread(fd, out, n, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("cannot be read");
    if (got == 0) return broken("the file ends too early: it was made shorter while it was read");
    out += got;
    at += static_cast<uint64_t>(got);
    n -= static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

absl::StatusOr<Footer> Footer::read(int fd, uint64_t file_size) {
  if (file_size < kMagic.size() + kTail) {
    return broken(fmt::format("too short for a Parquet file: it has {} bytes", file_size));
  }
  char tail[kTail];
  RETURN_IF_ERROR(read_at(fd, file_size - kTail, tail, kTail));
  const std::string_view magic(tail + sizeof(uint32_t), kMagic.size());
  if (magic == kEncryptedMagic)
    return broken("an encrypted Parquet file, which is not read; write it without encryption");
  if (magic != kMagic) {
    return broken("it does not end with PAR1: the Parquet file is truncated or still being written");
  }
  const uint64_t length = load<uint32_t>(tail);
  if (length > file_size - kMagic.size() - kTail) {
    return broken(fmt::format("a damaged Parquet file: its footer has {} bytes, it says, and the file {}",
                              length, file_size));
  }
  if (length > kMostFooter) {
    return broken(fmt::format("a footer of {} bytes, more than the {} that are read", length, kMostFooter));
  }
  Footer out;
  out.file_size_ = file_size;
  out.bytes_.resize(length);
  RETURN_IF_ERROR(read_at(fd, file_size - kTail - length, out.bytes_.data(), length));
  ThriftReader in(out.bytes_);
  bool tree = false;
  std::optional<int64_t> rows;
  in.each_field([&](int16_t id, Type field_type) {
    const size_t begin = in.at();
    if (id == 2) {
      tree = read_schema(in, field_type, out.columns_);
      out.schema_ = {begin, in.at() - begin};
    } else if (id == 3) {
      rows = in.integer(field_type);
    } else if (id == 5) {
      in.skip(field_type);
      out.notes_ = {begin, in.at() - begin};
    } else if (id == 4) {
      Type element = Type::stop;
      out.groups_left_ = in.begin_list(field_type, element);
      out.at_ = in.at();
      for (uint64_t left = out.groups_left_; left > 0 && in.ok(); --left) in.skip(element);
      if (element != Type::structure && out.groups_left_ > 0) tree = false;
    } else {
      in.skip(field_type);
    }
  });
  ThriftReader schema(out.schema());
  if (!in.ok() || !tree || !rows || !read_leaves(schema, Type::list, out.leaves_))
    return broken("a damaged Parquet file: its footer cannot be understood");
  const ThriftReader groups(std::string_view(out.bytes_).substr(out.at_));
  const absl::StatusOr<int64_t> of_groups = rows_of_groups(groups, out.groups_left_);
  if (!of_groups.ok()) return damaged_file(of_groups.status());
  // Once: a table of thousands of columns has millions of chunks.
  if (const absl::Status named = out.groups_left_ > 0 ? compare_names(groups, out.leaves_) : absl::OkStatus();
      !named.ok())
    return damaged_file(named);
  if (*rows != *of_groups) {
    return broken(fmt::format(
        "a damaged Parquet file: it has {} rows, its footer says, and its row groups {}", *rows, *of_groups));
  }
  return out;
}

absl::StatusOr<bool> Footer::next_group(const std::vector<Column>& chosen, RowGroup& out) {
  if (groups_left_ == 0) return false;
  --groups_left_;
  out.rows = 0;
  out.chunks.assign(chosen.size(), {.unreadable = "it is missing"});
  int64_t rows = 0;
  size_t leaf = 0;
  ThriftReader in(std::string_view(bytes_).substr(at_));
  in.each_field([&](int16_t id, Type field_type) {
    if (id == 1) {
      in.each_element(field_type, [&](Type element) {
        const auto is_it = [&](const Column& column) { return column.leaf == leaf; };
        // If all columns are chosen, the index of each is known.
        const auto wanted = leaf < chosen.size() && is_it(chosen[leaf])
                                ? chosen.begin() + static_cast<std::ptrdiff_t>(leaf)
                                : std::find_if(chosen.begin(), chosen.end(), is_it);
        ++leaf;
        if (wanted == chosen.end()) return in.skip(element);
        out.chunks[static_cast<size_t>(wanted - chosen.begin())] =
            checked(read_chunk(in, element), *wanted, leaves_[wanted->leaf], file_size_);
      });
    } else if (id == 3) {
      rows = in.integer(field_type);
    } else {
      in.skip(field_type);
    }
  });
  at_ += in.at();
  if (!in.ok()) return broken("the footer cannot be understood");
  if (leaf != leaves_.size())
    return broken(fmt::format("it has {} columns, and the schema {}", leaf, leaves_.size()));
  out.rows = static_cast<uint64_t>(rows);
  for (size_t i = 0; i < chosen.size(); ++i) compare_counts(leaves_[chosen[i].leaf], out.rows, out.chunks[i]);
  return true;
}

namespace {

using Type = ThriftReader::Type;

constexpr std::array<std::string_view, 10> kEncodings{
    "PLAIN",          "an unknown one",      "PLAIN_DICTIONARY",        "RLE",
    "BIT_PACKED",     "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY",
    "RLE_DICTIONARY", "BYTE_STREAM_SPLIT",
};
constexpr auto kUnknown = static_cast<Encoding>(1);

Encoding encoding_of(int64_t value) {
  return value < 0 || value >= static_cast<int64_t>(kEncodings.size()) ? kUnknown
                                                                       : static_cast<Encoding>(value);
}

// The ids of fields in the part of a head that a kind of page has. Each kind counts its values in field 1.
struct KindIds {
  std::optional<int16_t> encoding, levels, rows, definitions, repetitions, is_packed;
};
constexpr KindIds kData{.encoding = 2, .levels = 3};
constexpr KindIds kDictionary{.encoding = 2};
constexpr KindIds kDataV2{.encoding = 4, .rows = 3, .definitions = 5, .repetitions = 6, .is_packed = 7};

void read_kind(ThriftReader& in, Type type, const KindIds& ids, PageHead& out) {
  in.each_field_of(type, [&](int16_t id, Type field_type) {
    if (id == 1)
      out.values = in.integer(field_type);
    else if (id == ids.encoding)
      out.encoding = encoding_of(in.integer(field_type));
    else if (id == ids.levels)
      out.levels = encoding_of(in.integer(field_type));
    else if (id == ids.rows)
      out.rows = in.integer(field_type);
    else if (id == ids.definitions)
      out.definitions = in.integer(field_type);
    else if (id == ids.repetitions)
      out.repetitions = in.integer(field_type);
    else if (id == ids.is_packed)
      out.is_packed = in.boolean(field_type);
    else
      in.skip(field_type);
  });
}

}  // namespace

std::optional<PageHead> read_page_head(std::string_view bytes, size_t& size) {
  ThriftReader in(bytes);
  PageHead out;
  int64_t kind = -1;
  in.each_field([&](int16_t id, Type field_type) {
    switch (id) {
      case 1:
        kind = in.integer(field_type);
        break;
      case 2:
        out.unpacked = in.integer(field_type);
        break;
      case 3:
        out.packed = in.integer(field_type);
        break;
      case 4:
        out.crc = static_cast<uint32_t>(in.integer(field_type));
        break;
      case 5:
        read_kind(in, field_type, kData, out);
        break;
      case 7:
        read_kind(in, field_type, kDictionary, out);
        break;
      case 8:
        read_kind(in, field_type, kDataV2, out);
        break;
      default:
        in.skip(field_type);
    }
  });
  if (!in.ok() || kind < 0 || kind > static_cast<int64_t>(PageHead::Kind::data_v2)) return std::nullopt;
  out.kind = static_cast<PageHead::Kind>(kind);
  size = in.at();
  return out;
}

std::string_view name_of(Encoding encoding) { return kEncodings[static_cast<size_t>(encoding)]; }

}  // namespace doppel::parquet
