"""How far a holder has followed the record, so that its successor knows what nobody watched."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0005_quotas"),
    ]

    operations = [
        migrations.AddField("leaserow", "followed_index", models.BigIntegerField(default=0)),
    ]
