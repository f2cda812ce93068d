"""The test ladder, cheapest first; each rung may rely on the ones below:

t0_pure functions without I/O; t1_stores one conformance suite a contract; t2_models the offline models; t3_ingest the
pipeline on real stores; t4_tree the filesystem without a kernel; t5_mount the same scenarios and more on real mounts;
t6_whole commands, kills, full disks, the README.
"""
