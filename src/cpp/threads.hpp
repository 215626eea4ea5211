// Threads over the pictures: each takes the next chunk, so that the answer does not depend on their number.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace sketchseek {

template <class Work>
void in_parallel(int64_t count, int64_t chunk, int threads, Work work) {
  const int64_t chunks = (count + chunk - 1) / chunk;
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failing;
  auto run = [&] {
    try {
      for (int64_t i; (i = next.fetch_add(1)) < chunks;) work(i * chunk, std::min(count, (i + 1) * chunk));
    } catch (...) {
      std::lock_guard<std::mutex> lock(failing);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (int64_t i = 1; i < std::min<int64_t>(threads, chunks); ++i) others.emplace_back(run);
  run();
  for (std::thread& thread : others) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace sketchseek
