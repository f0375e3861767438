"""The record that RULES.md §8 prints as its example, for the tests of what reads and tells records."""

from typing import Any

EXAMPLE: dict[str, Any] = {  # 2 in antes, a bid of 5 held, Napoleon announced, 4 tricks of 5
    "rules": {"preset": "russian", "players": 2},
    "deals": [
        {
            "dealer": 1,
            "hands": [["6D", "6S", "JD", "7D", "JC"], ["6C", "TH", "AH", "KS", "JS"]],
            "stock": ["9D", "QC"],
            "actions": [["bid 1"], ["bid 5"], ["hold"], ["napoleon"], ["stand"]]
            + [[card] for card in ("AH", "6D", "KS", "6S", "TH", "JD", "JS", "7D", "6C", "JC")],
            "payoffs": [4, -8],  # 5 - 1; -5 - 2 (the pot of 2 doubles) - 1
            "pot": 4,
        }
    ],
    "scores": [4, -8],
}
