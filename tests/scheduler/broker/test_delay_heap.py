from scheduler.broker.delay_heap import DelayHeap


def test_keys_come_out_when_they_are_due_earliest_first() -> None:
    heap = DelayHeap()
    for key, due in (("late", 30), ("early", 10), ("middle", 20)):
        heap.push(key, due)
    assert heap.next_due() == 10
    assert heap.pop_due(20) == ["early", "middle"]
    assert heap.next_due() == 30
    assert len(heap) == 1


def test_a_key_can_be_moved_and_removed() -> None:
    heap = DelayHeap()
    heap.push("a", 10)
    heap.push("a", 20)
    heap.push("b", 5)
    assert heap.remove("b")
    assert not heap.remove("b")
    assert "b" not in heap
    assert heap.due_at("a") == 20
    assert heap.pop_due(19) == []
    assert heap.pop_due(20) == ["a"]
    assert heap.next_due() is None


def test_a_key_pushed_twice_for_one_moment_comes_out_once() -> None:
    heap = DelayHeap()
    heap.push("a", 10)
    heap.push("a", 10)
    assert heap.pop_due(10) == ["a"]
    assert heap.pop_due(10) == []
