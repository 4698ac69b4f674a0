"""Evaluations as traces of OpenTelemetry, made from the record after they ended.

Who may enter: `cluster.runtime`, which follows the record and sends, in a process of its own.
"""
