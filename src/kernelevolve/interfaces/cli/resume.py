"""`kernelevolve resume`: go on with a campaign that was interrupted."""

from __future__ import annotations

from kernelevolve.interfaces.cli.options import DEFAULT_STORE, CampaignArgument, JsonOption, StoreOption


def resume(
    campaign: CampaignArgument = "latest", store: StoreOption = DEFAULT_STORE, as_json: JsonOption = False
) -> int:
    """Go on with a campaign where it stopped. A finished one is only summed up again."""
    from kernelevolve.interfaces.cli.drive import drive
    from kernelevolve.interfaces.cli.session import existing_store

    opened = existing_store(store)
    return drive(opened, opened.resolve(campaign), folder=store, command="resume", as_json=as_json)
