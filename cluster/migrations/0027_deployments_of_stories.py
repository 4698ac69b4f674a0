"""Indexes for the deployments of stories, for those that go on, and for nodes that drain."""

import scheduler.structs.deployment
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('cluster', '0026_rehearsals'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='deploymentrow',
            index=models.Index(condition=models.Q(('status__in', [scheduler.structs.deployment.DeploymentStatus['BLOCKED'], scheduler.structs.deployment.DeploymentStatus['INITIALIZING'], scheduler.structs.deployment.DeploymentStatus['PAUSED'], scheduler.structs.deployment.DeploymentStatus['PENDING'], scheduler.structs.deployment.DeploymentStatus['RUNNING'], scheduler.structs.deployment.DeploymentStatus['UNBLOCKING']])), fields=['status'], name='deployment_open'),
        ),
        migrations.AddIndex(
            model_name='deploymentrow',
            index=models.Index(condition=models.Q(('story_id', ''), _negated=True), fields=['story_id'], name='deployment_of_story'),
        ),
        migrations.AddIndex(
            model_name='noderow',
            index=models.Index(condition=models.Q(('is_draining', True)), fields=['id'], name='node_draining'),
        ),
    ]
