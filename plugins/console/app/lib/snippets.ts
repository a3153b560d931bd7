import { type ChatDraft, toChatBody, toParameters } from './chat-draft.ts'

/** Anthropic's API requires a limit. */
const DEFAULT_MAX_TOKENS = 1024

type Snippet = (gateway: string, draft: ChatDraft) => string

/**
 * A chat as code for a terminal and three SDKs, for a gateway at an address that ends with a slash. The key
 * is read from the variable SIGNALBOX_KEY.
 */
export const SNIPPETS = {
  curl: (gateway, draft) => {
    const body = JSON.stringify(toChatBody(draft), null, 2).replaceAll("'", `'\\''`)
    return `curl ${draft.isStreamed ? '-N ' : ''}${gateway}v1/chat/completions \\
  -H "Authorization: Bearer $SIGNALBOX_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`
  },

  'OpenAI Python': (gateway, draft) => `import os
from openai import OpenAI

client = OpenAI(base_url=${quote(`${gateway}v1`)}, api_key=os.environ["SIGNALBOX_KEY"])
${
  draft.isStreamed
    ? `stream = client.chat.completions.create(
${toArguments(toChatBody(draft))})
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`
    : `completion = client.chat.completions.create(
${toArguments(toChatBody(draft))})
print(completion.choices[0].message.content)`
}`,

  'OpenAI JavaScript': (gateway, draft) => `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: ${quote(`${gateway}v1`)}, apiKey: process.env.SIGNALBOX_KEY })
const body = ${JSON.stringify(toChatBody(draft), null, 2)}
const ${draft.isStreamed ? 'stream' : 'completion'} = await client.chat.completions.create(body)
${
  draft.isStreamed
    ? `for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')`
    : 'console.log(completion.choices[0].message.content)'
}`,

  'Anthropic Python': (gateway, draft) => `import os
from anthropic import Anthropic

client = Anthropic(base_url=${quote(gateway.replace(/\/$/, ''))}, api_key=os.environ["SIGNALBOX_KEY"])
${
  draft.isStreamed
    ? `with client.messages.stream(
${toArguments(toMessagesBody(draft))}) as stream:
    for text in stream.text_stream:
        print(text, end="", flush=True)`
    : `message = client.messages.create(
${toArguments(toMessagesBody(draft))})
print(message.content[0].text)`
}`,
} as const satisfies Readonly<Record<string, Snippet>>

export type SnippetName = keyof typeof SNIPPETS

export const SNIPPET_NAMES = Object.keys(SNIPPETS) as readonly SnippetName[]

/** The arguments of Anthropic's client. It has a method for streams, and no argument for the temperature. */
function toMessagesBody(draft: ChatDraft) {
  const { model, system, prompt } = draft
  const { stream: _, max_tokens = DEFAULT_MAX_TOKENS, temperature } = toParameters(draft)
  const more = temperature === undefined ? {} : { extra_body: { temperature } }
  const messages = [{ role: 'user', content: prompt }]
  return { model, max_tokens, ...(system !== '' && { system }), messages, ...more }
}

/** A literal of JSON is one of Python and JavaScript, too. */
const quote = (text: string) => JSON.stringify(text)

/** Named arguments of Python, a line each. */
function toArguments(body: object): string {
  return Object.entries(body)
    .map(([name, value]) => `    ${name}=${value === true ? 'True' : JSON.stringify(value)},\n`)
    .join('')
}
