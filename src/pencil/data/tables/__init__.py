"""Tables: files and data frames, what their columns are used for, and what they hold."""

from pencil.data.tables.columns import column, numbers, texts
from pencil.data.tables.features import features
from pencil.data.tables.files import Place, column_names, read_table

__all__ = ["Place", "column", "column_names", "features", "numbers", "read_table", "texts"]
