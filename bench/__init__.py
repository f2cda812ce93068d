import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as kgfs.cli does, before numpy is imported
