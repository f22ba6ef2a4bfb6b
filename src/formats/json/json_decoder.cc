#include "formats/json/json_decoder.h"

#include <fmt/format.h>

#include <charconv>

#include "base/status.h"
#include "formats/body.h"
#include "formats/bytes/base64.h"
#include "formats/fields.h"
#include "formats/json/found_fields.h"
#include "formats/json/json_value.h"
#include "formats/presets.h"
#include "formats/schema/record_schema.h"
#include "formats/warc/warc_decoder.h"

namespace doppel {
namespace {

namespace dom = simdjson::dom;

constexpr std::string_view kPagesFormat = "json-pages-1.0";

// "a", "b" or "c"
std::string list_of(const std::vector<WantedField>& fields, Role role) {
  std::vector<std::string_view> names;
  for (const WantedField& field : fields) {
    if (field.role == role) names.push_back(field.given);
  }
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += fmt::format("\"{}\"", names[i]);
  }
  return out;
}

BodyEncoding body_encoding(const FormatOptions& options, const Preset& preset) {
  if (options.body_encoding == "text") return BodyEncoding::text;
  if (options.body_encoding == "base64") return BodyEncoding::base64;
  if (options.body_encoding == "auto") return BodyEncoding::automatic;
  return preset.body;
}

class JsonDecoder final : public Decoder {
 public:
  JsonDecoder(const FormatOptions& options, std::vector<WantedField> fields)
      : preset_(preset_of(options.format)),
        encoding_(body_encoding(options, preset_)),
        fields_(std::move(fields)),
        found_(fields_),
        gathered_(fields_),
        rules_(options),
        no_text_("text: no field " + list_of(fields_, Role::text)) {
    const bool extracts = preset_.reads_bodies || options.extract == "visible" || options.extract == "main";
    if (extracts || encoding_ != BodyEncoding::text) {
      FormatOptions body = options;
      if (!extracts) body.extract = "none";
      bodies_ = std::make_unique<BodyReader>(body, extracts && !preset_.reads_bodies);
    }
    if (preset_.text_elsewhere) warc_ = std::make_unique<WarcDecoder>(options);
  }

  absl::Status decode(const Record& record, Document& out) override {
    std::string_view value = record.value;
    const bool framed = is_schema_framed(value);  // JSON never starts with a zero byte
    if (framed) value.remove_prefix(kSchemaFrame);
    if (value.starts_with("\xef\xbb\xbf")) value.remove_prefix(3);
    dom::element root;
    if (const auto error = found_.parse(value, root)) return broken(record.value, framed, error);
    dom::object object;
    if (root.get(object) != simdjson::SUCCESS) {
      return invalid(fmt::format("not JSON as expected: {} instead of an object", name_of(root.type())));
    }
    found_.find(object);
    parts_ = {};
    RETURN_IF_ERROR(take(record, out));
    if (preset_.text_may_be_missing && !parts_.has_text && out.url.empty()) {
      RETURN_IF_ERROR(take_header(object, out));
    }
    if (preset_.reads_bodies) {
      find_type(out);
      skip(out);
      if (!out.skip.empty()) {
        out.text = {};
        return absl::OkStatus();
      }
      if (preset_.text_elsewhere) return take_elsewhere(record, out);
    }
    return parts_.has_text ? take_text(out) : absl::OkStatus();
  }

 private:
  // Parts of a document that do not go straight into it.
  struct Parts {
    dom::element text;
    bool has_text = false;
    std::string_view text_field;
    std::string_view charset;
    std::optional<dom::element> headers;
    std::optional<int64_t> status;
    std::string_view warc_type;
  };

  absl::Status broken(std::string_view value, bool framed, simdjson::error_code error) const {
    if (framed) {
      uint32_t schema = 0;
      is_schema_framed(value, &schema);
      return invalid(
          fmt::format("schema_registry_encoded: the value starts with the id of a schema in a registry "
                      "({}), and no JSON follows: "
                      "it is Avro or Protobuf. input.format: avro reads Avro; let the producer of Protobuf "
                      "write JSON or Avro",
                      schema));
    }
    if (preset_.name == "scrapy-cluster" && value == "json failed to parse") {
      return invalid("not encoded: the crawler itself could not encode this page (\"json failed to parse\")");
    }
    return not_json(error, value);
  }

