"""The configuration file: its tables, and what checks them."""
