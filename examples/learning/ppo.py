# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""PPO in plain PyTorch; `python examples/learning/ppo.py Ant 15 curve.csv` learns to run for 15 minutes."""

import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
import torch
from torch import nn

import worldline.envs  # noqa: F401 # makes its environments known to Gymnasium

ENVS, HORIZON, EPOCHS, BATCH, GAMMA, LAMBDA, CLIP = 64, 64, 5, 1024, 0.99, 0.95, 0.2


class Agent(nn.Module):
    """A Gaussian policy and a value of observations, which are normalised by what was seen so far."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        sizes = (nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))
        self.actor, self.log_std = nn.Sequential(*sizes), nn.Parameter(-0.5 * torch.ones(outputs))
        self.critic = nn.Sequential(
            nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
        )
        nn.init.uniform_(sizes[-1].weight, -0.01, 0.01)
        self.count, self.mean, self.var = 1e-4, np.zeros(inputs), np.ones(inputs)

    def see(self, rows: np.ndarray) -> torch.Tensor:
        return torch.tensor(np.clip((rows - self.mean) / np.sqrt(self.var + 1e-8), -10, 10)).float()

    def policy(self, x: torch.Tensor) -> torch.distributions.Normal:
        return torch.distributions.Normal(self.actor(x), self.log_std.exp())

    def remember(self, rows: np.ndarray) -> None:
        apart, n, both = rows.mean(0) - self.mean, len(rows), self.count + len(rows)
        self.var = (self.var * self.count + rows.var(0) * n + apart**2 * self.count * n / both) / both
        self.mean, self.count = self.mean + apart * n / both, both


def learn(task: str, minutes: float, updates: int = sys.maxsize) -> list[tuple[float, int, float]]:
    """Seconds, steps, and mean reward of the last 100 episodes, after every update."""
    torch.manual_seed(0)
    options = {"vectorization_mode": "vector_entry_point", "autoreset_mode": "SameStep"}
    envs = gymnasium.make_vec(f"worldline/{task}-v0", ENVS, **options)
    agent = Agent(envs.single_observation_space.shape[0], envs.single_action_space.shape[0])
    adam, largest = (
        torch.optim.Adam(agent.parameters(), eps=1e-5),
        torch.tensor(envs.single_action_space.high),
    )
    observed, _ = envs.reset(seed=0)
    total, discounted, episodes, curve, spread = np.zeros(ENVS), np.zeros(ENVS), [], [], 1.0
    start = time.time()
    while (spent := max((time.time() - start) / (60 * minutes), len(curve) / updates)) < 1:
        raw, rows = [], []
        for _ in range(HORIZON):
            with torch.no_grad():
                x, drawn = agent.see(observed), agent.policy(agent.see(observed)).sample()
                log, value = agent.policy(x).log_prob(drawn).sum(1), agent.critic(x)[:, 0]
                raw.append(observed)
                observed, reward, ended, cut, info = envs.step((drawn.clamp(-1, 1) * largest).numpy())
                total, discounted, over = total + reward, discounted * GAMMA + reward, ended | cut
                spread = 0.999 * spread + 0.001 * discounted.var()
                scaled = torch.tensor(reward / np.sqrt(spread + 1e-8)).float()
                if cut.any():  # what would have followed an episode that was cut off
                    last = agent.see(np.stack(list(info["final_obs"][cut])))
                    scaled[cut] += GAMMA * agent.critic(last)[:, 0]
            rows.append((x, drawn, log, value, scaled, torch.tensor(over).float()))
            episodes += total[over].tolist()
            total[over] = discounted[over] = 0
        with torch.no_grad():  # generalised advantage estimation, from the last step to the first
            following, gain, gains = agent.critic(agent.see(observed))[:, 0], 0.0, []
        for *_, value, scaled, over in reversed(rows):
            delta = scaled + GAMMA * following * (1 - over) - value
            gain, following = delta + GAMMA * LAMBDA * (1 - over) * gain, value
            gains.insert(0, gain)
        x, drawn, log, value = (torch.cat(column) for column in list(zip(*rows, strict=True))[:4])
        gain = torch.cat(gains)
        goal, gain = gain + value, (gain - gain.mean()) / (gain.std() + 1e-8)
        adam.param_groups[0]["lr"] = 3e-4 * max(1 - spent, 0.1)
        for part in torch.cat([torch.randperm(len(x)) for _ in range(EPOCHS)]).split(BATCH):
            ratio = (agent.policy(x[part]).log_prob(drawn[part]).sum(1) - log[part]).exp()
            surrogate = torch.min(ratio * gain[part], ratio.clamp(1 - CLIP, 1 + CLIP) * gain[part]).mean()
            loss = 0.5 * (agent.critic(x[part])[:, 0] - goal[part]).square().mean() - surrogate
            adam.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            adam.step()
        agent.remember(np.concatenate(raw))
        steps = (len(curve) + 1) * HORIZON * ENVS
        curve.append((time.time() - start, steps, float(np.mean(episodes[-100:] or [0.0]))))
    return curve


def main() -> None:
    task = sys.argv[1] if len(sys.argv) > 1 else "Hopper"
    curve = learn(task, float(sys.argv[2])) if len(sys.argv) > 2 else learn(task, 15.0, updates=15)
    print(f"{task}: {curve[-1][1]} steps, reward of an episode {curve[0][2]:.0f} -> {curve[-1][2]:.0f}")
    if len(sys.argv) > 3:
        lines = [f"{seconds:.1f},{steps},{reward:.2f}" for seconds, steps, reward in curve]
        Path(sys.argv[3]).write_text("\n".join(["seconds,steps,reward", *lines, ""]))
    assert curve[-1][2] > curve[0][2]


if __name__ == "__main__":
    main()
