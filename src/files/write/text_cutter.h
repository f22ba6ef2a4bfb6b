#pragma once
// Removes passages from the texts of records.

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/rule.h"
#include "formats/decoder.h"
#include "formats/text_field.h"

namespace doppel {

class TextCutter {
 public:
  // The format of the records must pass check_format_of_plain_texts().
  explicit TextCutter(const FormatOptions& format);

  struct Shorter {
    std::string record, text;  // without the passages
    std::string column;        // that holds the text, if the record is a row
    bool empty = false;        // the shorter text has only space
  };
  // `cut`: bytes of the document's text, disjoint, ascending. Nullopt: the record does not hold its text as
  // it is compared.
  std::optional<Shorter> without(const Record& record, std::span<const ByteRange> cut);

 private:
  TextField field_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace doppel
