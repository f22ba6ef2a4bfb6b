#include "formats/raw_decoder.h"

#include <algorithm>
#include <array>

#include "base/status.h"
#include "formats/body.h"
#include "formats/fields.h"
#include "formats/presets.h"

namespace doppel {
namespace {

class RawDecoder final : public Decoder {
 public:
  RawDecoder(const FormatOptions& options, std::vector<WantedField> fields)
      : fields_(std::move(fields)), gathered_(fields_), rules_(options) {
    std::erase_if(fields_, [](const WantedField& field) { return field.from == WantedField::From::json; });
    const bool html = options.format == "html";
    if (html || options.extract == "visible" || options.extract == "main") {
      bodies_ = std::make_unique<BodyReader>(options, true);
    }
  }

  absl::Status decode(const Record& record, Document& out) override {
    out = {};
    ResponseBody body{.bytes = record.value};
    if (!fields_.empty()) take_fields(record, body, out);
    if (bodies_) {
      out.skip = rules_.skip_type(out.content_type);
      if (!out.skip.empty()) return absl::OkStatus();
      ASSIGN_OR_RETURN(out.text, bodies_->text(body));
      out.text_source = bodies_->text_source();
      return absl::OkStatus();
    }
    out.text = record.value;
    if (out.text.starts_with("\xef\xbb\xbf")) out.text.remove_prefix(3);
    if (!record.whole_file && out.text.ends_with('\r')) out.text.remove_suffix(1);
    return absl::OkStatus();
  }

  bool reads_pieces() const override { return !bodies_; }

 private:
  void take_fields(const Record& record, ResponseBody& body, Document& out) {
    std::array<bool, kRoles> done{};
    gathered_.clear();
    for (const WantedField& field : fields_) {
      std::optional<std::string_view> value = record_field(field, record);
      if (field.role == Role::scope) {
        gathered_.add_scope(value);
        continue;
      }
      auto& taken = done[static_cast<size_t>(field.role)];
      if (!value || (taken && field.role != Role::tag && field.role != Role::passthrough)) continue;
      taken = true;
      switch (field.role) {
        case Role::id:
          out.id = *value;
          break;
        case Role::url:
          // A key need not be a URL.
          if (field.from != WantedField::From::key || (Rules::skip_url(*value).empty() && !value->empty()))
            out.url = *value;
          break;
        case Role::date:
          out.timestamp_ms = parse_time(*value);
          break;
        case Role::content_type:
          out.content_type = body.content_type = *value;
          break;
        case Role::charset:
          body.charset = *value;
          break;
        case Role::tag:
          gathered_.add_tag(field.label, *value);
          break;
        case Role::passthrough:
          quoted_.clear();
          append_json_member(quoted_, *value);
          quoted_.pop_back();
          gathered_.add_passthrough(field.label, quoted_);
          break;
        case Role::best:
          quoted_.clear();
          append_json_member(quoted_, *value);
          quoted_.pop_back();
          gathered_.set_best(quoted_);
          break;
        default:
          break;
      }
    }
    gathered_.put(out);
  }

  std::vector<WantedField> fields_;
  Gathered gathered_;
  Rules rules_;
  std::unique_ptr<BodyReader> bodies_;  // null: the value is the text
  std::string quoted_;
};

}  // namespace

std::unique_ptr<Decoder> make_raw_decoder(const FormatOptions& options) {
  auto fields = wanted_fields(options);
  return std::make_unique<RawDecoder>(options, fields.ok() ? *std::move(fields) : std::vector<WantedField>());
}

}  // namespace doppel
