// Threads over the rows: each takes the next chunk, so that the answer does not depend on their number.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace sketchseek {

struct Interrupted {};  // what ends work whose caller does not want it any more

constexpr auto kPatience = std::chrono::milliseconds(100);

// work(begin, end) for chunks of 0 ... count. The calling thread asks `wanted` now and then whether to go on. Where the
// system gives no more threads, those that there are do it all.
template <class Work, class Wanted>
void in_parallel(int64_t count, int64_t chunk, int threads, Work work, Wanted wanted) {
  const int64_t chunks = (count + chunk - 1) / chunk;
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failing;
  auto run = [&](auto between) {
    try {
      for (int64_t i; (i = next.fetch_add(1)) < chunks; between()) work(i * chunk, std::min(count, (i + 1) * chunk));
    } catch (...) {
      next = chunks;
      std::lock_guard<std::mutex> lock(failing);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  try {
    for (int64_t i = 1; i < std::min<int64_t>(threads, chunks); ++i)
      others.emplace_back([&] { run([] {}); });
  } catch (const std::exception&) {  // std::system_error or no memory
  }
  auto asked = std::chrono::steady_clock::now();
  run([&] {
    const auto now = std::chrono::steady_clock::now();
    if (now - asked < kPatience) return;
    asked = now;
    if (!wanted()) throw Interrupted{};
  });
  for (std::thread& thread : others) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace sketchseek
