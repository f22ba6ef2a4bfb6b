#include "files/parquet/page.h"

#include <array>

#include "files/parquet/thrift.h"

namespace doppel::parquet {
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

void read_data(ThriftReader& in, Type type, PageHead& out) {
  in.each_field_of(type, [&](int16_t id, Type of) {
    switch (id) {
      case 1:
        out.values = in.integer(of);
        break;
      case 2:
        out.encoding = encoding_of(in.integer(of));
        break;
      case 3:
        out.levels = encoding_of(in.integer(of));
        break;
      default:
        in.skip(of);
    }
  });
}

void read_dictionary(ThriftReader& in, Type type, PageHead& out) {
  in.each_field_of(type, [&](int16_t id, Type of) {
    switch (id) {
      case 1:
        out.values = in.integer(of);
        break;
      case 2:
        out.encoding = encoding_of(in.integer(of));
        break;
      default:
        in.skip(of);
    }
  });
}

void read_data_v2(ThriftReader& in, Type type, PageHead& out) {
  in.each_field_of(type, [&](int16_t id, Type of) {
    switch (id) {
      case 1:
        out.values = in.integer(of);
        break;
      case 3:
        out.rows = in.integer(of);
        break;
      case 4:
        out.encoding = encoding_of(in.integer(of));
        break;
      case 5:
        out.definitions = in.integer(of);
        break;
      case 6:
        out.repetitions = in.integer(of);
        break;
      case 7:
        out.is_packed = in.boolean(of);
        break;
      default:
        in.skip(of);
    }
  });
}

}  // namespace

std::optional<PageHead> read_page_head(std::string_view bytes, size_t& size) {
  ThriftReader in(bytes);
  PageHead out;
  int64_t kind = -1;
  in.each_field([&](int16_t id, Type of) {
    switch (id) {
      case 1:
        kind = in.integer(of);
        break;
      case 2:
        out.unpacked = in.integer(of);
        break;
      case 3:
        out.packed = in.integer(of);
        break;
      case 4:
        out.crc = static_cast<uint32_t>(in.integer(of));
        break;
      case 5:
        read_data(in, of, out);
        break;
      case 7:
        read_dictionary(in, of, out);
        break;
      case 8:
        read_data_v2(in, of, out);
        break;
      default:
        in.skip(of);
    }
  });
  if (!in.ok() || kind < 0 || kind > static_cast<int64_t>(PageHead::Kind::data_v2)) return std::nullopt;
  out.kind = static_cast<PageHead::Kind>(kind);
  size = in.at();
  return out;
}

std::string_view name_of(Encoding encoding) { return kEncodings[static_cast<size_t>(encoding)]; }

}  // namespace doppel::parquet
