// doppel deadletters: lists the records that could not be judged, by reason, and sends them to their topics
// again.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <tuple>

#include "base/standard_streams.h"
#include "base/status.h"
#include "commands/commands.h"
#include "fmt/format.h"
#include "formats/decoder.h"
#include "kafka/dead_letters.h"
#include "kafka/topics/named_topics.h"
#include "kafka/topics/plan.h"

namespace doppel {
namespace {

struct Choice {
  std::vector<std::string> reasons, stages, topics;  // empty: any
  std::string since, until;
};

// Decides which letters are chosen.
class Chosen {
 public:
  static absl::StatusOr<Chosen> of(const Choice& choice) {
    Chosen out(choice);
    for (const auto& [name, text, ms] : {std::tuple("--since", &choice.since, &out.since_ms_),
                                         std::tuple("--until", &choice.until, &out.until_ms_)}) {
      if (text->empty()) continue;
      *ms = parse_time(*text);
      if (!*ms) return invalid(fmt::format("{}: {} is not a time such as 2026-01-31T12:00:00Z", name, *text));
    }
    return out;
  }

  bool operator()(const kafka::Letter& letter) const {
    const auto any = [](const std::vector<std::string>& list, auto&& fits) {
      return list.empty() || std::any_of(list.begin(), list.end(), fits);
    };
    return any(choice_.reasons, [&](const std::string& r) { return letter.reason.starts_with(r); }) &&
           any(choice_.stages, [&](const std::string& s) { return letter.stage == s; }) &&
           any(choice_.topics, [&](const std::string& t) { return letter.origin.topic == t; }) &&
           letter.timestamp_ms >= since_ms_.value_or(letter.timestamp_ms) &&
           letter.timestamp_ms < until_ms_.value_or(letter.timestamp_ms + 1);
  }

 private:
  explicit Chosen(const Choice& choice) : choice_(choice) {}

  const Choice& choice_;
  std::optional<int64_t> since_ms_, until_ms_;
};

// Letters with the same reason, stage and topic. The sizes that a reason names differ from letter to letter.
class Table {
 public:
  void add(const kafka::Letter& letter) {
    std::string reason;
    for (const char c : letter.reason) {
      const bool digit = c >= '0' && c <= '9';
      if (letter.stage == "SIGN" || !digit) {
        reason += c;
      } else if (!reason.ends_with('N')) {
        reason += 'N';
      }
    }
    ++rows_[{letter.origin.topic, std::string(letter.stage), reason}];
  }

  void print() const {
    std::vector<std::pair<uint64_t, const Row*>> rows;
    rows.reserve(rows_.size());
    for (const auto& [row, count] : rows_) rows.emplace_back(count, &row);
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    if (!rows.empty()) print_out("{:>12}  {:<6}  {:<24}  {}\n", "letters", "stage", "topic", "reason");
    for (const auto& [count, row] : rows)
      print_out("{:>12}  {:<6}  {:<24}  {}\n", count, std::get<1>(*row), std::get<0>(*row),
                std::get<2>(*row));
  }

 private:
  using Row = std::tuple<std::string, std::string, std::string>;  // topic, stage, reason
  std::map<Row, uint64_t> rows_;
};

class DeadLettersCommand {
 public:
  DeadLettersCommand(const Options& o, kafka::Cluster& cluster, Chosen chosen)
      : o_(o), inputs_(kafka_inputs(o)), letters_(cluster, o.output.dead_letters), chosen_(chosen) {}

  absl::Status show() {
    Table table;
    ASSIGN_OR_RETURN(const kafka::DeadLetters::Counts counts, letters_.read([&](const kafka::Letter& letter) {
      if (chosen_(letter)) table.add(letter);
      return absl::OkStatus();
    }));
    table.print();
    print_out("{} letters", counts.letters);
    if (counts.republished != 0) print_out(", {} more were republished", counts.republished);
    if (counts.others != 0) print_out(", {} records are not dead letters of doppel", counts.others);
    print_out("\n");
    return absl::OkStatus();
  }

  // Prints the chosen letters, and how many of them cannot be sent.
  absl::Status plan() {
    Table table;
    uint64_t not_whole = 0, not_read = 0;
    RETURN_IF_ERROR(letters_
                        .read([&](const kafka::Letter& letter) {
                          if (!chosen_(letter)) return absl::OkStatus();
                          if (!letter.whole) ++not_whole;
                          if (!is_read(letter)) ++not_read;
                          if (letter.whole && is_read(letter)) table.add(letter);
                          return absl::OkStatus();
                        })
                        .status());
    table.print();
    if (not_whole != 0) print_out("{} letters stay: the record was too large for its letter\n", not_whole);
    if (not_read != 0) print_out("{} letters stay: their topic is not one of kafka.topics\n", not_read);
    return absl::OkStatus();
  }

