"""BenchMARL: a policy that beats random play, advantages for who acts, and a task that other algorithms take too."""

from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarl.algorithms import MappoConfig
from benchmarl.experiment import Experiment
from torchrl.envs.utils import ExplorationType, check_env_specs, set_exploration_type

from napoleon_env.adapters.benchmarl import GROUP, NapoleonTask
from napoleon_env.agent import OnnxPlayer
from train.adapting import Clock, begin
from train.benchmarl_ippo import Args, experiment, finish, policy_layers, settings, train


def test_it_learns_to_beat_random_play_and_its_file_decides_as_it_does(tmp_path: Path) -> None:
    args = Args(minutes=0.6, deals=300, out=tmp_path)
    run, clock = train(args)
    assert finish(policy_layers(run), args, clock).p_random < 0.01
    with torch.no_grad(), set_exploration_type(ExplorationType.DETERMINISTIC):
        rows = run.test_env.rollout(200, run.policy, break_when_any_done=False)[GROUP]
    acted = rows["mask"]
    seen, mask, chosen = (rows[name][acted] for name in ("observation", "action_mask", "action"))
    logits = OnnxPlayer(tmp_path / "agent.onnx").run(seen.numpy(), mask.numpy())["logits"]
    assert (logits.argmax(1) == chosen.numpy()).all()


def test_a_seat_that_acts_is_credited_with_what_it_is_paid_at_the_end_and_one_that_waits_with_nothing(tmp_path: Path) -> None:
    args = Args(envs=2, frames=240, out=tmp_path)
    begin(args)
    run = experiment(args, Clock(1.0))
    loss = run.losses[GROUP]
    loss.value_estimator.lmbda.fill_(1.0)
    loss.critic_network_params.data.zero_()
    batch = next(iter(run.collector))
    advantage = run.algorithm.process_batch(GROUP, batch)[GROUP, "advantage"][..., 0]
    acted, paid = batch[GROUP, "mask"], batch["next", GROUP, "reward"][..., 0]
    assert (acted.sum(-1) == 1).all()
    assert not advantage[~acted].any()
    assert batch[GROUP, "action_mask"].gather(-1, batch[GROUP, "action"].unsqueeze(-1)).all()
    expected = torch.zeros_like(paid)
    for env in range(2):
        begins = 0
        for end in np.flatnonzero(batch[env]["next", "done"].numpy()):
            assert not paid[env, begins:end].any()  # a match is one deal, paid at its end
            assert paid[env, end].sum() == pytest.approx(0)
            expected[env, begins : end + 1] = paid[env, end]
            begins = end + 1
        assert begins > 60
    of_acting = expected[acted]
    assert torch.allclose(advantage[acted], (of_acting - of_acting.mean()) / (of_acting.std() + 1e-6), atol=1e-5)
    run.close()


@pytest.mark.parametrize("rules", ["german", "portuguese", "russian", "english"])
def test_its_environments_are_what_their_specs_say_and_their_deals_differ(rules: str) -> None:
    make = NapoleonTask(rules=rules, players=3, deals=2).get_env_fun(2, False, 5, "cpu")
    first, second = make(), make()
    check_env_specs(first, break_when_any_done="both")
    assert (first.reset()[GROUP, "observation"] != second.reset()[GROUP, "observation"]).any()


def test_mappo_runs_on_the_task_and_its_critic_sees_all_hands(tmp_path: Path) -> None:
    args = Args(envs=2, frames=64, out=tmp_path)
    config, net = settings(args)
    config.max_n_iters = 2
    task = NapoleonTask(rules=args.ruleset)
    run = Experiment(task, MappoConfig.get_from_yaml(), net, args.seed, config, critic_model_config=net)
    run.run()
    assert run.total_frames == 128
    critic, seen = run.algorithm.get_critic(GROUP), run.test_env.reset()
    with torch.no_grad():
        before = critic(seen.clone())["state_value"]
        seen[GROUP, "observation"][1] += 1.0
        assert (critic(seen)["state_value"][0] != before[0]).all()
