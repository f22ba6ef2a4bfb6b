#include "formats/schema/schema_decoder.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/reason.h"
#include "base/status.h"
#include "formats/schema/avro.h"

namespace doppel {
namespace {

class SchemaDecoder final : public Decoder {
 public:
  SchemaDecoder(const FormatOptions& options, std::unique_ptr<Decoder> json)
      : framed_(options.framing == "registry"), json_(std::move(json)) {
    if (options.schema_file.empty()) return;
    absl::StatusOr<std::shared_ptr<const RecordSchema>> schema = load_schema_file(options);
    schema_ =
        schema.ok() ? *std::move(schema) : refused_schema(std::string(std_sv(schema.status().message())));
  }

  absl::Status decode(const Record& record, Document& out) override {
    std::string_view data = record.value;
    if (framed_ && !is_schema_framed(data)) {
      return rejected(Reason::not_framed,
                      ": the value does not start with a zero and the id of a schema in a registry "
                      "(input.framing: none reads values without it)");
    }
    if (framed_) data.remove_prefix(kSchemaFrame);
    const RecordSchema* schema = schema_ != nullptr ? schema_.get() : record.schema;
    if (schema == nullptr)
      return rejected(Reason::schema_unknown, ": no schema registry was asked (schema_registry.url)");
    text_.clear();
    RETURN_IF_ERROR(schema->to_json(data, text_));
    text_.reserve(text_.size() + kRecordPadding);
    Record json = record;
    json.value = text_;
    return json_->decode(json, out);
  }

 private:
  const bool framed_;
  const std::unique_ptr<Decoder> json_;
  std::shared_ptr<const RecordSchema> schema_;  // of the file
  std::string text_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const RecordSchema>> load_schema_file(const FormatOptions& options) {
  std::ifstream in(options.schema_file, std::ios::binary);
  if (!in) return io_error(fmt::format("input.schema_file: {}", options.schema_file));
  std::stringstream text;
  text << in.rdbuf();
  const std::string schema = std::move(text).str();
  auto parsed = make_avro_schema(std::array{std::string_view(schema)});
  if (parsed.ok()) return parsed;
  return invalid(
      fmt::format("input.schema_file: {}: {}", options.schema_file, std_sv(parsed.status().message())));
}

std::unique_ptr<Decoder> make_schema_decoder(const FormatOptions& options, std::unique_ptr<Decoder> json) {
  return std::make_unique<SchemaDecoder>(options, std::move(json));
}

}  // namespace doppel
