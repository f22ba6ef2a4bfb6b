#include "kafka/log/standby.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/status.h"
#include "config/keys.h"
#include "state/file.h"

namespace doppel {
namespace {

constexpr int kLookMs = 200;                          // how long ours() waits
constexpr std::chrono::milliseconds kJoining(4'000);  // a new group waits three seconds for more members
constexpr int64_t kSessionMost = 3'600'000;           // librdkafka's limit for session.timeout.ms
constexpr std::chrono::milliseconds kAskMembers(1'000), kTurn(500);
constexpr std::string_view kMember = "doppel-", kTransactionalId = "kafka.transactional_id";

std::string inode_of(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? fmt::format("{}", info.st_ino) : std::string();
}

// The member part of an owner's name in the log; empty if the owner is not a member.
std::string member_of(std::string_view owner) {
  const std::string_view last = owner.substr(owner.rfind('/') + 1);
  return last.starts_with(kMember) ? std::string(last) : std::string();
}

}  // namespace

// The file holds the name and the file's own inode. A copy of the file has another inode, so it is not valid.
absl::StatusOr<std::string> member_name(const std::string& state_directory) {
  const std::string path = state_directory + "/member", temporary = path + ".new";
  std::string name, inode;
  if (std::ifstream(path) >> name >> inode && inode == inode_of(path)) return name;
  uint64_t random = 0;
  RETURN_IF_ERROR(random_bytes(&random, sizeof(random)));
  name = fmt::format("{}{:016x}", kMember, random);
  ASSIGN_OR_RETURN(File file, File::open(temporary, O_RDWR | O_CREAT | O_TRUNC));
  RETURN_IF_ERROR(file.write_at(0, fmt::format("{} {}\n", name, inode_of(temporary))));
  RETURN_IF_ERROR(file.sync());
  RETURN_IF_ERROR(file.rename_to(path));
  return name;
}

absl::StatusOr<Standby> Standby::join(const Options& o, const KafkaPlan& plan, ReportProgress restoring) {
  Standby out;
  out.restoring_ = std::move(restoring);
  out.group_ = daemons_group(plan.transactional_id);
  out.index_log_ = plan.index_log.name;
  out.settings_ = standby_settings(o, plan);
  out.session_timeout_ms_ = o.kafka.session_timeout_ms;
  kafka::MembershipOptions how{
      .group = out.group_,
      .member = {},
      .topics = {plan.index_log.name},
      .purpose = "the daemons of one index are members of it (kafka.takeover: standby)",
      .may_be_silent = true};
  how.session_timeout_ms = static_cast<int>(std::min(o.kafka.session_timeout_ms, kSessionMost));
  ASSIGN_OR_RETURN(how.member, member_name(o.state_directory));
  out.member_ = how.member;
  ASSIGN_OR_RETURN(out.membership_, plan.kafka->join(how));
  log::debug("joining the daemons of this index", {{"group", how.group}, {"member", how.member}});
  return out;
}

std::string standby_settings(const Options& o, const KafkaPlan& plan) {
  std::string out =
      fmt::format("{}={}\noutput.topic={}\noutput.dead_letters={}\noutput.unique_topic={}\noutput.best={}",
                  kTransactionalId, plan.transactional_id, o.output.topic, o.output.dead_letters,
                  o.output.unique_topic, o.input.best);
  for (const char* key : {"output.verdicts", "output.key", "tombstones", "input.format", "input.text",
                          "input.id", "input.url", "input.date", "input.scope", "input.tags",
                          "input.statuses", "input.content_types", "input.passthrough"})
    out += fmt::format("\n{}={}", key, absl::StrReplaceAll(find_key(key)->get(o), {{"\n", " "}}));
  return out;
}

absl::Status Standby::may_follow(const kafka::KafkaPosition& position) {
  if (membership_ == nullptr || ours_ || position.owner_settings.empty()) return absl::OkStatus();
  const std::string member = member_of(position.owner);
  if (position.owner.starts_with('/') || member.empty() || member == member_) return absl::OkStatus();
  const std::vector<std::string> of_owner = absl::StrSplit(position.owner_settings, '\n');
  const std::vector<std::string> own = absl::StrSplit(settings_, '\n');
  std::vector<std::string> differ;
  for (const std::string& theirs : of_owner) {
    const std::string key = theirs.substr(0, theirs.find('=') + 1);
    const auto ours =
        std::find_if(own.begin(), own.end(), [&](const auto& line) { return line.starts_with(key); });
    if (ours != own.end() && *ours != theirs)
      differ.push_back(fmt::format("{} (here: {})", theirs, ours->substr(key.size())));
  }
  if (differ.empty()) return absl::OkStatus();
  // With another transactional id it is in another group, which does not tell whether it is alive.
  const bool same_group = !differ.front().starts_with(kTransactionalId);
  if (same_group && !is_alive(member)) return absl::OkStatus();
  return invalid(fmt::format(
      "the daemon that serves the index log {} has other settings: {}. A standby must have the same ones. To "
      "change them, stop all daemons of the index first; {}, kafka.takeover: now starts this one",
      index_log_, absl::StrJoin(differ, ", "),
      same_group ? "to replace it while it runs"
                 : "if none of them runs any more, or to replace it while it runs"));
}

absl::StatusOr<bool> Standby::ours(const std::string& owner) {
  if (membership_ == nullptr || ours_) return true;
  ASSIGN_OR_RETURN(const std::vector<kafka::TopicPartition> places, membership_->ours(kLookMs));
  chosen_ = !places.empty();
  const std::string member = member_of(owner);
  // A predecessor on this directory has ended, because we hold the directory's lock.
  ours_ = owner.starts_with('/') ? may_claim(owner) : member == member_ || (chosen_ && !is_alive(member));
  if (ours_) {
    if (stands_by_) {
      log::info("it is this daemon's turn to serve the index; claiming its log", {{"index_log", index_log_}});
      restoring_({.phase = "claiming the index log"});
    }
    stands_by_ = false;
    return true;
  }
  if (!waits_since_) waits_since_ = Clock::now();
  if (!stands_by_ && Clock::now() - *waits_since_ > kJoining) {
    stands_by_ = true;
    log::info("standing by: another daemon serves this index (kafka.takeover: standby)",
              {{"index_log", index_log_}, {"takes_over_after_ms", session_timeout_ms_}});
    notify::ready();
    notify::status("standing by: another daemon serves the index");
  }
  if (stands_by_) restoring_({.phase = kStandingBy});
  return false;
}

// After a release standbys may claim one after the other, so that they do not fence each other. The standby
// that the coordinator chose goes first.
bool Standby::may_claim(const std::string& released_by) {
  const auto now = Clock::now();
  if (released_by_ != released_by) {
    released_by_ = released_by;
    may_claim_from_ = now;
    looked_ = {};
    for (const std::string& other : members()) {
      if (chosen_ || other == member_) break;
      if (other != member_of(released_by)) may_claim_from_ += kTurn;
    }
  }
  return now >= may_claim_from_;
}

bool Standby::is_alive(const std::string& member) {
  if (member.empty()) return false;
  const std::vector<std::string>& all = members();
  return std::find(all.begin(), all.end(), member) != all.end();
}

const std::vector<std::string>& Standby::members() {
  const auto now = Clock::now();
  if (now - looked_ < kAskMembers) return members_;
  looked_ = now;
  absl::StatusOr<std::vector<std::string>> members = membership_->members();
  if (members.ok()) {
    members_ = *std::move(members);
  } else {
    log::debug("the members of the group are not known", {{"says", std_sv(members.status().message())}});
  }
  return members_;
}

void Standby::keep() {
  if (membership_ == nullptr) return;
  const absl::StatusOr<std::vector<kafka::TopicPartition>> places = membership_->ours(0);
  const bool still = places.ok() && !places->empty();
  chosen_ = chosen_ || still;
  if (!chosen_) return;  // we claimed after a release, and the coordinator has not chosen us yet
  if (!still && !warned_)
    log::warn(
        "the group coordinator received nothing from this daemon for session.timeout.ms; another one may "
        "take over",
        {{"group", group_}, {"says", places.ok() ? "" : std_sv(places.status().message())}});
  warned_ = !still;
}

}  // namespace doppel
