"""What tables, columns and choices are called where people read them; no statement runs."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0006_lease_followed"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="allocationrow",
            options={"verbose_name": "allocation"},
        ),
        migrations.AlterModelOptions(
            name="apitokenrow",
            options={"verbose_name": "API token"},
        ),
        migrations.AlterModelOptions(
            name="deploymentrow",
            options={"verbose_name": "deployment"},
        ),
        migrations.AlterModelOptions(
            name="evaluationrow",
            options={"verbose_name": "evaluation"},
        ),
        migrations.AlterModelOptions(
            name="evaluationstubrow",
            options={"verbose_name": "collected evaluation"},
        ),
        migrations.AlterModelOptions(
            name="eventrow",
            options={"verbose_name": "event", "verbose_name_plural": "event log"},
        ),
        migrations.AlterModelOptions(
            name="explanationrow",
            options={"verbose_name": "explanation"},
        ),
        migrations.AlterModelOptions(
            name="jobrow",
            options={"verbose_name": "job"},
        ),
        migrations.AlterModelOptions(
            name="jobstubrow",
            options={"verbose_name": "purged job"},
        ),
        migrations.AlterModelOptions(
            name="jobsubmissionrow",
            options={"verbose_name": "submitted text"},
        ),
        migrations.AlterModelOptions(
            name="jobsummaryrow",
            options={"verbose_name": "counts of a job", "verbose_name_plural": "counts of jobs"},
        ),
        migrations.AlterModelOptions(
            name="jobversionrow",
            options={"verbose_name": "job version"},
        ),
        migrations.AlterModelOptions(
            name="jointokenrow",
            options={"verbose_name": "join token"},
        ),
        migrations.AlterModelOptions(
            name="leaserow",
            options={"verbose_name": "lease"},
        ),
        migrations.AlterModelOptions(
            name="lifecyclerow",
            options={
                "verbose_name": "step of an evaluation",
                "verbose_name_plural": "steps of evaluations",
            },
        ),
        migrations.AlterModelOptions(
            name="listenerrow",
            options={"verbose_name": "listener"},
        ),
        migrations.AlterModelOptions(
            name="namespacerow",
            options={"verbose_name": "namespace"},
        ),
        migrations.AlterModelOptions(
            name="nodebeatrow",
            options={"verbose_name": "heartbeat"},
        ),
        migrations.AlterModelOptions(
            name="nodechannelrow",
            options={"verbose_name": "node channel"},
        ),
        migrations.AlterModelOptions(
            name="nodepoolrow",
            options={"verbose_name": "node pool"},
        ),
        migrations.AlterModelOptions(
            name="noderow",
            options={"verbose_name": "node"},
        ),
        migrations.AlterModelOptions(
            name="nodeuserow",
            options={"verbose_name": "use of a node", "verbose_name_plural": "use of nodes"},
        ),
        migrations.AlterModelOptions(
            name="onetimeloginrow",
            options={"verbose_name": "login link"},
        ),
        migrations.AlterModelOptions(
            name="quotarow",
            options={"verbose_name": "quota"},
        ),
        migrations.AlterModelOptions(
            name="schedulersettingsrow",
            options={
                "verbose_name": "scheduler settings",
                "verbose_name_plural": "scheduler settings",
            },
        ),
        migrations.AlterModelOptions(
            name="stateindexrow",
            options={
                "verbose_name": "index of the record",
                "verbose_name_plural": "index of the record",
            },
        ),
        migrations.AlterModelOptions(
            name="tableindexrow",
            options={
                "verbose_name": "index of a table",
                "verbose_name_plural": "indexes of tables",
            },
        ),
        migrations.AlterField(
            model_name="allocationrow",
            name="client_status",
            field=models.TextField(
                choices=[
                    ("pending", "pending"),
                    ("running", "running"),
                    ("complete", "complete"),
                    ("failed", "failed"),
                    ("lost", "lost"),
                    ("unknown", "unknown"),
                ],
                help_text="What has become of it on its node.",
            ),
        ),
        migrations.AlterField(
            model_name="allocationrow",
            name="deployment_id",
            field=models.CharField(max_length=36, verbose_name="deployment"),
        ),
        migrations.AlterField(
            model_name="allocationrow",
            name="desired_status",
            field=models.TextField(
                choices=[("run", "run"), ("stop", "stop"), ("evict", "evict")],
                help_text="What the server wants of it.",
            ),
        ),
        migrations.AlterField(
            model_name="allocationrow",
            name="eval_id",
            field=models.CharField(max_length=36, verbose_name="evaluation"),
        ),
        migrations.AlterField(
            model_name="allocationrow",
            name="job_create_index",
            field=models.BigIntegerField(
                help_text="Tells incarnations of a purged job apart.",
                verbose_name="job's create index",
            ),
        ),
        migrations.AlterField(
            model_name="allocationrow",
            name="job_id",
            field=models.TextField(verbose_name="job"),
        ),
        migrations.AlterField(
            model_name="allocationrow",
            name="node_id",
            field=models.CharField(max_length=36, verbose_name="node"),
        ),
        migrations.AlterField(
            model_name="allocationrow",
            name="task_group",
            field=models.TextField(verbose_name="group"),
        ),
        migrations.AlterField(
            model_name="apitokenrow",
            name="accessor_id",
            field=models.CharField(
                max_length=36, primary_key=True, serialize=False, verbose_name="accessor"
            ),
        ),
        migrations.AlterField(
            model_name="apitokenrow",
            name="capabilities",
            field=models.JSONField(
                default=dict, help_text="Namespace to read or write; * stands for every namespace."
            ),
        ),
        migrations.AlterField(
            model_name="apitokenrow",
            name="expires",
            field=models.BigIntegerField(default=0, help_text="Empty: never."),
        ),
        migrations.AlterField(
            model_name="apitokenrow",
            name="type",
            field=models.TextField(
                help_text="management may do everything, client what is listed."
            ),
        ),
        migrations.AlterField(
            model_name="deploymentrow",
            name="job_id",
            field=models.TextField(verbose_name="job"),
        ),
        migrations.AlterField(
            model_name="deploymentrow",
            name="status",
            field=models.TextField(
                choices=[
                    ("running", "running"),
                    ("paused", "paused"),
                    ("failed", "failed"),
                    ("successful", "successful"),
                    ("cancelled", "cancelled"),
                    ("initializing", "initializing"),
                    ("pending", "pending"),
                    ("blocked", "blocked"),
                    ("unblocking", "unblocking"),
                ]
            ),
        ),
        migrations.AlterField(
            model_name="evaluationrow",
            name="cause_id",
            field=models.TextField(verbose_name="cause"),
        ),
        migrations.AlterField(
            model_name="evaluationrow",
            name="cause_kind",
            field=models.TextField(
                choices=[
                    ("job", "job"),
                    ("node", "node"),
                    ("allocation", "allocation"),
                    ("deployment", "deployment"),
                    ("plan", "plan"),
                    ("evaluation", "evaluation"),
                    ("timer", "timer"),
                    ("operator", "operator"),
                    ("drain", "drain"),
                ]
            ),
        ),
        migrations.AlterField(
            model_name="evaluationrow",
            name="deployment_id",
            field=models.CharField(max_length=36, verbose_name="deployment"),
        ),
        migrations.AlterField(
            model_name="evaluationrow",
            name="job_id",
            field=models.TextField(verbose_name="job"),
        ),
        migrations.AlterField(
            model_name="evaluationrow",
            name="previous_eval",
            field=models.CharField(max_length=36, verbose_name="previous evaluation"),
        ),
        migrations.AlterField(
            model_name="evaluationrow",
            name="status",
            field=models.TextField(
                choices=[
                    ("pending", "pending"),
                    ("blocked", "blocked"),
                    ("complete", "complete"),
                    ("failed", "failed"),
                    ("canceled", "canceled"),
                ]
            ),
        ),
        migrations.AlterField(
            model_name="evaluationrow",
            name="triggered_by",
            field=models.TextField(
                choices=[
                    ("job-register", "job register"),
                    ("job-deregister", "job deregister"),
                    ("periodic-job", "periodic job"),
                    ("node-drain", "node drain"),
                    ("node-update", "node update"),
                    ("alloc-stop", "alloc stop"),
                    ("scheduled", "scheduled"),
                    ("rolling-update", "rolling update"),
                    ("deployment-watcher", "deployment watcher"),
                    ("failed-follow-up", "failed follow up"),
                    ("max-plan-attempts", "max plan attempts"),
                    ("alloc-failure", "alloc failure"),
                    ("queued-allocs", "queued allocs"),
                    ("preemption", "preemption"),
                    ("job-scaling", "job scaling"),
                    ("max-disconnect-timeout", "max disconnect timeout"),
                    ("reconnect", "reconnect"),
                    ("alloc-reschedule", "alloc reschedule"),
                ]
            ),
        ),
        migrations.AlterField(
            model_name="evaluationrow",
            name="type",
            field=models.TextField(
                choices=[
                    ("service", "service"),
                    ("batch", "batch"),
                    ("system", "system"),
                    ("sysbatch", "sysbatch"),
                ],
                help_text="Which scheduler runs it: the job's type.",
            ),
        ),
        migrations.AlterField(
            model_name="evaluationstubrow",
            name="cause_id",
            field=models.TextField(verbose_name="cause"),
        ),
        migrations.AlterField(
            model_name="evaluationstubrow",
            name="cause_kind",
            field=models.TextField(
                choices=[
                    ("job", "job"),
                    ("node", "node"),
                    ("allocation", "allocation"),
                    ("deployment", "deployment"),
                    ("plan", "plan"),
                    ("evaluation", "evaluation"),
                    ("timer", "timer"),
                    ("operator", "operator"),
                    ("drain", "drain"),
                ]
            ),
        ),
        migrations.AlterField(
            model_name="evaluationstubrow",
            name="deployment_id",
            field=models.CharField(max_length=36, verbose_name="deployment"),
        ),
        migrations.AlterField(
            model_name="evaluationstubrow",
            name="job_id",
            field=models.TextField(verbose_name="job"),
        ),
        migrations.AlterField(
            model_name="evaluationstubrow",
            name="previous_eval",
            field=models.CharField(max_length=36, verbose_name="previous evaluation"),
        ),
        migrations.AlterField(
            model_name="evaluationstubrow",
            name="status",
            field=models.TextField(
                choices=[
                    ("pending", "pending"),
                    ("blocked", "blocked"),
                    ("complete", "complete"),
                    ("failed", "failed"),
                    ("canceled", "canceled"),
                ]
            ),
        ),
        migrations.AlterField(
            model_name="evaluationstubrow",
            name="triggered_by",
            field=models.TextField(
                choices=[
                    ("job-register", "job register"),
                    ("job-deregister", "job deregister"),
                    ("periodic-job", "periodic job"),
                    ("node-drain", "node drain"),
                    ("node-update", "node update"),
                    ("alloc-stop", "alloc stop"),
                    ("scheduled", "scheduled"),
                    ("rolling-update", "rolling update"),
                    ("deployment-watcher", "deployment watcher"),
                    ("failed-follow-up", "failed follow up"),
                    ("max-plan-attempts", "max plan attempts"),
                    ("alloc-failure", "alloc failure"),
                    ("queued-allocs", "queued allocs"),
                    ("preemption", "preemption"),
                    ("job-scaling", "job scaling"),
                    ("max-disconnect-timeout", "max disconnect timeout"),
                    ("reconnect", "reconnect"),
                    ("alloc-reschedule", "alloc reschedule"),
                ]
            ),
        ),
        migrations.AlterField(
            model_name="evaluationstubrow",
            name="type",
            field=models.TextField(
                choices=[
                    ("service", "service"),
                    ("batch", "batch"),
                    ("system", "system"),
                    ("sysbatch", "sysbatch"),
                ],
                help_text="Which scheduler runs it: the job's type.",
            ),
        ),
        migrations.AlterField(
            model_name="eventrow",
            name="at",
            field=models.BigIntegerField(verbose_name="written"),
        ),
        migrations.AlterField(
            model_name="eventrow",
            name="kind",
            field=models.TextField(help_text="What the write was about."),
        ),
        migrations.AlterField(
            model_name="eventrow",
            name="size",
            field=models.IntegerField(help_text="Bytes of its body."),
        ),
        migrations.AlterField(
            model_name="explanationrow",
            name="eval_id",
            field=models.CharField(max_length=36, verbose_name="evaluation"),
        ),
        migrations.AlterField(
            model_name="explanationrow",
            name="job_id",
            field=models.TextField(verbose_name="job"),
        ),
        migrations.AlterField(
            model_name="explanationrow",
            name="stored_index",
            field=models.BigIntegerField(
                help_text="Of the write that stored it.", verbose_name="index"
            ),
        ),
        migrations.AlterField(
            model_name="explanationrow",
            name="task_group",
            field=models.TextField(verbose_name="group"),
        ),
        migrations.AlterField(
            model_name="jobrow",
            name="job_id",
            field=models.TextField(verbose_name="job"),
        ),
        migrations.AlterField(
            model_name="jobrow",
            name="parent_id",
            field=models.TextField(help_text="The job that launched it.", verbose_name="parent"),
        ),
        migrations.AlterField(
            model_name="jobrow",
            name="priority",
            field=models.IntegerField(help_text="1 to 100, higher goes first."),
        ),
        migrations.AlterField(
            model_name="jobrow",
            name="status",
            field=models.TextField(
                choices=[("pending", "pending"), ("running", "running"), ("dead", "dead")]
            ),
        ),
        migrations.AlterField(
            model_name="jobrow",
            name="submit_time",
            field=models.BigIntegerField(verbose_name="submitted"),
        ),
        migrations.AlterField(
            model_name="jobrow",
            name="type",
            field=models.TextField(
                choices=[
                    ("service", "service"),
                    ("batch", "batch"),
                    ("system", "system"),
                    ("sysbatch", "sysbatch"),
                ]
            ),
        ),
        migrations.AlterField(
            model_name="jobstubrow",
            name="job_id",
            field=models.TextField(verbose_name="job"),
        ),
        migrations.AlterField(
            model_name="jobstubrow",
            name="purged_at",
            field=models.BigIntegerField(verbose_name="purged"),
        ),
        migrations.AlterField(
            model_name="jobstubrow",
            name="type",
            field=models.TextField(
                choices=[
                    ("service", "service"),
                    ("batch", "batch"),
                    ("system", "system"),
                    ("sysbatch", "sysbatch"),
                ]
            ),
        ),
        migrations.AlterField(
            model_name="jobstubrow",
            name="version",
            field=models.BigIntegerField(help_text="The last one."),
        ),
        migrations.AlterField(
            model_name="jobsubmissionrow",
            name="job_id",
            field=models.TextField(verbose_name="job"),
        ),
        migrations.AlterField(
            model_name="jobsummaryrow",
            name="job_id",
            field=models.TextField(verbose_name="job"),
        ),
        migrations.AlterField(
            model_name="jobversionrow",
            name="create_index",
            field=models.BigIntegerField(
                help_text="Tells incarnations of a purged job apart.",
                verbose_name="job's create index",
            ),
        ),
        migrations.AlterField(
            model_name="jobversionrow",
            name="is_listed",
            field=models.BooleanField(
                help_text="Otherwise kept only for the allocations that were made from it.",
                verbose_name="listed",
            ),
        ),
        migrations.AlterField(
            model_name="jobversionrow",
            name="job_id",
            field=models.TextField(verbose_name="job"),
        ),
        migrations.AlterField(
            model_name="jointokenrow",
            name="expires",
            field=models.BigIntegerField(default=0, help_text="Empty: never."),
        ),
        migrations.AlterField(
            model_name="jointokenrow",
            name="uses_left",
            field=models.IntegerField(default=-1, help_text="-1: without limit."),
        ),
        migrations.AlterField(
            model_name="leaserow",
            name="epoch",
            field=models.BigIntegerField(help_text="How many holders there have been."),
        ),
        migrations.AlterField(
            model_name="leaserow",
            name="followed_index",
            field=models.BigIntegerField(
                default=0, help_text="Up to here its holders have taken in what was committed."
            ),
        ),
        migrations.AlterField(
            model_name="leaserow",
            name="holder",
            field=models.TextField(help_text="The process; empty where it was given up."),
        ),
        migrations.AlterField(
            model_name="leaserow",
            name="renewals",
            field=models.BigIntegerField(
                help_text="Counts up while the holder lives; stands still long enough: another takes over."
            ),
        ),
        migrations.AlterField(
            model_name="lifecyclerow",
            name="eval_id",
            field=models.CharField(max_length=36, verbose_name="evaluation"),
        ),
        migrations.AlterField(
            model_name="lifecyclerow",
            name="number",
            field=models.IntegerField(help_text="Counts up from 1."),
        ),
        migrations.AlterField(
            model_name="listenerrow",
            name="signed_at",
            field=models.BigIntegerField(
                help_text="By the clock of that process.", verbose_name="newest sign"
            ),
        ),
        migrations.AlterField(
            model_name="listenerrow",
            name="signs",
            field=models.BigIntegerField(verbose_name="signs of life"),
        ),
        migrations.AlterField(
            model_name="nodebeatrow",
            name="beat_at",
            field=models.BigIntegerField(verbose_name="heard"),
        ),
        migrations.AlterField(
            model_name="nodebeatrow",
            name="node_id",
            field=models.CharField(
                max_length=36, primary_key=True, serialize=False, verbose_name="node"
            ),
        ),
        migrations.AlterField(
            model_name="nodebeatrow",
            name="ttl",
            field=models.BigIntegerField(
                help_text="When the next was asked for, ns.", verbose_name="next within"
            ),
        ),
        migrations.AlterField(
            model_name="nodechannelrow",
            name="holder",
            field=models.TextField(
                help_text="Its address, as other web processes reach it.",
                verbose_name="web process",
            ),
        ),
        migrations.AlterField(
            model_name="nodechannelrow",
            name="node_id",
            field=models.CharField(
                max_length=36, primary_key=True, serialize=False, verbose_name="node"
            ),
        ),
        migrations.AlterField(
            model_name="noderow",
            name="eligibility",
            field=models.TextField(
                choices=[("eligible", "eligible"), ("ineligible", "ineligible")],
                help_text="Whether new allocations may be placed.",
            ),
        ),
        migrations.AlterField(
            model_name="noderow",
            name="is_draining",
            field=models.BooleanField(verbose_name="draining"),
        ),
        migrations.AlterField(
            model_name="noderow",
            name="node_pool",
            field=models.TextField(verbose_name="pool"),
        ),
        migrations.AlterField(
            model_name="noderow",
            name="status",
            field=models.TextField(
                choices=[
                    ("initializing", "initializing"),
                    ("ready", "ready"),
                    ("down", "down"),
                    ("disconnected", "disconnected"),
                ]
            ),
        ),
        migrations.AlterField(
            model_name="nodeuserow",
            name="node_id",
            field=models.CharField(
                max_length=36, primary_key=True, serialize=False, verbose_name="node"
            ),
        ),
        migrations.AlterField(
            model_name="stateindexrow",
            name="oldest_event",
            field=models.BigIntegerField(
                help_text="Events below this index were removed from the log."
            ),
        ),
        migrations.AlterField(
            model_name="stateindexrow",
            name="value",
            field=models.BigIntegerField(help_text="Of the newest write.", verbose_name="index"),
        ),
        migrations.AlterField(
            model_name="tableindexrow",
            name="name",
            field=models.TextField(primary_key=True, serialize=False, verbose_name="table"),
        ),
        migrations.AlterField(
            model_name="tableindexrow",
            name="value",
            field=models.BigIntegerField(
                help_text="Of the newest write to it.", verbose_name="index"
            ),
        ),
    ]
