"""The whole path of the product with a real browser: one story, told in order.

Submit a job, watch it being decided, see it run; then break it. Every step fails on any console
error, page error or failed request. Draining and the pictures follow in the modules after this.
"""

import re
import signal

import pytest
from playwright.sync_api import expect

from tests.live.pages import EVALUATION, AllocationPage, EvaluationPage, SubmitPage
from tests.live.world import SECOND, AgentProcess, job, task_process, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

BAD_HCL = """\
job "broken" {
  type = "servce"
  group "g" {
    count = -1
    task "t" {
      driver = "raw_exec"
      resources {
        memry = 5
      }
    }
  }
}
"""


def test_the_login_link_signs_in_and_only_once(world, visitor, page):
    visitor.open("/jobs/")
    expect(page).to_have_url(re.compile(r"/login/\?next=/jobs/$"))
    visitor.pictures("login")
    visitor.sign_in(world)
    expect(page).to_have_url(f"{world.stack.address}/")
    visitor.expect_live()
    with visitor.forgiving("410"):
        assert visitor.open(world.stack.login_link).status == 410


def test_an_example_is_planned_run_and_decided_before_the_eyes(world, visitor, page):
    submit, evaluation = SubmitPage(page), EvaluationPage(page)
    submit.open()
    submit.use_example("hello")
    submit.plan()
    expect(submit.review.first).to_be_visible()
    expect(page.locator(".page-head .sentence")).to_contain_text("The plan fits: 2 created.")
    expect(page.get_by_role("row", name="hello.greeter[1]")).to_contain_text("first")
    visitor.pictures("submit-plan")
    # Nobody takes the evaluation up, so that the page is there before it is decided.
    with world.frozen("workers"):
        submit.run()
        evaluation.expect_state("pending")
        visitor.expect_live()
        visitor.stay()
    evaluation.expect_state("complete")
    for word in ("pending", "scheduling", "applying", "complete"):
        evaluation.expect_step(word)
        evaluation.expect_on_path(word)
    expect(evaluation.sentence).to_contain_text("2 placed")
    expect(evaluation.decision).to_contain_text("hello.greeter[0]")
    visitor.expect_stayed()
    text = evaluation.copy_mermaid()
    assert text.startswith("flowchart LR")
    # The page was loaded when nothing was finished yet.
    assert '==>|"finished"|' in text
    world.running("hello", 2)


def test_output_grows_and_a_restart_starts_again_in_place(world, visitor, page):
    allocation = AllocationPage(page)
    alloc = world.running("hello", 2)[0]
    allocation.open(alloc["ID"])
    expect(allocation.state).to_have_text("running")
    visitor.stay()
    expect(allocation.output).to_contain_text("hello 1 from hello.greeter[")
    expect(allocation.output).to_contain_text("hello 2 from hello.greeter[")
    visitor.expect_stayed()
    before = task_process(alloc["ID"]).pid
    allocation.confirm("Restart", "Restart")
    allocation.expect_event("Restart Signaled")
    until(lambda: task_process(alloc["ID"]).pid != before, "a new process")
    expect(allocation.state).to_have_text("running")
    assert alloc["ID"] in [item["ID"] for item in world.running("hello", 2)]


def test_a_stop_brings_a_replacement(world, visitor, page):
    allocation = AllocationPage(page)
    alloc = world.running("hello", 2)[0]
    allocation.open(alloc["ID"])
    visitor.expect_live()
    allocation.confirm("Stop", "Stop and replace")
    expect(page).to_have_url(EVALUATION)
    EvaluationPage(page).expect_state("complete")
    world.evaluation("hello", "alloc-stop", "complete")
    until(
        lambda: alloc["ID"] not in [item["ID"] for item in world.running("hello", 2)],
        "a replacement",
    )
    allocation.open(alloc["ID"])
    expect(allocation.state).to_have_text("stopped")


def test_every_problem_of_a_job_file_is_shown_with_its_line(visitor, page):
    submit = SubmitPage(page)
    submit.open()
    submit.paste(BAD_HCL)
    expect(submit.problems.filter(has_text="Line 8")).to_contain_text("memry")
    submit.paste(BAD_HCL.replace("memry", "memory"))
    expect(submit.problems.filter(has_text="servce")).to_contain_text("Line 2")
    expect(submit.problems.filter(has_text=re.compile("count", re.IGNORECASE))).to_contain_text(
        "Line 4"
    )
    visitor.pictures("submit-problems")
    submit.paste('{"ID": "broken", "Type": }')
    expect(submit.problems.first).to_contain_text("Line 1")


