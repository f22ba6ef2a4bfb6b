// doppel inspect: shows the contents of a state directory and verifies its checksums.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "base/clock.h"
#include "base/status.h"
#include "commands/commands.h"
#include "commands/progress.h"
#include "fmt/format.h"
#include "formats/decoder.h"
#include "insight/json_writer.h"
#include "insight/show.h"
#include "records/metadata.h"
#include "state/index_log.h"
#include "state/state_view.h"

namespace doppel {
namespace {

struct Contents {
  uint64_t live = 0, removed = 0, dead = 0;  // dead: below the lowest live number, but still stored
  uint64_t without_slices = 0, without_set = 0;
  std::string checksum;
};

// Shows the progress on a terminal, after the first two seconds.
class ReadProgress {
 public:
  void operator()(double share) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    if (seconds < 2 || ::isatty(STDERR_FILENO) == 0 || share <= 0) return;
    print_err("\r{:.0f} % verified, {} left \x1b[K", 100 * share,
              human_seconds(seconds * (1 - share) / share));
    shown_ = true;
  }
  ~ReadProgress() {
    if (shown_) print_err("\r\x1b[K");
  }

 private:
  Clock::time_point start_ = Clock::now();
  bool shown_ = false;
};

Contents read_all(StateView& view) {
  Contents out;
  IndexChecksum checksum;
  ReadProgress progress;
  view.read(
      [&](const StoredDocument& d) {
        if (d.live) {
          ++out.live;
          out.without_slices += d.row.row.slices == nullptr ? 1 : 0;
          out.without_set += d.body.coded_set.empty() ? 1 : 0;
        } else {
          ++(d.row.removed ? out.removed : out.dead);
        }
        checksum.add(d, view.identity().num_perm, view.identity().mask_words);
        return true;
      },
      [&](double share) { progress(share); });
  out.checksum = checksum.hex();
  return out;
}

std::string age(int64_t made_ms) {
  return fmt::format(
      "{}, {} ago", format_time(made_ms / 1000 * 1000),
      human_seconds(static_cast<double>(std::max<int64_t>(0, Clock::unix_ms() - made_ms)) / 1000));
}

// Joins "name=value" lines to one line.
std::string on_one_line(std::string lines) {
  while (!lines.empty() && lines.back() == '\n') lines.pop_back();
  for (char& c : lines) c = c == '\n' ? ' ' : c;
  return lines;
}

void show(const std::string& directory, const StateView& view, const Contents& contents) {
  const CommitRecord& last = view.last();
  const auto line = [](std::string_view name, const std::string& text) {
    print_out("  {:<15}{}\n", name, text);
  };
  print_out("{}\n", printable(directory));
  line("epoch", epoch_string(view.epoch()));
  line("data scheme", printable(on_one_line(view.identity().data_scheme)));
  line("rule", printable(on_one_line(view.identity().rule)));
  line("originals", fmt::format("{} live, {} removed; numbers {} to {}", with_commas(contents.live),
                                with_commas(contents.removed), last.lowest_live, last.next_seq));
  if (contents.without_slices != 0)
    line("", fmt::format("{} below one shingle", with_commas(contents.without_slices)));
  if (contents.dead != 0)
    line("", fmt::format("{} dead since, kept from {}", with_commas(contents.dead), last.keep_from));
  line("documents", fmt::format("{} judged", with_commas(last.documents)));
  line("last commit", fmt::format("{}; {}", last.commits, last.commits == 0 ? "none" : age(last.made_ms)));
  for (const Snapshot& s : view.snapshots()) {
    line("checkpoint",
         fmt::format("{} at commit {}, {}; commits up to {} ({})", s.file.substr(s.file.rfind('/') + 1),
                     s.checkpoint.commits, age(s.checkpoint.made_ms), s.last_commit, human_bytes(s.bytes)));
  }
  line("files", fmt::format("hot {}, bodies {}; {} on the disk", human_bytes(view.hot_bytes()),
                            human_bytes(view.bodies_bytes()), human_bytes(view.disk_bytes())));
  if (kafka::is_kafka_position(last.source_position)) {
    const auto at = kafka::decode_position(last.source_position);
    if (at.ok()) {
      line("index log", fmt::format("{}, complete up to offset {} ({})", printable(at->index_log),
                                    at->log_offset, age(at->covered_ms)));
      for (const LogProgress& p : at->progress_list())
        line("", fmt::format("{}/{} up to offset {}", printable(p.topic), p.partition, p.next));
    }
  }
  line("index checksum", contents.checksum);
}

std::string json_of(const std::string& directory, const StateView& view, const Contents& contents) {
  const CommitRecord& last = view.last();
  JsonWriter json;
  json.text("directory", directory);
  json.text("epoch", epoch_string(view.epoch()));
  json.text("data_scheme", view.identity().data_scheme);
  json.text("rule", view.identity().rule);
  json.number("num_perm", view.identity().num_perm);
  json.number("live", contents.live);
  json.number("removed", contents.removed);
  json.number("dead_kept", contents.dead);
  json.number("below_one_shingle", contents.without_slices);
  json.number("lowest_live", last.lowest_live);
  json.number("next", last.next_seq);
  json.number("keep_from", last.keep_from);
  json.number("documents", last.documents);
  json.number("commits", last.commits);
  json.number("last_commit_ms", last.made_ms);
  json.open("snapshots", '[');
  for (const Snapshot& s : view.snapshots()) {
    json.open("", '{');
    json.text("file", s.file);
    json.number("checkpoint_commit", s.checkpoint.commits);
    json.number("checkpoint_ms", s.checkpoint.made_ms);
    json.number("last_commit", s.last_commit);
    json.number("bytes", s.bytes);
    json.close();
  }
  json.close();
  json.number("hot_bytes", view.hot_bytes());
  json.number("bodies_bytes", view.bodies_bytes());
  json.number("disk_bytes", view.disk_bytes());
  const auto at = kafka::decode_position(last.source_position);
  if (kafka::is_kafka_position(last.source_position) && at.ok()) {
    json.open("kafka", '{');
    json.text("cluster", at->cluster);
    json.text("index_log", at->index_log);
    json.number("log_offset", at->log_offset);
    json.number("covered_ms", at->covered_ms);
    json.open("progress", '[');
    for (const LogProgress& p : at->progress_list()) {
      json.open("", '{');
      json.text("topic", p.topic);
      json.number("partition", p.partition);
      json.number("next", p.next);
      json.close();
    }
    json.close();
    json.close();
  }
  json.open("damage", '[');
  for (const Damage& d : view.damage()) {
    json.open("", '{');
    json.text("file", d.file);
    json.number("offset", d.offset);
    json.text("what", d.what);
    json.close();
  }
  json.close();
  json.number("damage_not_listed", view.more_damage());
  json.text("index_checksum", contents.checksum);
  return json.finish();
}

// ---- one document

std::string bands_of(const Row& row, int words) {
  std::string out;
  for (int band = 0; row.slices != nullptr && band < 32 * words; ++band) {
    if ((row.mask[band / 32] >> (band % 32) & 1) != 0)
      fmt::format_to(std::back_inserter(out), "{}{}", out.empty() ? "" : " ", band);
  }
  return out.empty() ? "none" : out;
}

void show_document(const StoredDocument& d, const Metadata& m, int words) {
  const auto line = [](std::string_view name, const std::string& text) {
    if (!text.empty()) print_out("  {:<15}{}\n", name, text);
  };
  const Row& row = d.row.row;
  print_out("{}\n", printable(m.name()));
  line("event id", printable(m.event_id()));
  line("number", fmt::format("{}, {}", d.row.seq, d.live ? "live" : d.row.removed ? "removed" : "dead"));
  line("id", printable(m.id));
  line("url", printable(m.url));
  if (m.date_ms) line("date", format_time(*m.date_ms));
  if (m.arrival_ms) line("arrived", format_time(*m.arrival_ms));
  if (d.row.trusted_ms != kNoTime) line("expires by", format_time(d.row.trusted_ms));
  if (m.key) line("key", printable(*m.key));
  line("content type", printable(m.content_type));
  line("tags", printable(m.tags));
  line("digest", fmt::format("{:016x}{:016x}", row.digest.high, row.digest.low));
  line("bands", row.slices == nullptr ? "none: below one shingle" : bands_of(row, words));
  line("body", fmt::format("{} bytes at offset {}: metadata {}, set {}", row.body.size, row.body.offset,
                           d.body.metadata.size(), d.body.coded_set.size()));
}

void json_document(const StoredDocument& d, const Metadata& m, int words) {
  const Row& row = d.row.row;
  JsonWriter json;
  json.text("event_id", m.event_id());
  json.number("number", d.row.seq);
  json.text("state", d.live ? "live" : d.row.removed ? "removed" : "dead");
  json.text("id", m.name());
  json.text("url", m.url);
  m.date_ms ? json.number("date_ms", *m.date_ms) : json.null("date_ms");
  m.arrival_ms ? json.number("arrival_ms", *m.arrival_ms) : json.null("arrival_ms");
  d.row.trusted_ms != kNoTime ? json.number("trusted_ms", d.row.trusted_ms) : json.null("trusted_ms");
  json.text("content_type", m.content_type);
  json.text("tags", m.tags);
  json.text("digest", fmt::format("{:016x}{:016x}", row.digest.high, row.digest.low));
  json.text("bands", bands_of(row, words));
  json.number("body_offset", row.body.offset);
  json.number("body_bytes", row.body.size);
  json.number("metadata_bytes", d.body.metadata.size());
  json.number("set_bytes", d.body.coded_set.size());
  print_out("{}", json.finish());
}

int look_for(StateView& view, const std::string& wanted, bool as_json) {
  uint64_t found = 0;
  ReadProgress progress;
  view.read(
      [&](const StoredDocument& d) {
        Metadata m;
        if (!decode_metadata(d.body.metadata, m).ok()) return true;
        if (wanted != m.id && wanted != m.url && wanted != m.event_id() && wanted != m.name()) return true;
        ++found;
        as_json ? json_document(d, m, view.identity().mask_words)
                : show_document(d, m, view.identity().mask_words);
        return true;
      },
      [&](double share) { progress(share); });
  if (found != 0) return kExitDone;
  return fail("inspect",
              fmt::format("there is no original with the id, url or event_id {}", printable(wanted)),
              kExitSomeFailed);
}

int print_damage(const StateView& view) {
  for (const Damage& d : view.damage())
    fail("inspect", fmt::format("{}: damaged at offset {}: {}", d.file, d.offset, d.what), 0);
  if (view.more_damage() != 0)
    fail("inspect", fmt::format("and {} more", with_commas(view.more_damage())), 0);
  return view.damage().empty() ? kExitDone : kExitSomeFailed;
}

}  // namespace

