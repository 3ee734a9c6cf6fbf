"""Spark as an engine of the fleet audit: the same function in its tasks, and SQL over what they found.

Nothing here is imported unless Spark is asked for (`kfix.app.fleet.engine`).
"""

import warnings

# pyspark says so at each import where pandas 3 is installed; nothing here uses pandas.
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
