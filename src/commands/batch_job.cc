#include "commands/batch_job.h"

#include <algorithm>
#include <charconv>
#include <istream>
#include <map>
#include <optional>

#include "base/status.h"
#include "fmt/format.h"
#include "insight/json_writer.h"
#include "insight/show.h"

namespace doppel {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

void append_hex(std::span<const uint8_t> bytes, std::string& out) {
  for (uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
}

std::optional<std::string> from_hex(std::string_view text) {
  std::string out;
  if (text.size() % 2 != 0) return std::nullopt;
  for (size_t i = 0; i < text.size(); i += 2) {
    const size_t high = kDigits.find(text[i]);
    const size_t low = kDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

// Characters that would end a field of a line, and invisible ones, as %xx.
std::string percent_coded(std::string_view id) {
  std::string out;
  for (char c : id) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte > ' ' && byte != '%' && byte != 0x7f) {
      out += c;
    } else {
      out += '%';
      append_hex(std::span(&byte, 1), out);
    }
  }
  return out;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    std::optional<std::string> byte =
        text[i] == '%' && i + 2 < text.size() ? from_hex(text.substr(i + 1, 2)) : std::nullopt;
    out += byte ? *byte : std::string(1, text[i]);
    if (byte) i += 2;
  }
  return out;
}

std::string_view next_field(std::string_view& line, char end) {
  const size_t at = std::min(line.find(end), line.size());
  const std::string_view field = line.substr(0, at);
  line.remove_prefix(std::min(at + 1, line.size()));
  return field;
}

// The order of documents: by time, then by id. A document without a time comes first.
struct Place {
  int64_t time = kNoTime;
  std::string id;
  auto operator<=>(const Place&) const = default;
};
std::optional<Place> parse_place(std::string_view name) {
  Place place;
  const std::string_view time = next_field(name, ' ');
  if (time != "-") {
    const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), place.time);
    if (error != std::errc() || end != time.data() + time.size()) return std::nullopt;
  }
  if (name.empty()) return std::nullopt;
  place.id = percent_decoded(name);
  return place;
}

std::string band_text(int band, uint64_t key) { return fmt::format("{:02} {:016x}", band, key); }

}  // namespace

BatchMapper::BatchMapper(const EngineOptions& options, const FormatOptions& format)
    : options_(options),
      signer_(options.scheme, options.rule.verify == Verify::exact),
      decoder_(make_decoder(format)),
      keys_(options.rule.banding, options.scheme.key),
      slices_(static_cast<size_t>(options.scheme.num_perm)) {}

absl::Status BatchMapper::add(const Record& record, std::string& out) {
  Document document;
  RETURN_IF_ERROR(decoder_->decode(record, document));
  if (document.id.empty())
    return invalid("the document has no id, which the parts of a job need to identify it");
  SignedDocument made;
  signer_.sign(document.text, document.scope, made, slices_.data());
  if (made.content == Content::empty) return absl::OkStatus();
  const std::string name =
      fmt::format("{} {}", document.timestamp_ms ? std::to_string(*document.timestamp_ms) : "-",
                  percent_coded(document.id));
  out += fmt::format("x {:016x}{:016x}\t{}\n", made.digest.high, made.digest.low, name);
  if (made.content != Content::shingled) return absl::OkStatus();
  std::string value = fmt::format("\t{} ", name);
  append_hex(slices_, value);
  value += ' ';
  if (!made.set_left_out && options_.rule.verify == Verify::exact) {
    CompactSet set;
    make_compact_set(made.tops, set);
    std::string coded;
    encode_compact_set(set, coded);
    append_hex(std::span(reinterpret_cast<const uint8_t*>(coded.data()), coded.size()), value);
  } else {
    value += '-';
  }
  value += '\n';
  for (int band = 0; band < options_.rule.banding.bands; ++band) {
    out += band_text(band, keys_.key(band, slices_.data())) + value;
  }
  return absl::OkStatus();
}

BatchReducer::BatchReducer(const EngineOptions& options)
    : options_(options), keys_(options.rule.banding, options.scheme.key) {}

absl::Status BatchReducer::add(std::string_view line, std::string& out) {
  ++counters_.records;
  const std::string_view key = next_field(line, '\t');
  if (key != key_) {
    finish(out);
    key_ = key;
    if (key.starts_with("x ")) {
      band_ = -1;
    } else {
      const std::string_view band = key.substr(0, key.find(' '));
      const char* const end = band.end();
      const auto parsed = std::from_chars(band.begin(), end, band_);
      if (parsed.ec != std::errc() || parsed.ptr != end || band.size() == key.size() || band_ < 0 ||
          band_ >= options_.rule.banding.bands) {
        return invalid(fmt::format("'{}' is not the key of a band below {} or of a digest", one_line(key, 60),
                                   options_.rule.banding.bands));
      }
    }
  }
  Member member;
  const std::string_view time = next_field(line, ' ');
  const std::string_view id = next_field(line, ' ');
  member.name = fmt::format("{} {}", time, id);
  if (!parse_place(member.name))
    return invalid(fmt::format("'{}' is not a time and an id", one_line(member.name, 60)));
  if (band_ >= 0) {
    const std::optional<std::string> slices = from_hex(next_field(line, ' '));
    if (!slices || slices->size() != static_cast<size_t>(options_.scheme.num_perm)) {
      return invalid(fmt::format("the slices of {} are not {} bytes in hexadecimal digits", one_line(id, 60),
                                 options_.scheme.num_perm));
    }
    member.slices.assign(slices->begin(), slices->end());
    if (band_text(band_, keys_.key(band_, member.slices.data())) != key_) {
      return invalid(fmt::format(
          "{} does not belong under the key {}: it was mapped with other settings or another hash key",
          one_line(id, 60), key_));
    }
    if (line != "-") {
      const std::optional<std::string> coded = from_hex(line);
      if (!coded) return invalid(fmt::format("the set of {} is not in hexadecimal digits", one_line(id, 60)));
      const absl::Status status = decode_compact_set(*coded, member.set);
      if (!status.ok())
        return invalid(fmt::format("the set of {}: {}", one_line(id, 60), std_sv(status.message())));
      member.has_set = true;
    }
  }
  group_.push_back(std::move(member));
  return absl::OkStatus();
}

