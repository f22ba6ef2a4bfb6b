#include "formats/decoder.h"

#include <fmt/format.h>

#include "base/status.h"
#include "formats/fields.h"
#include "formats/json_decoder.h"

namespace doppel {
namespace {

// The record is the text.
class TextDecoder final : public Decoder {
 public:
  absl::Status decode(const Record& record, Document& out) override {
    out = {};
    out.text = record.value;
    if (out.text.starts_with("\xef\xbb\xbf")) out.text.remove_prefix(3);
    if (!record.whole_file && out.text.ends_with('\r')) out.text.remove_suffix(1);
    return absl::OkStatus();
  }
};

// Lines are JSON, whole files are text.
class AutoDecoder final : public Decoder {
 public:
  explicit AutoDecoder(std::unique_ptr<Decoder> json) : json_(std::move(json)) {}
  absl::Status decode(const Record& record, Document& out) override {
    return record.whole_file ? text_.decode(record, out) : json_->decode(record, out);
  }

 private:
  std::unique_ptr<Decoder> json_;
  TextDecoder text_;
};

}  // namespace

absl::Status check_format(const FormatOptions& options) {
  if (options.format != "auto" && options.format != "json" && options.format != "text") {
    return invalid(fmt::format("input.format: \"{}\" is not one of auto, json, text", options.format));
  }
  return wanted_fields(options).status();
}

std::unique_ptr<Decoder> make_decoder(const FormatOptions& options) {
  if (options.format == "text") return std::make_unique<TextDecoder>();
  auto fields = wanted_fields(options);
  std::unique_ptr<Decoder> json =
      make_json_decoder(fields.ok() ? *std::move(fields) : std::vector<WantedField>());
  if (options.format == "json") return json;
  return std::make_unique<AutoDecoder>(std::move(json));
}

}  // namespace doppel
