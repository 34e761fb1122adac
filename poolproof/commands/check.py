"""Check a deployment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..inputs.options import DeploymentOptions, describing_a_deployment
from ..render import Format

if TYPE_CHECKING:
    from ..spec import Deployment


@describing_a_deployment
def run(
    deployment: DeploymentOptions,
    design: Annotated[
        str | None,
        typer.Option(
            help="The design that predicts: sound (the one that is proved, and no vLLM release), or a family such as "
            "vllm-0.19.  [default: sound; with --impl, the one that was found]"
        ),
    ] = None,
    impl: Annotated[
        str | None, typer.Option(help="Run a real engine beside it: vllm==0.21.0, a wheel, a checkout, path@revision.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How to write the report.")] = Format.TEXT,
    svg: Annotated[Path | None, typer.Option(help="Draw the requirement over the length into this file.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of a deployment file.")] = False,
) -> int:
    """Say whether a deployment's pool admits and serves every legal prompt, and if not, which ones wait for ever.

    Exit code 0 where boot accepts the pool and every prompt is served; 1 where it does not; 2 where a file that is to
    be written cannot be, which is seen before the check (one that fails later is told, and the verdict's code stays).
    """
    if schema:
        return _print_schema()
    return _check(deployment.described(), design, impl, form, svg)


def _print_schema() -> int:
    import json

    from ..inputs.deployment_file import schema

    print(json.dumps(schema(), indent=2))
    return 0


def _check(deployment: Deployment, design: str | None, impl: str | None, form: Format, svg: Path | None) -> int:
    from ..checking.report import checked
    from ..oracle.verdict import exit_code
    from ..render.output import progress, show
    from ..render.saving import reserve

    reserve("--svg", svg)
    with progress() as tell:
        report, case = checked(deployment, design, impl, tell)
    show(report, form)
    if svg is not None:
        from ..checking.drawing import draw

        draw(case, svg)
    return exit_code([report.verdict])
