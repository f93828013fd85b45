// SPDX-FileCopyrightText: The Worldline developers
// SPDX-License-Identifier: Apache-2.0
// Pinocchio's forward kinematics and mass matrix over many states, in C++ alone.
//
// Reads a tree (joints with parent, kind x, y, z or f for free, placement, inertia) and configurations; writes the
// least and the median time of an evaluation [us] for each of the two.
#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/algorithm/crba.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <vector>

namespace pin = pinocchio;

static pin::SE3 read_pose() {
  double x[7];
  for (double &value : x) std::cin >> value;
  const Eigen::Quaterniond turn(x[6], x[3], x[4], x[5]);
  return pin::SE3(turn.toRotationMatrix(), Eigen::Vector3d(x[0], x[1], x[2]));
}

template <class Job> static void report(Job job, std::size_t states) {
  std::vector<double> turns;
  for (int turn = 0; turn < 40; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t k = 0; k < states; ++k) job(k);
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
    turns.push_back(spent.count() / double(states));
  }
  std::sort(turns.begin(), turns.end());
  std::cout << turns.front() << " " << turns[turns.size() / 2] << "\n";
}

int main() {
  int joints, states;
  std::cin >> joints >> states;
  pin::Model model;
  for (int j = 0; j < joints; ++j) {
    int parent;
    char kind;
    double mass;
    Eigen::Vector3d com;
    Eigen::Matrix3d inertia;
    std::cin >> parent >> kind;
    const pin::SE3 place = read_pose();
    std::cin >> mass >> com[0] >> com[1] >> com[2];
    for (int i = 0; i < 9; ++i) std::cin >> inertia(i / 3, i % 3);
    const std::string name = "joint" + std::to_string(j);
    pin::JointIndex made;
    if (kind == 'x') made = model.addJoint(parent, pin::JointModelRX(), place, name);
    else if (kind == 'y') made = model.addJoint(parent, pin::JointModelRY(), place, name);
    else if (kind == 'z') made = model.addJoint(parent, pin::JointModelRZ(), place, name);
    else made = model.addJoint(parent, pin::JointModelFreeFlyer(), place, name);
    model.appendBodyToJoint(made, pin::Inertia(mass, com, inertia), pin::SE3::Identity());
  }
  pin::Data data(model);
  std::vector<Eigen::VectorXd> q(states, Eigen::VectorXd(model.nq));
  for (auto &one : q)
    for (int i = 0; i < model.nq; ++i) std::cin >> one[i];
  report([&](std::size_t k) { pin::forwardKinematics(model, data, q[k]); }, q.size());
  report([&](std::size_t k) { pin::crba(model, data, q[k]); }, q.size());
  return 0;
}
