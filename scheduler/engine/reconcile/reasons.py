"""The texts that stops, deployments and delayed evaluations carry (control-plane.md 0 and 6.2).

They are visible over the API. Nothing branches on them.
"""

NOT_NEEDED = "alloc not needed due to job update"
RECONNECTED = "alloc not needed due to disconnected client reconnect"
MIGRATING = "alloc is being migrated"
UPDATING = "alloc is being updated due to job update"
LOST = "alloc is lost since its node is down"
UNKNOWN = "alloc is unknown since its node is disconnected"
RESCHEDULED = "alloc was rescheduled because it failed"
NODE_TAINTED = "alloc not needed as node is tainted"

DEPLOYMENT_STOPPED_JOB = "Cancelled because job is stopped"
DEPLOYMENT_NEWER_JOB = "Cancelled due to newer version of job"
DEPLOYMENT_SUCCESSFUL = "Deployment completed successfully"
DEPLOYMENT_BLOCKED = "Deployment is complete but waiting for peer region"
DEPLOYMENT_PENDING = "Deployment is pending, waiting for peer region"
DEPLOYMENT_RUNNING = "Deployment is running"
DEPLOYMENT_NEEDS_PROMOTION = "Deployment is running but requires manual promotion"
DEPLOYMENT_AUTO_PROMOTION = "Deployment is running pending automatic promotion"

EVAL_RESCHEDULE = "created for delayed rescheduling"
EVAL_DISCONNECT = "created for delayed disconnect timeout"
