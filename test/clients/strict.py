"""Calls a gateway with OpenAI's SDK, which checks every object that it reads.

Prints {"objects": N, "faults": [...]} as JSON. Usage: strict.py BASE_URL KEY MODEL...
"""

import json
import sys

from openai import APIError, APIResponseValidationError, APIStatusError, OpenAI
from pydantic import ValidationError

base_url, key, *models = sys.argv[1:]
client = OpenAI(base_url=f"{base_url}/v1", api_key=key, max_retries=0, _strict_response_validation=True)
objects = 0
faults = []

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
METADATA = {"provider": "acme", "routing_mode": "mine", "tenant": "t"}
USER = "Hello there"


def check(name, call):
    """Counts the objects of one call, and what the SDK cannot read."""
    global objects
    try:
        result = call()
        if hasattr(result, "__next__") or hasattr(result, "response"):
            for item in result:
                objects += 1
                last = item
            return last
        objects += 1
        return result
    except APIStatusError as error:
        objects += 1
        body = error.body if isinstance(error.body, dict) else {}
        if not {"message", "type", "param", "code"} <= body.keys():
            faults.append(f"{name}: error without its fields: {error.body}")
    except (APIResponseValidationError, ValidationError) as error:
        objects += 1
        faults.append(f"{name}: {error.__cause__ or error}"[:500])
    except APIError:
        pass  # A stream that failed, as it should: its objects so far were counted.
    except Exception as error:
        faults.append(f"{name}: {error!r}")
    return None


def chat(model, content=USER, **options):
    return client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": content}], **options
    )


def respond(model, input=USER, **options):
    return client.responses.create(model=model, input=input, **options)


CHATS = [
    {},
    {"metadata": METADATA},
    {"max_tokens": 3},
    {"reasoning_effort": "high"},
    {"content": "No [[sandbox:refuse]]"},
    {"content": "Hm [[sandbox:status=429]]"},
    {"content": "This is forbidden"},
    {"temperature": 7},
    {"content": "Use a tool, parallel", "tools": [
        {"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}]},
]

RESPONSES = [
    {},
    {"metadata": METADATA, "user": "u-1", "instructions": "Be brief."},
    {"max_output_tokens": 3},
    {"reasoning": {"effort": "high", "summary": "auto"}},
    {"input": "No [[sandbox:refuse]]"},
    {"input": "Hm [[sandbox:status=429]]"},
    {"input": "Hm [[sandbox:cut=3]]"},
    {"input": "Hm [[sandbox:error-mid=3]]"},
    {"input": "This is forbidden"},
    {"temperature": 7},
    {"input": "Use a tool, parallel", "tools": [
        {"type": "function", "name": "weather", "parameters": PARAMETERS, "strict": False}]},
    {"input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Hm"}]},
        {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
         "content": [{"type": "output_text", "text": "One", "annotations": []}]},
        {"role": "user", "content": "Two"}]},
]

for model in models:
    for options in CHATS:
        name = f"chat {model} {options}"
        check(name, lambda: chat(model, **options))
        check(f"{name}, streamed", lambda: chat(
            model, **options, stream=True, stream_options={"include_usage": True}))
    for options in RESPONSES:
        name = f"responses {model} {options}"
        whole = check(name, lambda: respond(model, **options))
        last = check(f"{name}, streamed", lambda: respond(model, **options, stream=True))
        for id in [whole and whole.id, last and getattr(last, "response", None) and last.response.id]:
            if id:
                check(f"GET {name}", lambda: client.responses.retrieve(id))
                check(f"items of {name}", lambda: client.responses.input_items.list(id))

check("models", lambda: client.models.list())
check("model", lambda: client.models.retrieve("gpt-4o"))
check("unknown model", lambda: client.models.retrieve("nothing"))
check("unknown response", lambda: client.responses.retrieve("resp_unknown"))
print(json.dumps({"objects": objects, "faults": faults}))
