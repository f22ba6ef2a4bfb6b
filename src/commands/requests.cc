// What commands ask of the daemon that owns an index. doppel offsets shows and changes where it continues to
// read its input, doppel forget makes it forget originals by id or tag, and doppel requests shows what they
// have asked for and takes it back.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <thread>

#include "base/status.h"
#include "commands/commands.h"
#include "config/values.h"
#include "daemon/requests.h"
#include "fmt/format.h"
#include "formats/decoder.h"
#include "kafka/log/offsets.h"
#include "kafka/topics/named_topics.h"
#include "kafka/topics/plan.h"
#include "kafka/visibility.h"
#include "state/file.h"
#include "state/journal.h"

namespace doppel {
namespace {

constexpr int kAskGroupMs = 2'000;
constexpr const char* kRequestLasts = "10m";
constexpr const char* kExpiresHelp = "how long the request waits for a daemon that begins it";

// A line for each request; empty if there are none.
std::string list_of(const std::vector<RequestFile>& requests) {
  std::string out;
  if (!requests.empty())
    out = fmt::format("{:<32} {:<20} {:<10} {}\n", "request", "expires", "stage", "command");
  for (const RequestFile& request : requests) {
    const std::string expires = request.stage != "waiting" ? "no more"
                                : request.expires_ms == kNeverExpires
                                    ? "never"
                                    : format_time(request.expires_ms / 1000 * 1000);
    out += fmt::format("{:<32} {:<20} {:<10} {}\n", request.name, expires,
                       request.expired() && request.stage == "waiting" ? "expired" : request.stage,
                       request.command());
  }
  return out;
}

// The position as of the last commit to the state directory, which the daemon writes after each batch.
absl::StatusOr<kafka::KafkaPosition> position_of(const Options& o) {
  if (o.state_directory.empty()) return invalid("state.directory: name the directory of the index");
  const std::optional<LastCommit> last = last_commit(o.state_directory);
  if (!last) {
    return absl::FailedPreconditionError(o.state_directory +
                                         ": holds no index; doppel rebuild --from log makes it again");
  }
  return kafka::decode_position(last->record.source_position);
}

absl::Status show(const Options& o) {
  ASSIGN_OR_RETURN(const kafka::KafkaPosition position, position_of(o));
  ASSIGN_OR_RETURN(const std::unique_ptr<kafka::Cluster> cluster, connect_kafka(o));
  ASSIGN_OR_RETURN(const std::unique_ptr<kafka::Consumer> consumer,
                   cluster->consumer({.group = o.kafka.group}));
  std::vector<kafka::TopicPartition> places;
  for (const LogProgress& p : position.progress_list()) places.push_back({p.topic, p.partition});
  const absl::StatusOr<std::vector<kafka::GroupOffset>> group = consumer->group_offsets(places, kAskGroupMs);
  print_out("{:<40} {:>14} {:>14} {:>12} {:>11} {:>14}\n", "partition", "next", "end", "lag", "incarnation",
            "group says");
  for (size_t i = 0; i < places.size(); ++i) {
    const LogProgress& p = position.progress.at({places[i].topic, places[i].partition});
    const absl::StatusOr<kafka::Watermarks> marks =
        cluster->watermarks(places[i], kafka::Isolation::committed);
    const auto text = [](bool known, int64_t value) { return known ? fmt::format("{}", value) : "?"; };
    print_out("{:<40} {:>14} {:>14} {:>12} {:>11} {:>14}\n", fmt::format("{}/{}", p.topic, p.partition),
              p.next, text(marks.ok(), marks.ok() ? marks->high : 0),
              text(marks.ok(), marks.ok() ? std::max<int64_t>(0, marks->high - p.next) : 0), p.incarnation,
              text(group.ok() && (*group)[i].offset >= 0, group.ok() ? (*group)[i].offset : 0));
  }
  for (const kafka::TopicPartition& place : places) {
    const auto open = kafka::open_transaction(*cluster, place);
    if (open.ok() && *open) print_out("{}\n", (*open)->text());
  }
  print_out("{}", list_of(requests_in(o.state_directory)));
  return absl::OkStatus();
}

absl::Status await_changes(const Options& o, const RequestFile& request, int wait_seconds) {
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(wait_seconds);
       std::chrono::steady_clock::now() < end;) {
    const bool left = is_left(o.state_directory, request);
    if (const std::optional<std::string> answer = take_offsets_answer(o.state_directory, request.name)) {
      print_out("{}", *answer);
      return answer->starts_with("refused") ? absl::FailedPreconditionError("nothing was changed")
                                            : absl::OkStatus();
    }
    if (!left) return request_is_gone();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return absl::DeadlineExceededError(
      fmt::format("no answer within {} s: {}", wait_seconds, kept_until(request.name, request.expires_ms)));
}

struct Change {
  std::string line;  // of OffsetsWanted
  bool yes = false;
  int wait_seconds = 30;
  int64_t lasts_ms = 0;
};

absl::Status change(const Options& o, const Change& how) {
  if (o.dry_run) return invalid("dry_run: not with offsets set and forget, which leave a request");
  ASSIGN_OR_RETURN(OffsetsWanted wanted, OffsetsWanted::parse(how.line));
  ASSIGN_OR_RETURN(const kafka::KafkaPosition position, position_of(o));
  ASSIGN_OR_RETURN(const std::unique_ptr<kafka::Cluster> cluster, connect_kafka(o));
  ASSIGN_OR_RETURN(const std::vector<OffsetChange> changes,
                   plan_offsets(wanted, position, kafka_inputs(o), *cluster));
  for (const OffsetChange& c : changes) print_out("{}\n", c.text());
  if (!how.yes) return invalid("nothing is changed yet; the same command with --yes does so");
  for (ChosenOffset& chosen : wanted.set) {
    ASSIGN_OR_RETURN(chosen, fixed(chosen, *cluster));
  }
  RequestFile request{.name = {}, .ending = std::string(kOffsetsRequest), .line = wanted.line()};
  request.expires_ms = Clock::unix_ms() + how.lasts_ms;
  ASSIGN_OR_RETURN(request.name, leave_offsets_request(o.state_directory, request.line, request.expires_ms));
  if (directory_in_use(o.state_directory)) return await_changes(o, request, how.wait_seconds);
  print_out("no daemon uses {} now; one that starts in time carries it out: {}\n", o.state_directory,
            kept_until(request.name, request.expires_ms));
  return absl::OkStatus();
}

}  // namespace

int offsets_main(int argc, char** argv) {
  CLI::App app(
      "Shows and changes where an index continues to read its input. The daemon writes a change to the index "
      "log before\n"
      "it continues, or at its next start. Documents that are skipped are never judged; an original that is "
      "judged again\n"
      "is skipped (repeated).\n\n"
      "Examples:\n"
      "  doppel offsets show --config doppel.yaml\n"
      "  doppel offsets set documents/0=1200 documents/1=end --config doppel.yaml --yes\n"
      "  doppel offsets forget old-documents --config doppel.yaml --yes",
      "doppel offsets");
  CommonFlags common;
  std::string what;
  std::vector<std::string> places;
  bool yes = false;
  int wait = 30;
  std::string lasts = kRequestLasts;
  app.add_option("what", what, "show, set or forget")
      ->required()
      ->check(CLI::IsMember({"show", "set", "forget"}));
  app.add_option(
      "where", places,
      "set: TOPIC/PARTITION=WHERE, where WHERE is an offset, beginning, end, or a time; forget: a topic");
  app.add_flag("--yes", yes, "make the change that is shown");
  app.add_option("--wait", wait, "seconds to wait for the daemon")->capture_default_str();
  app.add_option("--expires", lasts, kExpiresHelp)->capture_default_str();
  add_setting_flag(app, common, "--state", "state.directory");
  add_common_flags(app, common);
  if (auto code = parse_flags(app, argc, argv)) return *code;
  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("offsets", config.status(), kExitUsage);
  if (what == "show" ? !places.empty() : places.empty() || (what == "forget" && places.size() != 1))
    return fail("offsets", "set takes TOPIC/PARTITION=WHERE, forget one topic, and show nothing", kExitUsage);
  const std::optional<int64_t> lasts_ms = parse_duration(lasts);
  if (!lasts_ms) return fail("offsets", "--expires: expected a duration, such as 10m or 2d", kExitUsage);
  std::string line = what;
  for (const std::string& place : places) line += " " + place;
  const absl::Status status =
      what == "show"
          ? show(config->options)
          : change(config->options, {.line = line, .yes = yes, .wait_seconds = wait, .lasts_ms = *lasts_ms});
  if (status.ok()) return kExitDone;
  return fail("offsets", status, absl::IsInvalidArgument(status) ? kExitUsage : kExitStopped);
}

namespace {

using Steady = std::chrono::steady_clock;

// Waits for the answer, until the daemon has made no progress for `wait_seconds`.
absl::Status await_forgotten(const Options& o, const RequestFile& request, int wait_seconds) {
  const std::string& name = request.name;
  const auto patience = std::chrono::seconds(wait_seconds);
  auto end = Steady::now() + patience, show = Steady::now() + std::chrono::seconds(1);
  RequestProgress seen;
  while (Steady::now() < end) {
    const bool left = is_left(o.state_directory, request);
    if (const auto forgotten = take_answer(o.state_directory, name)) {
      print_out("forgot {} original{}\n", *forgotten, *forgotten == 1 ? "" : "s");
      return *forgotten != 0 ? absl::OkStatus() : absl::NotFoundError("there is no such original");
    }
    if (!left) return request_is_gone();
    if (const auto now = request_progress(o.state_directory, name); now && *now != seen) {
      seen = *now;
      end = Steady::now() + patience;
      if (Steady::now() >= show && seen.total != 0) {
        show = Steady::now() + std::chrono::seconds(1);
        print_err("doppel forget: {} {} of {} originals\n", seen.stage == "searching" ? "searched" : "forgot",
                  seen.done, seen.total);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return absl::DeadlineExceededError(fmt::format("no answer and no progress within {} s: {}", wait_seconds,
                                                 kept_until(name, request.expires_ms)));
}

absl::Status forget(const Options& o, const std::string& line, int wait_seconds, int64_t lasts_ms) {
  if (o.dry_run) return invalid("dry_run: not with forget, which leaves a request");
  if (o.state_directory.empty()) return invalid("state.directory: name the directory of the index");
  if (!exists(o.state_directory)) return invalid(o.state_directory + ": there is no such directory");
  RequestFile request{.name = {}, .ending = std::string(kForgetRequest), .line = line};
  request.expires_ms = Clock::unix_ms() + lasts_ms;
  ASSIGN_OR_RETURN(request.name, leave_request(o.state_directory, line, request.expires_ms));
  if (directory_in_use(o.state_directory)) return await_forgotten(o, request, wait_seconds);
  print_out("no daemon uses {} now; one that starts in time carries it out: {}\n", o.state_directory,
            kept_until(request.name, request.expires_ms));
  return absl::OkStatus();
}

}  // namespace

int forget_main(int argc, char** argv) {
  CLI::App app(
      "Forgets originals: their next copy is unique again, and consumers get original-removed. The daemon "
      "that owns\n"
      "the state directory searches for them in the background and removes them with its next batches, "
      "through the\n"
      "index log, so restarts and rebuilds keep the removal.\n\n"
      "Examples:\n"
      "  doppel forget --config doppel.yaml --id https://example.org/page\n"
      "  doppel forget --config doppel.yaml --where crawl=2026-11",
      "doppel forget");
  CommonFlags common;
  std::string id, event_id, where;
  int wait = 30;
  std::string lasts = kRequestLasts;
  auto* by_id = app.add_option("--id", id, "the document's id, as events show it");
  auto* by_event = app.add_option("--event-id", event_id, "its event_id: topic/partition/offset");
  auto* by_tag = app.add_option("--where", where, "all originals with this tag: NAME=VALUE");
  by_id->excludes(by_event)->excludes(by_tag);
  by_event->excludes(by_tag);
  app.add_option("--wait", wait, "seconds to wait for an answer, or for progress")->capture_default_str();
  app.add_option("--expires", lasts, kExpiresHelp)->capture_default_str();
  add_setting_flag(app, common, "--state", "state.directory");
  add_common_flags(app, common);
  if (auto code = parse_flags(app, argc, argv)) return *code;
  if (id.empty() && event_id.empty() && where.empty())
    return fail("forget", "name the originals: --id, --event-id or --where", kExitUsage);
  if (!where.empty() && where.find('=') == std::string::npos)
    return fail("forget", "--where: expected NAME=VALUE, such as crawl=2026-11", kExitUsage);
  const std::optional<int64_t> lasts_ms = parse_duration(lasts);
  if (!lasts_ms) return fail("forget", "--expires: expected a duration, such as 10m or 2d", kExitUsage);
  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("forget", config.status(), kExitUsage);
  const std::string request = !id.empty()         ? "id=" + id
                              : !event_id.empty() ? "event_id=" + event_id
                                                  : "tag=" + where;
  absl::Status status = forget(config->options, request, wait, *lasts_ms);
  if (status.ok()) return kExitDone;
  if (absl::IsNotFound(status)) return fail("forget", status, kExitSomeFailed);
  return fail("forget", status, absl::IsInvalidArgument(status) ? kExitUsage : kExitStopped);
}

int requests_main(int argc, char** argv) {
  CLI::App app(
      "Shows the requests of doppel offsets and doppel forget that no daemon has answered yet, and cancels "
      "them. A\n"
      "request that no daemon begins before it expires (10 minutes, or --expires of the command) is never "
      "carried out.\n\n"
      "Examples:\n"
      "  doppel requests show --config doppel.yaml\n"
      "  doppel requests cancel 1764337459123456789-4711 --config doppel.yaml",
      "doppel requests");
  CommonFlags common;
  std::string what;
  std::vector<std::string> names;
  app.add_option("what", what, "show or cancel")->required()->check(CLI::IsMember({"show", "cancel"}));
  app.add_option("name", names, "cancel: the requests, as show names them");
  add_setting_flag(app, common, "--state", "state.directory");
  add_common_flags(app, common);
  if (auto code = parse_flags(app, argc, argv)) return *code;
  if ((what == "show") != names.empty())
    return fail("requests", "cancel takes the names of requests, and show takes nothing", kExitUsage);
  const absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("requests", config.status(), kExitUsage);
  const std::string& directory = config->options.state_directory;
  if (directory.empty())
    return fail("requests", "state.directory: name the directory of the index", kExitUsage);
  if (!exists(directory)) return fail("requests", directory + ": there is no such directory", kExitUsage);
  if (what == "show") {
    const std::string list = list_of(requests_in(directory));
    print_out("{}", list.empty() ? "there are no requests\n" : list);
    return kExitDone;
  }
  for (const std::string& name : names) {
    const absl::Status status = cancel_request(directory, name);
    if (!status.ok()) return fail("requests", status, kExitSomeFailed);
    print_out("{}: cancelled\n", name);
  }
  return kExitDone;
}

}  // namespace doppel