  // The error for a used field whose value cannot be represented.
  absl::Status unusable(std::string_view role, const WantedField& field, JsonMender::Hurt hurt) const {
    return invalid(fmt::format("{}: field \"{}\" holds {}", role, field.given,
                               hurt == JsonMender::Hurt::number ? "a number that does not fit into 64 bits"
                                                                : "half of a surrogate pair"));
  }
  absl::Status take(const Record& record, Document& out) {
    out = {};
    std::array<bool, kRoles> done{};
    bool text_is_null = false;
    gathered_.clear();
    for (size_t i = 0; i < fields_.size(); ++i) {
      const WantedField& field = fields_[i];
      const auto role = static_cast<size_t>(field.role);
      if (field.role >= Role::scope && field.role <= Role::best) {
        RETURN_IF_ERROR(gather(i, record));
        continue;
      }
      if (done[role]) continue;
      if (field.from != WantedField::From::json) {
        if (std::optional<std::string_view> value = record_field(field, record)) {
          done[role] = true;
          take_value(field.role, *value, out);
        }
        continue;
      }
      if (!found_[i]) continue;
      dom::element element = *found_[i];
      if (is_nothing(element)) {
        text_is_null = text_is_null || field.role == Role::text;
        continue;
      }
      if (preset_.none_is_null && field.role != Role::text && is_none(element)) continue;
      done[role] = true;
      const JsonMender::Hurt hurt = found_.hurt(i);
      // Such a number is not a date or a status.
      if (hurt == JsonMender::Hurt::number && field.role > Role::url) continue;
      switch (field.role) {
        case Role::text:
          if (hurt == JsonMender::Hurt::surrogate) return unusable("text", field, hurt);
          parts_.text = element;
          parts_.has_text = true;
          parts_.text_field = field.given;
          // The common case.
          if (element.get(out.text) != simdjson::SUCCESS && !preset_.joins_arrays) {
            return invalid(
                fmt::format("text: field \"{}\" is {}, not a string", field.given, name_of(element.type())));
          }
          break;
        case Role::id:
          if (hurt == JsonMender::Hurt::number && found_.whole_number(i, id_joined_)) {
            out.id = id_joined_;
            break;
          }
          if (hurt != JsonMender::Hurt::no) return unusable("id", field, hurt);
          if (!scalar(element, id_, out.id) && !joined(element, id_joined_, out.id)) {
            return invalid(fmt::format("id: field \"{}\" is {}, not a string or a number", field.given,
                                       name_of(element.type())));
          }
          break;
        case Role::url:
          if (hurt == JsonMender::Hurt::surrogate) return unusable("url", field, hurt);
          if (element.get(out.url) != simdjson::SUCCESS && !joined(element, url_joined_, out.url))
            out.url = {};
          break;
        case Role::response_headers:
          parts_.headers = element;
          break;
        case Role::status:
          if (int64_t status = 0; element.get(status) == simdjson::SUCCESS) {
            parts_.status = status;
            break;
          }
          [[fallthrough]];
        default:
          if (std::string_view value; scalar(element, field.role == Role::date ? date_ : other_, value)) {
            take_value(field.role, value, out);
          }
      }
    }
    gathered_.put(out);
    if (!parts_.has_text && !text_is_null && !preset_.text_elsewhere && !preset_.text_may_be_missing) {
      return invalid(no_text_);
    }
    return absl::OkStatus();
  }

  void take_value(Role role, std::string_view value, Document& out) {
    auto origin = [&]() -> WarcOrigin& { return out.warc ? *out.warc : out.warc.emplace(); };
    switch (role) {
      case Role::id:
        out.id = value;
        break;
      case Role::url:
        out.url = value;
        break;
      case Role::date:
        out.timestamp_ms = parse_time(value);
        break;
      case Role::content_type:
        out.content_type = value;
        break;
      case Role::charset:
        parts_.charset = value;
        break;
      case Role::status: {
        int64_t status = 0;
        if (std::from_chars(value.data(), value.data() + value.size(), status).ec == std::errc())
          parts_.status = status;
        break;
      }
      case Role::payload_digest:
        if (value.find(':') != std::string_view::npos) out.payload_digest = value;
        break;
      case Role::warc_filename:
        origin().filename = value;
        break;
      case Role::warc_offset: {
        uint64_t offset = 0;
        if (std::from_chars(value.data(), value.data() + value.size(), offset).ec == std::errc())
          origin().offset = offset;
        break;
      }
      case Role::warc_record_id:
        if (value.starts_with('<') && value.ends_with('>')) value = value.substr(1, value.size() - 2);
        origin().record_id = value;
        break;
      case Role::warc_type:
        parts_.warc_type = value;
        break;
      default:
        break;
    }
  }

