#include "engine/shard_set.h"

#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "base/strings.h"

namespace doppel {

ShardSet::ShardSet(uint32_t shard_count, std::vector<uint32_t> own)
    : shard_count_(shard_count), own_(std::move(own)), rank_(shard_count_ + 1, 0) {
  DOPPEL_CHECK(!own_.empty(), "an owner has at least one shard", shard_count_);
  for (size_t i = 0; i < own_.size(); ++i) {
    DOPPEL_CHECK(own_[i] < shard_count_ && (i == 0 || own_[i - 1] < own_[i]), "an owner's shards ascend",
                 own_[i], shard_count_);
    ++rank_[own_[i] + 1];
  }
  for (size_t shard = 0; shard < shard_count_; ++shard) rank_[shard + 1] += rank_[shard];
}

std::string ShardSet::text() const {
  std::string out;
  for (size_t i = 0; i < own_.size();) {
    size_t last = i;
    while (last + 1 < own_.size() && own_[last + 1] == own_[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(own_[i]);
    if (last != i) out += '-' + std::to_string(own_[last]);
    i = last + 1;
  }
  return out + '/' + std::to_string(shard_count_);
}

absl::StatusOr<ShardSet> parse_shards(std::string_view text) {
  constexpr uint32_t kMost = 4096;
  const auto wrong = [&](const std::string& why) {
    return invalid("shards \"" + std::string(text) + "\": " + why + "; 0-15/64 means the first 16 of 64");
  };
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return wrong("\"/\" and the number of all shards is missing");
  if (text.find('/', slash + 1) != std::string_view::npos)
    return wrong("the number of all shards comes once, at the end");
  uint32_t shard_count = 0;
  if (!whole_number(text.substr(slash + 1), shard_count) || shard_count == 0 || shard_count > kMost)
    return wrong("the number of all shards is from 1 to " + std::to_string(kMost));
  std::vector<bool> has(shard_count);
  std::string_view rest = text.substr(0, slash);
  while (true) {
    const size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const size_t dash = part.find('-');
    uint32_t first = 0, last = 0;
    if (!whole_number(part.substr(0, dash), first) ||
        (dash != std::string_view::npos && !whole_number(part.substr(dash + 1), last)))
      return wrong("numbers and ranges of numbers are expected");
    if (dash == std::string_view::npos) last = first;
    if (first > last) return wrong("the range " + std::string(part) + " ends before it begins");
    if (last >= shard_count) return wrong("there are only shards 0 to " + std::to_string(shard_count - 1));
    for (uint32_t shard = first; shard <= last; ++shard) {
      if (has[shard]) return wrong("shard " + std::to_string(shard) + " is named twice");
      has[shard] = true;
    }
    if (comma == std::string_view::npos) break;
    rest = rest.substr(comma + 1);
  }
  std::vector<uint32_t> own;
  for (uint32_t shard = 0; shard < shard_count; ++shard)
    if (has[shard]) own.push_back(shard);
  return ShardSet(shard_count, std::move(own));
}

Owners::Owners(const std::vector<ShardSet>& sets) : count_(sets.size()) {
  constexpr uint32_t kNobody = ~0u;
  owner_.assign(sets.front().of(), kNobody);
  for (uint32_t owner = 0; owner < sets.size(); ++owner) {
    for (const uint32_t shard : sets[owner].own()) {
      DOPPEL_CHECK(sets[owner].of() == owner_.size() && owner_[shard] == kNobody, "a shard has one owner",
                   shard, owner);
      owner_[shard] = owner;
    }
  }
  for (size_t shard = 0; shard < owner_.size(); ++shard)
    DOPPEL_CHECK(owner_[shard] != kNobody, "every shard has an owner", shard, owner_.size());
}

}  // namespace doppel
