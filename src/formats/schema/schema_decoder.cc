#include "formats/schema/schema_decoder.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
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
      : framed_(options.framing == AvroFraming::registry), json_(std::move(json)) {
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

namespace {

class Refused final : public RecordSchema {
 public:
  explicit Refused(std::string reason) : reason_(std::move(reason)) {}
  absl::Status to_json(std::string_view, std::string&) const override { return invalid(reason_); }

 private:
  std::string reason_;
};

}  // namespace

size_t most_json(size_t data_bytes) {
  constexpr size_t kLeast = 4 << 20, kGrowth = 64, kMost = 256 << 20;
  return data_bytes > kMost / kGrowth ? std::max(kMost, data_bytes * 2) : kLeast + kGrowth * data_bytes;
}

std::shared_ptr<const RecordSchema> refused_schema(std::string reason) {
  return std::make_shared<Refused>(std::move(reason));
}

bool is_schema_framed(std::string_view value, uint32_t* id) {
  if (value.size() < kSchemaFrame || value[0] != '\0') return false;
  if (id == nullptr) return true;
  *id = 0;
  for (size_t i = 1; i < kSchemaFrame; ++i) *id = *id << 8 | static_cast<uint8_t>(value[i]);
  return true;
}

namespace {

namespace dom = simdjson::dom;

bool take_text(dom::object from, std::string_view key, std::string& out) {
  std::string_view text;
  if (from[key].get(text) != simdjson::SUCCESS) return false;
  out = text;
  return true;
}

// The object in `body`. Returns false if it is something else.
bool parse(dom::parser& parser, std::string_view body, dom::object& out) {
  dom::element root;
  return parser.parse(body.data(), body.size(), true).get(root) == simdjson::SUCCESS &&
         root.get(out) == simdjson::SUCCESS;
}

}  // namespace

absl::StatusOr<RegistryAnswer> parse_registry_answer(std::string_view body) {
  dom::parser parser;
  dom::object root;
  RegistryAnswer out;
  if (!parse(parser, body, root)) return invalid("the answer is not a JSON object");
  if (!take_text(root, "schema", out.schema)) return invalid("the answer has no \"schema\"");
  take_text(root, "schemaType", out.type);
  dom::array references;
  if (root["references"].get(references) != simdjson::SUCCESS) return out;
  for (const dom::element element : references) {
    dom::object given;
    RegistryAnswer::Reference reference;
    if (element.get(given) != simdjson::SUCCESS || !take_text(given, "subject", reference.subject) ||
        given["version"].get(reference.version) != simdjson::SUCCESS)
      return invalid("a reference has no \"subject\" or no \"version\"");
    take_text(given, "name", reference.name);
    out.references.push_back(std::move(reference));
  }
  return out;
}

RegistryError parse_registry_error(std::string_view body) {
  dom::parser parser;
  dom::object root;
  RegistryError out;
  if (!parse(parser, body, root)) return out;
  if (root["error_code"].get(out.code) != simdjson::SUCCESS) out.code = 0;
  take_text(root, "message", out.message);
  return out;
}

}  // namespace doppel
