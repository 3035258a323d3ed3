"""The version of isoviz, in a place that every floor may read."""

__version__ = "0.1.0"
