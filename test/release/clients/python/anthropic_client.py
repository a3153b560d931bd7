"""Anthropic's SDK."""

import anthropic

from cases import (
    API_KEY,
    BASE_URL,
    LOOP,
    PARAMETERS,
    PNG,
    Counter,
    contains,
    equal,
    needs_images,
    raises,
    run_cases,
)

client = anthropic.Anthropic(base_url=BASE_URL, api_key=API_KEY, max_retries=0)

TOOLS = [{"name": name, "description": name, "input_schema": PARAMETERS} for name in ("get_weather", "get_time")]
SCHEMA = {**PARAMETERS, "properties": {**PARAMETERS["properties"], "degrees": {"type": "integer"}}}


def body(model, content, **options):
    return dict(model=model, max_tokens=2000, messages=[{"role": "user", "content": content}], **options)


def ask(model, content, **options):
    return client.messages.create(**body(model, content, **options))


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def calls_of(message):
    return [block for block in message.content if block.type == "tool_use"]


def text(model):
    message = ask(model, "Hello", system="Be brief.")
    contains(text_of(message), "Hello")
    equal(message.stop_reason, "end_turn")
    message.model_dump_json()


def stream(model):
    with client.messages.stream(**body(model, "Hello")) as events:
        for _ in events:
            pass
        contains(text_of(events.get_final_message()), "Hello")


def tool(model):
    message = ask(model, "Use get_weather", tools=TOOLS)
    equal(message.stop_reason, "tool_use")
    equal([call.name for call in calls_of(message)], ["get_weather"])


def parallel_tools(model):
    equal(len(calls_of(ask(model, "Use a tool, parallel", tools=TOOLS))), 2)


def forced_tool(model):
    for choice in ({"type": "tool", "name": "get_time"}, {"type": "any"}):
        equal(len(calls_of(ask(model, "Hello", tools=TOOLS, tool_choice=choice))), 1)


def tool_result(model):
    first = ask(model, "Use get_weather", tools=TOOLS)
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": "rain in Basel"} for call in calls_of(first)
    ]
    messages = [
        {"role": "user", "content": "Use get_weather"},
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": results},
    ]
    second = client.messages.create(model=model, max_tokens=2000, messages=messages, tools=TOOLS)
    contains(text_of(second), "rain in Basel")


def tool_loop(model):
    for stream in (False, True):
        counter = Counter()

        @anthropic.beta_tool
        def get_weather(city: str) -> str:
            """The weather."""
            return counter.call()

        thinking = {"type": "enabled", "budget_tokens": 1024}
        request = body(model, f"Use get_weather {LOOP}", tools=[get_weather], thinking=thinking)
        message = client.beta.messages.tool_runner(**request, stream=stream).until_done()
        contains(text_of(message), "call 3")
        equal(counter.count, 3)


def image_result(model):
    needs_images(model)
    first = ask(model, "Use get_weather", tools=TOOLS)
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    content = [{"type": "text", "text": "a picture"}, {"type": "image", "source": source}]
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": content} for call in calls_of(first)]
    messages = [
        {"role": "user", "content": "Use get_weather"},
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": results},
    ]
    second = client.messages.create(model=model, max_tokens=2000, messages=messages, tools=TOOLS)
    contains(text_of(second), "a picture")


def count_tokens(model):
    messages = [{"role": "user", "content": "Hello, how are you today?"}]
    counted = client.messages.count_tokens(model=model, messages=messages, tools=TOOLS)
    equal(counted.input_tokens > 10, True)


def structured(model):
    message = ask(model, "Basel?", output_config={"format": {"type": "json_schema", "schema": SCHEMA}})
    contains(text_of(message), '"city"')


def thinking(model):
    message = ask(model, "Hello", thinking={"type": "enabled", "budget_tokens": 1024})
    contains(text_of(message), "Hello")


def image(model):
    needs_images(model)
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    parts = [{"type": "image", "source": source}, {"type": "text", "text": "What is this?"}]
    contains(text_of(ask(model, parts)), "What is this")


def errors(model):
    contains(
        raises(anthropic.PermissionDeniedError, lambda: ask(model, "forbidden")).message, "blocked by firewall"
    )
    raises(anthropic.RateLimitError, lambda: ask(model, "Hi [[sandbox:status=429]]"))
    raises(anthropic.NotFoundError, lambda: ask("no-such-model", "Hi"))
    long = raises(anthropic.BadRequestError, lambda: ask(model, "Hi [[sandbox:error=overflow]]"))
    contains(long.message, "prompt is too long")
    raises(anthropic.BadRequestError, lambda: ask(model, "Hi", extra_body={"temperature": 7}))

    def read_broken():
        with client.messages.stream(**body(model, "Hi [[sandbox:cut=6]]")) as events:
            list(events)

    raises(anthropic.APIStatusError, read_broken)


def cancel(model):
    with client.messages.stream(**body(model, "Hi [[sandbox:token-delay=20]]")) as events:
        next(iter(events))
    contains(text_of(ask(model, "Hello")), "Hello")


run_cases("anthropic", {
    "text": text,
    "stream": stream,
    "tool": tool,
    "parallel tools": parallel_tools,
    "forced tool": forced_tool,
    "tool result": tool_result,
    "tool loop": tool_loop,
    "image result": image_result,
    "count tokens": count_tokens,
    "structured output": structured,
    "thinking": thinking,
    "image": image,
    "errors": errors,
    "cancel": cancel,
})
