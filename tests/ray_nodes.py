"""A Ray cluster of nodes with one CPU each, all on this machine, for the tests of `cluster`.

`python ray_nodes.py N` prints its address and the nodes' ids as JSON; then "kill" on standard input kills the last node, and
"lose" or the end of the input kills them all.
"""

import json
import sys

from ray.cluster_utils import Cluster

if __name__ == "__main__":
    # A killed node is noticed within some seconds, one that is only slow is not given up.
    checks = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 1000, "health_check_failure_threshold": 3}
    head = {"num_cpus": 1, "include_dashboard": False, "_system_config": checks}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.head_node, *(cluster.add_node(num_cpus=1) for _ in range(int(sys.argv[1]) - 1))]
    print(json.dumps({"address": cluster.address, "ids": [node.node_id for node in nodes]}), flush=True)
    for line in sys.stdin:
        if line.strip() == "kill":
            cluster.remove_node(nodes.pop(), allow_graceful=False)
            print("killed", flush=True)
        else:
            break
    for node in nodes:
        node.kill_all_processes(check_alive=False, allow_graceful=False, wait=True)