void BatchReducer::compare(const Member& a, const Member& b, std::string& out) {
  if (a.name == b.name) return;
  ++counters_.candidates;
  if (band_ < 0) {
    ++counters_.printed;
    out += fmt::format("{}\t{}\t1 1 exact\n", a.name, b.name);
    return;
  }
  const int num_perm = options_.scheme.num_perm;
  const int equal = equal_slices(a.slices.data(), b.slices.data(), num_perm);
  if (equal < options_.rule.min_equal) return;
  for (int band = 0; band < band_; ++band) {
    if (keys_.key(band, a.slices.data()) == keys_.key(band, b.slices.data())) return;  // printed there
  }
  const Overlap similarity =
      a.has_set && b.has_set ? overlap(a.set, b.set) : overlap_from_slices(equal, num_perm);
  if (!reaches(similarity, options_.rule.threshold_ppm)) return;
  ++counters_.printed;
  out += fmt::format("{}\t{}\t{} {} near\n", a.name, b.name, similarity.inter, similarity.uni);
}

void BatchReducer::finish(std::string& out) {
  std::vector<std::pair<Place, size_t>> order;
  order.reserve(group_.size());
  for (size_t i = 0; i < group_.size(); ++i) order.emplace_back(*parse_place(group_[i].name), i);
  std::sort(order.begin(), order.end());
  // Equal texts are compared with the first of them only; others with the first max_listed of their key.
  const size_t listed = band_ < 0 ? 1 : static_cast<size_t>(options_.rule.max_listed);
  for (size_t j = 1; j < order.size(); ++j) {
    counters_.capped += band_ >= 0 && j > listed ? 1 : 0;
    for (size_t i = 0; i < std::min(j, listed); ++i)
      compare(group_[order[i].second], group_[order[j].second], out);
  }
  group_.clear();
}

absl::StatusOr<BatchCounters> batch_clusters(std::istream& in, std::string& out) {
  struct Link {
    Place original;
    Overlap overlap;
    bool exact;
  };
  std::map<Place, std::vector<Link>> links;  // by the later document
  BatchCounters counters;
  for (std::string line; std::getline(in, line);) {
    ++counters.records;
    std::string_view rest = line;
    std::optional<Place> earlier = parse_place(next_field(rest, '\t'));
    std::optional<Place> later = parse_place(next_field(rest, '\t'));
    Link link{.original = {}, .overlap = {}, .exact = rest.ends_with(" exact")};
    const std::string_view inter = next_field(rest, ' ');
    const std::string_view uni = next_field(rest, ' ');
    auto number = [](std::string_view text, uint64_t& value) {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      return error == std::errc() && end == text.data() + text.size();
    };
    if (!earlier || !later || !(*earlier < *later) || !number(inter, link.overlap.inter) ||
        !number(uni, link.overlap.uni) || link.overlap.uni == 0 || (rest != "near" && rest != "exact")) {
      return invalid(
          fmt::format("stdin:{}: expected TIME ID<TAB>TIME ID<TAB>INTER UNION KIND, as reducers print it",
                      counters.records));
    }
    link.original = *std::move(earlier);
    links[*std::move(later)].push_back(std::move(link));
  }
  // Documents in their order: when one is decided, everything before it is. What has no link is an original.
  std::map<Place, Link> duplicates;
  for (auto& [place, found] : links) {
    std::optional<Link> best;
    for (Link& link : found) {
      const auto duplicate = duplicates.find(link.original);
      if (duplicate != duplicates.end()) {
        // Not an original. With equal texts, what is true of it is true of this one.
        if (!link.exact) continue;
        link = duplicate->second;
      }
      const bool better = !best || (link.exact && !best->exact) ||
                          (link.exact == best->exact &&
                           (more_similar(link.overlap, best->overlap) ||
                            (!more_similar(best->overlap, link.overlap) && link.original < best->original)));
      if (better) best = link;
    }
    if (!best) continue;
    ++counters.printed;
    JsonWriter json;
    json.text("id", place.id);
    json.text("duplicate_of", best->original.id);
    json.real("similarity", similarity_ppm(best->overlap) / 1e6);
    json.text("kind", best->exact ? "exact" : "near");
    out += json.finish();
    duplicates.emplace(place, *std::move(best));
  }
  return counters;
}

}  // namespace doppel