int inspect_main(int argc, char** argv) {
  CLI::App app(
      "Shows the contents of a state directory and verifies every checksum. The command changes nothing. If "
      "a daemon\n"
      "uses the directory, it shows the last commit.\n\n"
      "Examples:\n"
      "  doppel inspect /var/lib/doppel\n"
      "  doppel inspect --json /var/lib/doppel | jq -r .index_checksum    equal for equal indexes\n"
      "  doppel inspect --document https://example.org/page /var/lib/doppel",
      "doppel inspect");
  std::string directory, document;
  bool as_json = false;
  app.add_option("DIR", directory, "the state directory")->required();
  app.add_option("--document", document,
                 "show the originals with this id, url or event_id, and what is stored of them");
  app.add_flag("--json", as_json, "one line of JSON, for programs");
  app.footer("Exit codes: 0 no damage; 1 damage, or no such document; 2 wrong usage; 3 a read error.");
  if (auto code = parse_flags(app, argc, argv)) return *code;
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();

  absl::StatusOr<std::unique_ptr<StateView>> view = StateView::open(directory);
  if (absl::IsDataLoss(view.status())) return fail("inspect", view.status(), kExitSomeFailed);
  if (absl::IsNotFound(view.status())) return fail("inspect", view.status(), kExitUsage);
  if (!view.ok()) return fail("inspect", view.status(), kExitStopped);
  if (!document.empty()) {
    const int code = look_for(**view, document, as_json);
    return std::max(code, print_damage(**view));
  }
  const Contents contents = read_all(**view);
  if (as_json) {
    print_out("{}", json_of(directory, **view, contents));
  } else {
    show(directory, **view, contents);
    if ((*view)->damage().empty()) print_out("  {:<15}every row and body fits its checksum\n", "verified");
  }
  return print_damage(**view);
}

}  // namespace doppel
