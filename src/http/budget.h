#pragma once
// How many bytes of bodies a server holds at a time: of all clients together, and of each. A body counts as
// it arrives, so a client that only announces one takes nothing from others. Any thread may call.

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace doppel::http {

class Budget {
 public:
  enum class Full { no, share, all };  // share: this client's; all: everybody's

  explicit Budget(uint64_t most) : most_(most), share_(most / 4) {}

  uint64_t most() const { return most_; }
  uint64_t used() const {
    const std::lock_guard lock(mutex_);
    return used_;
  }
  // Whether this many more would fit now.
  Full fits(const std::string& client, uint64_t bytes) const {
    const std::lock_guard lock(mutex_);
    return fits_locked(client, bytes);
  }

  // What one request holds. It gives everything back at its end.
  class Hold {
   public:
    Hold() = default;
    Hold(Budget& budget, std::string client) : budget_(&budget), client_(std::move(client)) {}
    Hold(Hold&& other) noexcept { *this = std::move(other); }
    Hold& operator=(Hold&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(client_, other.client_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Hold() { release(); }

    // Takes nothing if it does not fit.
    Full take(uint64_t bytes) {
      const std::lock_guard lock(budget_->mutex_);
      const Full full = budget_->fits_locked(client_, bytes);
      if (full != Full::no) return full;
      budget_->used_ += bytes;
      budget_->by_client_[client_] += bytes;
      bytes_ += bytes;
      return Full::no;
    }
    void release() {
      if (bytes_ == 0) return;
      const std::lock_guard lock(budget_->mutex_);
      budget_->used_ -= bytes_;
      const auto found = budget_->by_client_.find(client_);
      found->second -= bytes_;
      if (found->second == 0) budget_->by_client_.erase(found);
      bytes_ = 0;
    }

   private:
    Budget* budget_ = nullptr;
    std::string client_;
    uint64_t bytes_ = 0;
  };

 private:
  Full fits_locked(const std::string& client, uint64_t bytes) const {
    const auto found = by_client_.find(client);
    if ((found == by_client_.end() ? 0 : found->second) + bytes > share_) return Full::share;
    return used_ + bytes > most_ ? Full::all : Full::no;
  }

  const uint64_t most_, share_;
  mutable std::mutex mutex_;
  uint64_t used_ = 0;
  std::unordered_map<std::string, uint64_t> by_client_;
};

}  // namespace doppel::http
