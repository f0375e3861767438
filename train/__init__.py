"""How the agents are learned: reference PPO, evaluation, exact small games."""
