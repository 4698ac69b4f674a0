"""Plugins that write down how they were called, and answer as they are told to."""

import json
import sys
from pathlib import Path

_SCRIPT = """#!{python}
import json, os, sys
place = {place!r}
order = sys.stdin.read()
command = os.environ.get("CNI_COMMAND")
if command is None:
    print("CNI {name} plugin {version}\\nCNI protocol versions supported: 0.4.0, 1.0.0")
    sys.exit()
told = {{"plugin": {name!r}, "order": json.loads(order), "command": command}}
told |= {{key: text for key, text in os.environ.items() if key.startswith("CNI_")}}
with open(place + "/calls", "a") as calls:
    calls.write(json.dumps(told) + "\\n")
answers = json.load(open(place + "/answers"))
code, answer = answers.get({name!r} + " " + command, [0, None])
if answer is not None:
    print(json.dumps(answer))
sys.exit(code)
"""


class FakePlugins:
    """A directory with plugins of the test's own."""

    def __init__(self, place, names, version="v1.6.2"):
        self.place = Path(place)
        self.place.mkdir(parents=True, exist_ok=True)
        self.answers = {}
        self.tell()
        for name in names:
            file = self.place / name
            file.write_text(
                _SCRIPT.format(
                    python=sys.executable, place=str(self.place), name=name, version=version
                )
            )
            file.chmod(0o755)

    def tell(self, **answers):
        """What `<plugin>_<command>` answers from now on: an exit code and JSON."""
        self.answers |= {key.replace("_", " "): answer for key, answer in answers.items()}
        (self.place / "answers").write_text(json.dumps(self.answers))

    @property
    def calls(self):
        file = self.place / "calls"
        return (
            [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        )

    def names(self, command):
        return [call["plugin"] for call in self.calls if call["command"] == command]
