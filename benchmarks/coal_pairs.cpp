// SPDX-FileCopyrightText: The Worldline developers
// SPDX-License-Identifier: Apache-2.0
//
// Coal called from C++: signed distances of pairs at given poses. Reads lines "a b count", where a and b are
// sphere, capsule or box, then two lines of 12 numbers a pair (position, rotation row by row), and prints the
// shortest time of a query in microseconds over several rounds. benchmarks/collision.py builds and feeds it.

#include <coal/distance.h>
#include <coal/shape/geometric_shapes.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

static std::shared_ptr<coal::ShapeBase> make(const std::string& kind) {
  if (kind == "sphere") return std::make_shared<coal::Sphere>(0.5);
  if (kind == "capsule") return std::make_shared<coal::Capsule>(0.3, 1.0);
  return std::make_shared<coal::Box>(0.8, 1.0, 1.2);
}

static coal::Transform3s read_pose() {
  coal::Vec3s p;
  coal::Matrix3s R;
  for (int k = 0; k < 3; ++k) std::cin >> p[k];
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) std::cin >> R(r, c);
  return coal::Transform3s(R, p);
}

int main() {
  std::string first, second;
  int count;
  while (std::cin >> first >> second >> count) {
    auto a = make(first), b = make(second);
    std::vector<coal::Transform3s> poses;
    for (int k = 0; k < 2 * count; ++k) poses.push_back(read_pose());
    double best = 1e300, sum = 0.0;
    for (int round = 0; round < 15; ++round) {
      coal::DistanceRequest request;
      coal::DistanceResult result;
      auto start = std::chrono::steady_clock::now();
      for (int k = 0; k < count; ++k) {
        result.clear();
        sum += coal::distance(a.get(), poses[2 * k], b.get(), poses[2 * k + 1], request, result);
      }
      std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      best = std::min(best, spent.count());
    }
    std::cout << 1e6 * best / count << " " << sum << std::endl;
  }
}