  absl::Status republish() {
    const kafka::DeadLetters::Wanted wanted{
        .chosen = [this](const kafka::Letter& letter) { return chosen_(letter) && is_read(letter); },
        .compress = may_compress(o_),
        .stop = stop_asked};
    ASSIGN_OR_RETURN(const kafka::DeadLetters::Done done, letters_.republish(wanted));
    print_out("{} letters were republished\n", done.republished);
    for (const std::string& letter : done.too_large)
      print_out("{} stays: its topic does not take so large a record\n", letter);
    return absl::OkStatus();
  }

 private:
  bool is_read(const kafka::Letter& letter) const { return kafka::is_input(inputs_, letter.origin.topic); }

  const Options& o_;
  const kafka::Inputs inputs_;
  kafka::DeadLetters letters_;
  const Chosen chosen_;
};

absl::Status carry_out(const Options& o, const std::string& what, const Choice& choice, bool yes) {
  if (o.output.dead_letters.empty()) return invalid("output.dead_letters: name the topic of dead letters");
  ASSIGN_OR_RETURN(const Chosen chosen, Chosen::of(choice));
  ASSIGN_OR_RETURN(const std::unique_ptr<kafka::Cluster> cluster, connect_kafka(o));
  DeadLettersCommand command(o, *cluster, chosen);
  if (what == "show") return command.show();
  if (o.dry_run) return invalid("dry_run: not with deadletters republish");
  if (yes) return command.republish();
  RETURN_IF_ERROR(command.plan());
  return invalid("nothing is republished yet; the same command with --yes does so");
}

}  // namespace

int deadletters_main(int argc, char** argv) {
  CLI::App app(
      "Shows the dead letters (records that could not be judged) by reason, and republishes chosen ones: "
      "sends "
      "their\n"
      "records to their topics again. Each letter is republished once, however often the command runs and "
      "wherever it\n"
      "is interrupted. A copy has the key, value, headers and timestamp of the record, and the header\n"
      "doppel.republished, which names its letter. If it still cannot be judged, it becomes another letter. "
      "A "
      "note in\n"
      "the topic of dead letters says that a letter was republished.\n\n"
      "Examples:\n"
      "  doppel deadletters show --config doppel.yaml\n"
      "  doppel deadletters republish --reason 'not JSON' --since 2026-11-01 --config doppel.yaml\n"
      "  doppel deadletters republish --reason 'not JSON' --since 2026-11-01 --config doppel.yaml --yes",
      "doppel deadletters");
  CommonFlags common;
  std::string what;
  Choice choice;
  bool yes = false;
  app.add_option("what", what, "show or republish")->required()->check(CLI::IsMember({"show", "republish"}));
  app.add_option("--reason", choice.reasons,
                 "only letters whose reason begins with this text; may be repeated")
      ->allow_extra_args(false);
  app.add_option(
         "--stage", choice.stages,
         "only letters of this stage: SIGN (could not be read), EVENT or UNIQUE; republish takes only SIGN "
         "unless this says otherwise")
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"SIGN", "EVENT", "UNIQUE"}));
  app.add_option("--topic", choice.topics, "only letters of records of this topic; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--since", choice.since, "only records whose timestamp is not before this time");
  app.add_option("--until", choice.until, "only records whose timestamp is before this time");
  app.add_flag("--yes", yes, "republish the letters that are shown without it");
  add_common_flags(app, common);
  app.footer("Exit codes: 0 done; 2 wrong usage, or nothing is republished yet; 3 an error of the brokers.");
  if (auto code = parse_flags(app, argc, argv)) return *code;
  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("deadletters", config.status(), kExitUsage);
  catch_stop_signals(kExitInterrupted);
  if (what == "republish" && choice.stages.empty()) choice.stages = {"SIGN"};
  const absl::Status status = carry_out(config->options, what, choice, yes);
  if (status.ok()) return kExitDone;
  if (absl::IsCancelled(status)) return fail("deadletters", status, kExitInterrupted);
  return fail("deadletters", status, absl::IsInvalidArgument(status) ? kExitUsage : kExitStopped);
}

}  // namespace doppel
