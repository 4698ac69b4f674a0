"""The drawings of the packages in `docs/architecture.md` against the imports."""

from tests.packages import DOCUMENT, arrows, drawn, package_of


def test_the_packages_import_each_other_as_drawn():
    real, told = arrows(), drawn(DOCUMENT.read_text())
    assert (real - told, told - real) == (set(), set()), (
        "`python -m tests.packages` draws them anew"
    )


def test_arrows_are_read_and_computed():
    assert ("dashboard.views", "cluster.operations") in arrows()
    assert ("scheduler.broker", "scheduler.engine") not in arrows()
    assert drawn("  a.b --> c & d.e\n  x -- words --> y\n") == {("a.b", "c"), ("a.b", "d.e")}
    assert package_of("cluster.store.reader") == "cluster.store"
    assert package_of("scheduler.ports") == "scheduler"
