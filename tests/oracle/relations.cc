#include "oracle/relations.h"

#include <algorithm>
#include <map>
#include <string>

#include "oracle/words.h"

namespace doppel::oracle {

std::vector<uint32_t> Relations::shingles_of(std::string_view text) {
  std::vector<uint32_t> ids;
  for (const std::string& word : words(text))
    ids.push_back(words_.try_emplace(word, static_cast<uint32_t>(words_.size()) + 1).first->second);
  std::vector<uint32_t> out;
  for (size_t i = 0; i + options_.shingle_words <= ids.size(); ++i) {
    Shingle shingle{};
    std::copy_n(&ids[i], options_.shingle_words, shingle.begin());
    out.push_back(numbers_.try_emplace(shingle, static_cast<uint32_t>(numbers_.size())).first->second);
  }
  holders_.resize(numbers_.size());
  return out;
}

std::vector<Shared> Relations::compare(std::string_view text) {
  const std::vector<uint32_t> shingles = shingles_of(text);
  std::vector<uint32_t> set = shingles;
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  const auto common = [&](uint32_t shingle) { return holders_[shingle].size() >= options_.common_after; };
  std::map<uint32_t, Shared> found;
  std::map<uint32_t, uint64_t> common_shared;
  uint64_t of_document = 0;
  for (const uint32_t shingle : set) {
    of_document += common(shingle) ? 0 : 1;
    for (const uint32_t r : holders_[shingle]) {
      if (common(shingle)) {
        ++common_shared[r];
      } else {
        ++found[r].shared;
      }
    }
  }
  std::vector<Shared> out;
  for (auto& [r, shared] : found) {
    shared.original = r;
    shared.of_document = of_document;
    shared.common = set.size() - of_document;
    shared.of_original = sizes_[r] - common_shared[r];
    uint64_t run = 0;
    for (const uint32_t shingle : shingles) {
      const bool both =
          !common(shingle) && std::binary_search(holders_[shingle].begin(), holders_[shingle].end(), r);
      run = both ? run + 1 : 0;
      if (run != 0) shared.longest = std::max(shared.longest, run + options_.shingle_words - 1);
    }
    out.push_back(shared);
  }
  return out;
}

void Relations::add(std::string_view text) {
  std::vector<uint32_t> set = shingles_of(text);
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  for (const uint32_t shingle : set) holders_[shingle].push_back(static_cast<uint32_t>(sizes_.size()));
  sizes_.push_back(set.size());
}

}  // namespace doppel::oracle
