// Parses the schema at once, but each row group only when it is read: a table of thousands of columns has
// millions of chunks, of which few are wanted.

#include "files/parquet/footer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/bytes.h"
#include "base/status.h"

namespace doppel::parquet {
namespace {

using Type = ThriftReader::Type;

constexpr uint64_t kTail = sizeof(uint32_t) + kMagic.size();
constexpr uint64_t kMostFooter = 128 << 20;

absl::Status broken(const std::string& cause) { return absl::DataLossError(cause); }

struct RawChunk {
  int64_t type = -1, codec = 0, values = 0, bytes = 0, data = 0, dictionary = 0;
  bool elsewhere = false, encrypted = false, described = false;
};

void read_description(ThriftReader& in, Type type, RawChunk& out) {
  out.described = true;
  in.each_field_of(type, [&](int16_t id, Type of) {
    switch (id) {
      case 1:
        out.type = in.integer(of);
        break;
      case 4:
        out.codec = in.integer(of);
        break;
      case 5:
        out.values = in.integer(of);
        break;
      case 7:
        out.bytes = in.integer(of);
        break;
      case 9:
        out.data = in.integer(of);
        break;
      case 11:
        out.dictionary = in.integer(of);
        break;
      default:
        in.skip(of);
    }
  });
}

RawChunk read_chunk(ThriftReader& in, Type type) {
  RawChunk out;
  in.each_field_of(type, [&](int16_t id, Type of) {
    switch (id) {
      case 1:
        out.elsewhere = !in.binary(of).empty();
        break;
      case 3:
        read_description(in, of, out);
        break;
      case 8:
        out.encrypted = true;
        in.skip(of);
        break;
      default:
        in.skip(of);
    }
  });
  return out;
}

Chunk checked(const RawChunk& raw, const Column& column, uint64_t file_size) {
  if (raw.encrypted) return {.unreadable = "it is encrypted"};
  if (raw.elsewhere) return {.unreadable = "its values are stored in another file"};
  if (!raw.described) return {.unreadable = "the footer does not say where its values are"};
  if (raw.type != static_cast<int64_t>(column.stored))
    return {.unreadable = "its type differs from the schema's"};
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
          .values = static_cast<uint64_t>(std::max<int64_t>(0, raw.values)),
          .codec = codec,
          .unreadable = {}};
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
  in.each_field([&](int16_t id, Type of) {
    const size_t begin = in.at();
    if (id == 2) {
      tree = read_schema(in, of, out.columns_);
      out.schema_ = {begin, in.at() - begin};
    } else if (id == 5) {
      in.skip(of);
      out.notes_ = {begin, in.at() - begin};
    } else if (id == 4) {
      Type element = Type::stop;
      out.groups_left_ = in.begin_list(of, element);
      out.at_ = in.at();
      for (uint64_t left = out.groups_left_; left > 0 && in.ok(); --left) in.skip(element);
      if (element != Type::structure && out.groups_left_ > 0) tree = false;
    } else {
      in.skip(of);
    }
  });
  if (!in.ok() || !tree) return broken("a damaged Parquet file: its footer cannot be understood");
  return out;
}

absl::StatusOr<std::vector<Leaf>> Footer::leaves() const {
  std::vector<Leaf> out;
  ThriftReader in(schema());
  if (!read_leaves(in, Type::list, out) || !in.ok())
    return broken("a damaged Parquet file: its footer cannot be understood");
  return out;
}

absl::StatusOr<bool> Footer::next_group(const std::vector<Column>& chosen, RowGroup& out) {
  if (groups_left_ == 0) return false;
  --groups_left_;
  out.rows = 0;
  out.chunks.assign(chosen.size(), {.unreadable = "it is missing"});
  int64_t rows = 0;
  ThriftReader in(std::string_view(bytes_).substr(at_));
  in.each_field([&](int16_t id, Type of) {
    if (id == 1) {
      size_t leaf = 0;
      in.each_element(of, [&](Type element) {
        const auto is_it = [&](const Column& column) { return column.leaf == leaf; };
        // If all columns are chosen, the index of each is known.
        const auto wanted = leaf < chosen.size() && is_it(chosen[leaf])
                                ? chosen.begin() + static_cast<std::ptrdiff_t>(leaf)
                                : std::find_if(chosen.begin(), chosen.end(), is_it);
        ++leaf;
        if (wanted == chosen.end()) return in.skip(element);
        out.chunks[static_cast<size_t>(wanted - chosen.begin())] =
            checked(read_chunk(in, element), *wanted, file_size_);
      });
    } else if (id == 3) {
      rows = in.integer(of);
    } else {
      in.skip(of);
    }
  });
  at_ += in.at();
  if (!in.ok()) return broken("the footer cannot be understood");
  if (rows < 0) return broken(fmt::format("it has {} rows, the footer says", rows));
  out.rows = static_cast<uint64_t>(rows);
  return true;
}

}  // namespace doppel::parquet
