"""A comparison as JUnit XML: a test case for equality, for boot, per promised invariant, per thing to be covered."""

from __future__ import annotations

from collections.abc import Iterator

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from ..oracle.verdict import Inconclusive, Unsupported
from .run_records import DiffReport

EQUALITY, BOOT = "equality", "boot"


def to_junit(report: DiffReport) -> str:
    """Write a comparison."""
    suite = TestSuite(f"poolproof diff {report.implementation}")
    for case in _cases(report):
        case.classname = f"{report.implementation}.{report.design}"
        suite.add_testcase(case)
    document = JUnitXml()
    document.add_testsuite(suite)
    xml: bytes = document.tostring()  # type: ignore[no-untyped-call]
    return xml.decode()


def _cases(report: DiffReport) -> Iterator[TestCase]:
    failed = None if report.parted is None else report.parted.field
    equality = TestCase(EQUALITY)
    if failed is not None and failed not in report.promised:
        equality.result = [_failure(report)]
    if isinstance(report.verdict, Inconclusive | Unsupported):
        equality.result = [Error(report.headline)]
    yield equality
    boot = TestCase(BOOT)
    if report.boots is not None:
        boot.result = [Failure(report.headline, "smallest pool")]
    yield boot
    for name in report.promised:
        case = TestCase(name)
        if name == failed:
            case.result = [_failure(report)]
        yield case
    for count in report.coverage:
        case = TestCase(f"covered: {count.what}")
        if not count.times:
            case.result = [Skipped("it did not happen in any run")]
        yield case


def _failure(report: DiffReport) -> Failure:
    failure = Failure(report.headline, report.parted.field if report.parted else None)
    if report.parted is not None:
        lines = (
            report.parted.deployment,
            *report.parted.actions,
            report.parted.detail,
            report.parted.replay or report.replay,
        )
        failure.text = "\n".join(lines)
    return failure
