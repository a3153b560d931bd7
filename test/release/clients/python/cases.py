"""Runs cases and prints one line of JSON for each."""

import asyncio
import inspect
import json
import os
import traceback

BASE_URL = os.environ["BASE_URL"]
API_KEY = os.environ["API_KEY"]
MODELS = os.environ["MODELS"].split(",")

# A red pixel.
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
)
IMAGE_URL = f"data:image/png;base64,{PNG}"

PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
CHAT_TOOLS = [
    {"type": "function", "function": {"name": name, "description": name, "parameters": PARAMETERS}}
    for name in ("get_weather", "get_time")
]

# Longer than the 64 characters that most APIs allow for the name of a tool. Providers get a shorter name, so
# prompts for the sandbox cannot mention it.
LONG_NAME = f"mcp__warehouse__{'find_items_' * 6}x"

# Calls a tool in three replies.
LOOP = "[[sandbox:rounds=3]]"

# DeepSeek's API reads no images: such requests are refused before they are sent.
WITHOUT_IMAGES = ("deepseek",)


class Skipped(Exception):
    """Raised by a case that a provider or client cannot run."""


class Counter:
    """A tool that counts its calls."""

    def __init__(self):
        self.count = 0

    def call(self):
        self.count += 1
        return f"call {self.count}"


def run_case(client, feature, case, model=None):
    """Runs a function, or coroutine function, that raises when the case fails."""
    line = {"client": f"python/{client}", "feature": feature, **({"model": model} if model else {})}
    try:
        arguments = [model] if model else []
        if inspect.iscoroutinefunction(case):
            asyncio.run(case(*arguments))
        else:
            case(*arguments)
        line["ok"] = True
    except Skipped as reason:
        line.update(ok=False, skipped=str(reason))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__}: {error} ({os.path.basename(where.filename)}:{where.lineno})"
        line.update(ok=False, detail=detail[:800])
    print(json.dumps(line), flush=True)


def run_cases(client, cases, models=MODELS):
    """Runs every case with every model."""
    for model in models:
        for feature, case in cases.items():
            run_case(client, feature, case, model)


def equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"expected {expected!r}, got {actual!r}")


def contains(text, part):
    if part not in (text or ""):
        raise AssertionError(f"{part!r} is not in {text!r}")


def raises(errors, call):
    """Expects an error of one of these classes and returns it."""
    try:
        result = call()
    except errors as error:
        return error
    raise AssertionError(f"no error; got {result!r}"[:300])


def needs_images(model):
    if model.startswith(WITHOUT_IMAGES):
        raise Skipped("DeepSeek reads no images")
