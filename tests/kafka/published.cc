#include "kafka/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kafka/client.h"

namespace doppel::testing {
namespace {

std::vector<Published> read_topic(const std::string& bootstrap, const std::string& topic) {
  std::vector<Published> out;
  for (const Message& m : read_all(bootstrap, topic)) {
    std::string value = m.value.value_or("(null)");
    if (const size_t epoch = value.rfind(",\"epoch\":"); epoch != std::string::npos) value.resize(epoch);
    std::string text = fmt::format("{} {}", m.key.value_or("(none)"), value);
    for (const auto& [name, header] : m.headers)
      if (name != "ce_source") text += fmt::format(" {}={}", name, header.value_or("(null)"));
    std::string id = m.header("ce_id");
    if (id.empty())
      id = fmt::format("dead letter {}/{}/{}", m.header("__connect.errors.topic"),
                       m.header("__connect.errors.partition"), m.header("__connect.errors.offset"));
    out.push_back({std::move(id), std::move(text)});
  }
  std::sort(out.begin(), out.end());
  return out;
}

void compare(const std::vector<Published>& got, const std::vector<Published>& expected,
             PublicationDifference& out) {
  if (got == expected) return;
  struct Texts {
    std::vector<std::string> got, expected;
  };
  std::map<std::string, Texts> by_id;
  for (const Published& p : got) by_id[p.id].got.push_back(p.text);
  for (const Published& p : expected) by_id[p.id].expected.push_back(p.text);
  for (const auto& [id, texts] : by_id) {
    if (texts.got == texts.expected) continue;
    const size_t came = texts.got.size(), wanted = texts.expected.size();
    if (came < wanted) out.lost += wanted - came;
    if (came > wanted) out.doubled += came - wanted;
    if (came == wanted) ++out.changed;
    if (!out.example.empty()) continue;
    out.example = fmt::format("{}: came {} times, expected {}:\n  came     {}\n  expected {}", id, came,
                              wanted, came == 0 ? "(nothing)" : texts.got.back(),
                              wanted == 0 ? "(nothing)" : texts.expected.back());
  }
}

}  // namespace

Publication read_publication(const std::string& bootstrap, const Options& options) {
  Publication out{.events = read_topic(bootstrap, options.output.topic), .dead_letters = {}};
  if (!options.output.dead_letters.empty())
    out.dead_letters = read_topic(bootstrap, options.output.dead_letters);
  return out;
}

std::string PublicationDifference::text() const {
  return fmt::format("{} lost, {} doubled, {} changed{}{}", lost, doubled, changed,
                     example.empty() ? "" : ": ", example);
}

PublicationDifference compare(const Publication& got, const Publication& expected) {
  PublicationDifference out;
  compare(got.events, expected.events, out);
  compare(got.dead_letters, expected.dead_letters, out);
  return out;
}

}  // namespace doppel::testing
