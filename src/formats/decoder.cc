#include "formats/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "absl/strings/str_join.h"
#include "base/reason.h"
#include "base/status.h"
#include "base/strings.h"
#include "formats/best.h"
#include "formats/body.h"
#include "formats/json/json_decoder.h"
#include "formats/mail/mail.h"
#include "formats/presets.h"
#include "formats/schema/schema_decoder.h"
#include "formats/warc/warc.h"

namespace doppel {
namespace {

constexpr std::string_view kPages = "pages=";

// Whether the data scheme of all records contains how pages are extracted.
bool says_extract(const FormatOptions& options) {
  return preset_of(options.format).reads_bodies || options.extract >= ExtractPart::visible;
}

// Chooses the decoder by the kind of the record, and sets the id from the key if that is the URL.
class FrontDecoder final : public Decoder {
 public:
  explicit FrontDecoder(const FormatOptions& options)
      : options_(options), key_is_url_(preset_of(options.format).key_is_url) {
    const Preset& preset = preset_of(options.format);
    if (options.format == "warc") {
      lines_ = std::make_unique<WarcDecoder>(options);
    } else if (preset.reads_json) {
      lines_ = make_json_decoder(options);
      if (options.format == "heritrix") lines_ = make_crawl_log_decoder(std::move(lines_));
      if (preset.has_schema) lines_ = make_schema_decoder(options, std::move(lines_));
    } else {
      lines_ = make_raw_decoder(options, says_extract(options) ? PageIf::always : PageIf::never);
    }
  }

  absl::Status decode(const Record& record, Document& out) override {
    if (!record.damage.empty()) return invalid(std::string(record.damage));
    RETURN_IF_ERROR(chosen(record).decode(record, out));
    if (key_is_url_ && record.key) out.id = form_decoded(*record.key);
    return absl::OkStatus();
  }

  absl::Status decode_piece(const Record& record, std::string_view piece, bool first,
                            Document& out) override {
    return chosen(record).decode_piece(record, piece, first, out);
  }

 private:
  Decoder& chosen(const Record& record) {
    if (record.warc) {
      // Created for the first such record, because few runs read WARC files.
      if (!warc_) warc_ = std::make_unique<WarcDecoder>(options_);
      return *warc_;
    }
    if (record.mail) {
      if (!mail_) mail_ = make_mail_decoder(options_);
      return *mail_;
    }
    if (!is_text_or_page(record)) return *lines_;
    if (!files_) {
      FormatOptions text = options_;
      text.format = "text";
      files_ = make_raw_decoder(text, PageIf::files);
    }
    return *files_;
  }

  // Whether the record is no line of JSON, though the format reads them: a whole file, or a body whose sender
  // says so.
  bool is_text_or_page(const Record& record) const {
    return record.whole_file && preset_of(options_.format).reads_json &&
           (options_.format == "auto" || !record.media_type.empty());
  }

  std::string_view form_decoded(std::string_view text) {
    decode_form(text, key_);
    return key_;
  }

