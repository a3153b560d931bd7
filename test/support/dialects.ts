import { chatBody } from './bodies.ts'
import type { RunningGateway } from './gateway.ts'

/** Each dialect: how to ask, and how to read the text of a response. */
export const DIALECTS = {
  'chat completions': {
    url: (gateway: RunningGateway) => `${gateway.url}/v1/chat/completions`,
    body: (model: string, text: string) => chatBody(text, { model }),
    textOf: (body: Body) => body.choices[0]?.message.content ?? '',
    deltaOf: (record: Body) => record.choices?.[0]?.delta?.content ?? '',
    streams: true,
  },
  completions: {
    url: (gateway: RunningGateway) => `${gateway.url}/v1/completions`,
    body: (model: string, prompt: string) => ({ model, prompt }),
    textOf: (body: Body) => body.choices[0]?.text ?? '',
    deltaOf: (record: Body) => record.choices?.[0]?.text ?? '',
    streams: true,
  },
  responses: {
    url: (gateway: RunningGateway) => `${gateway.url}/v1/responses`,
    body: (model: string, input: string) => ({ model, input }),
    textOf: ({ output }: Body) =>
      output.flatMap(({ content = [] }) => content.map(({ text }) => text)).join(''),
    deltaOf: (record: Body) => (record.type === 'response.output_text.delta' ? record.delta : ''),
    streams: true,
  },
  messages: {
    url: (gateway: RunningGateway) => `${gateway.url}/v1/messages`,
    body: (model: string, content: string) => ({
      model,
      max_tokens: 10_000,
      messages: [{ role: 'user', content }],
    }),
    textOf: ({ content }: Body) => content.map(({ text = '' }) => text).join(''),
    deltaOf: (record: Body) => (record.type === 'content_block_delta' ? (record.delta.text ?? '') : ''),
    streams: true,
  },
  route: {
    url: (gateway: RunningGateway) => `${gateway.routeUrl}/route`,
    body: (_: string, prompt: string) => ({ prompt }),
    textOf: (body: Body) => body.choices[0]?.message.content ?? '',
    deltaOf: () => '',
    streams: false,
  },
} as const

// biome-ignore lint/suspicious/noExplicitAny: a body of any dialect
export type Body = any

/** The records of an SSE text. */
export function readRecords(text: string): Body[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)))
}

/** The last record of an SSE text, or its response, that has the gateway's own fields. */
export function lastWithFields(text: string): Body {
  return readRecords(text)
    .map((record) => record.response ?? record)
    .findLast(({ signalbox }) => signalbox !== undefined)
}
