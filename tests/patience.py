"""How long a test waits for what must come: only one that fails waits to the end.

A loaded machine may take seconds for what a quiet one does at once, so no test bounds time itself.
"""

from asgiref.testing import ApplicationCommunicator
from channels.testing import ApplicationCommunicator as Communicator
from channels.testing import HttpCommunicator, WebsocketCommunicator

PATIENCE_S = 60


def wait_longer() -> None:
    """Give applications under test this long, where the libraries' own default is a second."""
    for answer in (
        ApplicationCommunicator.wait,
        ApplicationCommunicator.receive_output,
        Communicator.receive_output,
        HttpCommunicator.get_response,
        WebsocketCommunicator.connect,
        WebsocketCommunicator.receive_from,
        WebsocketCommunicator.receive_json_from,
    ):
        answer.__defaults__ = (PATIENCE_S,)
    WebsocketCommunicator.disconnect.__defaults__ = (1000, PATIENCE_S)
