import { expect } from 'chai'
import OpenAI from 'openai'
import type { RecordedRequest, Sandbox } from '../../../providers/sandbox/server.ts'

/** One provider behind a gateway, and the sandbox that stands in for it. */
export interface Bench {
  readonly client: OpenAI
  readonly sandbox: Sandbox
  readonly provider: string
  /** `<provider>:<model>`. */
  readonly model: string
}

/** What the table shows: the ability is there, or a request for it is refused with a clear 400. */
type Cell = 'yes' | '400'

/**
 * One ability. It throws where the provider does not have it; texts that ask for a fault hold the provider's
 * name, too.
 */
export type Case = (bench: Bench) => Promise<Cell>

export type Request = Omit<
  OpenAI.ChatCompletionCreateParamsNonStreaming,
  'model' | 'stream' | 'stream_options'
>

export const asUser = (content: string): Request => ({ messages: [{ role: 'user', content }] })

// biome-ignore lint/suspicious/noExplicitAny: extension fields are not in the SDK's types
export const loose = (value: unknown) => value as any

/**
 * The completion of a request, whole and then streamed and put together by the official client: both must be
 * alike.
 */
export async function ask({ client, model, provider }: Bench, request: Request) {
  const whole = await client.chat.completions.create({ ...request, model })
  const streamed = await client.chat.completions.stream({ ...request, model }).finalChatCompletion()
  expect(loose(whole).provider).to.equal(provider)
  expect(loose(streamed).provider).to.equal(provider)
  const [one, other] = [whole.choices[0]!, streamed.choices[0]!]
  expect(other.finish_reason).to.equal(one.finish_reason)
  expect(other.message.content ?? '').to.equal(one.message.content ?? '')
  expect(callsOf(other)).to.deep.equal(callsOf(one))
  return one
}

/** Names and parsed arguments. */
export function callsOf({ message }: OpenAI.ChatCompletion.Choice) {
  return (message.tool_calls ?? []).map((call) => {
    const { name, arguments: json } = loose(call).function
    return { name, arguments: JSON.parse(json) }
  })
}

/** Every chunk of a streamed answer. */
export async function read(bench: Bench, request: Request & { stream_options?: { include_usage: boolean } }) {
  const stream = await bench.client.chat.completions.create({ ...request, model: bench.model, stream: true })
  const chunks: OpenAI.ChatCompletionChunk[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
}

/**
 * The error of a stream that must fail, and the text that came before it; `text` is undefined when none
 * began.
 */
export async function failing(bench: Bench, content: string) {
  let text: string | undefined
  try {
    const stream = await bench.client.chat.completions.create({
      ...asUser(content),
      model: bench.model,
      stream: true,
    })
    text = ''
    for await (const { choices } of stream) text += saidIn(choices[0]?.delta)
  } catch (error) {
    expect(error).to.be.instanceOf(OpenAI.APIError)
    return { text, error: error as InstanceType<typeof OpenAI.APIError> }
  }
  return expect.fail(`the stream did not fail, but said: ${text}`)
}

/** What a model says or thinks: some begin with their thoughts. */
const saidIn = (delta: unknown): string => loose(delta)?.content || loose(delta)?.reasoning_content || ''

/** Resolves once the provider has heard a request with this text. */
export const heard = ({ sandbox }: Bench, text: string) =>
  sandbox.next(({ body }: RecordedRequest) => JSON.stringify(body).includes(text))
