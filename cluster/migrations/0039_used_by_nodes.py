from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('cluster', '0038_variables_sorted_and_counted'),
    ]

    operations = [
        migrations.AddField(
            model_name='nodebeatrow',
            name='used_cpu_mhz',
            field=models.BigIntegerField(help_text='By its tasks together; empty where it did not say.', null=True, verbose_name='CPU used, MHz'),
        ),
        migrations.AddField(
            model_name='nodebeatrow',
            name='used_memory_mb',
            field=models.BigIntegerField(help_text='By its tasks together.', null=True, verbose_name='memory used, MiB'),
        ),
    ]
