#include "serve/forget_requests.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/log.h"
#include "base/status.h"
#include "stream/metadata.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;
constexpr auto kLookEvery = std::chrono::milliseconds(200);

fs::path folder_of(const std::string& state_directory) { return fs::path(state_directory) / "requests"; }

// Whole or not at all, and durable.
bool write_file(const fs::path& path, const std::string& text) {
  const fs::path unfinished = path.string() + ".tmp";
  {
    std::ofstream out(unfinished, std::ios::binary);
    out << text << '\n';
    out.flush();
    if (!out) return false;
  }
  std::error_code error;
  fs::rename(unfinished, path, error);
  return !error;
}

bool has_tag(std::string_view tags, std::string_view wanted) {
  while (!tags.empty()) {
    const size_t end = std::min(tags.find('\n'), tags.size());
    if (tags.substr(0, end) == wanted) return true;
    tags.remove_prefix(std::min(end + 1, tags.size()));
  }
  return false;
}

bool wished_for(const Metadata& m, std::string_view wish) {
  const size_t equals = wish.find('=');
  const std::string_view what = wish.substr(0, equals), value = wish.substr(equals + 1);
  if (what == "id") return m.name() == value;
  if (what == "event_id") return m.event_id() == value;
  return what == "tag" && has_tag(m.tags, value);
}

}  // namespace

absl::StatusOr<std::string> leave_request(const std::string& state_directory, const std::string& wish) {
  std::error_code error;
  const fs::path folder = folder_of(state_directory);
  fs::create_directories(folder, error);
  std::string name =
      fmt::format("{}-{}", std::chrono::system_clock::now().time_since_epoch().count(), ::getpid());
  if (error || !write_file(folder / (name + ".request"), wish))
    return io_error(fmt::format("{}: cannot leave a request", folder.string()),
                    error ? error.value() : errno);
  return name;
}

std::optional<uint64_t> take_answer(const std::string& state_directory, const std::string& name) {
  const fs::path path = folder_of(state_directory) / (name + ".done");
  uint64_t found = 0;
  if (!(std::ifstream(path) >> found)) return std::nullopt;
  std::error_code error;
  fs::remove(path, error);
  return found;
}

ForgetRequests::ForgetRequests(std::string state_directory, const Engine& engine, const Bodies& bodies)
    : directory_(std::move(state_directory)), engine_(engine), bodies_(bodies) {}

bool ForgetRequests::fill(Work& work) {
  work.forget.clear();
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < kLookEvery) return false;
  looked_ = now;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_of(directory_), error)) {
    if (entry.path().extension() != ".request") continue;
    std::ifstream file(entry.path());
    std::string wish;
    if (!std::getline(file, wish)) continue;
    const std::vector<Seq> found = find(wish);
    Request request{.name = entry.path().stem(), .found = found.size()};
    if (found.empty()) {
      answer(request);
      continue;
    }
    work.forget.insert(work.forget.end(), found.begin(), found.end());
    under_way_.push_back(std::move(request));
  }
  std::sort(work.forget.begin(), work.forget.end());
  work.forget.erase(std::unique(work.forget.begin(), work.forget.end()), work.forget.end());
  return !work.forget.empty();
}

// Every live original is looked at: wishes are rare, and an index of ids would cost memory for each document.
std::vector<Seq> ForgetRequests::find(const std::string& wish) const {
  std::vector<Seq> out;
  std::string buffer;
  const Index& index = engine_.index();
  for (Seq seq = index.lowest_live(); seq < index.next_seq(); ++seq) {
    if (!index.live(seq)) continue;
    const absl::StatusOr<Body> body = bodies_.read(index.row(seq).body, buffer);
    Metadata metadata;
    if (!body.ok() || !decode_metadata(body->metadata, metadata).ok())
      continue;  // found damaged when it is needed
    if (wished_for(metadata, wish)) out.push_back(seq);
  }
  return out;
}

void ForgetRequests::settled() {
  for (const Request& request : under_way_) answer(request);
  under_way_.clear();
}

void ForgetRequests::answer(const Request& request) const {
  const fs::path folder = folder_of(directory_);
  log::info("forgot originals by request", {{"request", request.name}, {"originals", request.found}});
  std::error_code error;
  write_file(folder / (request.name + ".done"), fmt::format("{}", request.found));
  fs::remove(folder / (request.name + ".request"), error);
}

}  // namespace doppel
