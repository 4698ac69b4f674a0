"""A table for who did what."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('cluster', '0010_acl_policies'),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditRow',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('at', models.BigIntegerField(verbose_name='first')),
                ('last_at', models.BigIntegerField(help_text='Of those that are counted together.', verbose_name='last')),
                ('count', models.IntegerField(default=1, help_text='How many alike within a minute.')),
                ('who_kind', models.TextField(help_text='token, person, agent, command, nobody.', verbose_name='kind of who')),
                ('who_id', models.TextField(verbose_name='id of who')),
                ('who_name', models.TextField(verbose_name='who')),
                ('address', models.TextField(verbose_name='from')),
                ('door', models.TextField(help_text='api, page, admin, agent, command.', verbose_name='by')),
                ('act', models.TextField()),
                ('namespace', models.TextField()),
                ('target_kind', models.TextField(verbose_name='kind of target')),
                ('target_id', models.TextField(verbose_name='target')),
                ('result', models.TextField(help_text='done, refused, failed.')),
                ('reason', models.TextField(help_text='Why not; more about what was done.')),
                ('missing_right', models.TextField()),
                ('made_index', models.BigIntegerField(help_text='Of the write; 0: none was made.', verbose_name='index')),
            ],
            options={
                'verbose_name': 'act',
                'verbose_name_plural': 'audit',
                'db_table': 'audit',
                'indexes': [models.Index(fields=['at'], name='audit_at'), models.Index(condition=models.Q(('result__in', ('refused', 'failed'))), fields=['id'], name='audit_not_done')],
            },
        ),
    ]
