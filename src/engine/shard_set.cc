#include "engine/shard_set.h"

#include <utility>

#include "base/check.h"

namespace doppel {

ShardSet::ShardSet(uint32_t of, std::vector<uint32_t> own)
    : of_(of), own_(std::move(own)), rank_(of_ + 1, 0) {
  DOPPEL_CHECK(!own_.empty(), "an owner has at least one shard", of_);
  for (size_t i = 0; i < own_.size(); ++i) {
    DOPPEL_CHECK(own_[i] < of_ && (i == 0 || own_[i - 1] < own_[i]), "an owner's shards ascend", own_[i],
                 of_);
    ++rank_[own_[i] + 1];
  }
  for (size_t shard = 0; shard < of_; ++shard) rank_[shard + 1] += rank_[shard];
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
