#pragma once
// Finds the text in a record, so that a caller can write the record with another text. Works only for records
// that hold their text as it is compared: a string in JSON, a line, or a whole file of text.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/decoder.h"
#include "formats/fields.h"
#include "formats/record.h"

namespace doppel {

class JsonMender;

class TextField {
 public:
  // The format must pass check_format_of_plain_texts().
  explicit TextField(const FormatOptions& options);
  ~TextField();

  struct Place {
    size_t begin = 0, end = 0;  // in Record::value; with the quotation marks, if it is JSON
    bool json = false;
    std::string_view column;  // its path with dots, if the record is a row
  };
  // Nullopt: the record does not hold its text as it is compared.
  std::optional<Place> find(const Record& record);
  // Returns the record with another text.
  std::string replaced(const Record& record, const Place& place, std::string_view text) const;

 private:
  std::vector<WantedField> fields_;
  std::vector<std::string> columns_;
  std::string format_;
  std::unique_ptr<JsonMender> json_;
};

}  // namespace doppel
