#pragma once
// Writes Parquet files of one row group, PLAIN and uncompressed. Every field may be wrong on purpose.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace doppel {

// Thrift's compact protocol.
class ThriftWriter {
 public:
  void integer(int id, int64_t value, bool wide = false) {
    field(id, wide ? 6 : 5);
    zigzag(value);
  }
  void binary(int id, std::string_view value) {
    field(id, 8);
    put_string(out, value);
  }
  void truth(int id, bool value) { field(id, value ? 1 : 2); }
  void begin(int id) {
    field(id, 12);
    begin();
  }
  void begin() { last_.push_back(0); }
  void end() {
    out.push_back('\0');
    last_.pop_back();
  }
  void list(int id, size_t size, int type = 12) {
    field(id, 9);
    out.push_back(static_cast<char>(0xf0 | type));
    put_varint(out, size);
  }
  std::string out;

 private:
  void field(int id, int type) {
    out.push_back(static_cast<char>(type));
    zigzag(id);
    last_.back() = id;
  }
  void zigzag(int64_t value) {
    put_varint(out, static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }
  std::vector<int> last_{0};
};

struct WrittenPage {
  std::string bytes;
  int64_t values = 0;
  int encoding = 0;
  bool dictionary = false;
  std::optional<int64_t> packed, unpacked;  // the size of `bytes`
};

struct WrittenColumn {
  std::string name;
  int type = 6;       // BYTE_ARRAY
  int converted = 0;  // UTF8; -1: none
  int codec = 0;
  bool optional = false, encrypted = false, elsewhere = false;
  std::vector<WrittenPage> pages;
  std::optional<int64_t> chunk_at, chunk_bytes;
};

inline std::string plain_bytes(const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& value : values) {
    put_fixed(out, static_cast<uint32_t>(value.size()));
    out += value;
  }
  return out;
}

// Makes a column of texts in one page.
inline WrittenColumn text_column(const std::string& name, const std::vector<std::string>& values) {
  return {.name = name,
          .pages = {{.bytes = plain_bytes(values), .values = static_cast<int64_t>(values.size())}}};
}

inline std::string parquet_file(const std::vector<WrittenColumn>& columns, int64_t rows) {
  std::string out = "PAR1";
  std::vector<size_t> begins, ends;
  for (const WrittenColumn& column : columns) {
    begins.push_back(out.size());
    for (const WrittenPage& page : column.pages) {
      const auto size = static_cast<int64_t>(page.bytes.size());
      ThriftWriter head;
      head.integer(1, page.dictionary ? 2 : 0);
      head.integer(2, page.unpacked.value_or(size));
      head.integer(3, page.packed.value_or(size));
      head.begin(page.dictionary ? 7 : 5);
      head.integer(1, page.values);
      head.integer(2, page.encoding);
      if (!page.dictionary) {
        head.integer(3, 3);
        head.integer(4, 3);
      }
      head.end();
      head.end();
      out += head.out + page.bytes;
    }
    ends.push_back(out.size());
  }
  ThriftWriter footer;
  footer.integer(1, 2);
  footer.list(2, columns.size() + 1);
  footer.begin();
  footer.binary(4, "schema");
  footer.integer(5, static_cast<int64_t>(columns.size()));
  footer.end();
  for (const WrittenColumn& column : columns) {
    footer.begin();
    footer.integer(1, column.type);
    footer.integer(3, column.optional ? 1 : 0);
    footer.binary(4, column.name);
    if (column.converted >= 0) footer.integer(6, column.converted);
    footer.end();
  }
  footer.integer(3, rows, true);
  footer.list(4, 1);
  footer.begin();
  footer.list(1, columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    footer.begin();
    if (columns[i].elsewhere) footer.binary(1, "other.parquet");
    footer.begin(3);
    footer.integer(1, columns[i].type);
    footer.list(3, 1, 8);
    put_string(footer.out, columns[i].name);
    footer.integer(4, columns[i].codec);
    footer.integer(5, rows, true);
    footer.integer(7, columns[i].chunk_bytes.value_or(static_cast<int64_t>(ends[i] - begins[i])), true);
    footer.integer(9, columns[i].chunk_at.value_or(static_cast<int64_t>(begins[i])), true);
    footer.end();
    if (columns[i].encrypted) {
      footer.begin(8);
      footer.begin(1);
      footer.end();
      footer.end();
    }
    footer.end();
  }
  footer.integer(3, rows, true);
  footer.end();
  footer.end();
  out += footer.out;
  put_fixed(out, static_cast<uint32_t>(footer.out.size()));
  return out + "PAR1";
}

}  // namespace doppel
