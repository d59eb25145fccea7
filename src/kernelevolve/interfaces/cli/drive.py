"""Running a campaign under a display, then writing its kernel and report and summing up."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from kernelevolve.campaign.assemble import continue_campaign
from kernelevolve.campaign.driver_lock import DriverLock
from kernelevolve.interfaces.cli.border import INTERRUPTED, OK, terminated_like_interrupted
from kernelevolve.interfaces.cli.output import emit, make_console, print_json
from kernelevolve.interfaces.cli.progress import LiveView, PlainView, Watch
from kernelevolve.interfaces.cli.summary import render_summary, summary_data, write_results
from kernelevolve.interfaces.record import load_record
from kernelevolve.store.base import Store
from kernelevolve.store.place import store_url, working_folder
from kernelevolve.toolchains.cache import default_cache


def drive(store: Store, campaign_id: str, *, folder: Path, command: str, as_json: bool) -> int:
    """Returns the exit code. Progress goes to stdout for people and to stderr beside JSON."""
    watch = Watch(load_record(store, campaign_id), clock=time.monotonic)
    console = make_console(stderr=as_json)
    view = LiveView(watch, console) if console.is_terminal and not as_json else PlainView(watch, console)
    try:
        alone = DriverLock(working_folder(folder), campaign_id)
        with alone, terminated_like_interrupted(), view:
            kept = working_folder(folder) / campaign_id / "transcripts"
            continue_campaign(store, campaign_id, cache_dir=default_cache(), listeners=[view], transcripts=kept)
    except KeyboardInterrupt:
        return _interrupted(campaign_id, folder=folder, command=command, as_json=as_json)
    record = load_record(store, campaign_id)
    files = write_results(record, working_folder(folder) / campaign_id)
    emit(command, as_json, summary_data(record, files), lambda out: render_summary(record, files, out))
    return OK


def _interrupted(campaign_id: str, *, folder: Path, command: str, as_json: bool) -> int:
    # An address may hold a password, so it is not repeated.
    how = f"kernelevolve resume {campaign_id} --store {'...' if store_url(folder) else folder}"
    print(f"stopped; nothing is lost. To go on: {how}", file=sys.stderr)
    if as_json:
        print_json(command, {"campaign": campaign_id, "status": "interrupted", "resume": how})
    return INTERRUPTED