  const FormatOptions options_;
  const bool key_is_url_;
  std::unique_ptr<Decoder> lines_, files_, warc_, mail_;
  std::string key_;
};

absl::Status check_schema(const FormatOptions& options) {
  if (!options.schema_file.empty()) return load_schema_file(options).status();
  if (options.framing == AvroFraming::registry) return absl::OkStatus();
  return invalid(
      "input.framing: without ids in the records, input.schema_file must name a file with their schema");
}

}  // namespace

bool needs_registry(const FormatOptions& options) {
  return preset_of(options.format).has_schema && options.schema_file.empty();
}

absl::Status check_format(const FormatOptions& options) {
  if (!is_signed(options) && !is_preset(options.format)) {
    return invalid(fmt::format("input.format: \"{}\" is not one of {}, {}", options.format,
                               absl::StrJoin(preset_names(), ", "), kSignedFormat));
  }
  if (!is_preset(options.signed_format)) {
    return invalid(fmt::format("input.signed_format: \"{}\" is not one of {}", options.signed_format,
                               absl::StrJoin(preset_names(), ", ")));
  }
  if (preset_of(options.format).has_schema) RETURN_IF_ERROR(check_schema(options));
  for (const std::string& status : options.statuses) {
    int value = 0;
    const char* end = status.data() + status.size();
    const auto [at, error] = std::from_chars(status.data(), end, value);
    if (status != "any" && (error != std::errc() || at != end))
      return invalid(fmt::format("input.statuses: \"{}\" is neither a number nor any", status));
  }
  if (!options.best.empty()) {
    if (const absl::Status status = Best::parse(options.best).status(); !status.ok())
      return invalid(fmt::format("output.best: {}", std_sv(status.message())));
  }
  return wanted_fields(options).status();
}

namespace {
constexpr std::string_view kExtractNames[] = {"format", "none", "visible", "main"};
}  // namespace

std::string_view name_of(ExtractPart part) { return kExtractNames[static_cast<size_t>(part)]; }

std::optional<ExtractPart> extract_named(std::string_view name) {
  const auto* const found = std::find(std::begin(kExtractNames), std::end(kExtractNames), name);
  if (found == std::end(kExtractNames)) return std::nullopt;
  return static_cast<ExtractPart>(found - std::begin(kExtractNames));
}

absl::Status check_format_of_texts(const FormatOptions& options) {
  if (is_signed(options))
    return invalid(
        "input.format: signed records contain no texts; name the format of the documents (--format)");
  return check_format(options);
}

absl::Status check_format_of_plain_texts(const FormatOptions& options) {
  const Preset& preset = preset_of(options.format);
  if (!is_signed(options) && options.format != "warc" && describe_format(options).empty() &&
      !preset.text_elsewhere && !preset.joins_arrays)
    return check_format(options);
  return invalid(
      "records must hold their text as it is, which pages, WARC files, base64 and signed records do not "
      "(input.format, input.extract, input.body_encoding)");
}

absl::Status Decoder::decode_piece(const Record&, std::string_view, bool, Document&) {
  return rejected(Reason::too_large, ": only text is read from files of this size");
}

absl::Status each_piece(Decoder& decoder, const Record& record, Document& out,
                        const std::function<void(std::string_view)>& take) {
  for (bool first = true;; first = false) {
    ASSIGN_OR_RETURN(const std::string_view piece, record.pieces->next());
    RETURN_IF_ERROR(decoder.decode_piece(record, piece, first, out));
    take(out.text);
    if (piece.empty()) return absl::OkStatus();
  }
}

std::unique_ptr<Decoder> make_decoder(const FormatOptions& options) {
  return std::make_unique<FrontDecoder>(options);
}

FormatOptions before_signing(const FormatOptions& options) {
  FormatOptions out = options;
  if (is_signed(options)) out.format = options.signed_format;
  return out;
}

namespace {

ExtractPart extract_of(const FormatOptions& options) {
  return options.extract == ExtractPart::format ? ExtractPart::main : options.extract;
}

// How HTML pages are read. The treatment of fallback texts is part of it, because it changes signatures.
std::string html_of(const FormatOptions& options) {
  const bool judged = extract_of(options) == ExtractPart::main && options.fallback_text == FallbackText::near;
  return fmt::format("{}{}", kHtmlVersion, judged ? " fallback near" : "");
}

// Returns the lines of `text` that start with kPages, or those that do not.
std::string lines_of(std::string_view text, bool pages) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(kPages) == pages) out += line;
    text.remove_prefix(end);
  }
  return out;
}

}  // namespace

std::string describe_format(const FormatOptions& options) {
  if (is_signed(options)) {
    return options.signed_text ? lines_of(*options.signed_text, false)
                               : describe_format(before_signing(options));
  }
  std::string out;
  if (says_extract(options)) {
    out += fmt::format("extract={}\n", name_of(extract_of(options)));
    if (extract_of(options) != ExtractPart::none) out += fmt::format("html={}\n", html_of(options));
  }
  if (says_extract(options) || (options.body_encoding > GivenEncoding::text))
    out += fmt::format("charset={}\n", kCharsetVersion);
  return out;
}

std::string describe_pages(const FormatOptions& options) {
  if (is_signed(options)) {
    return options.signed_text ? lines_of(*options.signed_text, true)
                               : describe_pages(before_signing(options));
  }
  if (says_extract(options)) return {};
  return fmt::format("{}{} {} charset {}\n", kPages, name_of(extract_of(options)), html_of(options),
                     kCharsetVersion);
}

}  // namespace doppel