def test_what_fits_nowhere_waits_with_its_reason(world, visitor, page):
    submit, evaluation = SubmitPage(page), EvaluationPage(page)
    submit.open()
    submit.use_example("too-big")
    submit.plan()
    expect(page.locator(".page-head .sentence")).to_contain_text("0 of 1 find a place")
    eval_id = submit.run()
    evaluation.expect_state("complete")
    expect(evaluation.sentence).to_contain_text("0 of 1 placed")
    expect(evaluation.decision).to_contain_text("1 node lacks")
    expect(evaluation.decision.get_by_role("link", name="first", exact=True)).to_be_visible()
    blocked = world.evaluation("too-big", "queued-allocs", "blocked")
    assert blocked["PreviousEval"] == eval_id
    evaluation.expect_in_chain("blocked")
    evaluation.open(blocked["ID"])
    evaluation.expect_state("blocked")
    expect(evaluation.decision).to_contain_text("memory")
    visitor.pictures("evaluation-blocked")


FRAGILE = {
    "RestartPolicy": {"Attempts": 1, "Interval": 600 * SECOND, "Delay": SECOND, "Mode": "fail"},
    "ReschedulePolicy": {"Unlimited": True, "Delay": 5 * SECOND, "DelayFunction": "constant"},
}


def test_a_killed_task_is_restarted_then_replaced_elsewhere_in_time(world, visitor, page):
    allocation, evaluation = AllocationPage(page), EvaluationPage(page)
    world.register(job("fragile", **FRAGILE))
    (alloc,) = world.running("fragile", 1)
    allocation.open(alloc["ID"])
    expect(allocation.state).to_have_text("running")
    visitor.expect_live()
    visitor.stay()
    before = task_process(alloc["ID"])
    before.kill()
    allocation.expect_event("Restarting")
    after = until(
        lambda: (found := task_process(alloc["ID"])).pid != before.pid and found, "a restart"
    )
    expect(allocation.tasks).to_contain_text("restarted once")
    after.kill()
    allocation.expect_event("Not Restarting")
    expect(allocation.state).to_have_text("failed")
    visitor.expect_stayed()
    first = world.evaluation("fragile", "alloc-failure", "complete")
    later = world.evaluation("fragile", "alloc-reschedule")
    assert first["NextEval"] == later["ID"]
    evaluation.open(later["ID"])
    visitor.stay()
    evaluation.expect_state("complete")
    evaluation.expect_step("delayed")
    visitor.expect_stayed()
    (replacement,) = world.running("fragile", 1)
    replaced = world.get(f"allocation/{replacement['ID']}")["PreviousAllocation"]
    assert replaced == alloc["ID"]
    world.purge("fragile")


DISTINCT = {"Constraints": [{"Operand": "distinct_hosts", "RTarget": "true"}]}


def test_a_dead_node_loses_its_allocations_and_comes_back(world, visitor, page):
    evaluation = EvaluationPage(page)
    agent = AgentProcess(world.stack, "second")
    agent.start()
    try:
        node = world.node("second")
        world.register(job("pair", count=2, **DISTINCT))
        world.register(job("roaming", count=2))
        world.running("pair", 2)
        world.running("roaming", 2)
        visitor.open(f"/nodes/{node['ID']}/")
        expect(page.locator("h1")).to_contain_text("ready")
        visitor.expect_live()
        visitor.stay()
        agent.kill(signal.SIGKILL)
        expect(page.locator("h1")).to_contain_text("down")
        visitor.expect_stayed()
        lost = world.evaluation("pair", "node-update", "complete")
        evaluation.open(lost["ID"])
        evaluation.expect_state("complete")
        expect(evaluation.decision).to_contain_text("distinct_hosts")
        assert world.evaluation("pair", "queued-allocs", "blocked")["PreviousEval"] == lost["ID"]
        assert {alloc["NodeName"] for alloc in world.running("roaming", 2)} == {"first"}
        assert [alloc["NodeName"] for alloc in world.allocations("roaming", "lost")] == ["second"]
        agent.start()
        world.node("second")
        assert {alloc["NodeName"] for alloc in world.running("pair", 2)} == {"first", "second"}
        visitor.open(f"/nodes/{node['ID']}/")
        expect(page.locator("h1")).to_contain_text("ready")
        world.purge("pair")
        world.purge("roaming")
        until(lambda: not world.get(f"node/{node['ID']}/allocations"), "an empty node")
        world.close(node)
    finally:
        agent.kill(signal.SIGTERM)
