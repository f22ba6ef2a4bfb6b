#pragma once
// A disk that loses power: what was synced stays, of the rest some. This program's fsync and fdatasync only
// note what is durable from then on.

#include <string>

#include "simulation/scheduler.h"

namespace doppel::simulation {

// Makes the directory and those in it what they may be after a loss of power. No file in it is open. The
// directory itself stays.
void lose_power(const std::string& directory, Scheduler& dice);

}  // namespace doppel::simulation
