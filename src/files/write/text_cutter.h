#pragma once
// Writes records without some passages of their texts.

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/relation.h"
#include "formats/decoder.h"
#include "formats/text_field.h"

namespace doppel {

class TextCutter {
 public:
  // Records of this format, which check_format_of_plain_texts() accepts.
  explicit TextCutter(const FormatOptions& format);

  struct Shorter {
    std::string record, text;  // without the passages
    std::string column;        // that holds the text, if the record is a row
    bool empty = false;        // nothing but space is left of the text
  };
  // `cut`: bytes of the document's text, disjoint, ascending. Nullopt: the record does not hold its text as
  // it is.
  std::optional<Shorter> without(const Record& record, std::span<const ByteRange> cut);

 private:
  TextField field_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace doppel
