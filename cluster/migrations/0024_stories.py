"""Stories, and the story of each evaluation and deployment."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('cluster', '0023_explanations_by_worth'),
    ]

    operations = [
        migrations.CreateModel(
            name='StoryNodeRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('node_id', models.CharField(max_length=36, verbose_name='node')),
                ('story_id', models.CharField(max_length=36, verbose_name='story')),
                ('kind', models.TextField(choices=[('rollout', 'rollout'), ('stop', 'stop'), ('drain', 'drain'), ('loss', 'loss'), ('return', 'return'), ('crash-loop', 'crash loop'), ('preemption', 'preemption'), ('scaling', 'scaling'), ('dispatch', 'dispatch'), ('launch', 'launch'), ('evaluation', 'evaluation'), ('collection', 'collection'), ('configuration', 'configuration'), ('node-change', 'node change')])),
                ('linked_index', models.BigIntegerField(verbose_name='index')),
                ('is_current', models.BooleanField(help_text='It is the newest story of the node.')),
                ('linked_at', models.DateTimeField(null=True, verbose_name='linked')),
                ('body', models.BinaryField()),
            ],
            options={
                'verbose_name': 'node of a story',
                'verbose_name_plural': 'nodes of stories',
                'db_table': 'story_node',
            },
        ),
        migrations.CreateModel(
            name='StoryRow',
            fields=[
                ('id', models.CharField(max_length=36, primary_key=True, serialize=False)),
                ('kind', models.TextField(choices=[('rollout', 'rollout'), ('stop', 'stop'), ('drain', 'drain'), ('loss', 'loss'), ('return', 'return'), ('crash-loop', 'crash loop'), ('preemption', 'preemption'), ('scaling', 'scaling'), ('dispatch', 'dispatch'), ('launch', 'launch'), ('evaluation', 'evaluation'), ('collection', 'collection'), ('configuration', 'configuration'), ('node-change', 'node change')])),
                ('namespace', models.TextField(help_text='Empty when it concerns the cluster.')),
                ('job_id', models.TextField(verbose_name='job')),
                ('parent_job_id', models.TextField(help_text='Of a job that was launched or dispatched.', verbose_name='parent job')),
                ('actor', models.TextField(help_text='Empty when nobody asked for it.', verbose_name='who')),
                ('create_index', models.BigIntegerField()),
                ('modify_index', models.BigIntegerField()),
                ('created_at', models.DateTimeField(null=True, verbose_name='began')),
                ('modified_at', models.DateTimeField(null=True, verbose_name='modified')),
                ('body', models.BinaryField()),
            ],
            options={
                'verbose_name': 'story',
                'verbose_name_plural': 'stories',
                'db_table': 'story',
            },
        ),
        migrations.AddField(
            model_name='deploymentrow',
            name='story_id',
            field=models.CharField(db_default='', max_length=36, verbose_name='story'),
        ),
        migrations.AddField(
            model_name='evaluationrow',
            name='story_id',
            field=models.CharField(db_default='', max_length=36, verbose_name='story'),
        ),
        migrations.AddField(
            model_name='evaluationstubrow',
            name='story_id',
            field=models.CharField(db_default='', max_length=36, verbose_name='story'),
        ),
        migrations.AddIndex(
            model_name='evaluationrow',
            index=models.Index(fields=['story_id', 'create_index'], name='eval_of_story'),
        ),
        migrations.AddIndex(
            model_name='evaluationstubrow',
            index=models.Index(fields=['story_id', 'create_index'], name='eval_stub_of_story'),
        ),
        migrations.AddIndex(
            model_name='storynoderow',
            index=models.Index(fields=['story_id'], name='story_node_of_story'),
        ),
        migrations.AddIndex(
            model_name='storynoderow',
            index=models.Index(condition=models.Q(('is_current', True)), fields=['node_id'], name='story_node_current'),
        ),
        migrations.AddConstraint(
            model_name='storynoderow',
            constraint=models.UniqueConstraint(fields=('node_id', 'story_id'), name='story_node_key'),
        ),
        migrations.AddIndex(
            model_name='storyrow',
            index=models.Index(fields=['create_index', 'id'], name='story_by_creation'),
        ),
        migrations.AddIndex(
            model_name='storyrow',
            index=models.Index(fields=['kind', 'create_index'], name='story_of_kind'),
        ),
        migrations.AddIndex(
            model_name='storyrow',
            index=models.Index(condition=models.Q(('job_id', ''), _negated=True), fields=['namespace', 'job_id', 'create_index'], name='story_of_job'),
        ),
        migrations.AddIndex(
            model_name='storyrow',
            index=models.Index(condition=models.Q(('parent_job_id', ''), _negated=True), fields=['namespace', 'parent_job_id', 'create_index'], name='story_of_parent_job'),
        ),
        migrations.AddIndex(
            model_name='storyrow',
            index=models.Index(condition=models.Q(('actor', ''), _negated=True), fields=['actor', 'create_index'], name='story_of_actor'),
        ),
    ]
