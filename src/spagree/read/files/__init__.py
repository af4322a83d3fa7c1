"""Files on this machine: CSV, JSON, Excel, Parquet, plain or compressed, each as a table."""
