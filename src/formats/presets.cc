#include "formats/presets.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/status.h"
#include "base/strings.h"

namespace doppel {
namespace {

using sv = std::string_view;
using Names = std::span<const sv>;
using More = std::pair<Role, sv>;

constexpr sv kUrl[] = {"url"};
constexpr sv kId[] = {"id"};

// istresearch/scrapy-cluster, crawler/crawling/items.py and pipelines.py
constexpr sv kScrapyUrl[] = {"url", "response_url"};
constexpr sv kScrapyText[] = {"body"};
constexpr sv kScrapyDate[] = {"timestamp"};
constexpr More kScrapyMore[] = {
    {Role::charset, "encoding"}, {Role::status, "status_code"}, {Role::response_headers, "response_headers"}};

// VIDA-NYU/ache, target/model: TargetModelJson, CDR31Document, TargetModelElasticSearch
constexpr sv kAcheText[] = {"content", "raw_content", "response_body", "html", "text"};
constexpr sv kAcheDate[] = {"fetch_time", "timestamp_crawl", "retrieved"};
constexpr More kAcheMore[] = {{Role::content_type, "content_type"},
                              {Role::response_headers, "response_headers"},
                              {Role::response_headers, "responseHeaders"}};

// apache/nutch, indexer-kafka's KafkaIndexWriter, index-basic's BasicIndexingFilter
constexpr sv kNutchText[] = {"content"};
constexpr sv kNutchDate[] = {"tstamp"};

// fhamborg/news-please, NewsArticle.py
constexpr sv kNewsText[] = {"maintext"};
constexpr sv kNewsDate[] = {"date_publish", "date_download", "date_modify"};

// internetarchive/heritrix3, CrawlLogJsonBuilder; internetarchive/warcprox, kafkafeed.py;
// ukwa/docker-warcprox, listeners.py
constexpr sv kHeritrixDate[] = {"start_time_plus_duration", "timestamp"};
constexpr More kHeritrixMore[] = {
    {Role::content_type, "mimetype"},       {Role::content_type, "content_type"},
    {Role::status, "status_code"},          {Role::payload_digest, "content_digest"},
    {Role::warc_filename, "warc_filename"}, {Role::warc_offset, "warc_offset"},
    {Role::warc_record_id, "warc_id"}};

// webrecorder/browsertrix-crawler, src/crawler.ts: initPages(), writePage()
constexpr sv kPagesText[] = {"text"};
constexpr sv kPagesDate[] = {"ts"};
constexpr More kPagesMore[] = {{Role::status, "status"}};

// Raw bodies; the record's headers describe them.
constexpr sv kRawUrl[] = {"$header/url", "$header/warc-target-uri", "$key"};
constexpr sv kRawDate[] = {"$header/date"};
constexpr More kRawMore[] = {{Role::content_type, "$header/content-type"},
                             {Role::charset, "$header/charset"}};

constexpr std::array<Preset, 12> kPresets{{
    {.name = "auto"},
    {.name = "json"},
    {.name = "avro", .has_schema = true},
    {.name = "text", .reads_json = false, .url = kRawUrl, .date = kRawDate, .more = kRawMore},
    {.name = "html",
     .reads_json = false,
     .reads_bodies = true,
     .url = kRawUrl,
     .date = kRawDate,
     .more = kRawMore},
    {.name = "scrapy-cluster",
     .body = BodyEncoding::automatic,
     .reads_bodies = true,
     .id = kScrapyUrl,
     .text = kScrapyText,
     .url = kScrapyUrl,
     .date = kScrapyDate,
     .more = kScrapyMore},
    {.name = "ache",
     .body = BodyEncoding::automatic,
     .reads_bodies = true,
     .key_is_url = true,
     .id = kUrl,
     .text = kAcheText,
     .url = kUrl,
     .date = kAcheDate,
     .more = kAcheMore},
    {.name = "nutch",
     .text_may_be_missing = true,
     .joins_arrays = true,
     .id = kId,
     .text = kNutchText,
     .url = kUrl,
     .date = kNutchDate},
    {.name = "news-please",
     .none_is_null = true,
     .id = kUrl,
     .text = kNewsText,
     .url = kUrl,
     .date = kNewsDate},
    {.name = "heritrix",
     .reads_bodies = true,
     .text_elsewhere = true,
     .id = kUrl,
     .url = kUrl,
     .date = kHeritrixDate,
     .more = kHeritrixMore},
    {.name = "pages-jsonl",
     .text_may_be_missing = true,
     .id = kId,
     .text = kPagesText,
     .url = kUrl,
     .date = kPagesDate,
     .more = kPagesMore},
    {.name = "warc", .reads_json = false, .reads_bodies = true},
}};

void replace(std::vector<std::string>& fields, const std::vector<std::string>& defaults, Names preset) {
  if (fields == defaults) fields.assign(preset.begin(), preset.end());
}

}  // namespace

bool is_preset(std::string_view format) {
  return std::any_of(kPresets.begin(), kPresets.end(), [&](const Preset& p) { return p.name == format; });
}

const Preset& preset_of(std::string_view format) {
  const auto* found =
      std::find_if(kPresets.begin(), kPresets.end(), [&](const Preset& p) { return p.name == format; });
  return found == kPresets.end() ? kPresets[0] : *found;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> out;
  out.reserve(std::size(kPresets));
  for (const Preset& preset : kPresets) out.emplace_back(preset.name);
  return out;
}

absl::Status check_format_of_files(std::string_view format) {
  if (!preset_of(format).has_schema) return absl::OkStatus();
  return invalid("input.format: " + std::string(format) +
                 " is for messages of Kafka; convert files to JSON lines, for instance by avro-tools tojson");
}

FormatOptions with_preset(const FormatOptions& options) {
  FormatOptions out = options;
  const Preset& preset = preset_of(options.format);
  if (preset.name == "auto" || preset.name == "json" || preset.has_schema) return out;
  const FormatOptions defaults;
  replace(out.id_fields, defaults.id_fields, preset.id);
  replace(out.text_fields, defaults.text_fields, preset.text);
  replace(out.url_fields, defaults.url_fields, preset.url);
  replace(out.date_fields, defaults.date_fields, preset.date);
  return out;
}

void append_json_member(std::string& out, std::string_view label) {
  append_json_string(out, label);
  out += ':';
}

}  // namespace doppel
