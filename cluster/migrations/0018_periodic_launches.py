"""A table for what became of the launches of periodic jobs, and an index for their children."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("cluster", "0017_dispatch_tokens"),
    ]

    operations = [
        migrations.CreateModel(
            name='PeriodicLaunchRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('namespace', models.TextField()),
                ('job_id', models.TextField(verbose_name='job')),
                ('launched', models.BigIntegerField(help_text='Children that were made in all.')),
                ('last_launch', models.DateTimeField(help_text='Before the first one, when it was registered.', null=True, verbose_name='last launch')),
                ('body', models.BinaryField()),
            ],
            options={
                'verbose_name': 'launches of a job',
                'verbose_name_plural': 'launches of jobs',
                'db_table': 'periodic_launch',
            },
        ),
        migrations.AddIndex(
            model_name='jobrow',
            index=models.Index(condition=models.Q(models.Q(('parent_id', ''), _negated=True), models.Q(('status', 'dead'), _negated=True)), fields=['namespace', 'parent_id', 'job_id'], name='job_live_children'),
        ),
        migrations.AddConstraint(
            model_name='periodiclaunchrow',
            constraint=models.UniqueConstraint(fields=('namespace', 'job_id'), name='periodic_launch_key'),
        ),
    ]
