"""The CleanRL-style file on Gymnasium's vector interface."""

from pathlib import Path

from train.cleanrl_ppo import Args, main


def test_it_learns_to_beat_random_play(tmp_path: Path) -> None:
    assert main(Args(minutes=0.4, deals=300, out=tmp_path)).p_random < 0.01