  absl::Status gather(size_t i, const Record& record) {
    const WantedField& field = fields_[i];
    const std::optional<dom::element> element = found_[i];
    const JsonMender::Hurt hurt = found_.hurt(i);
    if ((field.role == Role::passthrough || field.role == Role::best) && element) {
      if (hurt == JsonMender::Hurt::no) {
        pass(field, simdjson::minify(*element));
      } else {
        found_.raw(i, quoted_);
        pass(field, quoted_);
      }
      return absl::OkStatus();
    }
    std::optional<std::string_view> value = record_field(field, record);
    if (element && !is_nothing(*element)) {
      value.emplace();
      const std::string_view role = field.role == Role::scope ? "scope" : "tags";
      if (hurt == JsonMender::Hurt::number && found_.whole_number(i, other_joined_)) {
        value = other_joined_;
      } else if (hurt != JsonMender::Hurt::no) {
        return unusable(role, field, hurt);
      } else if (!scalar(*element, other_, *value) && !joined(*element, other_joined_, *value)) {
        return invalid(fmt::format("{}: field \"{}\" is {}, not a string, a number, true or false", role,
                                   field.given, name_of(element->type())));
      }
    }
    if (field.role == Role::scope) {
      gathered_.add_scope(value);
    } else if (value && field.role == Role::tag) {
      gathered_.add_tag(field.label, *value);
    } else if (value) {
      quoted_.clear();
      append_json_member(quoted_, *value);
      quoted_.pop_back();
      pass(field, quoted_);
    }
    return absl::OkStatus();
  }

  void pass(const WantedField& field, std::string_view json) {
    if (field.role == Role::best) {
      gathered_.set_best(json);
    } else {
      gathered_.add_passthrough(field.label, json);
    }
  }

  bool joined(dom::element element, std::string& memory, std::string_view& out) const {
    if (!preset_.joins_arrays || !join_sorted(element, memory)) return false;
    out = memory;
    return true;
  }

  static bool is_none(dom::element element) {
    std::string_view value;
    return element.get(value) == simdjson::SUCCESS && value == "None";
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
      return invalid(
          "pages without text: the crawler did not store it; run it with --text to-pages (older versions: "
          "--text)");
    }
    out.skip = "header";
    return absl::OkStatus();
  }

  void find_type(Document& out) const {
    if (out.content_type.empty() && parts_.headers) {
      out.content_type = header_in(*parts_.headers, "content-type");
    }
  }

  void skip(Document& out) const {
    out.skip = Rules::skip_url(out.url);
    if (out.skip.empty() && parts_.status) out.skip = rules_.skip_status(*parts_.status);
    if (out.skip.empty()) out.skip = rules_.skip_type(out.content_type);
  }

  // The text is in a WARC file, which FETCH has read.
  absl::Status take_elsewhere(const Record& record, Document& out) {
    if (!record.not_fetched.empty()) return invalid(std::string(record.not_fetched));
    if (!record.fetched) {
      out.skip = "no_body";
      return absl::OkStatus();
    }
    return warc_->complete(*record.fetched, record.revisited, out);
  }

  absl::Status take_text(Document& out) {
    if (preset_.joins_arrays && join_sorted(parts_.text, text_joined_)) out.text = text_joined_;
    if (!bodies_) return absl::OkStatus();
    ResponseBody body{
        .bytes = out.text, .unicode = true, .content_type = out.content_type, .charset = parts_.charset};
    const bool base64 = encoding_ == BodyEncoding::base64      ? decode_base64(body.bytes, decoded_)
                        : encoding_ == BodyEncoding::automatic ? is_base64_document(body.bytes, decoded_)
                                                               : false;
    if (base64) {
      body.bytes = decoded_;
      body.unicode = false;
      if (looks_binary(decoded_)) {
        out.text = {};
        out.skip = "binary";
        return absl::OkStatus();
      }
    } else if (encoding_ == BodyEncoding::base64) {
      return invalid(fmt::format("text: field \"{}\" is not base64", parts_.text_field));
    }
    ASSIGN_OR_RETURN(out.text, bodies_->text(body));
    out.text_source = bodies_->text_source();
    return absl::OkStatus();
  }

  const Preset& preset_;
  const BodyEncoding encoding_;
  std::vector<WantedField> fields_;
  FoundFields found_;  // of fields_
  Gathered gathered_;
  Rules rules_;
  std::string no_text_;
  std::unique_ptr<BodyReader> bodies_;  // null: the text is the string itself
  std::unique_ptr<WarcDecoder> warc_;
  Parts parts_;
  ScalarMemory id_, date_, other_;
  std::string id_joined_, url_joined_, other_joined_, text_joined_, decoded_, quoted_;
};

}  // namespace

std::unique_ptr<Decoder> make_json_decoder(const FormatOptions& options) {
  auto fields = wanted_fields(options);
  return std::make_unique<JsonDecoder>(options,
                                       fields.ok() ? *std::move(fields) : std::vector<WantedField>());
}

}  // namespace doppel
