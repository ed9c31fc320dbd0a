"""Calls Pushwoosh's API as a backend does that uses PyPI's pypushwoosh, which has no command for Live Activities: the two
below are the caller's own.

    pypushwoosh_client.py HOST:PORT APPLICATION API_TOKEN

Standard input is a JSON array of [METHOD, [NOTIFICATION, ...]]. It sends them in order and prints the answers in a line of
JSON.
"""
import json
import sys

from pypushwoosh import client
from pypushwoosh.command import BaseCommand

host, application, token = sys.argv[1:]


class LiveActivityCommand(BaseCommand):
    def __init__(self, method, notifications):
        self.command_name = method
        super().__init__()
        self._command.update(application=application, auth=token, notifications=notifications)


pushwoosh = client.PushwooshClient()
pushwoosh.scheme, pushwoosh.hostname = "http", host
print(json.dumps([pushwoosh.invoke(LiveActivityCommand(*call)) for call in json.load(sys.stdin)]))
