"""Instructor, in the modes that OpenAI's API offers."""

import instructor
from openai import OpenAI
from pydantic import BaseModel

from cases import API_KEY, BASE_URL, IMAGE_URL, contains, needs_images, run_cases

openai = OpenAI(base_url=f"{BASE_URL}/v1", api_key=API_KEY, max_retries=0)


class Answer(BaseModel):
    """An answer."""

    city: str
    degrees: int


def ask(model, mode, content="Basel?"):
    client = instructor.from_openai(openai, mode=mode)
    answer = client.chat.completions.create(
        model=model,
        response_model=Answer,
        max_retries=0,
        messages=[{"role": "user", "content": content}],
    )
    assert isinstance(answer, Answer)


def stream(model):
    client = instructor.from_openai(openai)
    parts = list(client.chat.completions.create_partial(
        model=model,
        response_model=Answer,
        max_retries=0,
        messages=[{"role": "user", "content": "Basel?"}],
    ))
    Answer.model_validate(parts[-1].model_dump())


def image(model):
    needs_images(model)
    text = {"type": "text", "text": "What is this?"}
    ask(model, instructor.Mode.TOOLS, [text, {"type": "image_url", "image_url": {"url": IMAGE_URL}}])


def errors(model):
    try:
        ask(model, instructor.Mode.TOOLS, "forbidden")
    except Exception as error:
        contains(str(error), "blocked by firewall rule")
    else:
        raise AssertionError("no error")


run_cases("instructor", {
    "forced tool": lambda model: ask(model, instructor.Mode.TOOLS),
    "stream": stream,
    "structured output": lambda model: ask(model, instructor.Mode.JSON_SCHEMA),
    "image": image,
    "errors": errors,
})
