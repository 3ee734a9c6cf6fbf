"""Spark as an engine of the fleet audit: its tasks run the same function, and SQL evaluates the findings.

This package is imported only if Spark is used (`kfix.fleet.engines.engine`).
"""

import warnings

# pyspark warns at each import if pandas 3 is installed; this package does not use pandas.
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
