"""Makes the applier of a whole server refuse what `chain_refusals` says."""

from django.apps import AppConfig

from scheduler.plan_applier import PlanApplier
from tests.conformance.chain_refusals import RefusingStore


class RefusingApp(AppConfig):
    """Stands between the applier and its store, in the process that has one."""

    name = "tests.conformance"
    label = "refusing"

    def ready(self) -> None:
        judge = PlanApplier.apply

        def apply(self, store, *rest, **options):
            return judge(self, RefusingStore(store), *rest, **options)

        PlanApplier.apply = apply
