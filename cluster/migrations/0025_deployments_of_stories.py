"""An index for the deployments of stories."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('cluster', '0024_stories'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='deploymentrow',
            index=models.Index(condition=models.Q(('story_id', ''), _negated=True), fields=['story_id'], name='deployment_of_story'),
        ),
    ]
