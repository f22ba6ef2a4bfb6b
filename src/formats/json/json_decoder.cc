#include "formats/json/json_decoder.h"

#include <fmt/format.h>

#include "base/reason.h"
#include "base/status.h"
#include "formats/body.h"
#include "formats/bytes/base64.h"
#include "formats/json/json_fields.h"
#include "formats/json/json_value.h"
#include "formats/presets.h"
#include "formats/schema/schema_decoder.h"
#include "formats/warc/warc.h"

namespace doppel {
namespace {

namespace dom = simdjson::dom;

constexpr std::string_view kPagesFormat = "json-pages-1.0";

BodyEncoding body_encoding(const FormatOptions& options, const Preset& preset) {
  if (options.body_encoding == GivenEncoding::text) return BodyEncoding::text;
  if (options.body_encoding == GivenEncoding::base64) return BodyEncoding::base64;
  if (options.body_encoding == GivenEncoding::automatic) return BodyEncoding::automatic;
  return preset.body;
}

class JsonDecoder final : public Decoder {
 public:
  JsonDecoder(const FormatOptions& options, std::vector<WantedField> fields)
      : preset_(preset_of(options.format)),
        encoding_(body_encoding(options, preset_)),
        fields_(preset_, std::move(fields)),
        rules_(options) {
    const bool extracts = preset_.reads_bodies || options.extract >= ExtractPart::visible;
    if (extracts || encoding_ != BodyEncoding::text) {
      FormatOptions body = options;
      if (!extracts) body.extract = ExtractPart::none;
      bodies_ = std::make_unique<BodyReader>(
          body, extracts && !preset_.reads_bodies ? PageIf::always : PageIf::responses);
    }
    if (preset_.text_elsewhere) warc_ = std::make_unique<WarcDecoder>(options);
  }

  absl::Status decode(const Record& record, Document& out) override {
    std::string_view value = record.value;
    const bool framed = is_schema_framed(value);  // JSON never starts with a zero byte
    if (framed) value.remove_prefix(kSchemaFrame);
    if (value.starts_with("\xef\xbb\xbf")) value.remove_prefix(3);
    dom::element root;
    if (const auto error = fields_.parse(value, root)) return broken(record.value, framed, error);
    dom::object object;
    if (root.get(object) != simdjson::SUCCESS) {
      return rejected(Reason::not_json,
                      fmt::format(" as expected: {} instead of an object", name_of(root.type())));
    }
    RETURN_IF_ERROR(fields_.take(record, object, out, parts_));
    if (preset_.text_may_be_missing && !parts_.has_text && out.url.empty()) {
      RETURN_IF_ERROR(take_header(object, out));
    }
    if (preset_.reads_bodies) {
      find_type(out);
      skip(out);
      if (out.skip != Reason::none) {
        out.text = {};
        return absl::OkStatus();
      }
      if (preset_.text_elsewhere) return take_elsewhere(record, out);
    }
    return parts_.has_text ? take_text(out) : absl::OkStatus();
  }

 private:
  absl::Status broken(std::string_view value, bool framed, simdjson::error_code error) const {
    if (framed) {
      uint32_t schema = 0;
      is_schema_framed(value, &schema);
      return rejected(
          Reason::schema_registry_encoded,
          fmt::format(": the value starts with the id of a schema in a registry "
                      "({}), and no JSON follows: "
                      "it is Avro or Protobuf. input.format: avro reads Avro; let the producer of Protobuf "
                      "write JSON or Avro",
                      schema));
    }
    if (preset_.name == "scrapy-cluster" && value == "json failed to parse") {
      return rejected(Reason::not_encoded,
                      ": the crawler itself could not encode this page (\"json failed to parse\")");
    }
    return not_json(error, value);
  }

  // The first line of a pages file describes the file. Any other line without a URL is a page without
  // content.
  absl::Status take_header(dom::object object, Document& out) const {
    std::string_view format;
    if (object["format"].get(format) != simdjson::SUCCESS || format != kPagesFormat) return absl::OkStatus();
    bool has_text = true;
    std::string_view word;
    dom::element element;
    if (object["hasText"].get(element) == simdjson::SUCCESS && element.get(has_text) != simdjson::SUCCESS &&
        element.get(word) == simdjson::SUCCESS) {
      has_text = word != "false";
    }
    if (!has_text) {
      return rejected(Reason::no_page_text,
                      ": the crawler did not store it; run it with --text to-pages (older versions: "
                      "--text)");
    }
    out.skip = Reason::header;
    return absl::OkStatus();
  }

  void find_type(Document& out) const {
    if (out.content_type.empty() && parts_.headers) {
      out.content_type = header_in(*parts_.headers, "content-type");
    }
  }

  void skip(Document& out) const {
    out.skip = Rules::skip_url(out.url);
    if (out.skip == Reason::none && parts_.status) out.skip = rules_.skip_status(*parts_.status);
    if (out.skip == Reason::none) out.skip = rules_.skip_type(out.content_type);
  }

  // The text is in a WARC file, which FETCH has read.
  absl::Status take_elsewhere(const Record& record, Document& out) {
    if (!record.not_fetched.empty()) return invalid(std::string(record.not_fetched));
    if (!record.fetched) {
      out.skip = Reason::no_body;
      return absl::OkStatus();
    }
    return warc_->complete(*record.fetched, record.revisited, out);
  }

  absl::Status take_text(Document& out) {
    if (preset_.joins_arrays && join_sorted(parts_.text, text_joined_)) out.text = text_joined_;
    if (!bodies_) return absl::OkStatus();
    BodyBytes body{
        .bytes = out.text, .unicode = true, .content_type = out.content_type, .charset = parts_.charset};
    const bool base64 = encoding_ == BodyEncoding::base64      ? decode_base64(body.bytes, decoded_)
                        : encoding_ == BodyEncoding::automatic ? is_base64_document(body.bytes, decoded_)
                                                               : false;
    if (base64) {
      body.bytes = decoded_;
      body.unicode = false;
      if (looks_binary(decoded_)) {
        out.text = {};
        out.skip = Reason::binary;
        return absl::OkStatus();
      }
    } else if (encoding_ == BodyEncoding::base64) {
      return rejected(Reason::bad_text, fmt::format(" \"{}\" is not base64", parts_.text_field));
    }
    return bodies_->read(body, out);
  }

  const Preset& preset_;
  const BodyEncoding encoding_;
  JsonFields fields_;
  Rules rules_;
  std::unique_ptr<BodyReader> bodies_;  // null: the text is the string itself
  std::unique_ptr<WarcDecoder> warc_;
  JsonParts parts_;
  std::string text_joined_, decoded_;
};

}  // namespace

std::unique_ptr<Decoder> make_json_decoder(const FormatOptions& options) {
  auto fields = wanted_fields(options);
  return std::make_unique<JsonDecoder>(options,
                                       fields.ok() ? *std::move(fields) : std::vector<WantedField>());
}

}  // namespace doppel
