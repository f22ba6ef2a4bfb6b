#include "insight/sample_kind.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace doppel {
namespace {

constexpr size_t kLongEnough = 5;  // bytes; shorter words resemble others by chance
constexpr uint32_t kFrequent = 10;
constexpr uint32_t kRare = 2;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80; }
bool in_word(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// Calls visit(with byte `at` replaced) for each place of a word.
template <typename Visit>
void each_masked(std::string word, Visit visit) {
  for (char& c : word) {
    const char before = c;
    c = '\0';
    visit(word);
    c = before;
  }
}

}  // namespace

void SampleKindCounter::add(std::string_view text, bool page) {
  pages_ += page ? 1 : 0;
  uint32_t words = 0;
  std::string word;
  const auto end_word = [&] {
    if (word.empty()) return;
    ++words;
    if (word.size() >= kLongEnough && (counts_.size() < words_max_ || counts_.contains(word)))
      ++counts_[word];
    word.clear();
  };
  for (const char each : text) {
    const char c = lower(each);
    if (in_word(c)) {
      word += c;
    } else {
      end_word();
    }
  }
  end_word();
  sizes_.push_back(words);
}

double SampleKindCounter::misread() const {
  // Numbers differ by a digit because they are different numbers: only frequent words of letters count.
  absl::flat_hash_set<std::string> frequent;  // with one byte masked
  uint64_t all = 0, resembling = 0;
  for (const auto& [word, count] : counts_) {
    all += count;
    if (count >= kFrequent && std::all_of(word.begin(), word.end(), is_letter))
      each_masked(word, [&](const std::string& masked) { frequent.insert(masked); });
  }
  for (const auto& [word, count] : counts_) {
    if (count > kRare) continue;
    bool found = false;
    each_masked(word, [&](const std::string& masked) { found = found || frequent.contains(masked); });
    resembling += found ? count : 0;
  }
  return all == 0 ? 0 : static_cast<double>(resembling) / static_cast<double>(all);
}

SampleKind SampleKindCounter::finish() const {
  SampleKind out{.documents = sizes_.size(), .misread = misread()};
  if (sizes_.empty()) return out;
  std::vector<uint32_t> sizes = sizes_;
  const auto middle = sizes.begin() + static_cast<ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  out.words = *middle;
  out.pages = static_cast<double>(pages_) / static_cast<double>(sizes_.size());
  return out;
}

}  // namespace doppel
