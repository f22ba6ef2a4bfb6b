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
  RawDecoder(const FormatOptions& options, PageIf pages, std::vector<WantedField> fields)
      : fields_(std::move(fields)),
        gathered_(fields_),
        rules_(options),
        pages_(pages),
        bodies_(options, pages) {
    std::erase_if(fields_, [](const WantedField& field) { return field.from == WantedField::From::json; });
  }

  absl::Status decode(const Record& record, Document& out) override {
    out = {};
    BodyBytes body{.bytes = record.value, .content_type = record.media_type};
    if (record.whole_file) body.name = record.source;
    if (!fields_.empty()) take_fields(record, body, out);
    if (pages_ == PageIf::always) {
      out.skip = rules_.skip_type(out.content_type);
      if (out.skip != Reason::none) return absl::OkStatus();
    } else if (!record.whole_file && body.bytes.ends_with('\r')) {
      body.bytes.remove_suffix(1);
    }
    return bodies_.read(body, out);
  }

  absl::Status decode_piece(const Record& record, std::string_view piece, bool first,
                            Document& out) override {
    if (first) out = {};
    return bodies_.read_piece({.bytes = piece, .name = record.source}, first, out);
  }

 private:
  void take_fields(const Record& record, BodyBytes& body, Document& out) {
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
          if (field.from != WantedField::From::key ||
              (Rules::skip_url(*value) == Reason::none && !value->empty()))
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
  PageIf pages_;
  BodyReader bodies_;
  std::string quoted_;
};

}  // namespace

std::unique_ptr<Decoder> make_raw_decoder(const FormatOptions& options, PageIf pages) {
  auto fields = wanted_fields(options);
  return std::make_unique<RawDecoder>(options, pages,
                                      fields.ok() ? *std::move(fields) : std::vector<WantedField>());
}

}  // namespace doppel
