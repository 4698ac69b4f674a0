"""The operator's desk: rows to look at, and nodes to open, close and drain. No row is edited."""

from django.contrib import admin

from cluster.models import AllocationRow, EvaluationRow, JobRow, NodeRow
from dashboard.admin.nodes import NodeDesk
from dashboard.admin.rows import AllocationDesk, EvaluationDesk, JobDesk

admin.site.register(NodeRow, NodeDesk)
admin.site.register(JobRow, JobDesk)
admin.site.register(EvaluationRow, EvaluationDesk)
admin.site.register(AllocationRow, AllocationDesk)
