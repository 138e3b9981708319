"""What runs the gateway as a service says what nanobot understands."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from nanobot.cli import main
from nanobot.config import Config

DEPLOY = Path(__file__).parent.parent / "deploy"
UNIT = DEPLOY / "nanobot.service"
WORST = 2.0
"""Of 10, as systemd rates what a service could do."""


def test_the_unit_waits_longer_than_the_gateway_takes_to_end() -> None:
    timeout = re.search(r"^TimeoutStopSec=(\d+)$", UNIT.read_text(), re.MULTILINE)
    assert timeout
    assert int(timeout[1]) > Config().gateway.drain


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_finds_the_unit_well_confined() -> None:
    command = ["systemd-analyze", "security", "--offline=yes", "--no-pager", str(UNIT)]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    rating = re.search(r"exposure level for nanobot.service: ([0-9.]+)", told)
    if rating is None:
        pytest.skip("this systemd does not rate files")
    assert float(rating[1]) <= WORST


def test_the_container_is_confined_asks_what_exists_and_has_time_to_end(capsys: pytest.CaptureFixture[str]) -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    service = compose["services"]["bot"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["restart"] == "unless-stopped"  # comes up by itself after the machine has started anew
    assert float(service["stop_grace_period"].removesuffix("s")) > Config().gateway.drain
    _, program, *arguments = service["healthcheck"]["test"]
    assert (program, main([*arguments, "--help"])) == ("nanobot", 0)


def test_the_image_runs_the_gateway_as_nobody_special() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    assert 'ENTRYPOINT ["nanobot"]' in lines
    assert 'CMD ["gateway"]' in lines
    assert "USER nanobot" in lines
